"""Every exception of the library.

Each is a dataclass: what went wrong is in its fields, and the message is made from them, so a
caller reads facts instead of parsing text. `IIRLError` catches all of them; `ValueError` and
`KeyError` catch those that a NumPy user would expect under these names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from iirl_opt.brief import in_brief
from iirl_opt.spelling import nearest

if TYPE_CHECKING:
    from iirl_opt.solver import Solved

__all__ = [
    "FileProblem",
    "IIRLError",
    "Infeasible",
    "Interrupted",
    "InvalidArgument",
    "InvalidGame",
    "InvalidObservation",
    "InvalidPolicy",
    "InvalidReward",
    "InvalidValue",
    "LimitReached",
    "MissingExtra",
    "NotAProduct",
    "NotCertified",
    "NotExact",
    "OnlyConstantRewards",
    "SolverFailed",
    "SolverProblem",
    "Unbounded",
    "UnknownLabel",
    "WorkersLost",
]


_LONG = re.compile(r"\S{400,}")


@dataclass(eq=False, repr=False)
class IIRLError(Exception):
    """The common ancestor: catch it to catch whatever this library raises on purpose."""

    __repr__ = in_brief

    def __reduce__(self) -> tuple[Any, ...]:
        facts = {f.name: getattr(self, f.name) for f in fields(self)}
        return partial(type(self), **facts), ()


@dataclass(eq=False, repr=False)
class InvalidValue(IIRLError, ValueError):
    """A value that the mathematics does not admit, and the place where it stands.

    Attributes
    ----------
    place : where, in the caller's own labels: ``P[s='(2,3)', a='open NE', b='W']``.
    problem : what is wrong there: ``sums to 0.97``.
    allowed : what would be right: ``1 ± 1e-09``.
    value : the offending value itself.
    """

    place: str
    problem: str
    allowed: str
    value: object = None

    # What is allowed in place of labels, or of a mapping of them, where an array is wanted.
    unlabelled: ClassVar[str] = "real numbers"

    def __str__(self) -> str:
        return f"{self.place} {self.problem}; allowed {self.allowed}"


class InvalidGame(InvalidValue):
    """A kernel, discount, start distribution or label that makes no game."""


class InvalidPolicy(InvalidValue):
    """A policy that is no row-stochastic array of the right shape."""

    unlabelled = (
        "real numbers, a row a state; `game.follower_policy({state: action})` and "
        "`game.leader_policy` make them of labels"
    )


class NotAProduct(InvalidPolicy):
    """A correlated joint policy: names the state, and by how much it differs from a product."""


class InvalidReward(InvalidValue):
    """A reward that is not finite or has the wrong shape."""

    unlabelled = "real numbers, an array in the order of game.states"


class InvalidObservation(InvalidValue):
    """An observation that no follower can have produced."""


class InvalidArgument(InvalidValue):
    """An argument outside its documented range."""


@dataclass(eq=False, repr=False)
class UnknownLabel(IIRLError, KeyError):
    """A state or action that the game does not have."""

    kind: str
    label: object
    known: Sequence[object] = field(repr=False)

    def __str__(self) -> str:
        near = nearest(self.label, self.known)
        hint = "" if near is None else f"; did you mean {near!r}?"
        some = ", ".join(repr(name) for name in self.known[:6])
        rest = f", … ({len(self.known)} in all)" if len(self.known) > 6 else ""
        return f"no {self.kind} is called {self.label!r}{hint} (known: {some or 'none'}{rest})"


@dataclass(eq=False, repr=False)
class FileProblem(IIRLError, ValueError):
    """A file that cannot be read as what it should be, with the place in it.

    Attributes
    ----------
    path : the file.
    problem : what is wrong, and what is allowed.
    key : the dotted key of a TOML document (``game.transitions[3].to``), if that is the place.
    line, column : counted from 1, if that is the place.
    """

    path: Path
    problem: str
    key: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = ":".join(str(p) for p in (self.path, self.line, self.column) if p is not None)
        # A word of the file may be as long as the file.
        said = _LONG.sub(lambda word: f"{word[0][:80]}…{word[0][-20:]}", self.problem)
        return f"{place}: {self.key}: {said}" if self.key else f"{place}: {said}"


@dataclass(eq=False, repr=False)
class SolverProblem(IIRLError):
    """A solver call that brought no optimum; `solved` holds all that is known about it."""

    solved: Solved

    def __str__(self) -> str:
        solved = self.solved
        facts = [f"said {solved.said}"] if solved.status.name == "FAILED" and solved.said else []
        facts += [solved.note] if solved.note else []
        more = f" ({'; '.join(facts)})" if facts else ""
        return f"{solved.solver}: {solved.status.name}{more}. {solved.status.advice}"


@dataclass(eq=False, repr=False)
class Infeasible(SolverProblem):
    """No point meets the constraints; ``solved.farkas`` is a ray that proves it, if one was found.

    The message names the rows with the largest multipliers in it, one's own before those that only
    say what a variable means. `certificate` is the proof in a form that needs no solver, where the
    program makes one.
    """

    certificate: Any = field(default=None, repr=False)

    def __str__(self) -> str:
        rows, total = self.solved.contradicting, self.solved.n_contradicting
        if not rows:
            return super().__str__()
        more = f", … ({total} rows in all)" if total > len(rows) else ""
        named = f"They are: {', '.join(map(str, rows))}{more}."
        return f"{super().__str__()} {named} `iirl.solver.explain(problem)` finds a smallest set."


class Unbounded(SolverProblem):
    """The objective has no bound over the constraints."""


class LimitReached(SolverProblem):
    """A time or iteration limit came first; ``solved.value`` is not proved to be optimal."""


class SolverFailed(SolverProblem):
    """The solver gave up, or its answer did not survive our own arithmetic."""


@dataclass(eq=False, repr=False)
class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a solver call: a `KeyboardInterrupt` that keeps what was found.

    No `IIRLError`, so that nothing that catches those goes on after Ctrl-C.

    Attributes
    ----------
    solved : the record; its status is INTERRUPTED, its value and bound those of the incumbent of a
        mixed-integer program, or it is OPTIMAL where the answer came just before.
    found : what the method that solved the program had by then, or None; a `Commitment`, say.
    """

    solved: Solved
    found: Any = None

    def __str__(self) -> str:
        return f"{self.solved.solver}: {self.solved.status.name}. {self.solved.status.advice}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.solved, self.found)


@dataclass(eq=False, repr=False)
class OnlyConstantRewards(IIRLError):
    """Only constant rewards were found in a feasible set: it tells nothing about the truth."""

    tries: int
    spread: float

    def __str__(self) -> str:
        return (
            f"{self.tries} objectives in a row were maximised by a constant reward "
            f"(spread at most {self.spread:g}): the observations are uninformative so far"
        )


@dataclass(eq=False, repr=False)
class NotExact(IIRLError):
    """Exact arithmetic was asked for where no exact numbers are known."""

    what: str

    def __str__(self) -> str:
        return (
            f"{self.what} has no exact numbers: give the kernel as Fractions or as integer "
            "weights a row"
        )


@dataclass(eq=False, repr=False)
class NotCertified(IIRLError):
    """An answer that `certify` has no proof for.

    Attributes
    ----------
    what : the answer, in words.
    reason : why it has none, and what would have one.
    """

    what: str
    reason: str

    def __str__(self) -> str:
        return f"no certificate for {self.what}: {self.reason}"


@dataclass(eq=False, repr=False)
class MissingExtra(IIRLError, ImportError):
    """A feature whose optional packages are not installed."""

    feature: str
    extra: str

    def __str__(self) -> str:
        return f"{self.feature} needs an extra: pip install 'iirl-opt[{self.extra}]'"


@dataclass(eq=False, repr=False)
class WorkersLost(IIRLError):
    """The processes or machines of a sweep failed; what was finished is in its checkpoint.

    Attributes
    ----------
    lost : the cells that they had and did not finish.
    left : how many cells are unfinished, those among them.
    reason : what became of them.
    """

    lost: Sequence[str]
    left: int
    reason: str

    def __str__(self) -> str:
        some = "; ".join(self.lost[:4]) + ("; …" if len(self.lost) > 4 else "")
        had = f", among them {some}" if some else ""
        return f"{self.reason}: {self.left} of the cells are unfinished{had}"
