"""PRISM's properties: what is asked, and of which states.

A property such as ``R{"steps"}max=? [ F "finished" & !"agree" ]`` asks for the largest or least
expectation of something along a path: a probability of reaching states (``F``, ``U``) or of never
leaving them (``G``), a reward until states are reached (``F``), or a reward in all (``C``), perhaps
discounted (``Cdiscount=0.9``). States are named by labels, ``"finished"``, and by values of
variables, ``pc1=3``, where states are called by them; with ``!``, ``&``, ``|``, ``=>``, ``<=>``.

What else PRISM asks has no counterpart in a discounted problem over the same states, and is refused
by name and reason: see `REFUSED`.

Source: the manual of PRISM, "Property specification"; Storm's parser for ``Cdiscount``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import InvalidArgument, UnknownLabel
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.formats.numbers import read_number

__all__ = ["REFUSED", "Asked", "parse_property"]

Booleans = NDArray[np.bool_]

LONGEST, DEEPEST = 10_000, 150  # letters of a property, and operators that nest

QUERIES = "Pmax=?, Pmin=?, R{…}max=? or R{…}min=? of F, U, G, C or Cdiscount=γ"

# What is refused: a pattern of the property without its quoted names, what that is, and why.
REFUSED: tuple[tuple[str, str, str], ...] = (
    (r"<<", "strategies of players against each other (rPATL)", "both agents want the same here"),
    (r"\bmulti\s*\(", "several objectives", "a discounted problem has one; see budgets"),
    (r"\bfilter\s*\(", "a filter", "look the values of the states up that it would choose"),
    (r"^\s*[EA]\s*\[", "paths without their probability (CTL)", "ask for Pmax=? or Pmin=?"),
    (r"\|\|", "a conditional probability", "it is a quotient of two, not an expectation"),
    (r"\bLRA|\bMP\b|\bS\s*(min|max)?\s*(=\?|[<>])|\[\s*S\s*\]", "a long-run average (S, LRA)",
     "every discount counts what comes early, and an average does not"),
    (r"\bT\s*(min|max)?\s*(=\?|[<>])", "an expected time", "time is continuous there"),
    (r"\[[^]]*\b[PRST]\s*(\{[^}]*\})?\s*(min|max)?\s*(=\s*\?|[<>]=?)", "a nested property",
     "its inner answer is no label: ask for that first"),
    (r"^\s*[PR]\s*(\{[^}]*\})?\s*(min|max)?\s*[<>]=?", "whether a bound holds",
     "ask for the value, =?, and compare"),
    (r"\b[FGU]\s*(\{[^}]*\}\s*)?(<=|<|>=|>|=|\[)", "a bounded path (F<=k, U<=k)",
     "the steps taken would have to be part of the state"),
    (r"\bI\s*=|\bC\s*(<=?|\{)|discount\s*=\s*[\d./]+\s*<", "a bounded reward (C<=k, I=k)",
     "the steps taken would have to be part of the state"),
    (r"\bX\b", "the next state (X)", "the steps taken would have to be part of the state"),
    (r"\bW\b", "a weak until (W)", "it is one minus the probability of an until"),
    (r"\b[FG]\s*\(?\s*[FG]\b", "a formula of paths (LTL, PCTL*)",
     "whether it holds is no matter of the states that are met"),
)  # fmt: skip

_TOKEN = re.compile(
    r'\s*("[^"]*"|<=>|=>|<=|>=|!=|=\?|[-+]?[0-9][0-9.]*(?:[eE][+-]?[0-9]+)?(?:/[0-9]+)?'
    r"|[A-Za-z_][\w.]*|[][(){}=<>!&|:;])"
)
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, eq=False)
class Asked:
    """What a property asks.

    Attributes
    ----------
    text : the property.
    best : ``"max"``, ``"min"`` or, where nothing is chosen, ``""``.
    reward : the name of a reward, or None for a probability.
    path : ``"F"``, ``"U"``, ``"G"``, ``"C"`` or ``"discounted"``.
    before : the states that may be met before, (S,); all but for ``"U"``.
    until : the states that are to be reached, or for ``"G"`` never left, (S,).
    discount : of a discounted reward.
    """

    text: str
    best: str
    reward: str | None
    path: str
    before: Booleans
    until: Booleans
    discount: Fraction | None = None


def parse_property(text: str, problem: ImportedGame) -> Asked:
    """Return what a property asks of a problem.

    Raises
    ------
    InvalidArgument
        It asks what has no counterpart, which is said with the reason; or it is no property.
    UnknownLabel
        A label, a variable or a reward that the problem does not have.
    """
    if len(text) > LONGEST:
        raise InvalidArgument("text", f"has {len(text)} letters", f"up to {LONGEST}", text)
    bare = re.sub(r'"[^"]*"', '""', text)
    if sum(map(bare.count, ("(", "!", "=>"))) > DEEPEST:
        raise InvalidArgument("text", "is nested too deeply", f"{DEEPEST} of (, ! and =>", text)
    for pattern, what, why in REFUSED:
        if re.search(pattern, bare):
            raise InvalidArgument("text", f"asks for {what}: {why}", QUERIES, text)
    return _PropertyParser(text, problem).asked()


class _PropertyParser:
    """The words of a property, read from left to right."""

    def __init__(self, text: str, problem: ImportedGame) -> None:
        self.text, self.problem = text, problem
        self.words: list[str] = []
        self.places: list[int] = []
        at = 0
        stripped = text.rstrip()
        while at < len(stripped):
            found = _TOKEN.match(text, at)
            if not found:
                at += len(text[at:]) - len(text[at:].lstrip())
                raise self._wrong(at, text[at], "a property")
            self.words.append(found[1])
            self.places.append(found.start(1))
            at = found.end()
        self.i = 0

    def _wrong(self, at: int, found: str, allowed: str) -> InvalidArgument:
        place = f"has {found!r} at column {at + 1}" if found else "ends too early"
        return InvalidArgument("text", f"is no property: it {place}", allowed, self.text)

    def _peek(self) -> str:
        return self.words[self.i] if self.i < len(self.words) else ""

    def _take(self, *allowed: str) -> str:
        """Return the next word, which is one of some, or any if none are given."""
        word = self._peek()
        if not word or (allowed and word not in allowed):
            at = self.places[self.i] if word else len(self.text)
            raise self._wrong(at, word, " or ".join(allowed) or QUERIES)
        self.i += 1
        return word

    def asked(self) -> Asked:
        """Read the property."""
        if self._peek().startswith('"'):  # its name
            self._take()
            self._take(":")
        kind = self._take("P", "Pmax", "Pmin", "R", "Rmax", "Rmin")
        best, reward = kind[1:], None
        if kind.startswith("R"):
            reward = self._reward_name()
        if not best and self._peek() in ("max", "min"):
            best = self._take()
        self._take("=?")
        if not best and self.problem.game.n_choices > 1:
            raise InvalidArgument(
                "text",
                "says neither max nor min, and there are choices",
                "max=? or min=?",
                self.text,
            )
        self._take("[")
        found = self._path(best, reward)
        self._take("]")
        if self._peek() == ";":
            self._take()
        if self._peek():
            raise self._wrong(self.places[self.i], self._peek(), "one property")
        return found

    def _reward_name(self) -> str:
        """Return which reward is asked for: by name, by number from 1, or the one that there is."""
        known = list(self.problem.rewards)
        if self._peek() != "{":
            if len(known) != 1 and "reward" in known:
                return "reward"  # the one without a name
            only = self.problem.reward()
            return next(name for name, r in self.problem.rewards.items() if r is only)
        self._take("{")
        word = self._take()
        self._take("}")
        name = word.strip('"')
        if word.isdecimal() and 1 <= int(word) <= len(known):
            return known[int(word) - 1]
        if name not in known:
            raise UnknownLabel("reward", name, tuple(known))
        return name

    def _path(self, best: str, reward: str | None) -> Asked:
        everywhere = np.ones(self.problem.game.n_states, dtype=bool)
        word = self._peek()
        if reward is not None:
            word = self._take("F", "C", "Cdiscount")
            if word == "F":
                return Asked(self.text, best, reward, "F", everywhere, self._states())
            if word == "C" and self._peek() == "discount":
                word += self._take()
            if word == "C":
                return Asked(self.text, best, reward, "C", everywhere, ~everywhere)
            self._take("=")
            at, number = self.i, read_number(self._take())
            if number is None or not 0 <= number < 1:
                raise self._wrong(self.places[at], self.words[at], "a discount, 0 ≤ γ < 1")
            return Asked(self.text, best, reward, "discounted", everywhere, ~everywhere, number)
        if word in ("F", "G"):
            self._take()
            return Asked(self.text, best, None, word, everywhere, self._states())
        before = self._states()
        self._take("U")
        return Asked(self.text, best, None, "U", before, self._states())

    # States -------------------------------------------------------------------------------------

    def _states(self) -> Booleans:
        """Read a formula of states, the weakest operator first."""
        found = self._implied()
        while self._peek() == "<=>":
            self._take()
            found = found == self._implied()
        return found

    def _implied(self) -> Booleans:
        found = self._either()
        if self._peek() == "=>":
            self._take()
            found = ~found | self._implied()
        return found

    def _either(self) -> Booleans:
        found = self._both()
        while self._peek() == "|":
            self._take()
            found = found | self._both()
        return found

    def _both(self) -> Booleans:
        found = self._atom()
        while self._peek() == "&":
            self._take()
            found = found & self._atom()
        return found

    def _atom(self) -> Booleans:
        at, word = self.i, self._take()
        if word == "!":
            return ~self._atom()
        if word == "(":
            found = self._states()
            self._take(")")
            return found
        n_states = self.problem.game.n_states
        if word in ("true", "false"):
            return np.full(n_states, word == "true")
        if word.startswith('"'):
            name = word.strip('"')
            if name not in self.problem.labels:
                raise UnknownLabel("label", name, tuple(self.problem.labels))
            return self.problem.labels[name]
        if word in ("F", "G", "U") or not re.fullmatch(r"[A-Za-z_][\w.]*", word):
            allowed = 'a label in quotation marks, a variable, true, false, "!" or "("'
            raise self._wrong(self.places[at], word, allowed)
        values = self._variable(word)
        if self._peek() not in _COMPARED:
            ends = self._peek() in ("]", ")", "&", "|", "=>", "<=>", "U")
            if ends and not all(isinstance(value, bool) for value in values):
                allowed = f"a comparison of the variable, such as {word}=1, since it has numbers"
                raise self._wrong(self.places[at], word, allowed)
            return np.array([value is True for value in values])
        compare = _COMPARED[self._take()]
        at, wanted = self.i, self._take()
        number = {"true": True, "false": False}.get(wanted, read_number(wanted))
        if number is None:
            raise self._wrong(self.places[at], wanted, "a number, true or false")
        truth = isinstance(number, bool)
        if (truth and compare not in (operator.eq, operator.ne)) or any(
            isinstance(value, bool) != truth for value in values
        ):
            allowed = "true or false by = and != of a truth value, and a number of one"
            raise self._wrong(self.places[at], wanted, allowed)
        return np.array([compare(value, number) for value in values])

    def _variable(self, name: str) -> list[Fraction | bool]:
        """Return the values of a variable in all states, which are called by them."""
        columns: dict[str, list[str]] = {}
        for state in self.problem.game.states:
            for part in str(state).split(","):
                variable, _, value = part.partition("=")
                columns.setdefault(variable, []).append(value)
        known = [x for x, values in columns.items() if len(values) == len(self.problem.game.states)]
        values = columns.get(name, [])
        read = [{"true": True, "false": False}.get(word, read_number(word)) for word in values]
        if name not in known or None in read:
            raise UnknownLabel("variable (labels are quoted)", name, tuple(known))
        return [value for value in read if value is not None]
