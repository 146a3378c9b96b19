"""Answers by cuts, in the form of the lifted program.

A domain and the explicit rows of episodes become a `CutProgram` where the domain has plain linear
rows. The vertex that it finds is lifted: values ``V_t = (I − γ P_t)^{-1} r`` and multipliers of the
lifted rows are made from it by arithmetic, and its residuals are those of the lifted rows. So the
record is that of the lifted program, and an answer that does not satisfy that one is none; one that
barely does gives way to what the lifted program finds, if that finds anything.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from iirl_opt.rewards.cuts import CutProgram, Point
from iirl_opt.rewards.domains import RewardBox, RewardDomain, RewardSimplex, domain_rows
from iirl_opt.rewards.explicit_rows import Block
from iirl_opt.rewards.sets import RewardSolution
from iirl_opt.solver import HiGHS, Residuals, Solved, Status
from iirl_opt.solver.linear import LinearProgram, read_linear
from iirl_opt.solver.program import ACCEPTED, Program

__all__ = ["CutSearch"]

Array = NDArray[np.float64]

# Beyond these relative residuals the lifted program is asked: rounds by cuts are not judged one by
# one, and it can do better. Where it fails, an answer that `solve` would accept is one still.
SURE = 1e-7


class Cut(NamedTuple):
    """An answer by cuts.

    Attributes
    ----------
    solution : it, with residuals that `solve` accepts.
    sure : whether the lifted program need not be asked.
    """

    solution: RewardSolution
    sure: bool


class CutSearch(NamedTuple):
    """A set of state rewards within a plain domain, whose programs are solved by cuts.

    Attributes
    ----------
    program : the program by cuts.
    names : the number of each block's episode, from 1.
    compile_seconds : what reading the domain took.
    """

    program: CutProgram
    names: list[int]
    compile_seconds: float

    @classmethod
    def of(
        cls,
        blocks: list[Block],
        names: list[int],
        domain: RewardDomain,
        n_states: int,
        solver: HiGHS,
        prices: list[Array] | None,
    ) -> CutSearch | None:
        """Return the search over episodes, or None where the domain is no linear program.

        Parameters
        ----------
        prices : of a unit of slack of each block's lifted rows, where they may be violated.
        """
        began = time.perf_counter()
        if isinstance(domain, RewardSimplex | RewardBox):
            plain, reward = _read_own(domain, n_states)
        else:
            plain, reward = _read_domain(domain, n_states)
        if plain is None or plain.data["bool_vars_idx"] or plain.data["int_vars_idx"]:
            return None
        program = CutProgram(blocks, plain, reward, solver, prices)
        return cls(program, names, time.perf_counter() - began)

    def maximise(self, objective: Array) -> Cut | None:
        """Return a maximum of ``objective · r``, or None where the lifted program must decide."""
        point = self.program.maximise(objective)
        if point is None:
            return None
        solved, relative = _lifted(self.program, point, objective, self.names, self.compile_seconds)
        if solved.value is None or not relative <= ACCEPTED:
            return None
        reward = point.x[self.program.reward].copy()
        return Cut(RewardSolution(reward, solved.value, solved), relative <= SURE)


def _read_domain(domain: RewardDomain, n_states: int) -> tuple[LinearProgram | None, slice]:
    """Return a domain of state rewards as a linear program, and where the reward stands in it."""
    r = cp.Variable(n_states, name="r")
    plain = read_linear(cp.Problem(cp.Minimize(cp.sum(r)), domain_rows(domain, r)))
    return plain, slice(0, 0) if plain is None else plain.columns[r]


@lru_cache(maxsize=16)
def _read_own(
    domain: RewardSimplex | RewardBox, n_states: int
) -> tuple[LinearProgram | None, slice]:
    """Return one of our own domains, which cannot change: reading takes as long as a small LP."""
    return _read_domain(domain, n_states)


class RaisedEpisode(NamedTuple):
    """An episode's part of a lifted answer.

    Attributes
    ----------
    values : V_t, shape (S,).
    on_values : multipliers of ``(I − γP_t) V = r``, shape (S,).
    on_rows : multipliers of the lifted rows.
    slack : by how much the lifted rows are violated (negative where tied ones exceed zero).
    cost : of the slack, at its prices.
    residuals : primal, dual, largest product of multiplier and slack, their sum.
    """

    values: Array
    on_values: Array
    on_rows: Array
    slack: Array
    cost: float
    residuals: tuple[float, float, float, float]

    @classmethod
    def of(cls, block: Block, r: Array, on_explicit: Array, price: Array | None) -> RaisedEpisode:
        """Return an episode's part for a reward and multipliers of the explicit rows."""
        values, on_rows = block.splu.solve(r), on_explicit / block.size
        margin, m = block.lifted @ values, block.free.shape[0]
        slack, cost, unpaid = np.zeros(margin.size), 0.0, 0.0
        if price is not None:
            slack = np.concatenate([np.maximum(-margin[:m], 0.0), -margin[m:]])
            cost = float(price @ np.abs(slack))
            margin = margin + slack
            unpaid = float(np.abs(price * np.abs(slack) - on_rows * slack).max(initial=0.0))
        off = (np.abs(block.flow @ values - r), np.abs(margin[m:]), -margin[:m])
        primal = max(float(part.max(initial=0.0)) for part in off)
        gap = cost - float(on_rows @ slack)
        at = np.flatnonzero(on_rows)
        if not at.size:
            none = (primal, 0.0, unpaid, gap)
            return cls(values, np.zeros(r.size), on_rows, slack, cost, none)
        pull = block.lifted.T @ on_rows
        on_values = block.splu.solve(pull, trans="T")
        dual = float(np.abs(block.flow.T @ on_values - pull).max())
        products = margin[at] * on_rows[at]
        worst = max(unpaid, float(np.abs(products).max()))
        whole = (primal, dual, worst, gap + float(products.sum()))
        return cls(values, on_values, on_rows, slack, cost, whole)


def _lifted(
    program: CutProgram,
    point: Point,
    objective: Array,
    names: Sequence[int],
    compile_seconds: float,
) -> tuple[Solved, float]:
    """Return the record of the lifted program that a vertex stands for, and its relative residual.

    Parameters
    ----------
    names : the number of each block's episode, from 1.

    **Cost** arithmetic: two solves with the factors of each episode.
    """
    r = point.x[program.reward]
    ends = np.cumsum([len(block) for block in program.blocks], dtype=np.int64)
    shares = np.split(point.on_rows, ends)[: len(ends)]
    prices: Sequence[Array | None] = program.prices or [None] * len(shares)
    raised = [
        RaisedEpisode.of(block, r, share, price)
        for block, share, price in zip(program.blocks, shares, prices, strict=True)
    ]
    primal, duals = _by_name(program, point, names, raised)
    residuals, relative = _residuals(program, point, objective, raised)
    solved = Solved(
        status=Status.OPTIMAL,
        value=float(objective @ r) - sum(part.cost for part in raised),
        primal=primal,
        duals=duals,
        farkas=None,
        residuals=residuals,
        bound=None,
        solver=program.solver.name,
        version=point.version,
        options=program.solver.arguments(),
        compile_seconds=compile_seconds,
        seconds=point.seconds,
        iterations=point.iterations,
    )
    return solved, relative


def _by_name(
    program: CutProgram, point: Point, names: Sequence[int], raised: Sequence[RaisedEpisode]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return variables and multipliers under the names that they have in the lifted program."""
    domain = program.domain
    primal: dict[str, Array] = {}
    duals: dict[str, Array] = {}
    for t, block, part in zip(names, program.blocks, raised, strict=True):
        m = block.free.shape[0]
        primal[f"V[{t}]"], duals[f"values[{t}]"] = part.values, part.on_values
        if m:
            duals[f"optimal[{t}]"] = part.on_rows[:m]
        if m < len(block):
            duals[f"tied[{t}]"] = -part.on_rows[m:]
        if program.prices is not None:
            primal |= _slacks(t, part.slack, m)
    for variable, columns in domain.columns.items():
        primal[variable.name()] = point.x[columns].reshape(variable.shape)
    for constraint, rows in domain.rows.items():
        name, count = constraint.label or str(constraint), 1
        while (key := name if count == 1 else f"{name} ({count})") in duals:
            count += 1
        duals[key] = point.on_domain[rows].reshape(constraint.shape)
    return primal, duals


def _slacks(t: int, slack: Array, m: int) -> dict[str, Array]:
    """Return the slack variables of an episode with m inequalities; equations have two a row."""
    out = {f"slack optimal[{t}]": slack[:m]} if m else {}
    if m < slack.size:
        both = np.concatenate([np.maximum(slack[m:], 0.0), np.maximum(-slack[m:], 0.0)])
        out[f"slack tied[{t}]"] = both
    return out


def _residuals(
    program: CutProgram, point: Point, objective: Array, raised: Sequence[RaisedEpisode]
) -> tuple[Residuals, float]:
    """Return the residuals of the lifted program, and the largest relative one."""
    data = program.domain.data
    cost = np.zeros(point.x.size)
    cost[program.reward] = -objective - sum(part.on_values for part in raised)
    judged = replace(Program.of(data), cost=cost).quality(point.x, -point.on_domain)
    own, worst = judged.residuals, judged.relative
    parts = np.array([part.residuals for part in raised]).reshape(-1, 4)
    primal, dual, product = (float(part) for part in parts[:, :3].max(axis=0, initial=0.0))
    gap = abs(float(parts[:, 3].sum()))
    size = max((float(np.abs(part.values).max()) for part in raised), default=0.0)
    steep = float(np.abs(objective).max(initial=0.0)) or 1.0
    relative = max(worst, primal / max(1.0, size), dual / steep, gap / steep)
    residuals = Residuals(
        max(primal, own.primal),
        max(dual, own.dual or 0.0),
        max(product, own.complementarity or 0.0),
        gap + (own.gap or 0.0),
    )
    return residuals, relative
