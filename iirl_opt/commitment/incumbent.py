"""The best commitment of a search so far, its rivals, and the end game that tells them apart.

A search looks at commitments many at a time, in floats, and knows each one's value between two
numbers. Whoever may be best is a *rival*: its upper number reaches the largest lower one, the
*floor*. When the search ends, the rivals are evaluated in rational arithmetic, the most promising
first, until none is left whose upper number reaches the best exact value: then that is best of all
that was looked at, exactly. Followers whose answers are no rational numbers have no such end; there
the best lower and the largest upper number are the answer.

Values in here are centred (`CommitmentProblem.centre`), and weighted over the states.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.commitment.answers import Assessment
from iirl_opt.commitment.exact import DENSE, LARGEST, ExactProblem
from iirl_opt.commitment.problem import Array, CommitmentProblem, Integers, Reply
from iirl_opt.commitment.smooth import answered
from iirl_opt.commitment.stacked import UNIT
from iirl_opt.errors import NotExact
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.values import local_scale

__all__ = ["PROVED", "Incumbent", "Settled", "proves", "scales", "surely", "upwards", "weighted"]

# A gap of this share of the scale of a play is none.
PROVED = 2.0**-40

# Rivals that are kept; of those beyond, the largest upper number.
MOST = 100_000

# Commitments evaluated in rational arithmetic at the end, and the seconds after which no more are.
EVALUATED, SECONDS = 20_000, 60.0


class Settled(NamedTuple):
    """What a search ends with.

    Attributes
    ----------
    actions : the best commitment, (S,).
    response : the follower's answer to it, (S, B).
    values : what the two earn from every state, (S,).
    value : their weighted sum.
    least : the commitment earns no less, whatever is not decided about the answer.
    bound : no commitment that was looked at, or is bounded by `beyond`, earns more.
    gap : bound − least, as proved, free of the rounding of large numbers.
    exact : whether rational arithmetic proved the gap zero.
    scale : the local scale of the reward that the two meet (`iirl_opt.game.values.local_scale`).
    """

    actions: Integers
    response: Array
    values: Array
    value: float
    least: float
    bound: float
    gap: float
    exact: bool
    scale: float


class _Rival(NamedTuple):
    """A commitment (S,) with the follower's likely answer (S,) and bounds on its value."""

    lower: float
    upper: float
    actions: Integers
    answers: Integers


@dataclass(eq=False)
class Incumbent:
    """The best commitment so far and its rivals.

    Parameters
    ----------
    problem : the problem, whose start distribution weights the states.
    """

    problem: CommitmentProblem
    floor: float = -np.inf
    evaluated: int = 0
    best: _Rival | None = None
    response: Array = field(default_factory=lambda: np.empty((0, 0)))
    lost: float = -np.inf
    slack: float = 0.0
    _rivals: list[_Rival] = field(default_factory=list)

    def look(self, actions: Integers) -> Assessment:
        """Evaluate commitments (K, S), keep those that may be best, and return what was found."""
        found = self.problem.assess(actions)
        lower = -weighted(-found.lower, self.start)
        upper = weighted(found.upper, self.start)
        self.evaluated += len(actions)
        at = int(lower.argmax())
        if self.best is None or lower[at] > self.floor:
            self.floor, self.slack = float(lower[at]), float(upper[at] - lower[at])
            self.best = self._rival(actions[at], found.answers[at], lower[at], upper[at])
            self.response = found.response[at].copy()
        self._rivals += [
            self._rival(actions[i], found.answers[i], lower[i], upper[i])
            for i in np.flatnonzero(upper >= self.floor)
        ]
        if len(self._rivals) > MOST:
            kept = sorted(self._open(), key=lambda rival: -rival.upper)
            self.lost = max([self.lost, *(rival.upper for rival in kept[MOST // 2 :])])
            self._rivals = kept[: MOST // 2]
        return found

    @cached_property
    def exact(self) -> ExactProblem | None:
        """The problem in Fractions, where rational arithmetic can end the search."""
        most = DENSE if self.problem.epsilon is None else LARGEST
        return ExactProblem(self.problem) if self.problem.game.n_states <= most else None

    @property
    def start(self) -> Array:
        """The start distribution, (S,)."""
        return self.problem.game.start

    @cached_property
    def exact_start(self) -> NDArray[np.object_]:
        """The start distribution in Fractions."""
        return np.array(self.problem.game.rational.start, dtype=object)

    def scale(self) -> float:
        """Return the local scale of the reward that the best one meets."""
        assert self.best is not None
        return self._scale(self.best.actions, self.response)

    def settle(self, beyond: float, time_limit: float | None = None) -> Settled:
        """Decide among the rivals, and return the best.

        Parameters
        ----------
        beyond : a bound on the commitments that were not looked at, −∞ if there are none.
        time_limit : seconds for the exact evaluations.
        """
        assert self.best is not None
        rest = max(beyond, self.lost)
        if self.exact is not None:
            try:
                if self.problem.epsilon is None:
                    return self._smoothly(self.exact, rest, time_limit)
                return self._exactly(self.exact, rest, time_limit)
            except NotExact:
                pass
        return self._roughly(rest)

    def _exactly(self, exact: ExactProblem, rest: float, time_limit: float | None) -> Settled:
        """Evaluate the rivals in Fractions until none can be better."""
        assert self.best is not None
        until = time.perf_counter() + (SECONDS if time_limit is None else time_limit)
        chosen = self.best
        reply = exact.reply(chosen.actions, chosen.answers)
        value = self._worth(reply.values)
        ceiling = self._ceiling(exact)
        rivals = self._different()
        for number, rival in enumerate(rivals):
            if Fraction(rival.upper) < value or value == ceiling:
                rivals = []
                break
            if number >= EVALUATED or (number and time.perf_counter() > until):
                rivals = rivals[number:]
                break
            other = exact.reply(rival.actions, rival.answers)
            worth = self._worth(other.values)
            first = worth == value and rival.actions.tolist() < chosen.actions.tolist()
            if worth > value or first:
                chosen, reply, value = rival, other, worth
        else:
            rivals = []
        above = value
        if value != ceiling:
            left = [rest, *(rival.upper for rival in rivals)]
            above = max([value, *(Fraction(x) for x in left if x > -np.inf)])
        response = reply.played
        values = exact.values(chosen.actions, response)
        carried = self._worth(values)
        shift = self.problem.offset
        return Settled(
            chosen.actions,
            response,
            np.array([float(v) for v in values]),
            float(carried + shift),
            float(min(carried, value) + shift),
            upwards(max(above, carried) + shift),
            upwards(max(above - value, Fraction(0))),
            above == value,
            self._scale(chosen.actions, response),
        )

    def _smoothly(self, exact: ExactProblem, rest: float, time_limit: float | None) -> Settled:
        """Evaluate the rivals from exact action values: then only exponentials are rounded."""
        assert self.best is not None
        until = time.perf_counter() + (SECONDS if time_limit is None else time_limit)
        found: list[tuple[Fraction, float, _Rival, Array, NDArray[np.object_]]] = []
        above, rivals = [rest], self._different()
        for number, rival in enumerate(rivals):
            least = max((value - Fraction(error) for value, error, *_ in found), default=None)
            late = number >= EVALUATED or (number and time.perf_counter() > until)
            if late or (least is not None and Fraction(rival.upper) < least):
                above += [other.upper for other in rivals[number:] if late]
                break
            response, values, wrong = answered(exact, rival.actions, rival.answers)
            lost = float(weighted(wrong[None], self.start)[0])
            found.append((self._worth(values), lost, rival, response, values))
        at = max(range(len(found)), key=lambda k: found[k][0] - Fraction(found[k][1]))
        value, error, chosen, response, values = found[at]
        most = [Fraction(x) for x in above if x > -np.inf]
        bound = max([worth + Fraction(lost) for worth, lost, *_ in found] + most)
        sure = value - Fraction(error)
        shift = self.problem.offset
        return Settled(
            chosen.actions,
            response,
            np.array([float(v) for v in values]),
            float(value + shift),
            float(sure + shift),
            upwards(bound + shift),
            upwards(bound - sure),
            bound == sure,
            self._scale(chosen.actions, response),
        )

    def _roughly(self, rest: float) -> Settled:
        """Return the best one and the bounds as floats know them."""
        assert self.best is not None
        actions, shift = self.best.actions, self.problem.offset
        found = self.problem.assess(actions[None])
        values = found.values[0] + float(self.problem.offset)
        above = max([rest, *(rival.upper for rival in self._open())])
        carried = float(found.values[0] @ self.start)
        return Settled(
            actions,
            found.response[0],
            values,
            float(Fraction(carried) + shift),
            float(Fraction(self.floor) + shift),
            upwards(Fraction(max(above, carried)) + shift),
            max(above - self.floor, 0.0) * (1 + 4 * UNIT),
            False,
            self._scale(actions, found.response[0]),
        )

    def _open(self) -> list[_Rival]:
        """Return the rivals that may still be best."""
        return [rival for rival in self._rivals if rival.upper >= self.floor]

    def _different(self) -> list[_Rival]:
        """Return rivals that differ where play can go, the most promising first."""
        first: dict[tuple[int, ...], _Rival] = {}
        for rival in self._open():
            play = self._play(rival.actions)
            known = first.get(play)
            if known is None or rival.actions.tolist() < known.actions.tolist():
                first[play] = rival
        return sorted(first.values(), key=lambda rival: -rival.upper)

    def _ceiling(self, exact: ExactProblem) -> Fraction | None:
        """Return the best joint value where a commitment attains it (Lemma 2)."""
        if not self.problem.lemma_2:
            return None
        assert self.best is not None
        n_answers = self.problem.game.n_follower_actions
        _, values = exact.joint_optimum(self.best.actions * n_answers + self.best.answers)
        return self._worth(values)

    def _worth(self, values: NDArray[np.object_]) -> Fraction:
        """Return exact values, weighted and centred."""
        return Fraction((self.exact_start * values).sum() - self.problem.offset)

    def _scale(self, actions: Integers, response: Array) -> float:
        return float(scales(self.problem, actions, response) @ self.start)

    def _play(self, actions: Integers) -> tuple[int, ...]:
        """Return the actions in states that play can reach, −1 in others, which earn nothing."""
        rows = self.problem.kernel[np.arange(len(actions)), actions]
        onward = np.asarray((rows > 0).any(axis=1))
        seen = self.start > 0
        while True:
            more = seen | onward[seen].any(axis=0)
            if (more == seen).all():
                return tuple(np.where(seen, actions, -1).tolist())
            seen = more

    @staticmethod
    def _rival(actions: Integers, answers: Integers, lower: float, upper: float) -> _Rival:
        return _Rival(float(lower), float(upper), actions.copy(), answers.copy())


def surely(problem: CommitmentProblem, actions: Integers) -> tuple[Array, Array]:
    """Return the least that commitments (K, S) surely earn, and their values, (K, S) each.

    Open ties are decided in rational arithmetic, where that is possible.
    """
    found = problem.assess(actions)
    least, values = found.lower.copy(), found.values.copy()
    if problem.game.n_states <= LARGEST:
        exact = ExactProblem(problem)
        for k in np.flatnonzero(~found.decided):
            try:
                reply = exact.reply(actions[k], found.answers[k])
            except NotExact:
                break
            near = np.array([float(v - problem.offset) for v in reply.values])
            least[k], values[k] = near - 2 * UNIT * abs(near), near
    return least, values


def proves(gap: float, scale: float, value: float) -> bool:
    """Return whether a proved gap counts as none.

    It does up to 2⁻⁴⁰ of the local scale, or two neighbouring floats at the value.
    """
    return bool(gap <= max(PROVED * scale, 2 * np.spacing(abs(value))))


def meets(problem: CommitmentProblem, policy: Array, reply: Reply, bound: float) -> bool:
    """Return whether what a policy and the reply to it earn from the start counts as a bound."""
    scale = local_scale(problem.game, problem.reward, (policy, reply.response))
    value = float(problem.game.start @ reply.values)
    return proves(bound - value, float(problem.game.start @ scale), value)


def weighted(values: Array, weights: Array) -> Array:
    """Return values (K, S) weighted over the states, rounded upwards."""
    rounding = (len(weights) + 2) * UNIT * (abs(values) @ weights)
    return np.asarray(values @ weights + rounding)


def upwards(number: Fraction) -> float:
    """Return the least float that is not below a number."""
    near = float(number)
    return near if Fraction(near) >= number else float(np.nextafter(near, np.inf))


def scales(problem: CommitmentProblem, actions: Integers, response: Array) -> Array:
    """Return the local scale of the leader's reward under a pair, (S,): what gaps compare with."""
    policy = deterministic_policy(actions, problem.game.n_leader_actions)
    return local_scale(problem.game, problem.reward, (policy, response))
