"""What a choice of reward promises (`iirl_opt.learn.RewardChoice`), tried on one of yours."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import checked, has, is_a, optional
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.learn.choices import RewardChoice
from iirl_opt.rewards.constant import is_constant
from iirl_opt.rewards.domains import DOMAIN, RewardDomain
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.solver.records import HiGHS
from iirl_opt.testing.conformance.domains import violations_of
from iirl_opt.testing.conformance.promises import Promises, agree, flags, require, suite_settings
from iirl_opt.testing.distributions import given, st
from iirl_opt.testing.models import games as any_games
from iirl_opt.testing.partners import observations

__all__ = ["check_reward_choice", "require_explained"]

Array = NDArray[np.float64]

# By how much a reward that is chosen in floats may violate what was seen, as a share of its spread.
NEAR = 1e-6


@checked(
    choice=has("choose", what="a choice of reward"),
    domain=optional(DOMAIN),
    games=optional(is_a(st.SearchStrategy)),
)
def check_reward_choice(
    choice: RewardChoice,
    *,
    explains: bool = True,
    domain: RewardDomain | None = None,
    joint: bool = False,
    pickles: bool = True,
    games: st.SearchStrategy[TwoAgentMDP] | None = None,
) -> None:
    """Try what a choice of reward promises on small games; fail with the promise that broke.

    Every choice promises: a `Chosen`, whose reward is a finite array of shape (S,) that is no
    constant (up to 1e-6 of its largest entry, as records say it), or None where it finds nothing
    but constants; a reward where what was seen tells two
    states apart; that what it returns depends on the set and the generator alone, and draws from
    nothing else; to leave the set as it is, and to take a solver; and that a pickled copy chooses
    as it does.

    Parameters
    ----------
    choice : any object with the method ``choose`` of the protocol `RewardChoice`.
    explains : whether the reward is one of the set; then it is None where only constants are.
    domain : where its rewards are, if it promises that.
    joint : whether its rewards are of states and actions, (S, A, B).
    pickles : whether it can be pickled, as runs in several processes need.
    games : a strategy for the games to try; by default `iirl_opt.testing.games` of at most four
        states.

    Raises
    ------
    AssertionError
        A promise is broken: names it, what was found, and the instance.
    InvalidArgument

    **Cost** two choices an example.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> check_reward_choice(iirl.learn.AnalyticCentre(), domain=iirl.rewards.RewardSimplex())
    """
    __tracebackhide__ = True
    flags(explains=explains, joint=joint, pickles=pickles)
    suite = _ChoiceSuite(choice, explains, domain, joint, pickles)
    suite.finds_what_is_there()
    if explains and not joint:
        suite.finds_nothing_where_nothing_is()
    small = any_games(min_states=2, max_states=4) if games is None else games
    tried = given(game=small, data=st.data())(suite.try_instance)
    suite.promises.run(suite_settings()(tried))


@dataclass(frozen=True)
class _ChoiceSuite:
    """The promises of one choice, with the options of `check_reward_choice`."""

    choice: RewardChoice
    explains: bool
    domain: RewardDomain | None
    joint: bool
    pickles: bool

    @cached_property
    def promises(self) -> Promises:
        return Promises("RewardChoice", self.choice)

    def finds_what_is_there(self) -> None:
        """Try it where going right, and staying there, says that right is worth more."""
        __tracebackhide__ = True
        stay, go = [[1, 0], [0, 1]], [[0, 1], [1, 0]]
        game = TwoAgentMDP([[[row, other]] for row, other in zip(stay, go, strict=True)], "1/2")
        feasible = FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
        with self.promises.keeps("it finds a reward where what was seen tells two states apart"):
            found = self._ask(feasible)
            if found is None:
                raise AssertionError("it is None where r(1) ≥ r(0) is all that is known")
        self._is_a_reward(feasible, found)

    def finds_nothing_where_nothing_is(self) -> None:
        """Try it where every state is worth the same, since every action is optimal."""
        __tracebackhide__ = True
        swap = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]], "1/2")
        feasible = FeasibleRewards(swap).observe(np.ones((2, 1)), np.ones((2, 2), dtype=bool))
        with self.promises.keeps("it is None where only constants explain what was seen"):
            found = self._ask(feasible)
            if found is not None:
                raise AssertionError(f"it is {found!r}")

    def try_instance(self, game: TwoAgentMDP, data: st.DataObject) -> None:
        """Try all promises on a game and some observations of an optimal follower in it."""
        __tracebackhide__ = True
        self.promises.begin()
        feasible = FeasibleRewards(game)
        truth = np.array(
            data.draw(
                st.lists(st.integers(0, 4), min_size=game.n_states, max_size=game.n_states),
                label="reward",
            ),
            dtype=float,
        )
        for _ in range(data.draw(st.integers(0, 2), label="episodes")):
            feasible = feasible.add(data.draw(observations(game, reward=truth)))
        before = [np.concatenate([o.pi1, o.pi2], axis=1) for o in feasible.observations]
        with self.promises.keeps("`choose` answers with a `Chosen`, or None"):
            found = self._ask(feasible)
            fits = found is None or hasattr(found, "reward")
            require(fits, f"it answers {found!r}")
        self._is_a_reward(feasible, found)
        self._is_a_function(feasible, found, data)
        with self.promises.keeps("it leaves the set as it is"):
            after = [np.concatenate([o.pi1, o.pi2], axis=1) for o in feasible.observations]
            if not all(map(np.array_equal, before, after)) or len(before) != len(after):
                raise AssertionError("what was seen is another now")

    def _ask(self, feasible: FeasibleRewards, *solver: Any) -> Any:
        return self.choice.choose(feasible, np.random.default_rng(0), *solver)

    def _is_a_reward(self, feasible: FeasibleRewards, found: Any) -> None:
        __tracebackhide__ = True
        if found is None:
            return
        shape = feasible.game.shape if self.joint else (feasible.game.n_states,)
        with self.promises.keeps(f"its reward is a finite array of shape {shape}, no constant"):
            reward = np.asarray(found.reward, dtype=float)
            if reward.shape != shape or not np.isfinite(reward).all() or is_constant(reward):
                raise AssertionError(f"it is {found.reward!r}")
        if self.explains:
            with self.promises.keeps("its reward explains what was seen"):
                require_explained(feasible, reward)
        if self.domain is not None:
            with self.promises.keeps(f"its reward is in {self.domain!r}"):
                flat = reward if reward.ndim == 1 else reward.reshape(len(reward), -1)
                outside = violations_of(self.domain, flat)
                if outside.max(initial=0.0) > NEAR * (1 + np.abs(flat).max()):
                    raise AssertionError(f"{reward.tolist()} violates it by {outside}")

    def _is_a_function(self, feasible: FeasibleRewards, found: Any, data: st.DataObject) -> None:
        """Try that a set and a generator say all."""
        __tracebackhide__ = True
        others: dict[str, Callable[[], Any]] = {
            "the same question gets the same answer": lambda: self._ask(feasible),
            "it takes a solver": lambda: self._ask(feasible, HiGHS()),
        }
        if self.pickles:
            copy = pickle.loads(pickle.dumps(self.choice))
            others["a pickled copy chooses as it does"] = lambda: copy.choose(
                feasible, np.random.default_rng(0)
            )
        sentence = data.draw(st.sampled_from(list(others)), label="again")
        np.random.seed(data.draw(st.integers(0, 9), label="seed"))  # noqa: NPY002
        with self.promises.keeps(sentence):
            other = others[sentence]()
            if (found is None) != (other is None):
                raise AssertionError(f"at first {found!r}, then {other!r}")
            if found is not None:
                agree(found.reward, other.reward, ("at first", "then"), near=1e-9)


def require_explained(feasible: FeasibleRewards, reward: Array) -> None:
    """Fail unless a reward explains what was seen, which tells neither its scale nor its level."""
    __tracebackhide__ = True
    unit = (reward - reward.mean()) / np.ptp(reward)
    if not feasible.contains(unit, tolerance=NEAR):
        off = feasible.violations(unit, tolerance=NEAR)
        raise AssertionError(f"{reward.tolist()} does not: {off}")
