"""The most compatible reward: the least that responses lose, for a reward that is no constant.

Regret is a convex function of the reward that is zero on constants and grows with its scale. So the
least loss over all rewards is zero, and is asked per unit of something that constants have nothing
of: of a contrast, ``w · r`` with ``Σ w = 0``, by one program

    min ε   with   w · r = 1   and every response losing at most ε,

or of the span ``max r − min r``, by one for each ordered pair (i, j): those rewards of span one
whose best state is i and whose worst is j have ``r_i − r_j = 1`` and ``0 ≤ r ≤ 1``.

Within a domain D of affine rows ``A r ≥ b`` the rewards that are looked at are all multiples t·r of
those in it, ``A r ≥ t b`` with ``t ≥ 0`` (Charnes & Cooper 1962): a reward of D need not have span
one itself, and its loss per unit of its span is that of the multiple which has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import Equality, Inequality
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import Infeasible, InvalidArgument
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.printing.records import Tabular
from iirl_opt.rewards.constant import MaybeConstant
from iirl_opt.rewards.domains import RewardDomain, domain_rows
from iirl_opt.solver import Solved, Solver, solve

__all__ = ["MostCompatible", "most_compatible"]

Array = NDArray[np.float64]

# From a reward and a loss, both variables, to the rows by which no response loses more.
LossRows = Callable[[cp.Variable, cp.Variable], list[cp.Constraint]]

# A contrast sums to zero up to this share of its largest entry.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class MostCompatible(Tabular, MaybeConstant):
    """A reward under which responses lose least, and how much.

    Attributes
    ----------
    reward : (S,) in [0, 1], from 0 to 1; or with w · r = 1, (S,) or (S, A, B). Of a domain a
        multiple of one in it, of span one or with w · r = 1.
    loss : the largest loss of a response, per unit of span or of the contrast: a lower bound on
        what the partner loses under its own reward, and no estimate of it.
    best, worst : labels of a state that is worth most, by 1, and of one that is worth least; None
        with a contrast.
    solved : the solver's record.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> known.most_compatible()
    MostCompatible(loss 0 per unit of span, best 1, worst 0, OPTIMAL)
    """

    reward: Array
    loss: float
    best: Any
    worst: Any
    solved: Solved

    def __repr__(self) -> str:
        unit = "span" if self.best is not None else "the contrast"
        ends = f", best {self.best!r}, worst {self.worst!r}" if self.best is not None else ""
        return (
            f"MostCompatible(loss {self.loss:.9g} per unit of {unit}{ends}, "
            f"{self.solved.status.name})"
        )

    @property
    def _reward_found(self) -> Array:
        return self.reward


def most_compatible(
    game: TwoAgentMDP,
    loss_rows: LossRows,
    contrast: ArrayLike | None,
    domain: RewardDomain | None,
    solver: Solver | str | None,
) -> MostCompatible:
    """Return what `FeasibleRewards.most_compatible` does."""
    if contrast is None:
        return _over_pairs(game, loss_rows, domain, solver)
    w = np.asarray(contrast, dtype=float)
    if w.shape not in ((game.n_states,), game.shape):
        allowed = f"({game.n_states},) or {game.shape}"
        raise InvalidArgument("contrast", f"has shape {w.shape}", allowed, w.shape)
    if not w.any() or abs(w.sum()) > ROUNDING * np.abs(w).max():
        allowed = "entries of sum zero, not all of them zero"
        raise InvalidArgument("contrast", f"sums to {w.sum():.6g}", allowed, contrast)
    joint = w.ndim > 1
    r, loss, rows = _program(game, loss_rows, domain, joint=joint)
    flat = cp.vec(r, order="C") if joint else r
    held = (w.ravel() @ flat == 1).set_label("contrast")
    solved = solve(cp.Problem(cp.Minimize(loss), [*rows, held]), solver)
    reward = np.array(r.value).reshape(w.shape)
    return MostCompatible(reward, max(0.0, float(loss.value)), None, None, solved)


def _program(
    game: TwoAgentMDP, loss_rows: LossRows, domain: RewardDomain | None, *, joint: bool
) -> tuple[cp.Variable, cp.Variable, list[cp.Constraint]]:
    """Return the reward, what responses may lose, and the rows."""
    r = cp.Variable((game.n_states, game.n_choices) if joint else game.n_states, name="r")
    loss = cp.Variable(name="loss")
    held = (loss >= 0).set_label("no gain")
    rows = [held, *loss_rows(r, loss)]
    return r, loss, rows if domain is None else [*rows, *_multiples(domain, r)]


def _multiples(domain: RewardDomain, r: cp.Variable) -> list[cp.Constraint]:
    """Return the rows that hold r among the multiples of rewards in a domain."""
    rows = domain_rows(domain, r)
    allowed = "affine equations and inequalities: what is looked at are multiples of its rewards"
    for i, row in enumerate(rows):
        plain = isinstance(row, Equality | Inequality) and row.expr.is_affine()
        if not plain or any(_of_one_unit(v) for v in row.variables()):
            raise InvalidArgument("domain", f"has the row {row.label or i}", allowed, row)
    variables = {v.id: v for row in rows for v in row.variables()}.values()
    before = [v.value for v in variables]
    for v in variables:
        v.value = np.zeros(v.shape)
    offsets = [np.asarray(row.expr.value) for row in rows]
    for v, value in zip(variables, before, strict=True):
        v.value = value
    times = cp.Variable(name="times")
    found = [(times >= 0).set_label("times")]
    for row, offset in zip(rows, offsets, strict=True):
        scaled = row.expr + (times - 1) * offset
        held = scaled == 0 if isinstance(row, Equality) else scaled <= 0
        found.append(held.set_label(row.label) if row.label else held)
    return found


def _of_one_unit(variable: cp.Variable) -> bool:
    """Return whether a variable has limits of its own, or whole values, that do not scale."""
    own = variable.attributes
    return any(own.get(name) not in (None, False) for name in ("bounds", "boolean", "integer"))


def _over_pairs(
    game: TwoAgentMDP,
    loss_rows: LossRows,
    domain: RewardDomain | None,
    solver: Solver | str | None,
) -> MostCompatible:
    """Return the best of all ordered pairs of states."""
    states, n = game.states, game.n_states
    if n < 2:
        allowed = "two or more: with one every reward is a constant"
        raise InvalidArgument("feasible", "is of a game of one state", allowed, n)
    r, loss, rows = _program(game, loss_rows, domain, joint=False)
    contrast = cp.Parameter(n, name="contrast")
    held = (contrast @ r == 1).set_label("contrast")
    least = cp.Variable(name="least") if domain is not None else 0.0
    rows += [(r >= least).set_label("box below"), (r <= least + 1).set_label("box above")]
    problem = cp.Problem(cp.Minimize(loss), [*rows, held])
    found: MostCompatible | None = None
    nothing: Infeasible | None = None
    eye = np.eye(n)
    for i, j in np.argwhere(eye == 0):
        contrast.value = eye[i] - eye[j]
        try:
            solved = solve(problem, solver)
        except Infeasible as error:
            nothing = error
            continue
        lost = max(0.0, float(loss.value))
        if found is None or lost < found.loss:
            found = MostCompatible(np.array(r.value), lost, states[i], states[j], solved)
            if not lost:
                break
    if found is None:
        assert nothing is not None
        raise nothing
    return found
