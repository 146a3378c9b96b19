"""What a domain of rewards promises (`iirl_opt.rewards.RewardDomain`), tried on one of yours."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import checked
from iirl_opt.rewards.domains import DOMAIN, RewardDomain
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.solver.door import solve
from iirl_opt.solver.export import linear_rows
from iirl_opt.solver.records import Clarabel
from iirl_opt.testing.conformance.promises import Promises, agree, flags, suite_settings
from iirl_opt.testing.distributions import given, st
from iirl_opt.testing.models import games as any_games
from iirl_opt.testing.partners import observations

__all__ = ["check_reward_domain", "violations_of"]

Array = NDArray[np.float64]

# Violations up to this share of one plus the reward's size are rounding.
NEAR = 1e-6


@checked(domain=DOMAIN)
def check_reward_domain(
    domain: RewardDomain,
    *,
    linear: bool = True,
    bounded: bool = True,
    every_class: bool = False,
    joint: bool = True,
    pickles: bool = True,
) -> None:
    """Try what a domain of rewards promises on small games; fail with the promise that broke.

    Every domain promises: a list of convex constraints on the reward that it is given and nothing
    else, each with a name of its own (``set_label``), in a list that is the caller's own; the same
    set whenever it is asked, whether the reward is a variable, a number or an affine expression; a
    reward that is no constant, since constants say nothing; rewards found in it are in it.

    Parameters
    ----------
    domain : any object with the method ``constraints`` of the protocol `RewardDomain`.
    linear : whether its constraints are linear, as ``chebyshev_centre`` and `sample` need.
    bounded : whether no linear objective grows for ever in it.
    every_class : whether every reward that is no constant has a positive affine image λ r + c in
        it, λ > 0, so that nothing is lost by looking there.
    joint : whether it takes rewards of states and actions, (S, A·B), beside those of states.
    pickles : whether it can be pickled, as runs in several processes need.

    Raises
    ------
    AssertionError
        A promise is broken: names it, what was found, and the instance.

    **Cost** some five small programs an example.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> check_reward_domain(iirl.rewards.RewardSimplex(), every_class=True)
    """
    __tracebackhide__ = True
    flags(linear=linear, bounded=bounded, every_class=every_class, joint=joint, pickles=pickles)
    suite = _DomainSuite(domain, linear, bounded, every_class, joint)
    if pickles:
        with suite.promises.keeps("a pickled copy says what it says"):
            copy = pickle.loads(pickle.dumps(domain))
            if (found := _labels(copy, 3)) != _labels(domain, 3):
                raise AssertionError(f"it has the constraints {found}")
    tried = given(data=st.data())(suite.try_instance)
    suite.promises.run(suite_settings()(tried))


def _labels(domain: RewardDomain, n: int) -> list[str]:
    return [str(c.label) for c in domain.constraints(cp.Variable(n))]


def violations_of(domain: RewardDomain, reward: Any) -> Array:
    """Return the largest violation of each constraint of a domain by numbers, or an expression."""
    rows = domain.constraints(cp.Constant(reward) if isinstance(reward, np.ndarray) else reward)
    return np.array([float(np.max(np.abs(c.violation()), initial=0.0)) for c in rows])


@dataclass(frozen=True)
class _DomainSuite:
    """The promises of one domain, with the options of `check_reward_domain`."""

    domain: RewardDomain
    linear: bool
    bounded: bool
    every_class: bool
    joint: bool

    @cached_property
    def promises(self) -> Promises:
        return Promises("RewardDomain", self.domain)

    def try_instance(self, data: st.DataObject) -> None:
        """Try all promises for rewards of one shape, at one reward and in one direction."""
        __tracebackhide__ = True
        self.promises.begin()
        shapes: list[tuple[int, ...]] = [(2,), (3,), (4,)] + [(2, 2), (3, 4)] * self.joint
        shape = data.draw(st.sampled_from(shapes), label="shape")
        whole = st.lists(
            st.integers(-3, 3), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))
        )
        reward = np.array(data.draw(whole, label="reward"), dtype=float).reshape(shape)
        direction = np.array(data.draw(whole, label="direction"), dtype=float).reshape(shape)
        self._says_what_it_is(shape)
        self._is_a_set(reward)
        self._is_a_set(100 * reward + 50)
        found = self._has_rewards(direction)
        if self.every_class and np.ptp(reward) > 0:
            self._meets(reward)
        if len(shape) == 1:
            self._is_looked_in(found, direction, data)

    def _says_what_it_is(self, shape: tuple[int, ...]) -> None:
        __tracebackhide__ = True
        r = cp.Variable(shape, name="r")
        with self.promises.keeps(
            f"`constraints(r)` is a list of constraints on r, of shape {shape}"
        ):
            rows = self.domain.constraints(r)
            if not isinstance(rows, list) or not all(isinstance(c, cp.Constraint) for c in rows):
                raise AssertionError(f"it is {rows!r}")
            if strange := {v.name() for c in rows for v in c.variables()} - {"r"}:
                raise AssertionError(f"they speak of {', '.join(sorted(strange))}, too")
        with self.promises.keeps("each constraint is convex"):
            if bent := [str(c) for c in rows if not c.is_dcp()]:
                raise AssertionError(f"{bent[0]} is not")
        if self.linear:
            with self.promises.keeps("each constraint is linear"):
                linear_rows(rows, r)
        with self.promises.keeps("each constraint has a name of its own"):
            names = [c.label for c in rows]
            if None in names or len(set(names)) < len(names):
                raise AssertionError(f"they are called {names}")
        with self.promises.keeps("the list is the caller's own"):
            rows.clear()
            if [c.label for c in self.domain.constraints(r)] != names:
                raise AssertionError("what the caller took away is gone")

    def _is_a_set(self, reward: Array) -> None:
        """Try that whether a reward is in the set depends on nothing but the reward."""
        __tracebackhide__ = True
        r, half = cp.Variable(reward.shape, name="r"), cp.Variable(reward.shape, name="half")
        r.value, half.value = reward, reward / 2
        written = {"r": r, "half r + half r": half + half, "2 r/2": 2 * half}
        with self.promises.keeps("a reward may be given as numbers"):
            first = violations_of(self.domain, reward)
        for how, expression in written.items():
            with self.promises.keeps("the same set however the reward is written"):
                agree(first, violations_of(self.domain, expression), ("as numbers", how), NEAR)

    def _has_rewards(self, direction: Array) -> Array:
        """Try that the set has rewards that are no constants, and return one far in a direction."""
        __tracebackhide__ = True
        apart = np.arange(direction.size, dtype=float).reshape(direction.shape)
        ends = []
        for goal in (direction, apart - apart.mean(), apart.mean() - apart):
            r = cp.Variable(direction.shape, name="r")
            rows = self.domain.constraints(r)
            limits = [] if self.bounded else [r <= 100, r >= -100]
            with self.promises.keeps("it has a reward that is best in a given direction"):
                aim = cp.Maximize(cp.sum(cp.multiply(goal, r)))
                solve(cp.Problem(aim, rows + limits), None if self.linear else Clarabel())
            point = np.array(r.value)
            with self.promises.keeps("what is found in it is in it"):
                off = violations_of(self.domain, point)
                if off.max(initial=0.0) > NEAR * (1 + np.abs(point).max()):
                    raise AssertionError(f"{point} is found, and violates it by {off}")
            ends.append(point)
        with self.promises.keeps("it has a reward that is no constant"):
            if all(np.ptp(point) <= NEAR * (1 + np.abs(point).max()) for point in ends):
                raise AssertionError(f"the best for three objectives are {ends}")
        return ends[0]

    def _meets(self, reward: Array) -> None:
        __tracebackhide__ = True
        with self.promises.keeps("every reward has a positive affine image in it"):
            scale, shift = cp.Variable(nonneg=True), cp.Variable()
            rows = self.domain.constraints(scale * reward + shift)
            solved = solve(
                cp.Problem(cp.Maximize(scale), [*rows, scale <= 1]),
                None if self.linear else Clarabel(),
                throw=False,
            )
            if solved.value is None or solved.value <= NEAR:
                found = "none" if solved.value is None else f"none with λ over {solved.value:g}"
                raise AssertionError(f"{reward.tolist()} has {found}")

    def _is_looked_in(self, found: Array, direction: Array, data: st.DataObject) -> None:
        """Try that sets of rewards look in it, and that their answers explain what was seen."""
        __tracebackhide__ = True
        n = len(found)
        game = data.draw(any_games(min_states=n, max_states=n), label="game")
        seen = data.draw(observations(game, reward=found), label="observation")
        feasible = FeasibleRewards(game).add(seen)
        solver = None if self.linear else Clarabel()
        looks: dict[str, Callable[[], Array]] = {}
        if self.bounded:
            looks["maximise"] = lambda: (
                feasible.maximise(direction, domain=self.domain, solver=solver).reward
            )
        if self.linear and self.bounded:
            looks["chebyshev_centre"] = lambda: feasible.chebyshev_centre(domain=self.domain).centre
        for method in [data.draw(st.sampled_from(sorted(looks)), label="method")] if looks else []:
            look = looks[method]
            with self.promises.keeps(f"`FeasibleRewards.{method}` finds a reward in it"):
                point = look()
                off = violations_of(self.domain, point)
                if off.max(initial=0.0) > NEAR * (1 + np.abs(point).max()):
                    raise AssertionError(f"{point} is found, and violates it by {off}")
