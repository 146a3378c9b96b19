"""Commitments that are safe whatever the reward is: minimax regret.

Of the rewards F that explain what was seen, none is ruled out. A commitment that is best for a
guess may lose much under another, and to maximise the least *value* over F says nothing: constants
are in F, so no guarantee exceeds what they are worth. The *regret* of a commitment c under r,
``V*(r) − W(c, r)`` with W the best that a response to c earns, is the right measure:

    min over c of max over r in F of [V*(r) − W(c, r)]

in the simplex, at home or in another game over the same states. Leader and follower share the
reward, so the follower's ties do not matter.

Two problems alternate. The outer one has finitely many rewards and finds the commitment that is
best for all of them (`iirl_opt.commitment.minimax_program`); its *bound* is a lower bound. The
inner one finds the worst reward of this commitment (`iirl_opt.rewards.elsewhere`), whose upper
bound is one for the minimax regret, and its reward joins the others. They end where the two meet.

Deterministic commitments are searched to the end; a stochastic one often has less worst regret. So
beside the best deterministic one stand a stochastic one, found by a descent and bounded like any
other, and a lower bound for all commitments, by arithmetic.

Source: ours; constraint generation after Regan & Boutilier 2009.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from iirl_opt.certificate import Check
from iirl_opt.checks import POSITIVE, RNG, TIME_LIMIT, checked, one_of, optional, whole
from iirl_opt.commitment.enumeration import LIMIT
from iirl_opt.commitment.minimax_mixed import Descent
from iirl_opt.commitment.minimax_program import (
    AllCommitments,
    Floor,
    RegretOfFinitely,
    floor_value,
    least_visits,
)
from iirl_opt.errors import Interrupted, InvalidArgument
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.rewards.elsewhere import RegretElsewhere, regret_elsewhere
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards
from iirl_opt.rewards.regret_products import most_visits
from iirl_opt.rewards.regret_rows import onto_simplex, same_rewards
from iirl_opt.rewards.regret_witness import largest_slack, off_simplex
from iirl_opt.solver import HiGHS, Solved
from iirl_opt.solver.records import HIGHS

__all__ = ["MinimaxRegret", "minimax_regret"]

Array = NDArray[np.float64]

# Deterministic commitments up to which all are looked at, in place of a mixed-integer program.
LOOKED_AT = 20_000

# Vertices at the start, beside their mean.
VERTICES = 4

By = Literal["choose", "enumerate", "program"]


@dataclass(frozen=True, eq=False)
class MinimaxRegret(Tabular):
    """Commitments whose worst regret over a set of rewards is small, and bounds for all others.

    Attributes
    ----------
    worst : of the best deterministic commitment, `policy`: its worst regret, with bounds.
    lower : every deterministic commitment has a worst regret of at least this: by arithmetic where
        all were looked at, otherwise a solver's bound.
    mixed : of the best commitment that was found, stochastic or not, `mixed_policy`.
    floor : a lower bound for all commitments, by arithmetic, with its proof.
    rewards : (K, S), those that the lower bounds speak of.
    looked_at : whether all deterministic commitments were looked at.
    solved : the record of the last program for `lower`, if there was one.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay], [go]], [[stay], [go]]], discount=0.5)
    >>> found = minimax_regret(iirl.FeasibleRewards(game))
    >>> found.policy.tolist(), round(found.upper, 6), found.exact  # stay where you are
    ([[1.0, 0.0], [0.0, 1.0]], 0.5, True)
    >>> round(found.mixed.upper, 6), found.floor.value <= found.mixed.upper
    (0.5, True)
    """

    worst: RegretElsewhere
    lower: float
    mixed: RegretElsewhere
    floor: Floor
    rewards: Array
    looked_at: bool
    solved: Solved | None = None

    @property
    def policy(self) -> Array:
        """The deterministic commitment, (S, A)."""
        return self.worst.pi1

    @property
    def upper(self) -> float:
        """The worst regret of `policy` is at most this."""
        return self.worst.upper

    @property
    def mixed_policy(self) -> Array:
        """The commitment of `mixed`, (S, A)."""
        return self.mixed.pi1

    @property
    def exact(self) -> bool:
        """Whether no deterministic commitment has less worst regret than `policy`."""
        return self.upper - self.lower <= self.worst.tolerance

    def __repr__(self) -> str:
        mine = self.looked_at and self.worst.by_arithmetic
        word = "" if mine else " by the solver's word"
        return (
            f"MinimaxRegret(deterministic {self.lower:.6g} … {self.upper:.6g}{word}, "
            f"all {self.floor.value:.6g} … {self.mixed.upper:.6g})"
        )

    def table(self) -> FactTable:
        """Return two rows: among deterministic commitments and among all, with their bounds."""
        parts = [
            ("deterministic", self.lower, self.looked_at, self.worst),
            ("all", self.floor.value, True, self.mixed),
        ]
        rows = [
            {
                "among": among,
                "lower": lower,
                "lower by arithmetic": ours,
                "upper": found.upper,
                "upper by arithmetic": found.by_arithmetic,
                "regret met": found.lower,
            }
            for among, lower, ours, found in parts
        ]
        return FactTable(rows, repr(self))

    @checked(tolerance=POSITIVE)
    def check(self, tolerance: float | None = None) -> Check:
        """Prove again, without a solver, what is not a solver's word.

        The proofs of `worst` and `mixed`, that the rewards are feasible, the floor, and `lower`
        where all deterministic commitments were looked at.

        Parameters
        ----------
        tolerance : in the unit of values; by default that of `worst`.

        **Cost** arithmetic; that of looking at all commitments once a reward.
        """
        allowed = self.worst.tolerance if tolerance is None else tolerance
        residuals: dict[str, float] = {}
        for name, part in (("deterministic", self.worst), ("mixed", self.mixed)):
            known = part.check(allowed).residuals
            residuals |= {f"{name}: {condition}": size for condition, size in known.items()}
        off = [largest_slack(self.worst.feasible, reward) for reward in self.rewards]
        residuals["the rewards are feasible"] = max(off)
        residuals["the rewards are in the simplex"] = max(map(off_simplex, self.rewards))
        game, proof = self.worst.game, self.floor
        box = least_visits(game), most_visits(game)
        again = floor_value(game, self.rewards, proof.weights, proof.linear, box)
        residuals["the floor is a bound"] = proof.value - max(again, 0.0)
        if self.looked_at:
            every = AllCommitments(game)
            for reward in self.rewards:
                every.add(reward)
            residuals["every commitment has this regret"] = self.lower - every.best()[1]
        return Check(residuals, allowed)


@checked(
    feasible=FEASIBLE,
    game=optional(GAME),
    by=one_of(*get_args(By)),
    rounds=whole(0),
    time_limit=TIME_LIMIT,
    rng=RNG,
    solver=HIGHS,
)
def minimax_regret(
    feasible: FeasibleRewards,
    game: TwoAgentMDP | None = None,
    *,
    by: By = "choose",
    rounds: int = 12,
    time_limit: float | None = None,
    rng: int | np.random.Generator | None = 0,
    solver: HiGHS | None = None,
) -> MinimaxRegret:
    """Find commitments whose regret is small under every feasible reward of the simplex.

    Parameters
    ----------
    game : where the commitment is made; that of `feasible` by default, or another one over the same
        states.
    by : how deterministic commitments are searched: ``"enumerate"`` looks at all of them,
        ``"program"`` solves a mixed-integer program; ``"choose"`` does the first up to 20,000.
    rounds : of the search for a stochastic commitment, at most; 0 for none.
    time_limit : seconds, after which the bounds so far are returned; the step that is under way
        ends first, and no program begins anew.
    rng : of the rewards at the start: a generator, or the seed of one.

    Raises
    ------
    InvalidArgument
        The game has other states, by name; the set holds trajectories; more deterministic
        commitments are to be looked at than 2,000,000.
    Interrupted
        Ctrl-C; its ``found`` is what is known by then, or None.

    **Source** ours; see the module. **Cost** a `regret_elsewhere` a round, some ten rounds, and
    as many programs or looks at all deterministic commitments.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(4, 2, 2, rng=0)
    >>> pi1 = [[1, 0]] * 4
    >>> pi2 = iirl.OptimalFollower().respond(game, truth, pi1)
    >>> known = iirl.FeasibleRewards(game).observe(pi1, pi2)
    >>> found = minimax_regret(known)
    >>> found.exact, found.floor.value <= found.mixed.upper <= found.upper
    (True, True)
    """
    where = same_rewards(feasible, feasible.game if game is None else game)
    search = _Search(feasible, where, by, time_limit, np.random.default_rng(rng), solver)
    try:
        search.deterministic()
        search.stochastic(rounds)
    except Interrupted as stop:
        stop.found = search.found()
        raise
    found = search.found()
    assert found is not None
    return found


class _Search:
    """The rounds of both problems, and what is known so far."""

    def __init__(
        self,
        feasible: FeasibleRewards,
        game: TwoAgentMDP,
        by: By,
        time_limit: float | None,
        rng: np.random.Generator,
        solver: HiGHS | None,
    ) -> None:
        self.feasible, self.game, self.solver, self.rng = feasible, game, solver, rng
        self._ends = None if time_limit is None else time.perf_counter() + time_limit
        count = game.n_leader_actions**game.n_states
        if by == "enumerate" and count > LIMIT:
            allowed = f"at most {LIMIT} commitments, or 'program'"
            raise InvalidArgument("by", f"would look at {count} commitments", allowed, by)
        looks = by == "enumerate" or (by == "choose" and count <= LOOKED_AT)
        self.every = AllCommitments(game) if looks else None
        self.rewards: list[Array] = []
        self.lower = 0.0
        self.worst: RegretElsewhere | None = None
        self.mixed: RegretElsewhere | None = None
        self.solved: Solved | None = None
        corners = [
            feasible.maximise(rng.uniform(-1, 1, game.n_states), solver=solver).reward
            for _ in range(VERTICES)
        ]
        for reward in (np.mean(corners, axis=0), *corners):
            self.add(reward)

    @property
    def left(self) -> float | None:
        """Seconds until the end, at least zero."""
        return None if self._ends is None else max(self._ends - time.perf_counter(), 0.0)

    def add(self, reward: Array) -> None:
        """Take a reward into the outer problem."""
        self.rewards.append(onto_simplex(reward))
        if self.every is not None:
            self.every.add(self.rewards[-1])

    def look(self, policy: Array) -> RegretElsewhere:
        """Solve the inner problem for a commitment, whose reward joins the others."""
        found = regret_elsewhere(
            self.feasible, self.game, policy, time_limit=self.left, rng=self.rng, solver=self.solver
        )
        if self.mixed is None or found.upper < self.mixed.upper:
            self.mixed = found
        return found

    def deterministic(self) -> None:
        """Alternate until both bounds meet, the time is up, or no new reward or policy comes."""
        looked: set[bytes] = set()
        while True:
            policy, bound = self._outer()
            self.lower = max(self.lower, bound)
            if self.worst is not None and self.worst.upper <= self.lower + self.worst.tolerance:
                return
            if policy.tobytes() in looked:  # its worst reward is in already, up to rounding
                return
            looked.add(policy.tobytes())
            found = self.look(policy)
            if self.worst is None or found.upper < self.worst.upper:
                self.worst = found
            met = self.worst.upper <= self.lower + found.tolerance
            if met or found.lower <= bound + found.tolerance / 2 or self.left == 0.0:
                return
            self.add(found.reward)

    def _outer(self) -> tuple[Array, float]:
        """Return a deterministic commitment that is good for all rewards so far, and a bound."""
        if self.every is not None:
            return self.every.best()
        model = RegretOfFinitely(self.game, np.array(self.rewards))
        policy, bound, self.solved = model.best(self.solver, self.left)
        if policy is None:
            floor, mixed = model.floor(self.solver)
            guess = np.ones(self.game.shape[:2]) if mixed is None else mixed
            policy = deterministic_policy(guess.argmax(axis=1), self.game.n_leader_actions)
            bound = max(bound, floor.value)
        return policy, bound

    def stochastic(self, rounds: int) -> None:
        """Descend from the best commitment so far, or the linear program's, while bounds fall."""
        assert self.mixed is not None
        policy = self.mixed.pi1
        for _ in range(rounds):
            if self.left == 0.0:
                return
            rewards = np.array(self.rewards)
            floor, guess = RegretOfFinitely(self.game, rewards).floor(self.solver)
            if self.mixed.upper <= floor.value + self.mixed.tolerance:
                return
            descent = Descent(self.game, rewards, self.solver)
            starts = [policy] if guess is None else [policy, guess]
            policy, worst = min(map(descent.lowered, starts), key=lambda found: found[1])
            if worst >= self.mixed.upper - self.mixed.tolerance:
                return
            self.rewards.append(onto_simplex(self.look(policy).reward))

    def found(self) -> MinimaxRegret | None:
        """Return what is known, with a floor; None before there is a commitment."""
        if self.worst is None or self.mixed is None:
            return None
        rewards = np.array(self.rewards)
        floor, _ = RegretOfFinitely(self.game, rewards).floor(self.solver)
        lower = min(max(self.lower, floor.value), self.worst.upper)
        looked_at = self.every is not None
        return MinimaxRegret(self.worst, lower, self.mixed, floor, rewards, looked_at, self.solved)
