"""The suites for solvers, domains and choices: ours pass, and who breaks a promise is told which.

What is solved by which solver, and what is chosen by which choice, is tried here alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from depth import share, under, unshrunk

from iirl_opt.errors import InvalidArgument
from iirl_opt.learn import (
    AnalyticCentre,
    ChebyshevCentre,
    Chosen,
    HitAndRunMean,
    MaximumEntropy,
    MaxMargin,
    MeanOfVertices,
    RandomReward,
    RandomVertex,
)
from iirl_opt.rewards import RewardBox, RewardSimplex
from iirl_opt.rewards.domains import CentredBox
from iirl_opt.solver import Clarabel, HiGHS, Named
from iirl_opt.testing import check_reward_choice, check_reward_domain, check_solver

few, unlucky = under(share(0.15)), under(unshrunk(10))

# Ours

BY_HIGHS = ("linear", "quadratic", "mixed-integer")
SOLVERS = [
    (HiGHS(), BY_HIGHS, HiGHS(time_limit=0)),
    (HiGHS(presolve=False), BY_HIGHS, HiGHS(time_limit=0.1)),
    *(
        (HiGHS(method, presolve=presolve), BY_HIGHS, None)
        for method in ("simplex", "ipm", "pdlp")
        for presolve in (True, False)
    ),
    (Clarabel(), ("linear", "quadratic", "second-order", "entropy"), Clarabel(time_limit=0)),
    (Named("CLARABEL"), ("linear", "second-order"), Clarabel(options={"max_iter": 1})),
    (Named("SCS", {"eps": 1e-9}), ("linear", "second-order"), Named("SCS", {"max_iters": 2})),
    (Named("HIGHS"), ("linear",), Named("HIGHS", {"highs_options": {"time_limit": 0.0}})),
]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("solver", "solves", "limited"), SOLVERS, ids=lambda x: str(x)[:40])
def test_our_solvers_keep_their_promises(solver, solves, limited):
    check_solver(solver, solves=solves, limited=limited)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("domain", [RewardSimplex(), RewardBox(), RewardBox(3.0), CentredBox()])
def test_our_domains_keep_their_promises(domain):
    check_reward_domain(domain, every_class=True)


CHOICES = [
    (RandomVertex(), {"domain": RewardSimplex()}),
    (RandomVertex(joint=True), {"domain": RewardSimplex(), "joint": True}),
    (MeanOfVertices(2), {"domain": RewardSimplex()}),
    (ChebyshevCentre(RewardBox()), {"domain": RewardBox()}),
    (AnalyticCentre(), {"domain": RewardSimplex()}),
    (HitAndRunMean(10), {"domain": RewardSimplex()}),
    (MaxMargin(), {"domain": RewardBox()}),
    (MaximumEntropy(), {"explains": False}),
    (RandomReward(), {"domain": RewardSimplex(), "explains": False}),
]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("choice", "promised"), CHOICES, ids=lambda x: str(x)[:40])
def test_our_choices_keep_their_promises(choice, promised):
    check_reward_choice(choice, **promised)


# Broken solvers


@dataclass(frozen=True)
class Posing:
    """A solver by any name, with any options."""

    name: str = "HIGHS"
    options: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self):
        return dict(self.options)


class Counting(Posing):
    def arguments(self):
        calls = vars(self).setdefault("calls", [])
        calls.append(0)
        return {"highs_options": {"random_seed": len(calls)}}


class Shared(Posing):
    def arguments(self):
        return self.options


class Half(Posing):
    def __reduce__(self):
        return Posing, ()


NEVER = {"highs_options": {"time_limit": 0.0}}


@pytest.mark.parametrize(
    ("solver", "options", "broken"),
    [
        (Posing("HIGHZ"), {}, "`name` is that of a solver that cvxpy has\n  it is 'HIGHZ'"),
        (Posing(options={1: 2}), {}, "a dictionary of options by name"),
        (Counting(), {}, "is the same whenever it is asked for\n  at first .*'random_seed': 1"),
        (Shared(options=NEVER), {}, "the caller wrote into it"),
        (Half(options={"verbose": False}), {}, "a pickled copy has its name and options"),
        (Posing(options={"highs_options": {"no_such": 1}}), {}, "transport: ends with OPTIMAL"),
        (Posing(options=NEVER | {"presolve": 1}), {}, "transport: ends with OPTIMAL"),
        (Named("SCS", {"eps": 1e-2}), {}, "transport: "),
        (Named("SCS", {"max_iters": 3}), {}, "transport: ends with OPTIMAL"),
        (HiGHS(), {"solves": ["entropy"]}, "the largest entropy: ends with OPTIMAL"),
        (HiGHS(), {"limited": HiGHS()}, "what .* stops is a LIMIT, or FAILED"),
        (Named("HIGHS"), {"solves": BY_HIGHS}, "whole numbers without end: ends with UNBOUNDED"),
    ],
    ids=lambda x: str(x)[:40],
)
def test_a_broken_solver_is_told_what_it_breaks(solver, options, broken):
    if options.get("limited"):
        # It would go on for ever: a program that ends will do.
        options = {"limited": Clarabel()}
    with pytest.raises(AssertionError, match=f"(?s)breaks a promise of Solver: .*{broken}"):
        check_solver(solver, **options)


def test_a_solver_that_stops_too_early_would_be_seen_without_our_own_check(monkeypatch):
    monkeypatch.setattr("iirl_opt.solver.door.ACCEPTED_OTHER", 1e9)
    with pytest.raises(AssertionError, match=r"the optimum is .*, or the status FAILED"):
        check_solver(Named("SCS", {"eps": 1e-8}))


# Broken domains


class Domain:
    """A domain by its constraints."""

    def __init__(self, rows, name="rows"):
        self.rows, self.name = rows, name

    def constraints(self, r):
        return [c.set_label(f"{self.name} {i}") for i, c in enumerate(self.rows(r))]


class First(Domain):
    """It answers the first question again and again."""

    def constraints(self, r):
        return vars(self).setdefault("first", super().constraints(r))


class Nameless(Domain):
    def constraints(self, r):
        return self.rows(r)


class Kept(Domain):
    """Its list is its own, of each variable."""

    def constraints(self, r):
        return vars(self).setdefault("known", {}).setdefault(id(r), super().constraints(r))


class Shrinking(Domain):
    """Each question halves the box."""

    bound = 4.0

    def constraints(self, r):
        self.bound /= 2
        return [(r <= self.bound).set_label("above"), (r >= -self.bound).set_label("below")]


def box(r):
    return [r <= 1, r >= -1]


OTHER = cp.Variable(name="other")
DOMAINS = [
    (First(box), {}, "breaks a promise"),
    (Kept(box), {}, "the list is the caller's own"),
    (Nameless(box), {}, "each constraint has a name of its own\n  they are called"),
    (Shrinking(box), {}, "the same set however the reward is written|no constant"),
    (Domain(lambda r: [cp.norm(r.flatten(order="C")) >= 1]), {}, "each constraint is convex"),
    (Domain(lambda r: [cp.norm1(r) <= 1]), {}, "each constraint is linear"),
    (Domain(lambda r: [r <= OTHER, r >= -1]), {}, "they speak of other, too"),
    (Domain(lambda r: [r >= 0]), {}, "a reward that is best in a given direction\n  Unbounded"),
    (Domain(lambda r: [r >= 1, cp.sum(r) == 1]), {}, "Infeasible"),
    (Domain(lambda r: [r == 1]), {}, "it has a reward that is no constant"),
    (Domain(lambda r: [r[0] <= 1, r[0] >= 0]), {}, "Unbounded"),
    (Domain(lambda r: [*box(r), r[0] <= r[-1]]), {"every_class": True}, "affine image"),
    (Domain(lambda r: [r @ np.ones(3) <= 1]), {}, "a list of constraints on r, of shape"),
    (Domain(lambda r: None), {}, "a list of constraints on r, of shape .*\n  TypeError"),
    (Domain(lambda r: [r <= 1 if r.variables() else 1 / 0]), {}, "as numbers\n  ZeroDivision"),
]


@pytest.mark.usefixtures("unlucky")
@pytest.mark.parametrize(("domain", "options", "broken"), DOMAINS)
def test_a_broken_domain_is_told_what_it_breaks(domain, options, broken):
    with pytest.raises(AssertionError, match=rf"(?s)breaks a promise.*{broken}|{broken}"):
        check_reward_domain(domain, pickles=False, **options)


@pytest.mark.usefixtures("few")
def test_a_domain_need_not_be_linear_or_bounded():
    check_reward_domain(
        Domain(lambda r: [cp.norm(r, "fro" if r.ndim == 2 else 2) <= 1]),
        linear=False,
        every_class=True,
        pickles=False,
    )
    check_reward_domain(Domain(lambda r: [r >= 0]), bounded=False, every_class=True, pickles=False)


# Broken choices


@dataclass(frozen=True)
class Choice:
    """A choice that breaks what it is told to."""

    how: str
    good: RandomVertex = RandomVertex()  # noqa: RUF009 (frozen)

    def choose(self, feasible, rng, solver=None):
        found = self.good.choose(feasible, rng, solver)
        if self.how == "nothing":
            return None
        if self.how == "something":
            found = found or Chosen(np.arange(feasible.game.n_states) + 0.0)
        if found is None:
            return None
        reward = found.reward
        if self.how == "opposite":
            reward = 1 - reward
        elif self.how == "high and opposite":
            reward = 1e7 - reward
        elif self.how == "far and opposite":
            reward = 1e4 - reward
        elif self.how == "nearly constant":
            reward = np.ones(reward.size) + 1e-9 * np.arange(reward.size)
        elif self.how == "constant":
            reward = np.ones(feasible.game.n_states)
        elif self.how == "wide":
            reward = np.broadcast_to(reward[:, None, None], feasible.game.shape)
        elif self.how == "nan":
            reward = np.where(reward == reward.max(), np.nan, reward)
        elif self.how == "global":
            reward = reward * (1 + np.random.rand())  # noqa: NPY002
        elif self.how == "fresh":
            reward = reward * (1 + np.random.default_rng().random())
        elif self.how == "elsewhere":
            reward = 5 + reward
        elif self.how == "array" and feasible.game.n_states > 2:
            return reward
        elif self.how == "raises" and feasible.game.n_states > 2:
            raise KeyError(self.how)
        elif self.how == "writes" and feasible.observations:
            played = feasible.observations[0].pi1
            played.flags.writeable = True
            played[0] = np.roll(played[0], 1) * 0.5
        return Chosen(reward)


class Stubborn(Choice):
    def choose(self, feasible, rng):
        return super().choose(feasible, rng)


@pytest.mark.usefixtures("unlucky")
@pytest.mark.parametrize(
    ("choice", "broken"),
    [
        (Choice("nothing"), "it finds a reward where what was seen tells two states apart"),
        (Choice("something"), "it is None where only constants explain what was seen"),
        (Choice("opposite"), "its reward explains what was seen"),
        (Choice("constant"), "no constant"),
        (Choice("nearly constant"), "no constant"),
        (Choice("high and opposite"), "no constant"),
        (Choice("far and opposite"), "its reward explains what was seen"),
        (Choice("wide"), r"its reward is a finite array of shape \(2,\)"),
        (Choice("nan"), "its reward is a finite array"),
        (Choice("global"), r"at first: .*\n  then: "),
        (Choice("fresh"), r"at first: .*\n  then: "),
        (Choice("writes"), "its reward explains what was seen\n  InvalidPolicy"),
        (Stubborn("no"), "it takes a solver"),
        (Choice("array"), r"`choose` answers with a `Chosen`, or None\n  it answers array"),
        (Choice("raises"), r"`choose` answers with a `Chosen`, or None\n  KeyError"),
    ],
)
def test_a_broken_choice_is_told_what_it_breaks(choice, broken):
    with pytest.raises(AssertionError, match=rf"(?s)breaks a promise of RewardChoice: .*{broken}"):
        check_reward_choice(choice)


@pytest.mark.usefixtures("unlucky")
def test_a_choice_outside_its_domain_is_told_so():
    with pytest.raises(AssertionError, match=r"its reward is in RewardSimplex\(\)"):
        check_reward_choice(Choice("elsewhere"), domain=RewardSimplex())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_solver("HIGHS"), "solver is 'HIGHS'; allowed a solver such as"),
        (lambda: check_solver(HiGHS(), solves=["conic"]), r"solves\[0\] is 'conic'; allowed"),
        (lambda: check_solver(HiGHS(), tolerance=0), "tolerance is 0"),
        (lambda: check_reward_domain(3), "domain is 3; allowed a domain"),
        (lambda: check_reward_domain(RewardBox(), linear=1), "linear is 1; allowed"),
        (lambda: check_reward_choice(None), "choice is None; allowed a choice"),
        (lambda: check_reward_choice(RandomVertex(), explains=None), "explains is None"),
        (lambda: check_reward_choice(RandomVertex(), games=3), "games is 3; allowed Search"),
    ],
)
def test_what_is_no_such_object_or_option_is_refused(call, message):
    with pytest.raises(InvalidArgument, match=message):
        call()
