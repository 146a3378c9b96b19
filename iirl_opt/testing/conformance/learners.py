"""What a learner promises (`iirl_opt.learn.learner`), tried on one of yours by a state machine.

Hypothesis plays: it makes a learner for a small game, asks and tells in an order of its own, goes
back to learners of before, and tells answers that contradict each other and some that are none.
What is promised is looked at after each step. A failure shows a short program: the steps to it.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import FUNCTION, checked, optional, whole
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.follower.protocols import FOLLOWER, Follower
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.learn.learner import Learner
from iirl_opt.observation import Observation, Trajectory
from iirl_opt.rewards.constant import is_constant
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.testing.arrays import policies, rewards
from iirl_opt.testing.assertions import assert_policy
from iirl_opt.testing.conformance.choices import require_explained
from iirl_opt.testing.conformance.promises import (
    STRATEGY,
    Promises,
    agree,
    flags,
    require,
    suite_settings,
)
from iirl_opt.testing.distributions import st, stateful
from iirl_opt.testing.models import games as any_games
from iirl_opt.testing.partners import trajectories as walks

__all__ = ["check_learner"]

Array = NDArray[Any]


@checked(make=FUNCTION, follower=FOLLOWER, steps=whole(1), games=optional(STRATEGY))
def check_learner(
    make: Callable[[TwoAgentMDP], Learner],
    *,
    follower: Follower | None = None,
    trajectories: bool = True,
    contradictions: bool = True,
    explains: bool = False,
    games: st.SearchStrategy[TwoAgentMDP] | None = None,
    steps: int = 5,
) -> None:
    """Play with a learner as hypothesis pleases; fail with the promise that broke.

    Every learner promises: to be frozen, so that it asks the same whenever it is asked, whatever a
    caller does to the answer, and ``tell`` returns another learner and leaves it as it is; that the
    history grows by one, and says what was committed and answered; commitments, plans and
    estimates of the shapes of the game, a plan that is what it asks unless it is ``fixed``; facts
    by name; to refuse an answer that is none, and lose nothing by it; to go on where answers
    contradict each other, if it takes them; and that its copy by pickle, and another learner that
    is told the same, ask as it does.

    Parameters
    ----------
    make : what makes a learner for a game: its class, or a function such as
        ``lambda game: MyLearner(game, seed=3)``.
    follower : who answers; `OptimalFollower` by default.
    trajectories : whether it takes trajectories beside whole responses.
    contradictions : whether it goes on where no reward explains what it was told.
    explains : whether its estimate is no constant and explains the responses that it was told,
        where some reward does; for a `follower` that is optimal.
    games : a strategy for the games; by default `iirl_opt.testing.games` of at most three states.
    steps : the most steps of a run; as many runs are tried as the profile has examples.

    Raises
    ------
    AssertionError
        A promise is broken: names it, and the steps that led to it.
    InvalidArgument

    **Cost** asks, tells and estimates, a few each a step.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> from functools import partial
    >>> check_learner(partial(iirl.ActiveIRL, seed=1), trajectories=False, steps=2)
    """
    __tracebackhide__ = True
    flags(trajectories=trajectories, contradictions=contradictions, explains=explains)
    small = any_games(min_states=2, max_states=3) if games is None else games
    partner = OptimalFollower() if follower is None else follower
    options = _Options(
        Promises("Learner", make), make, partner, trajectories, contradictions, explains, small
    )
    machine = type("LearnerRun", (_LearnerRun,), {"options": options})
    chosen = suite_settings(stateful_step_count=steps)
    options.promises.run(lambda: stateful.run_state_machine_as_test(machine, settings=chosen))


@dataclass(frozen=True)
class _Options:
    """The arguments of `check_learner`."""

    promises: Promises
    make: Callable[[TwoAgentMDP], Learner]
    follower: Follower
    trajectories: bool
    contradictions: bool
    explains: bool
    games: st.SearchStrategy[TwoAgentMDP]


class _Kept(NamedTuple):
    """A learner, with what it said when it was new."""

    learner: Learner
    asked: Array
    episode: int


TWICE = ("at first", "again")


class _LearnerRun(stateful.RuleBasedStateMachine):
    """A run: the present learner, all those of before, and the truth that the partner knows."""

    options: ClassVar[_Options]

    @stateful.initialize(data=st.data())
    def make(self, data: st.DataObject) -> None:
        """Make a learner that has been told nothing."""
        self.game = data.draw(self.options.games, label="game")
        self.truth = data.draw(rewards(self.game), label="truth")
        self.promises = self.options.promises
        self.promises.begin()
        with self._keeps("it is made for a game, and then is a `Learner` that knows nothing"):
            learner = self.options.make(self.game)
            require(isinstance(learner, Learner), f"it is {type(learner).__name__}")
            require(learner.game == self.game, "it has another game")
            require(learner.episode == 0 == len(learner.history), "it begins with episodes")
        self.kept = [_Kept(learner, self._asked(learner), 0)]
        self.now = self.kept[0]

    @stateful.rule()
    def ask_again(self) -> None:
        """Ask again, and write into what it returned."""
        self._unchanged("the same learner asks the same, whatever else is done", self.now)
        lent = self.now.learner.ask()
        if lent.flags.writeable:
            lent[:] = np.nan
        self._unchanged("what a caller does to its answer does not change it", self.now)

    @stateful.rule(pi1_too=st.booleans())
    def tell_the_answer(self, pi1_too: bool) -> None:
        """Commit to what it asks, and tell what the partner answers."""
        pi1 = self.now.asked
        given = {"pi1": pi1.copy()} if pi1_too else {}
        self._tell(self._response(pi1), pi1, **given)

    @stateful.rule(data=st.data())
    def tell_of_another_commitment(self, data: st.DataObject) -> None:
        """Commit to something else, and tell what the partner answers."""
        pi1 = data.draw(policies(self.game), label="pi1")
        self._tell(self._response(pi1), pi1, pi1=pi1.copy())

    @stateful.precondition(lambda self: self.options.contradictions)
    @stateful.rule(data=st.data())
    def tell_anything(self, data: st.DataObject) -> None:
        """Tell a response that no reward may explain."""
        anything = policies(self.game, agent="follower", deterministic=True)
        self._tell(data.draw(anything, label="response"), self.now.asked)

    @stateful.precondition(lambda self: self.options.trajectories)
    @stateful.rule(data=st.data())
    def tell_a_trajectory(self, data: st.DataObject) -> None:
        """Tell no more than some steps of what the partner answers."""
        pi1 = self.now.asked
        pi2 = _policy(self._response(pi1))
        steps = data.draw(walks(self.game, pi1=pi1, pi2=pi2, max_length=4), label="steps")
        self._tell(steps, pi1)

    @stateful.rule()
    def tell_nonsense(self) -> None:
        """Tell what is no answer; nothing may come of it."""
        learner, game = self.now.learner, self.game
        good = np.full((game.n_states, game.n_follower_actions), 1 / game.n_follower_actions)
        for what, response, pi1 in (
            ("a response with rows that sum to 1/2", good / 2, None),
            ("a response that is nan", good * np.nan, None),
            ("a response without a state", good[1:], None),
            ("an answer to what is no commitment", good, self.now.asked / 2),
        ):
            self.promises.refuses(what, learner.tell, response, pi1=pi1)
        self._unchanged("a refused answer leaves the learner as it was", self.now)

    @stateful.rule()
    def say_what_is_known(self) -> None:
        """Look at estimate, plan and facts, each twice."""
        learner, game = self.now.learner, self.game
        with self._keeps(
            "`estimate` is a finite reward (S,) or (S, A, B), or None, the same twice"
        ):
            reward, still = learner.estimate(), learner.estimate()
            if reward is not None:
                require(np.shape(reward) in ((game.n_states,), game.shape), f"it is {reward!r}")
                require(bool(np.isfinite(reward).all()), f"it is {reward!r}")
            require((reward is None) == (still is None), f"it is {reward!r}, then {still!r}")
            if reward is not None and still is not None:
                agree(reward, still, TWICE)
        if self.options.explains and reward is not None:
            self._explains(np.asarray(reward, dtype=float))
        with self._keeps("`plan` is a commitment (S, A), the same twice"):
            plan, again = learner.plan(), learner.plan()
            assert_policy(plan, game)
            agree(plan, again, TWICE)
        with self._keeps("it asks for its plan unless `fixed`"):
            require(type(learner.fixed) is bool, f"`fixed` is {learner.fixed!r}")
            if not learner.fixed:
                agree(plan, self.now.asked, ("plan", "asked"))
        with self._keeps("`facts` are numbers by name, the same twice"):
            facts, later = learner.facts(), learner.facts()
            require(all(isinstance(name, str) for name in facts), f"they are {facts}")
            require(facts.keys() == later.keys(), f"they are {facts}, then {later}")
            one, two = ([float(x) for x in found.values()] for found in (facts, later))
            require(np.array_equal(one, two, equal_nan=True), f"they are {facts}, then {later}")
        self._unchanged("looking at what it knows leaves it as it is", self.now)

    def _explains(self, reward: Array) -> None:
        """Try whether an estimate explains what was told, if that can be explained."""
        feasible = FeasibleRewards(self.game)
        for seen in self.now.learner.history:
            if isinstance(seen, Observation):
                feasible = feasible.add(seen)
        if not is_constant(self.truth) and feasible.contains(self.truth):
            with self._keeps("its estimate is no constant, and explains what it was told"):
                require(not is_constant(reward), f"it is {reward.tolist()}")
                require_explained(feasible, reward)

    @stateful.rule()
    def pickle(self) -> None:
        """Go on with a copy."""
        with self._keeps("a pickled copy asks the same"):
            copy = pickle.loads(pickle.dumps(self.now.learner))
            found = _Kept(copy, self._asked(copy), copy.episode)
            agree(found.asked, self.now.asked, ("the copy", "itself"))
        self.now = found

    @stateful.rule(data=st.data())
    def go_back(self, data: st.DataObject) -> None:
        """Go on with a learner of before, which is as it was."""
        self.now = data.draw(st.sampled_from(self.kept), label="learner")
        self._unchanged("`tell` leaves the learner as it was", self.now)

    @stateful.rule()
    def tell_all_to_another(self) -> None:
        """Make another learner, and tell it the same."""
        with self._keeps("another learner that is told the same asks the same"):
            other = self.options.make(self.game)
            for seen in self.now.learner.history:
                other = other.tell(_told(seen), pi1=seen.pi1)
            agree(self.now.asked, self._asked(other), ("this one", "the other"))

    def _tell(self, response: Any, committed: Array, **given: Array) -> None:
        old = self.now
        with self._keeps("`tell` takes an answer and returns another learner of its kind"):
            new = old.learner.tell(response, **given)
            require(type(new) is type(old.learner), f"it returned {new!r}")
            require(new is not old.learner, "it returned itself")
            kept = (new.game, new.seed, new.fixed), (self.game, old.learner.seed, old.learner.fixed)
            require(kept[0] == kept[1], "it has another game or seed, or is no longer as `fixed`")
        with self._keeps("an episode told is one entry of history more, at its end"):
            before, after = old.learner.history, new.history
            require(new.episode == old.episode + 1, f"{old.episode}, then {new.episode} episodes")
            require(len(after) == new.episode, f"{new.episode} episodes, {len(after)} entries")
            same = all(x == y for x, y in zip(before, after, strict=False))
            require(same, "entries of before have changed")
        with self._keeps("the last entry of history says what was committed and answered"):
            seen = after[-1]
            require(np.array_equal(seen.pi1, committed), f"π1 is {seen.pi1.tolist()}")
            if isinstance(response, Trajectory):
                require(seen == response, f"it is {seen!r}")
            else:
                fine = isinstance(seen, Observation) and np.allclose(seen.pi2, _policy(response))
                require(fine, f"it is {seen!r}")
                mask = response.dtype == bool
                said = "is no longer" if mask else "has become"
                require(
                    getattr(seen, "whole", None) == mask,
                    f"it {said} the whole set of optimal actions",
                )
        self._unchanged("`tell` leaves the learner as it was", old)
        self.now = _Kept(new, self._asked(new), new.episode)
        self.kept.append(self.now)

    def _asked(self, learner: Learner) -> Array:
        with self._keeps("`ask` returns a commitment (S, A)"):
            answer = np.array(learner.ask())
            assert_policy(answer, self.game)
        return answer

    def _unchanged(self, sentence: str, one: _Kept) -> None:
        with self._keeps(sentence):
            agree(one.learner.ask(), one.asked, ("now", "before"))
            require(one.learner.episode == one.episode, f"{one.learner.episode} episodes")

    def _response(self, pi1: Array) -> Array:
        rng = np.random.default_rng(len(self.kept))
        return np.asarray(self.options.follower.respond(self.game, self.truth, pi1, rng))

    @contextmanager
    def _keeps(self, sentence: str) -> Iterator[None]:
        """Try a promise; that a learner warns breaks none."""
        with self.promises.keeps(sentence), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield


def _policy(response: Array) -> Array:
    """Return a response, or the even mixture of a mask."""
    found = np.asarray(response, dtype=float)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _told(seen: Observation | Trajectory) -> Any:
    """Return what was told, from what was kept of it."""
    if isinstance(seen, Trajectory):
        return seen
    return seen.played if seen.whole else seen.pi2
