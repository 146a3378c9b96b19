"""What an occupancy program found: a measure, its policy, its prices, and the proof of them.

**Source** Puterman 1994, section 6.9; Altman 1999 for constrained MDPs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief
from iirl_opt.certificate import Certificate, certify
from iirl_opt.checks import POSITIVE, checked
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import deterministic_policy, split
from iirl_opt.occupancy.basis import Basis
from iirl_opt.occupancy.proof import Side, optimality
from iirl_opt.occupancy.quantities import Quantities, expected_of
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.solver import Solved

__all__ = ["OccupancySolution", "sharpened"]

Array = NDArray[np.float64]

# States whose measure is below this share of the whole count as never visited.
VISITED = 1e-9


@dataclass(frozen=True, eq=False)
class OccupancySolution(Tabular):
    """An optimal occupancy measure, its policy and its prices.

    Attributes
    ----------
    game : the game.
    measure : shape (S, A, B), nonnegative (clipped at zero), sums to 1/(1−γ).
    value : the optimal objective. With a discount near one measure, value and prices of visited
        states are those of the choices in the game's exact numbers, not in its floats.
    reward : what was maximised, shape (S·A·B,).
    state_prices : shape (S,), the gain for one more unit of start at each visited state: its
        optimal value where no side constraint binds. In a state that is never visited the
        multiplier is not unique, and only bounds that gain from above.
    price : by constraint name, the gain of the objective for one more unit of the allowance.
    solved : the solver's record with recomputed residuals; planning's, where no solver was asked.
    side : the side constraints as rows, with their multipliers.

    Examples
    --------
    >>> from iirl_opt import OccupancyMeasure
    >>> stay, go = [1, 0], [0, 1]
    >>> game = TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5, start=[1, 0])
    >>> found = OccupancyMeasure(game).maximise([0.0, 1.0])
    >>> found.value, found.measure[0].tolist()
    (1.0, [[0.0, 1.0]])
    """

    game: TwoAgentMDP
    measure: Array
    value: float
    state_prices: Array
    reward: Array
    price: Mapping[str, float | Array]
    solved: Solved
    side: Side

    __repr__ = in_brief

    def table(self) -> FactTable:
        """Return one row: the value, how it was found, and the prices of the side constraints."""
        facts = {
            "value": self.value,
            "status": self.solved.status,
            "visited states": f"{int(self.visited.sum())} of {self.game.n_states}",
            **{f"price of {name}": price for name, price in self.price.items()},
        }
        return FactTable([facts], "OccupancySolution")

    @property
    def visited(self) -> NDArray[np.bool_]:
        """Which states the measure reaches, shape (S,)."""
        mass = self.measure.sum(axis=(1, 2))
        # The measure of a state that play leaves for ever is no share of 1/(1 − γ).
        reached: NDArray[np.bool_] = mass > VISITED * min(float(mass.sum()), 1e3)
        return reached

    @property
    def joint_policy(self) -> Array:
        """The policy (S, A, B) that has this measure; uniform in states that are never visited."""
        mass = self.measure.sum(axis=(1, 2), keepdims=True)
        uniform = np.full_like(self.measure, 1.0 / self.game.n_choices)
        seen = self.visited[:, None, None]
        return np.where(seen, self.measure / np.where(seen, mass, 1.0), uniform)

    @checked(tolerance=POSITIVE)
    def split(self, *, tolerance: float = 1e-7) -> tuple[Array, Array]:
        """Return (pi1, pi2) whose product is the joint policy.

        Raises
        ------
        NotAProduct
            The policy is correlated: names the state and the correlation.
        """
        return split(self.joint_policy, tolerance=tolerance, states=self.game.states)

    def expected(self, quantity: Quantities) -> Any:
        """Return what is expected of quantities under the measure, in numbers.

        As `OccupancyMeasure.expected` does as expressions: a number of one quantity (S,) or
        (S, A, B), an array (k,) of a stack or a list, a mapping of a mapping; parameters count at
        their values.

        Raises
        ------
        InvalidReward, InvalidArgument
            What is no quantity of the game; a parameter without a value.
        """
        return expected_of(self.game, self.measure.ravel(), quantity)


@certify.register
def _of_measure(found: OccupancySolution) -> Certificate:
    """Prove what any policy within the constraints earns at most, and the found one at least.

    Of the policy as it is; with side constraints of one that is moved by rounding, so that it meets
    them exactly, where there is one.
    """
    side = found.side if np.size(found.side.rows) + np.size(found.side.equal) else None
    return optimality(found.game, found.reward.reshape(found.game.shape), found.joint_policy, side)


def sharpened(found: OccupancySolution) -> OccupancySolution:
    """Return a solution with the digits that a discount near one takes from floats.

    Without a side constraint that binds, choices that the solver's tolerance left are improved
    until no other one is better. Prices of side constraints stay as they are.
    """
    game, side = found.game, found.side
    prices = np.asarray(side.prices)
    binding = np.abs(prices) > VISITED * np.abs(prices).max(initial=0.0)
    rows = np.concatenate([np.asarray(side.rows)[binding], side.equal])
    right = np.concatenate([np.asarray(side.bounds)[binding], side.right])
    play = found.measure
    if not right.size:
        chosen = play.reshape(game.n_states, -1).argmax(axis=1)
        best = policy_iteration(game, found.reward.reshape(game.shape), initial=chosen)
        kept = best.optimal[np.arange(game.n_states), chosen]
        play = deterministic_policy(np.where(kept, chosen, best.actions), game.n_choices)
    basis = Basis.of(game, play.ravel(), rows, right)
    exact = basis.solution(found.reward)
    if exact is None or exact[0].min(initial=0.0) < 0:
        return found
    measure, values, _, value = exact
    whole = np.zeros(found.measure.size)
    whole[basis.choices] = measure
    state_prices = found.state_prices.copy()
    state_prices[basis.states] = values
    return replace(found, measure=whole.reshape(game.shape), value=value, state_prices=state_prices)
