"""The conformance suites: ours pass, and each way to break a promise is found and named."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from depth import share, under, unshrunk
from hypothesis import Phase, given, settings, strategies as st

from iirl_opt.bayesian import BayesianInteractiveIRL, BoltzmannFamily, EpsilonGreedyFamily
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower, best_responses
from iirl_opt.follower.proportional import Exponential, ProportionalFollower
from iirl_opt.follower.protocols import LocalFollower
from iirl_opt.game.policy import uniform_policy
from iirl_opt.learn import (
    ActiveIRL,
    FixedEnvironment,
    InteractiveIRL,
    Learner,
    MaximumEntropy,
    MaxMargin,
    RandomReward,
)
from iirl_opt.observation import observe
from iirl_opt.rewards import FeasibleRewards
from iirl_opt.testing import check_family, check_follower, check_learner
from iirl_opt.testing.conformance import promises as suites
from iirl_opt.testing.conformance.promises import Promises

many, few = under(unshrunk(200)), under(share(0.3))


# Ours first

FOLLOWERS = [
    *((OptimalFollower(ties), {"ties": ties}) for ties in ("first", "last", "mix", "all")),
    (OptimalFollower("random"), {"ties": "random", "random": True}),
    (OptimalFollower("random", 3), {"ties": "random", "random": True}),
    (EpsilonGreedyFollower(0.3, "mix"), {"invariant": True}),
    (EpsilonGreedyFollower(1), {"invariant": True}),
    (BoltzmannFollower(2), {}),
    (BoltzmannFollower(0), {"invariant": True}),
    (ProportionalFollower(Exponential(1)), {}),
    (ProportionalFollower(np.exp), {}),
]


@pytest.mark.parametrize(("follower", "promised"), FOLLOWERS, ids=lambda x: str(x)[:50])
def test_our_followers_keep_their_promises(follower, promised):
    assert isinstance(follower, LocalFollower)
    check_follower(follower, **promised)


@pytest.mark.parametrize("family", [BoltzmannFamily(), EpsilonGreedyFamily()])
def test_our_families_keep_their_promises(family):
    check_family(family)


BAYES = partial(BayesianInteractiveIRL, proposals=40, thin=4, fast=False)
LEARNERS = {
    "Algorithm 1": (InteractiveIRL, {"explains": True}),
    "joint, at a price": (partial(InteractiveIRL, joint=True, price=0.5), {"explains": True}),
    "active": (ActiveIRL, {"follower": OptimalFollower("all"), "explains": True}),
    "maximum entropy": (
        lambda game: InteractiveIRL(game, choice=MaximumEntropy()),
        {"trajectories": False},
    ),
    "random reward": (
        lambda game: InteractiveIRL(game, choice=RandomReward(), leader_ties="random"),
        {},
    ),
    "fixed environment": (
        lambda game: FixedEnvironment(InteractiveIRL(game, choice=MaxMargin())),
        {"trajectories": False},
    ),
    "Algorithm 4": (BAYES, {"follower": BoltzmannFollower(3)}),
    "Algorithm 4, fixed": (partial(BAYES, fixed=True, choose="thompson"), {}),
}


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("which", LEARNERS)
def test_our_learners_keep_their_promises(which):
    make, options = LEARNERS[which]
    check_learner(make, **options)


# Broken followers


@dataclass(frozen=True)
class Broken:
    """A Boltzmann follower that does one thing wrong."""

    beta: float = 1.0

    def respond(self, game, reward, pi1, rng=None):
        return BoltzmannFollower(self.beta).respond(game, reward, pi1)


class SumsToTwo(Broken):
    def respond(self, game, reward, pi1, rng=None):
        return 2 * super().respond(game, reward, pi1)


class NamesNoAction(Broken):
    def respond(self, game, reward, pi1, rng=None):
        return super().respond(game, reward, pi1) > 0.6


class Writes(Broken):
    def respond(self, game, reward, pi1, rng=None):
        answer = super().respond(game, reward, pi1)
        reward -= reward.max()
        return answer


class Moody(Broken):
    asked: ClassVar[list[int]] = []

    def respond(self, game, reward, pi1, rng=None):
        self.asked.append(1)
        return BoltzmannFollower(len(self.asked) % 3).respond(game, reward, pi1)


class NeverListens(Broken):
    def respond(self, game, reward, pi1, rng=None):
        return super().respond(game, reward, np.full(pi1.shape, 1 / pi1.shape[1]) + 0 * pi1)


class Credulous(Broken):
    def respond(self, game, reward, pi1, rng=None):
        rows = np.maximum(pi1, 1e-12)
        return super().respond(game, np.nan_to_num(reward), rows / rows.sum(1, keepdims=True))


class Deaf(Broken):
    def respond(self, game, reward, pi1, rng=None):
        if np.ndim(reward) == 3:
            raise RuntimeError("rewards of actions are not for me")
        return super().respond(game, reward, pi1)


class Unlike(Broken):
    def answer(self, q, tolerance=0.0, rng=None):
        return BoltzmannFollower(self.beta + 1).answer(q)


class LooksAround(Broken):
    def answer(self, q, tolerance=0.0, rng=None):
        return BoltzmannFollower(self.beta).answer(q - np.where(q == q.max(), 0.5, 0))


@dataclass(frozen=True)
class Greedy(Broken):
    """An optimal follower in floats: what is worth `slack` less than the best ties with it."""

    slack: float = 1e-9

    def respond(self, game, reward, pi1, rng=None):
        q = best_responses(game, reward, pi1).q
        return q >= q.max(axis=1, keepdims=True) - self.slack


class LosesTrack(Greedy):
    """It plays the last action in each state from the fourth on."""

    def respond(self, game, reward, pi1, rng=None):
        answer = super().respond(game, reward, pi1)
        answer[3:] = np.arange(answer.shape[1]) == answer.shape[1] - 1
        return answer


class GoesByName(Broken):
    def respond(self, game, reward, pi1, rng=None):
        return BoltzmannFollower(1 + (game.states[0] == 0)).respond(game, reward, pi1)


class LivesWhereItStarts(Greedy):
    """It plays all actions in states that are never reached."""

    def respond(self, game, reward, pi1, rng=None):
        there = game.start > 0
        for _ in range(game.n_states):
            there = there | (game.kernel[there].sum(axis=(0, 1, 2)) > 0)
        return super().respond(game, reward, pi1) | ~there[:, None]


class ListensToLoudRewards(Greedy):
    def respond(self, game, reward, pi1, rng=None):
        return super().respond(game, np.where(np.abs(reward) < 1e-5, 0, reward), pi1)


class TakesAlong(Broken):
    def __reduce__(self):
        return (type(self), (self.beta + 1,))


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("follower", "promised", "broken"),
    [
        (SumsToTwo(), {}, "`respond` answers with a policy .*\n.*sums to 2"),
        (NamesNoAction(), {}, "`respond` answers with a policy .*\n.*names no action"),
        (Writes(), {}, "leaves its arguments as they are"),
        (Moody(), {}, "the same question gets the same answer"),
        (
            NeverListens(),
            {},
            "an action .*that is never played does not matter|never played|is refused",
        ),
        (Credulous(), {}, "is refused with .*\n.*it was accepted, and led to"),
        (Deaf(), {}, "RuntimeError: rewards of actions are not for me"),
        (Unlike(), {}, "`respond` is `answer`"),
        (LooksAround(), {}, "of one state alone|`respond` is `answer`"),
        (TakesAlong(), {}, "a pickled copy answers as it does"),
        (
            ProportionalFollower(lambda q: np.exp(q)),
            {},
            "a pickled copy .*\n.*(Pickling|Attribute)",
        ),
        (Broken(), {"optimal": True}, "it plays optimal actions alone\n.*(worth .* less|are none)"),
        (Broken(), {"invariant": True}, "it plays the same under λ r"),
        (Greedy(slack=1e-2), {"ties": "all"}, "by the rule 'all'|alone"),
        (Greedy(slack=0.0), {"ties": "all"}, "by the rule 'all'"),
        (Greedy(slack=1e-2), {"optimal": True}, "it plays optimal actions alone"),
        (LosesTrack(), {"optimal": True, "joint": False}, "it plays optimal actions alone"),
        (GoesByName(), {}, "neither the start nor a name matters"),
        (LivesWhereItStarts(), {}, "neither the start nor a name matters|never played"),
        pytest.param(
            ListensToLoudRewards(),
            {"invariant": True},
            "it plays the same under λ r",
            marks=pytest.mark.campaign,  # many games are asked before one is quiet enough
        ),
        (OptimalFollower("last"), {"ties": "first"}, "plays by the rule 'first'"),
        (OptimalFollower("mix"), {"ties": "all"}, "plays by the rule 'all'"),
        (OptimalFollower("mix"), {"ties": "random"}, "it plays one in each state"),
        (OptimalFollower("random"), {"ties": "random"}, "the same question gets the same answer"),
    ],
    ids=lambda x: str(x)[:30],
)
def test_a_follower_that_breaks_a_promise_is_found(follower, promised, broken):
    with pytest.raises(AssertionError, match=broken) as failure:
        check_follower(follower, **promised)
    failure.match("breaks a promise of Follower")
    report = "\n".join(failure.value.__notes__)
    assert "game=TwoAgentMDP(" in report
    assert "(reward)" in report


# Broken families


@dataclass(frozen=True)
class OtherFamily:
    """The Boltzmann family, with one thing wrong."""

    scales: bool = True
    bounds: tuple[float, float] = (0.0, 5.0)
    parameter: str = "beta"
    shift: float = 0.0
    tilt: float = 0.0
    mean: bool = False
    strict: bool = True
    played: float = 0.0

    def log_answer(self, q, parameter, tolerance=0.0):
        tilted = q + self.tilt * np.arange(q.shape[1]) + (q.mean() if self.mean else 0) * q
        return BoltzmannFamily().log_answer(tilted, parameter, tolerance) + self.shift

    def follower(self, parameter):
        if self.strict and not 0 <= parameter <= 5:
            raise ValueError(f"beta is {parameter}")
        return BoltzmannFollower(abs(parameter) + self.played)


def test_a_family_of_ones_own_passes():
    check_family(OtherFamily())


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("family", "broken"),
    [
        (OtherFamily(scales=False), r"\(λ r \+ c, θ\) is the same follower"),
        (OtherFamily(bounds=(5.0, 0.0)), "`bounds` are the least and the largest"),
        (OtherFamily(parameter="inverse temperature"), "`parameter` is a name"),
        (OtherFamily(shift=0.1), "`log_answer` says the logarithms of distributions"),
        (OtherFamily(tilt=0.5), "the order of actions does not matter"),
        (OtherFamily(mean=True), "looks at one row alone|plays what `log_answer` says"),
        (OtherFamily(strict=False), "the parameter -1, out of bounds, is refused"),
        (OtherFamily(played=0.5), "`follower` plays what `log_answer` says"),
    ],
    ids=lambda x: str(x)[-40:],
)
def test_a_family_that_breaks_a_promise_is_found(family, broken):
    with pytest.raises(AssertionError, match=broken) as failure:
        check_family(family)
    failure.match("breaks a promise of FollowerFamily")


# Broken learners


@dataclass(frozen=True, eq=False)
class Plain(Learner):
    """A learner that commits to the first action wherever it was answered the first, else mixes."""

    game: object
    history: tuple = ()

    def ask(self):
        n_states, n_actions, _ = self.game.shape
        policy = uniform_policy(n_states, n_actions)
        if self.history:
            policy[self.history[-1].pi2[:, 0] > 0] = np.eye(n_actions)[0]
        return policy

    def tell(self, response, *, pi1=None):
        seen = observe(self.game, self.ask() if pi1 is None else pi1, response)
        return replace(self, history=(*self.history, seen))


class Drifts(Plain):
    asked: ClassVar[list[int]] = []

    def ask(self):
        self.asked.append(1)
        n_states, n_actions, _ = self.game.shape
        return np.eye(n_actions)[[len(self.asked) % n_actions] * n_states]


class KeepsItself(Plain):
    def tell(self, response, *, pi1=None):
        new = super().tell(response, pi1=pi1)
        object.__setattr__(self, "history", new.history)
        return self


class TellsTheOld(Plain):
    def tell(self, response, *, pi1=None):
        new = super().tell(response, pi1=pi1)
        object.__setattr__(self, "history", new.history)
        return new


class Forgets(Plain):
    def tell(self, response, *, pi1=None):
        return replace(self, history=super().tell(response, pi1=pi1).history[-2:])


class RewritesHistory(Plain):
    def tell(self, response, *, pi1=None):
        new = super().tell(response, pi1=pi1)
        return replace(new, history=new.history[::-1])


class HearsItself(Plain):
    def tell(self, response, *, pi1=None):
        return super().tell(response)


@dataclass(frozen=True, eq=False)
class LendsItsArray(Plain):
    def __post_init__(self):
        object.__setattr__(self, "lent", super().ask())

    def ask(self):
        return self.lent


class TrustsAll(Plain):
    def tell(self, response, *, pi1=None):
        rows = np.nan_to_num(response) + 1e-9
        return super().tell(rows / rows.sum(axis=1, keepdims=True), pi1=pi1)


class GivesUp(Plain):
    def ask(self):
        if len({seen.pi2.tobytes() for seen in self.history}) > 1:
            raise RuntimeError("answers contradict each other")
        return super().ask()


class KnowsTooMuch(Plain):
    def estimate(self):
        return np.zeros(self.game.n_states + 1) if self.history else None


class PlansOtherwise(Plain):
    def plan(self):
        return np.eye(self.game.shape[1])[np.zeros(self.game.n_states, dtype=int)]


class CopiesBadly(Plain):
    def __reduce__(self):
        return (type(self), (self.game,))


class CountsCalls(Plain):
    told: ClassVar[list[int]] = []

    def facts(self):
        self.told.append(1)
        return {"calls": len(self.told)}


@dataclass(frozen=True, eq=False)
class Remembers(Plain):
    made: ClassVar[list[int]] = []

    def __post_init__(self):
        if not self.history:
            self.made.append(1)
        object.__setattr__(self, "born", len(self.made))

    def ask(self):
        chosen = np.full(self.game.n_states, self.born % self.game.shape[1])
        return np.eye(self.game.shape[1])[chosen]

    def tell(self, response, *, pi1=None):
        new = super().tell(response, pi1=pi1)
        object.__setattr__(new, "born", self.born)
        return new


class SeesHalf(Plain):
    """It keeps the whole optimal set as an even mixture."""

    def tell(self, response, *, pi1=None):
        if response.dtype == bool:
            response = response / response.sum(axis=1, keepdims=True)
        return super().tell(response, pi1=pi1)


class Thinks(Plain):
    """Its estimate is a share of the Chebyshev centre."""

    share: ClassVar[float] = 1.0

    def estimate(self):
        feasible = FeasibleRewards(self.game)
        for seen in self.history:
            feasible = feasible.add(seen)
        centre = feasible.chebyshev_centre()
        return None if centre.constant else self.share * centre.centre


class ThinksTheOpposite(Thinks):
    share = -1.0


class ThinksNothing(Plain):
    def estimate(self):
        return np.zeros(self.game.n_states)


@pytest.mark.usefixtures("few")
def test_a_learner_of_ones_own_passes():
    check_learner(Plain, trajectories=False)
    check_learner(Thinks, trajectories=False, explains=True)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("make", "options", "broken"),
    [
        (SeesHalf, {"follower": OptimalFollower("all")}, "is no longer the whole set"),
        pytest.param(
            ThinksTheOpposite,
            {"explains": True},
            "is no constant, and explains what it was told",
            marks=pytest.mark.campaign,
        ),
        (ThinksNothing, {"explains": True}, "is no constant, and explains what it was told"),
    ],
)
def test_a_learner_that_says_what_it_was_not_told_is_found(make, options, broken):
    with pytest.raises(AssertionError, match=broken):
        check_learner(make, trajectories=False, **options)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("make", "broken"),
    [
        (Drifts, "."),
        (KeepsItself, "it returned itself"),
        (TellsTheOld, "leaves the learner as it was|one entry of history more"),
        (Forgets, "one entry of history more"),
        (RewritesHistory, "entries of before have changed|says what was committed"),
        (HearsItself, "says what was committed and answered|no commitment is refused"),
        (LendsItsArray, "what a caller does to its answer does not change it"),
        (TrustsAll, "is refused"),
        (GivesUp, "RuntimeError: answers contradict each other"),
        (KnowsTooMuch, r"`estimate` is a finite reward \(S,\) or \(S, A, B\), or None"),
        (PlansOtherwise, "it asks for its plan unless `fixed`"),
        (CopiesBadly, "a pickled copy"),
        (CountsCalls, "`facts` are numbers by name, the same twice"),
        pytest.param(Remembers, "asks the same", marks=pytest.mark.campaign),
        (lambda game: "a learner", "it is str"),
        (lambda game: Plain(game).tell(uniform_policy(game.n_states, game.shape[2])), "begins"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_learner_that_breaks_a_promise_is_found(make, broken):
    with pytest.raises(AssertionError, match=broken) as failure:
        check_learner(make, trajectories=False)
    failure.match("breaks a promise of Learner")
    if "what is done twice" not in str(failure.value):  # else it fails in no way twice
        assert "state.make(" in "\n".join(failure.value.__notes__)


# Shrinking


def test_a_smaller_instance_is_not_looked_for_without_end(monkeypatch):
    monkeypatch.setattr(suites, "SHRINKING", 5)
    promises, failed = Promises("Number", 1), []

    @settings(max_examples=200, database=None, phases=[Phase.generate, Phase.shrink])
    @given(numbers=st.lists(st.integers(), max_size=30))
    def suite(numbers):
        promises.begin()
        failed.extend([0] * bool(failed))
        with promises.keeps("its sum is small"):
            if sum(map(abs, numbers)) > 1003:
                failed.extend([0] * (not failed))
                raise AssertionError("it is not")

    with pytest.raises(AssertionError, match="its sum is small") as failure:
        promises.run(suite)
    assert "numbers=" in "".join(failure.value.__notes__)
    assert len(failed) <= 7  # the first, so many, and the last again


# Arguments


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_follower("optimal"), "follower is 'optimal'; allowed a response model"),
        (lambda: check_follower(Broken(), ties="best"), "ties is 'best'; allowed"),
        (lambda: check_follower(Broken(), random=1), "random is 1; allowed True, False"),
        (lambda: check_follower(Broken(), invariant="no"), "invariant is 'no'"),
        (lambda: check_family(Broken()), "family is .*; allowed a family of followers"),
        (lambda: check_follower(Broken(), games=3), "games is 3; allowed SearchStrategy"),
        (lambda: check_learner(Plain, steps=0), "steps is 0; allowed a whole number ≥ 1"),
        (lambda: check_learner(Plain, trajectories=None), "trajectories is None"),
        (lambda: check_learner("InteractiveIRL"), "make is 'InteractiveIRL'; allowed a function"),
        (lambda: check_learner(Plain, follower=3), "follower is 3; allowed a response model"),
    ],
)
def test_arguments_of_suites_are_checked_at_once(call, message):
    with pytest.raises(InvalidArgument, match=message):
        call()
