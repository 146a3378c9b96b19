"""The interface of all learners: ask for a commitment, tell the answer.

    pi1 = learner.ask()                       which commitment to play
    learner = learner.tell(response)          the learner that knows the answer as well

A learner is *frozen*: `tell` returns another one and the old one stays as it is, so a run can be
taken up again from any episode. The same learner always asks the same: its randomness is derived
from its seed and the number of its episodes. The partner is a response model, another program or a
person.

Your own learner is a subclass with a game, a history, `ask` and `tell`; it plays in
`iirl_opt.interact` and in comparisons as the learners of this library do. What it asks for is its
own affair: those that keep the feasible set share `iirl_opt.learn.feasible_learner`, and
`iirl_opt.bayesian` keeps counts and draws from a posterior.

Source: paper, Section 3.2, the protocol of Interactive IRL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import facts
from iirl_opt.checks import MAPPING, checked
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import random_deterministic_policy
from iirl_opt.observation import SEEN, Observation, Trajectory
from iirl_opt.printing.table import FactTable

__all__ = ["Learner"]

Array = NDArray[np.float64]


class Learner(ABC):
    """A frozen learner that asks and tells; subclass it to write your own.

    Attributes
    ----------
    game : the game; a learner never sees the reward.
    seed : of all its randomness; 0 unless a learner says otherwise.
    fixed : whether it watches the follower under one commitment, whatever its plan is.
    history : what it was told, an entry an episode.

    Examples
    --------
    A learner that learns nothing:

    >>> from dataclasses import dataclass, replace
    >>> import iirl_opt as iirl
    >>> @dataclass(frozen=True, eq=False)
    ... class Stubborn(iirl.learn.Learner):
    ...     game: iirl.TwoAgentMDP
    ...     history: tuple = ()
    ...     def ask(self):
    ...         return self.game.leader_policy({"*": 0})
    ...     def tell(self, response, *, pi1=None):
    ...         seen = iirl.observe(self.game, self.ask(), response)
    ...         return replace(self, history=(*self.history, seen))
    >>> game, truth = iirl.random_game(5, 2, 2, rng=1)
    >>> *_, last = iirl.interact(Stubborn(game), truth, 3)
    >>> last.number, last.learner.episode
    (3, 3)
    """

    game: TwoAgentMDP
    seed: int = 0
    fixed: bool = False

    def _repr_html_(self) -> str:
        own = dict(facts(self)) if is_dataclass(self) else {"game": self.game, "seed": self.seed}
        own = {name: x for name, x in own.items() if name != "history"}
        return FactTable([{**own, "episodes": self.episode}], type(self).__name__)._repr_html_()

    @property
    @abstractmethod
    def history(self) -> tuple[Observation | Trajectory, ...]:
        """All that it was told, in order."""

    @property
    def episode(self) -> int:
        """The number of episodes told."""
        return len(self.history)

    @abstractmethod
    def ask(self) -> Array:
        """Return the commitment (S, A) to play in the next episode."""

    @abstractmethod
    def tell(self, response: Trajectory | ArrayLike, *, pi1: ArrayLike | None = None) -> Self:
        """Return the learner that also knows this response; the old one stays as it is.

        Parameters
        ----------
        response : policy (S, B), or a trajectory where no more was seen.
        pi1 : what was committed, where it was not what `ask` returned; a trajectory knows it.
        """

    def plan(self) -> Array:
        """Return the commitment (S, A) that is best for what is known: what `ask` returns.

        It may be another one where a learner is `fixed`, as a baseline of standard IRL is that
        watches the follower in one environment only. Regret is that of the plan.
        """
        return self.ask()

    def estimate(self) -> Array | None:
        """Return the reward, (S,) or (S, A, B), that the plan is made for, or None without one."""
        return None

    def facts(self) -> dict[str, float]:
        """Return numbers that are worth a look after each episode, by name; none by default."""
        return {}

    def memory(self) -> dict[str, Any]:
        """Return what `recall` needs beside what was seen last, ready for JSON; by default nothing.

        It is for what `tell` would compute at length, and nothing else.
        """
        return {}

    @checked(seen=SEEN, memory=MAPPING)
    def recall(self, seen: Observation | Trajectory, memory: Mapping[str, Any]) -> Self:
        """Return the learner that also knows an episode of an earlier run, as `tell` does.

        Parameters
        ----------
        seen : what the learner was told, as its `history` has it.
        memory : what `memory` returned of the learner that knew it.
        """
        if isinstance(seen, Trajectory):
            return self.tell(seen, pi1=seen.pi1)
        return self.tell(seen.played if seen.whole else seen.pi2, pi1=seen.pi1)

    def _keep_first(self, first: ArrayLike | None) -> None:
        """Check the first commitment of a frozen dataclass, and keep it where nobody changes it."""
        if first is not None:
            kept = self.game.check_leader_policy(first)
            kept.flags.writeable = False
            object.__setattr__(self, "first", kept)

    def _random_commitment(self, rng: np.random.Generator) -> Array:
        """Return a deterministic commitment (S, A), uniformly random."""
        n_states, n_actions, _ = self.game.shape
        return random_deterministic_policy(n_states, n_actions, rng)
