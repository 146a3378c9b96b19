"""What there is to report of the draws from a posterior: estimates, intervals, and warnings.

Draws that have not mixed are no verdict: `PosteriorSummary.quantities` then has the diagnostics and
nothing of the posterior.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.bayesian.chains import Chains, Diagnostics
from iirl_opt.bayesian.posterior import Normal
from iirl_opt.errors import MissingExtra

__all__ = ["Estimate", "PosteriorSummary"]

Array = NDArray[np.float64]

# A share of the constant reward that is worth a sentence.
SHARE = 0.01

# How many states a report names.
NAMED = 12

# How the names of a mean and of the ends of its interval end.
ENDS = ("", "_low", "_high")


class Estimate(NamedTuple):
    """A mean, and the ends of a central interval of the posterior."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class PosteriorSummary:
    """What there is to report of the draws from a posterior.

    Attributes
    ----------
    chains : the draws as they came.
    shown : the draws as they are reported, moved along their ridge where the file says so.
    level : the probability of the intervals.
    normalise : how they were moved, or None.
    states : the names of the states.
    """

    chains: Chains
    shown: Chains
    level: float
    normalise: Normal | None
    states: Sequence[str]

    def _estimate(self, draws: Array) -> Estimate:
        tail = (1 - self.level) / 2
        low, high = np.quantile(draws, (tail, 1 - tail))
        return Estimate(float(draws.mean()), float(low), float(high))

    @cached_property
    def reward(self) -> dict[str, Estimate]:
        """The reward of each state."""
        draws = np.moveaxis(self.shown.rewards, -1, 0)
        return {s: self._estimate(d) for s, d in zip(self.states, draws, strict=True)}

    @cached_property
    def parameter(self) -> Estimate:
        """The parameter of the follower."""
        return self._estimate(self.shown.parameters)

    @cached_property
    def diagnostics(self) -> Diagnostics | None:
        """R-hat and effective sample sizes; None where ArviZ is not installed."""
        try:
            return self.chains.diagnostics
        except MissingExtra:
            return None

    @property
    def converged(self) -> bool | None:
        """Whether nothing speaks against the draws; None where ArviZ is not there to say."""
        return None if self.diagnostics is None else self.chains.warning is None

    @property
    def warning(self) -> str | None:
        """Why the numbers are no verdict, in a sentence; None if they are one."""
        found = self.chains.warning
        if found is None:
            return None
        known = "NOT CONVERGED" if self.diagnostics else "not known to have converged"
        return f"{known}, so no verdict: {found}"

    @property
    def ridge(self) -> str | None:
        """What the likelihood cannot tell, in a sentence; None where that is next to nothing."""
        if self.normalise is not None:
            return f"each draw is moved along its ridge, normalise = {self.normalise!r}"
        ridge = self.chains.ridge
        if ridge.uniform_share < SHARE:
            return None
        if self.chains.scales:
            return str(ridge)
        return (
            f"the reward is known up to a constant only: a share {ridge.uniform_share:.3g} of the "
            "mean draw is one, which the likelihood cannot see; normalise = 'min' takes it out"
        )

    @property
    def quantities(self) -> dict[str, float]:
        """The numbers by the names of ``[[expect]]`` tables."""
        found = {
            "draws": float(self.chains.n_draws),
            "acceptance": float(self.chains.acceptance.mean()),
        }
        if self.diagnostics is not None:
            known = {k: v for k, v in self.diagnostics._asdict().items() if np.isfinite(v)}
            found |= {**known, "converged": float(bool(self.converged))}
        if self.converged is False:
            return found
        name = self.chains.parameter
        found["uniform_share"] = self.chains.ridge.uniform_share
        found |= {f"{name}{end}": v for end, v in zip(ENDS, self.parameter, strict=True)}
        for state, estimate in self.reward.items():
            found |= {f"reward{e}[{state}]": v for e, v in zip(ENDS, estimate, strict=True)}
        return found

    def record(self) -> dict[str, Any]:
        """Return all there is, ready for JSON."""
        found = self.diagnostics
        return {
            "converged": self.converged,
            "warning": self.warning,
            "ridge": self.ridge,
            "normalise": self.normalise,
            "level": self.level,
            "reward": {state: each._asdict() for state, each in self.reward.items()},
            self.chains.parameter: self.parameter._asdict(),
            "draws": self.chains.n_draws,
            "thin": self.chains.thin,
            "acceptance": self.chains.acceptance.tolist(),
            "diagnostics": {
                name: value if np.isfinite(value) else None
                for name, value in ({} if found is None else found._asdict()).items()
            },
            **self.chains.ridge._asdict(),
            "seconds": round(self.chains.seconds, 3),
        }

    def report(self) -> Iterator[str]:
        """Yield the lines for people."""
        level = f"{100 * self.level:g} %"
        rows = {self.chains.parameter: self.parameter}
        largest = sorted(self.reward, key=lambda s: -self.reward[s].mean)[:NAMED]
        named = [state for state in self.reward if state in largest]
        rows |= {f"reward {state}": self.reward[state] for state in named}
        width = max(map(len, rows))
        yield f"{'':<{width}}  {'mean':>10}  {level + ' of the posterior':>24}"
        yield from (_estimate_line(name, each, width) for name, each in rows.items())
        rest = len(self.reward) - len(named)
        if rest:
            yield f"and {rest} states whose reward is smaller"
        found = self.diagnostics
        if found is not None:
            yield (
                f"R-hat {found.r_hat:.3f}, effective draws {found.ess_bulk:.0f} (bulk) and "
                f"{found.ess_tail:.0f} (tail) of {self.chains.n_draws}, the worst of all rows"
            )
        each = ", ".join(f"{share:.2f}" for share in self.chains.acceptance)
        yield f"acceptance {each}"
        yield from (line for line in (self.ridge, self.warning) if line is not None)


def _estimate_line(name: str, found: Estimate, width: int) -> str:
    return f"{name:<{width}}  {found.mean:>10.4g}  {found.low:>11.4g} … {found.high:<10.4g}"
