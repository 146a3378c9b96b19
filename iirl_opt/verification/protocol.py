"""Asking until enough is known, where a game cannot be made an environment (assumption (B) fails).

`VerificationProtocol` verifies a hypothesis over several episodes of a given game. On the segment
between two commitments with different responses lies one at which the follower is just indifferent;
responses on both sides of it hold the true reward between two hyperplanes that nearly coincide and
contain r. With enough of them only the class of r is left. The hypothesis says where its own
indifference is, so the segment is bisected without asking, and two episodes a hyperplane suffice.
They are asked as close to it as the follower can be trusted. A follower with another reward soon
answers what r does not explain. Where no commitments with different responses are found, or none
that cut what is left, the protocol ends and says so.

Sources: paper, Section 4.1 for what is asked; the bisection is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from iirl_opt.brief import in_brief
from iirl_opt.checks import POSITIVE, SEED, checked, unmasked, whole
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.exact.numbers import as_reals
from iirl_opt.follower.optimal import best_responses
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.policy import random_deterministic_policy, random_policy
from iirl_opt.game.reward import tie_tolerance
from iirl_opt.observation import Observation
from iirl_opt.printing.records import with_html
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards
from iirl_opt.rewards.slack import ViolatedRow
from iirl_opt.rewards.state_reward import StateReward
from iirl_opt.solver import Solver
from iirl_opt.solver.records import SOLVER
from iirl_opt.verification.identification import Identification, RewardFrame, identify
from iirl_opt.verification.verdict import Verdict

__all__ = ["VerificationProtocol"]

Array = NDArray[np.float64]


class _Probe(NamedTuple):
    """A commitment that may be asked.

    Attributes
    ----------
    pi1 : (S, A).
    rows : (k, S): ``rows @ x`` are the leads that the response predicted by the hypothesis gives
        its actions over others under a reward x; those that the follower can be trusted with.
    """

    pi1: Array
    rows: Array


@checked(
    hypothesis=unmasked(InvalidReward),
    game=GAME,
    seed=SEED,
    width=POSITIVE,
    pairs=whole(1),
    resolution=POSITIVE,
    solver=SOLVER,
    feasible=FEASIBLE,
)
@dataclass(frozen=True, eq=False)
class VerificationProtocol:
    """Verify a hypothesis over several episodes in a given game, by asking around its ties.

    Frozen: `tell` returns the protocol that knows one response more, and the same protocol always
    asks the same. Ask until `finished`; `verdict` and `stuck` say how it ended.

    Parameters
    ----------
    game : the game.
    hypothesis : shape (S,), not constant.
    width : the distance from the class that is good enough, measured as `Identification.width`.
    seed : of the search for commitments with different responses.
    pairs : how many random pairs of commitments are searched; that bounds the search.
    resolution : how far from indifference the follower is asked, in values of the hypothesis;
        by default half as much again as `tie_tolerance`, what this library's followers need.
    feasible : what is known already.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(3, 2, 2, rng=0)
    >>> protocol = VerificationProtocol(game, truth)
    >>> while not protocol.finished():
    ...     pi1 = protocol.ask()
    ...     protocol = protocol.tell(iirl.OptimalFollower().respond(game, truth, pi1))
    >>> protocol.verdict().name
    'CONFIRMED'
    """

    game: TwoAgentMDP
    hypothesis: ArrayLike
    width: float = 1e-6
    seed: int = 0
    pairs: int = 100
    resolution: float | None = None
    solver: Solver | str | None = None
    feasible: FeasibleRewards | None = None
    _probes: tuple[_Probe, ...] | None = field(default=None, repr=False)

    __repr__ = in_brief

    _repr_html_ = with_html

    def __post_init__(self) -> None:
        object.__setattr__(self, "hypothesis", StateReward.of(self.hypothesis, "hypothesis"))
        RewardFrame.of(self.game, self.hypothesis)
        if not 0 < self._gap < np.inf:
            spread = float(as_reals(self._exact.spread))
            allowed = f"a share of the hypothesis's spread, {spread:g}, that floats carry"
            raise InvalidArgument("resolution", f"is {self.resolution}", allowed, self.resolution)

    @property
    def _exact(self) -> StateReward:
        assert isinstance(self.hypothesis, StateReward)
        return self.hypothesis

    @property
    def _reward(self) -> Array:
        """The hypothesis, centred and of spread one: its shift and its unit change nothing."""
        return self._exact.unit

    @property
    def _gap(self) -> float:
        """The resolution for spread one, by default what this library's followers need."""
        if self.resolution is not None:
            return float(as_reals(Fraction(self.resolution) / self._exact.spread))
        return 1.5 * tie_tolerance(self._reward, self.game.discount)

    @cached_property
    def known(self) -> FeasibleRewards:
        """The rewards that explain every response so far."""
        return FeasibleRewards(self.game) if self.feasible is None else self.feasible

    @property
    def history(self) -> tuple[Observation, ...]:
        """All episodes in order: the evidence."""
        return self.known.observations

    @property
    def episode(self) -> int:
        """The number of episodes so far."""
        return len(self.history)

    @cached_property
    def violation(self) -> ViolatedRow | None:
        """The worst contradiction of the hypothesis, or None."""
        worst = next(iter(self.known.violations(self._reward)), None)
        if worst is None:
            return None
        return worst._replace(slack=float(as_reals(Fraction(worst.slack) * self._exact.spread)))

    def reached(self) -> float:
        """Return the distance from the class that a feasible reward can have, measured as `width`.

        **Cost** 2 S − 3 LPs, once.
        """
        return self._widest[0]

    @cached_property
    def _widest(self) -> tuple[float, Array]:
        return RewardFrame.of(self.game, self.hypothesis).width(self.known, self.solver)

    @cached_property
    def _left(self) -> tuple[_Probe, ...]:
        """The commitments found worth asking and not asked yet."""
        if self._probes is not None:
            return self._probes
        rng = np.random.default_rng(self.seed)
        segments = (
            _search_segment(self.game, self._reward, self._gap, rng) for _ in range(self.pairs)
        )
        return tuple(
            _Probe(pi1, _leads(self.game, self._reward, pi1, self._gap))
            for commitments in segments
            for pi1 in commitments
        )

    @cached_property
    def _best(self) -> int | None:
        """The probe that rules the widest reward out by the largest lead, if one does at all."""
        if not self._left:
            return None
        _, x = self._widest
        leads = np.array([(p.rows @ x).min(initial=0.0) for p in self._left])
        best = int(leads.argmin())
        return best if leads[best] < -self._gap / 10 else None

    def finished(self) -> bool:
        """Return whether there is nothing more to ask."""
        return self.verdict() is not Verdict.INCONCLUSIVE or self._best is None

    def stuck(self) -> bool:
        """Return whether it ended without a verdict: no commitment found tells the rest apart."""
        return self.finished() and self.verdict() is Verdict.INCONCLUSIVE

    def verdict(self) -> Verdict:
        """Return confirmed within `reached`, refuted, or inconclusive: for good if `stuck`."""
        if self.violation is not None:
            return Verdict.REFUTED
        return Verdict.CONFIRMED if self.reached() <= self.width else Verdict.INCONCLUSIVE

    def identification(self) -> Identification:
        """Return how much is known of the reward so far, as `identify` does."""
        return identify(self.known, self._exact.numbers, solver=self.solver)

    def ask(self) -> Array:
        """Return the commitment (S, A) to play next.

        Raises
        ------
        InvalidArgument
            The protocol is finished.

        **Cost** 2 S − 3 LPs; the first time the search, arithmetic.
        """
        if self.finished():
            end = "stuck" if self.stuck() else self.verdict().name.lower()
            raise InvalidArgument("protocol", f"is finished: {end}", "one that is not", self)
        assert self._best is not None
        return self._left[self._best].pi1

    def tell(self, response: ArrayLike, *, pi1: ArrayLike | None = None) -> VerificationProtocol:
        """Return the protocol that also knows this response.

        Parameters
        ----------
        response : policy (S, B), or a boolean mask (S, B) of all optimal actions.
        pi1 : what was committed, where it was not what `ask` returned.

        Raises
        ------
        InvalidPolicy, InvalidObservation
        """
        left = self._left
        if pi1 is None:
            pi1 = self.ask()
            left = tuple(probe for i, probe in enumerate(left) if i != self._best)
        return replace(self, feasible=self.known.observe(pi1, response), _probes=left)

    def summary(self) -> str:
        """Return how it stands, in one line."""
        end = "stuck" if self.stuck() else self.verdict().name.lower()
        return f"{end} after {self.episode} episodes: width {self.reached():.3g}"


def _search_segment(
    game: TwoAgentMDP, reward: Array, gap: float, rng: np.random.Generator
) -> list[Array]:
    """Return a random commitment, and those around ties on the way from it to another one."""
    n_states, n_a, _ = game.shape
    draw = random_policy if rng.random() < 0.5 else random_deterministic_policy
    ends = [draw(n_states, n_a, rng) for _ in range(2)]

    def action_values(share: float) -> Array:
        return best_responses(game, reward, _between(ends, share)).q

    first, last = action_values(0.0), action_values(1.0)
    states, a, b = np.arange(n_states), first.argmax(axis=1), last.argmax(axis=1)
    lost = first[states, a] - first[states, b]
    won = last[states, b] - last[states, a]
    found = ends[:1]
    for s in np.flatnonzero((lost > gap) & (won > gap)).tolist():

        def lead(share: float, s: int = s) -> float:
            q = action_values(share)[s]
            return float(q[a[s]] - q[b[s]])

        tie = float(brentq(lead, 0.0, 1.0, xtol=1e-14, rtol=1e-14))
        shares = [_step_off(lead, tie, gap, side) for side in (-1.0, 1.0)]
        found += [_between(ends, share) for share in shares if share is not None]
    return found


def _between(ends: list[Array], share: float) -> Array:
    return np.asarray((1 - share) * ends[0] + share * ends[1])


def _step_off(lead: Callable[[float], float], tie: float, gap: float, side: float) -> float | None:
    """Return the share nearest to a tie, on one side of it, at which the lead reaches the gap."""
    step = 1e-7
    for _ in range(30):
        share = tie + side * step
        if not 0 <= share <= 1:
            return None
        now = -side * lead(share)
        if now >= gap:
            return share
        step *= min(1.1 * gap / now, 1e3) if now > 0 else 10.0
    return None


def _leads(game: TwoAgentMDP, reward: Array, pi1: Array, gap: float) -> Array:
    """Return the rows of a `_Probe`: leads of the best actions that are no less than the gap."""
    q = best_responses(game, reward, pi1).q
    states, best = np.arange(game.n_states), q.argmax(axis=1)
    kernel = game.follower_mdp(pi1).kernel
    chain = kernel[states, best]
    s, b = np.nonzero(q <= q.max(axis=1, keepdims=True) - 0.99 * gap)
    differences = game.discount * (chain[s] - kernel[s, b])
    system = np.eye(game.n_states) - game.discount * chain
    return np.asarray(np.linalg.solve(system.T, differences.T).T)
