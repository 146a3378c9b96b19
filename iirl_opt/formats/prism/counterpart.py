"""What becomes of PRISM's properties in a discounted problem.

PRISM counts to infinity, games here discount by γ < 1. For each property that has a counterpart
there is a game and a reward such that PRISM's answer is a constant plus or minus the optimal value,
or what that tends to as γ → 1:

* ``R…=? [ Cdiscount=γ ]``: the same, at this γ.
* ``P…=? [ F φ ]``: states of φ are absorbing, and a choice earns the probability of entering them.
  With T the time of the entry that is the expectation of ``γ^(T − 1)``: at most the probability,
  and rising to it.
* ``P…=? [ φ U ψ ]``: the same of ψ, where states outside both are absorbing, too.
* ``P…=? [ G φ ]``: one minus the least, or largest, probability of ``F !φ``; so from above.
* ``R…=? [ F φ ]``: states of φ are absorbing and earn nothing. PRISM says "infinite" where φ may be
  missed; so it is asked first, on the graph, whether each policy reaches φ (max), or whether one
  does and none can wait for ever without cost (min).
* ``R…=? [ C ]``: the reward itself; grows without a bound where PRISM says "infinite".

The last two need rewards ≥ 0, as PRISM does: then all these values rise as γ does, and how far they
can is proved in `iirl_opt.formats.prism.undiscounted`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import told
from iirl_opt.checks import FINITE, TEXT, checked, is_a
from iirl_opt.errors import InvalidArgument
from iirl_opt.formats.choices import kernel_of_entries
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.formats.prism.properties import Asked, parse_property
from iirl_opt.formats.prism.undiscounted import avoiding, discounted_bounds, limit_bounds, surely
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.support import reached_from, transitions
from iirl_opt.printing.records import with_html

__all__ = ["Counterpart", "counterpart"]

Array = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Counterpart:
    """A game and a reward whose optimal value answers a property.

    Attributes
    ----------
    text : the property.
    game, reward : what to plan, or commit, for; always the most, of a least value minus that.
    sign, offset : the answer is ``offset + sign · value``.
    is_limit : whether that tends to the property's value as γ → 1; otherwise it is it.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 1, 2]]], [[[0, 1, 0]]], [[[0, 0, 1]]]], "9/10", [1, 0, 0])
    >>> found = ImportedGame(game, labels={"won": [False, True, False]})
    >>> asked = counterpart(found, 'Pmax=? [ F "won" ]')
    >>> asked.sign, asked.is_limit
    (1, True)
    """

    text: str
    game: TwoAgentMDP
    reward: Array
    sign: int
    offset: Fraction
    is_limit: bool
    _ends: Booleans
    _most: float

    def __repr__(self) -> str:
        exact = "as γ → 1 in" if self.is_limit else "in"
        return told(self, repr(self.text), f"{exact} {self.game!r}")

    _repr_html_ = with_html

    @checked(value=FINITE)
    def answer(self, value: float) -> float:
        """Return the answer that a value of the game, from its start, stands for.

        **Cost** arithmetic.
        """
        return float(self.offset) + self.sign * float(value)

    def bracket(self) -> tuple[float, float]:
        """Return proved bounds on the property's value from the start, the lower one first.

        Of a limit one end is the discounted value, beyond which the property's is; the other is
        proved apart, and infinite where some choices go round for ever and earn.

        **Source** `iirl_opt.formats.prism.undiscounted`. **Cost** arithmetic: up to four linear
        systems with S unknowns a step of two policy iterations in floats; no tie is decided.

        Examples
        --------
        >>> import iirl_opt as iirl
        >>> kernel = [[[[1, 1, 2]]], [[[0, 1, 0]]], [[[0, 0, 1]]]]
        >>> game = iirl.TwoAgentMDP(kernel, ".999", [1, 0, 0])
        >>> found = ImportedGame(game, labels={"won": [False, True, False]})
        >>> low, high = counterpart(found, 'Pmax=? [ F "won" ]').bracket()
        >>> low < 1 / 3 < high < low + 0.001
        True
        """
        if not self.is_limit:
            low, high = discounted_bounds(self.game, self.reward)
        else:
            # What is earned by then: the least or the largest, of rewards ≥ 0.
            low, high = limit_bounds(self.game, self.reward, self._ends)
        least, most = (low, high) if self.sign > 0 else (-high, -low)
        least, most = _rounded(self.offset, least, -np.inf), _rounded(self.offset, most, np.inf)
        return (max(least, 0.0), min(most, 1.0)) if self._most == 1 else (least, most)


def _rounded(offset: Fraction, bound: float, towards: float) -> float:
    """Return the sum of an exact number and a bound, rounded only in one direction."""
    if not np.isfinite(bound):
        return bound
    exact = offset + Fraction(bound)
    near = float(exact)
    off = Fraction(near) - exact
    return near if off == 0 or (off > 0) == (towards > 0) else float(np.nextafter(near, towards))


@checked(problem=is_a(ImportedGame), text=TEXT)
def counterpart(problem: ImportedGame, text: str, discount: Any = None) -> Counterpart:
    """Return the discounted problem that answers a property of PRISM's.

    Parameters
    ----------
    problem : a game with its rewards and labels, as `read_prism` and others return it.
    text : the property: ``Pmax=? [ F "finished" & !"agree" ]``, ``R{"steps"}min=? [ F "done" ]``,
        ``R{"steps"}max=? [ Cdiscount=0.9 ]``. States are named by labels and, where states are
        called by the values of variables, by these: ``pc1=3``.
    discount : 0 ≤ γ < 1, by default the game's; near one for what is a limit. A discounted property
        has its own.

    Raises
    ------
    InvalidArgument
        The property asks for what has no counterpart, which is named with the reason; it is none;
        its reward is negative somewhere and not discounted; PRISM's answer is infinite because the
        states may be missed; or it has another discount.
    UnknownLabel
        A label, variable or reward that the problem does not have.
    InvalidGame
        A discount outside its range.

    **Source** see the module. **Cost** arithmetic; some graph searches.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 1, 2]]], [[[0, 1, 0]]], [[[0, 0, 1]]]], "9/10", [1, 0, 0])
    >>> found = ImportedGame(game, labels={"won": [False, True, False]})
    >>> asked = counterpart(found, 'Pmax=? [ F "won" ]', "999999999/1000000000")
    >>> round(asked.answer(iirl.commit(asked.game, asked.reward).value), 6)
    0.333333
    """
    asked = parse_property(text, problem)
    if asked.discount is not None:
        if (
            discount is not None
            and problem.game.discounted(discount).exact_discount != asked.discount
        ):
            allowed = f"{asked.discount}, as in the property, or none"
            raise InvalidArgument("discount", f"is {discount!r}", allowed, discount)
        discount = asked.discount
    game = problem.game if discount is None else problem.game.discounted(discount)
    if asked.reward is None:
        return _reaching(asked, game)
    return _earning(asked, game, problem.reward(asked.reward))


def _reaching(asked: Asked, game: TwoAgentMDP) -> Counterpart:
    """Return the counterpart of a probability."""
    never = asked.path == "G"
    goal = ~asked.until if never else asked.until
    ends = goal | ~asked.before
    # The largest probability of staying is one minus the least one of leaving.
    sign = -1 if (asked.best == "min") != never else 1
    ended = _ending(game, ends)
    entering = _entering(ended, goal)
    entering[ends] = 0.0
    at_once = sum(
        (p for p, there in zip(game.exact_start, goal, strict=True) if there), Fraction(0)
    )
    offset = 1 - at_once if never else at_once
    return Counterpart(
        asked.text, ended, sign * entering + 0.0, -sign if never else sign, offset, True, ends, 1.0
    )


def _entering(game: TwoAgentMDP, goal: Booleans) -> Array:
    """Return the probability of each choice to enter some states, (S, A, B)."""
    rows = game.rational.rows
    there = np.where(goal[rows.indices], rows.numerators, 0)
    above = np.add.reduceat(there, rows.indptr[:-1])
    quotients = above.astype(object) / rows.denominators.astype(object)
    return np.asarray(quotients.astype(float).reshape(game.shape))


def _earning(asked: Asked, game: TwoAgentMDP, reward: Array) -> Counterpart:
    """Return the counterpart of an expected reward."""
    ends, sign = asked.until, -1 if asked.best == "min" else 1
    if asked.discount is None and (reward < 0).any():
        raise InvalidArgument(
            "text",
            f"asks for the reward {asked.reward!r} without a discount, which is negative somewhere",
            "rewards ≥ 0, or Cdiscount=γ",
            asked.text,
        )
    earned = reward.copy()
    earned[ends] = 0.0
    if asked.path == "F":
        _refuse_missing(asked, game, earned)
    limit = asked.discount is None
    return Counterpart(
        asked.text, _ending(game, ends), sign * earned + 0.0, sign, Fraction(0), limit, ends, np.inf
    )


def _ending(game: TwoAgentMDP, ends: Booleans) -> TwoAgentMDP:
    """Return a game that stays for ever in some states."""
    if not ends.any():
        return game
    rows = game.rational.rows
    row = np.repeat(np.arange(len(rows.denominators)), np.diff(rows.indptr))
    every, ended = np.arange(len(rows.denominators)), np.flatnonzero(ends)
    kernel = kernel_of_entries(row, rows.indices, rows.numerators, every, ended, game.n_states)
    return TwoAgentMDP(
        kernel,
        game.exact_discount,
        np.array(game.exact_start, dtype=object),
        states=game.states,
        leader_actions=game.leader_actions,
        follower_actions=game.follower_actions,
    )


def _refuse_missing(asked: Asked, game: TwoAgentMDP, reward: Array) -> None:
    """Refuse a reward until states that may be missed, which PRISM calls infinite."""
    row, after, _ = transitions(game)
    n, goal = game.n_choices, asked.until
    of = row // n
    leads = ~goal[of]
    met = reached_from(of[leads], after[leads], game.start > 0)
    every = np.ones(game.n_states * n, dtype=bool)
    if asked.best == "min":
        if not surely(row, after, n, goal)[game.start > 0].all():
            raise _infinite(asked, "no policy reaches these states with probability 1")
        free = np.broadcast_to(reward.reshape(game.n_states, -1) == 0, (game.n_states, n)).ravel()
        if (met & avoiding(row, after, n, goal, free)).any():
            problem = "a policy can miss these states for ever without earning: the limit is less"
            raise _infinite(asked, problem)
    elif (met & avoiding(row, after, n, goal, every)).any():
        raise _infinite(asked, "a policy can miss these states, or does")


def _infinite(asked: Asked, why: str) -> InvalidArgument:
    allowed = "states that are reached with probability 1"
    return InvalidArgument("text", f"asks for a reward until states: {why}", allowed, asked.text)
