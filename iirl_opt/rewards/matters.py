"""Which states' rewards still matter in a game: what the worst regret falls to once one is known.

The worst regret of a commitment in a game is bounded over all rewards that explain the answers
(`iirl_opt.rewards.elsewhere`). Were the reward of one state known, as a share of the sum of all,
the set would be cut by one equation, ``r(s) = g(s)`` with g a feasible guess, and the bound would
fall: the more, the more that state still matters there. Both bounds are of the same kind, by the
linear program in products of visits and reward and by arithmetic.

Beside it stand what attains the worst regret: the reward, and how its visits differ, those of the
joint optimum less those of the play, at that reward. Where they agree the worst case earns nothing
by that state; its reward may matter all the same, since all rewards share one sum.

Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import shortly, told
from iirl_opt.checks import checked, optional
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.follower.optimal import best_responses
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.rewards.advantages import Play, visits_of
from iirl_opt.rewards.domains import REWARD_ARRAY
from iirl_opt.rewards.elsewhere import INTERIOR, LINEAR, RegretElsewhere, regret_elsewhere
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards
from iirl_opt.rewards.regret_products import RegretProgram, n_products
from iirl_opt.rewards.regret_rows import Polytope, Programs, known_rows, onto_simplex, same_rewards
from iirl_opt.solver import HiGHS, Status, solve
from iirl_opt.solver.records import HIGHS

__all__ = ["StillMatters", "still_matters"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StillMatters(Tabular):
    """What each state's reward would cut from the worst regret of a commitment.

    Attributes
    ----------
    regret : the bounds over all feasible rewards; `known` is compared with ``regret.proved.upper``.
    guess : the reward that would be learnt, in the simplex, (S,).
    known : upper bounds on the worst regret were the reward of a state known to be that of the
        guess, (S,), by arithmetic.
    visits : (S,), those of the joint optimum less those of the play, under ``regret.reward``.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> home = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> away = iirl.TwoAgentMDP([[[stay], [go]], [[stay], [go]]], discount=0.5)
    >>> found = still_matters(iirl.FeasibleRewards(home), away, [[1, 0], [1, 0]])
    >>> found.cut.round(6).tolist()  # two rewards with one sum: to know one is to know both
    [1.0, 1.0]
    """

    regret: RegretElsewhere
    guess: Array
    known: Array
    visits: Array

    @property
    def cut(self) -> Array:
        """By how much the bound falls, (S,), ≥ 0."""
        return np.asarray(np.maximum(self.regret.proved.upper - self.known, 0.0))

    def __repr__(self) -> str:
        first = int(self.cut.argmax())
        name, least, most = self.regret.game.states[first], self.known[first], self.regret.upper
        return told(self, f"{shortly(name)} first: known, {most:.6g} falls to {least:.6g}")

    def table(self) -> FactTable:
        """Return a row a state, the one that cuts most first."""
        rows = [
            {
                "state": self.regret.game.states[s],
                "cut": self.cut[s],
                "bound if known": self.known[s],
                "guess": self.guess[s],
                "worst": self.regret.reward[s],
                "visits": self.visits[s],
            }
            for s in np.argsort(-self.cut, kind="stable")
        ]
        return FactTable(rows, repr(self.regret))


@checked(feasible=FEASIBLE, game=GAME, guess=optional(REWARD_ARRAY), solver=HIGHS)
def still_matters(
    feasible: FeasibleRewards,
    game: TwoAgentMDP,
    pi1: ArrayLike,
    *,
    guess: ArrayLike | None = None,
    solver: HiGHS | None = None,
) -> StillMatters:
    """Return which states' rewards still matter for a commitment in a game.

    Parameters
    ----------
    game : over the same states as that of `feasible`, or that game.
    pi1 : the commitment there, (S, A).
    guess : a feasible reward (S,), of which that of a state would be learnt; the Chebyshev centre
        by default.

    Raises
    ------
    InvalidReward
        The guess explains not every answer, or is a constant less than or equal to zero.
    InvalidArgument
        Other states, by name; a game whose programs would be too large.

    **Source** ours. **Cost** S + 1 LPs with S²·A·B columns, up to some twenty states.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(3, 2, 2, rng=0)
    >>> found = still_matters(iirl.FeasibleRewards(game), game, [[1, 0]] * 3)
    >>> bool((found.known <= found.regret.proved.upper + 1e-6).all())
    True
    """
    away = same_rewards(feasible, game)
    bounds = regret_elsewhere(feasible, away, pi1, by="arithmetic", solver=solver)
    play = Play(away, bounds.pi1, bounds.proved.pi2, joint=False)
    rows, share = known_rows(feasible, play, seen=False), _in_simplex(feasible, guess)
    size = n_products(away, len(rows.free) + len(rows.tied) + 1)
    if size > LINEAR:
        raise InvalidArgument("game", f"makes programs of {size:,} numbers", f"{LINEAR:,}", away)
    known = np.full(away.n_states, bounds.proved.upper)
    for s in range(away.n_states):
        fixed = np.eye(away.n_states)[s] - share[s]  # zero on the simplex where r(s) = g(s)
        narrowed = Polytope(rows.free, np.vstack([rows.tied, fixed]))
        program = RegretProgram(play, narrowed)
        solved = solve(program.relaxed(), INTERIOR if solver is None else solver, throw=False)
        if solved.status is Status.OPTIMAL:
            ceiling = program.ceiling(solved.duals, Programs(narrowed, solver))
            known[s] = min(known[s], max(ceiling.upper, 0.0))
    return StillMatters(bounds, share, known, _more_visits(play, bounds.reward))


def _in_simplex(feasible: FeasibleRewards, guess: ArrayLike | None) -> Array:
    """Return a guess in the simplex."""
    if guess is None:
        return onto_simplex(feasible.chebyshev_centre().centre)
    given = np.asarray(guess, dtype=float)
    if given.shape != (feasible.game.n_states,):
        allowed = f"({feasible.game.n_states},)"
        raise InvalidReward("guess", f"has shape {given.shape}", allowed, guess)
    if not feasible.contains(given):
        said = "explains not every answer"
        raise InvalidReward("guess", said, "a feasible reward (S,)", guess)
    lifted = given - min(float(given.min()), 0.0)
    if not lifted.any():
        raise InvalidReward("guess", "is a constant ≤ 0", "what lies in the simplex", guess)
    return onto_simplex(lifted)


def _more_visits(play: Play, reward: Array) -> Array:
    """Return the visits of the joint optimum less those of the play with the best response."""
    game = play.game
    best = deterministic_policy(modified_policy_iteration(game, reward).actions, game.n_choices)
    actions = best_responses(game, reward, play.pi1).actions
    response = deterministic_policy(actions, game.n_follower_actions)
    own = Play(game, play.pi1, response, joint=False)
    return np.asarray(visits_of(game, best) - visits_of(game, own.policy))
