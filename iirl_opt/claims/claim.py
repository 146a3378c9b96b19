"""A claim: a statement as a predicate on one instance, and the search that tries it.

A `Claim` says where a statement comes from, what its status is, how to draw instances of it, and
how one instance is decided. `run_claims` draws instances with hypothesis and compares what it
finds with the status:

* ``holds``: as stated; no instance drawn fails;
* ``needs a condition``: `instances` meet the condition and none fails; without it the
  counterexample does. How many of the instances `outside` fail is reported;
* ``false as stated``: the counterexample fails. How many of the instances drawn fail is reported;
* ``repaired``: what is true in place of such a statement; no instance drawn fails;
* ``definition``: how a word is meant. Nothing could refute it: its row compares two computations.

An instance that does not meet the premise of a statement has not tried it. So every result says to
how many instances the statement *applies*, and *falls short* where these are fewer than the share
of the instances drawn that the claim declares, its `floor`.

The search is a pure function of the claims, the number of examples and the seed.
"""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from iirl_opt.checks import FUNCTION, PATH, SEED, TEXT, between, checked, each, is_a, one_of, whole
from iirl_opt.claims.arithmetic import kernel_of
from iirl_opt.errors import FileProblem, InvalidArgument, MissingExtra
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "Claim",
    "Finding",
    "Outcome",
    "Result",
    "Status",
    "describe",
    "read_claims",
    "run_claims",
    "untried",
]

Status: TypeAlias = Literal[
    "holds", "needs a condition", "false as stated", "repaired", "definition"
]
Finding: TypeAlias = Literal["as stated", "not so", "falls short"]
Instances: TypeAlias = "SearchStrategy[Any] | Callable[[], SearchStrategy[Any]]"

STATUSES: tuple[Status, ...] = get_args(Status)
FAILING: tuple[Status, ...] = ("needs a condition", "false as stated")


@dataclass(frozen=True)
class Outcome:
    """Whether a statement holds for an instance, and what shows it.

    Attributes
    ----------
    holds : whether it does; True of an instance that does not meet its premise.
    evidence : what shows that, in words.
    applies : whether the instance meets the premise of the statement.
    """

    holds: bool
    evidence: str = ""
    applies: bool = True


@checked(evidence=TEXT)
def untried(evidence: str) -> Outcome:
    """Return the outcome of an instance that does not meet the premise, with what it lacks."""
    return Outcome(True, evidence, applies=False)


def INSTANCES(name: str, value: Any) -> Any:
    """Return a hypothesis strategy, or a function that makes one."""
    return FUNCTION(name, value) if not hasattr(value, "example") else value


@checked(
    name=TEXT,
    place=TEXT,
    statement=TEXT,
    instances=INSTANCES,
    predicate=FUNCTION,
    status=one_of(*STATUSES),
    outside=INSTANCES,
    counterexample=FUNCTION,
    model=TEXT,
    floor=between(0, 1, "(]", allowed="a share, 0 < floor ≤ 1"),
)
@dataclass(frozen=True)
class Claim:
    """A statement as code.

    Parameters
    ----------
    name : short and unique.
    place : where the statement stands.
    statement : the statement, one sentence.
    instances : a strategy for instances that the statement is about (with its condition, if it
        needs one), or a function without arguments that makes it.
    predicate : from an instance to an `Outcome`, or to true or false.
    status : what is known of it, one of the five words of the module.
    outside : the same as `instances`, but without the condition.
    counterexample : makes the smallest known instance that fails, where one does.
    model : the shipped model file that states the counterexample, where a family can express it.
    floor : the share of the instances drawn that must meet the premise, 0 < floor ≤ 1.

    Raises
    ------
    InvalidArgument
    """

    name: str
    place: str
    statement: str
    instances: Instances
    predicate: Callable[[Any], Outcome | bool]
    status: Status = "holds"
    outside: Instances | None = None
    counterexample: Callable[[], Any] | None = None
    model: str | None = None
    floor: float = 0.9

    def __post_init__(self) -> None:
        if (self.status in FAILING) != (self.counterexample is not None):
            raise InvalidArgument(
                f"counterexample of {self.name}",
                f"is {'missing' if self.counterexample is None else 'given'}",
                f"one exactly where the status is {' or '.join(FAILING)}",
                self.status,
            )

    def decide(self, instance: Any) -> Outcome:
        """Decide the statement for one instance."""
        answer = self.predicate(instance)
        if isinstance(answer, Outcome):
            if not (answer.holds or answer.applies):
                place, problem = f"predicate of {self.name}", "fails where it does not apply"
                raise InvalidArgument(place, problem, "a failure that meets the premise", answer)
            return answer
        if not isinstance(answer, bool | np.bool_):
            place, problem = f"predicate of {self.name}", f"returns {answer!r}"
            raise InvalidArgument(place, problem, "true, false or an Outcome", answer)
        return Outcome(bool(answer))


@dataclass(frozen=True)
class Result:
    """What a search has found about a claim.

    Attributes
    ----------
    claim : the claim.
    instances : how many instances were drawn that the statement is about.
    applies : how many of them met its premise, and so tried it.
    failures : how many of them failed.
    outside : how many instances were drawn without its condition.
    outside_failures : how many of those failed.
    finding : ``"as stated"``, what the status says; ``"not so"``; or ``"falls short"``: no instance
        contradicts the status, but fewer met the premise than the claim declares.
    counterexample : the instance that fails, in words: the stored one, or the smallest one found
        where none should fail; None where none does.
    evidence : what shows that it fails, or what the last instance that met the premise showed.
    """

    claim: Claim
    instances: int
    applies: int
    failures: int
    outside: int
    outside_failures: int
    finding: Finding
    counterexample: str | None
    evidence: str

    @property
    def agrees(self) -> bool:
        """Whether the statement was tried, and is what its status says."""
        return self.finding == "as stated"

    @property
    def floor(self) -> int:
        """How many of the instances drawn must meet the premise."""
        return math.ceil(self.claim.floor * self.instances)

    def record(self) -> dict[str, Any]:
        """Return the result as JSON values; a counterexample with a model file is named by it."""
        known = None if self.finding == "not so" else self.claim.model
        return {
            "name": self.claim.name,
            "place": self.claim.place,
            "status": self.claim.status,
            "instances": self.instances,
            "counterexample": known or self.counterexample,
            "applies": self.applies,
            "floor": self.floor,
            "failures": self.failures,
            "outside": self.outside,
            "outside_failures": self.outside_failures,
            "finding": self.finding,
            "agrees": self.agrees,
            "statement": self.claim.statement,
            "evidence": self.evidence,
        }


@checked(claims=each(is_a(Claim)), examples=whole(1), seed=SEED)
def run_claims(claims: Iterable[Claim], *, examples: int = 100, seed: int = 0) -> list[Result]:
    """Try every claim on drawn instances, and verify its counterexample again.

    Parameters
    ----------
    examples : how many instances to draw from each strategy, ≥ 1.
    seed : of the search.

    Raises
    ------
    MissingExtra
        hypothesis is not installed.
    InvalidArgument

    **Cost** arithmetic, an instance at a time.
    """
    _need_hypothesis()
    return [_run(claim, examples, seed) for claim in claims]


@checked(path=PATH)
def read_claims(path: str | Path) -> tuple[Claim, ...]:
    """Read the list ``claims`` of a Python file.

    Raises
    ------
    FileProblem
        There is no such file, it does not run, or it has no such list.
    """
    file = Path(path)
    _need_hypothesis()
    if not file.is_file():
        raise FileProblem(file, "no such file")
    try:
        names = runpy.run_path(str(file))
    except SyntaxError as problem:
        raise FileProblem(file, str(problem.msg), line=problem.lineno) from None
    except Exception as problem:
        where, trace = None, problem.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == str(file):
                where = trace.tb_lineno
            trace = trace.tb_next
        raise FileProblem(file, f"{type(problem).__name__}: {problem}", line=where) from problem
    found = names.get("claims")
    if not isinstance(found, Sequence) or not all(isinstance(claim, Claim) for claim in found):
        raise FileProblem(file, "has no list of claims", key="claims")
    doubled = [
        claim.name
        for i, claim in enumerate(found)
        if claim.name in {other.name for other in found[:i]}
    ]
    if doubled:
        raise FileProblem(file, f"has two claims called {doubled[0]!r}", key="claims")
    return tuple(found)


def describe(instance: Any) -> str:
    """Return an instance in words: its fields, with games written as exact kernels."""
    if isinstance(instance, TwoAgentMDP):
        if not instance.is_rational:
            return repr(instance)
        rows = describe(kernel_of(instance))
        return f"game(kernel={rows}, discount={instance.rational.discount})"
    own_words = "__str__" in vars(type(instance))
    if is_dataclass(instance) and not isinstance(instance, type) and not own_words:
        parts = (f"{f.name}={describe(getattr(instance, f.name))}" for f in fields(instance))
        return f"{type(instance).__name__}({', '.join(parts)})"
    if isinstance(instance, np.ndarray):
        return describe(instance.tolist())
    if isinstance(instance, list | tuple):
        inside = ", ".join(describe(part) for part in instance)
        return f"({inside})" if isinstance(instance, tuple) else f"[{inside}]"
    return str(instance) if not callable(instance) else getattr(instance, "__name__", "function")


def _run(claim: Claim, examples: int, seed: int) -> Result:
    own = _try(claim, claim.instances, examples, seed)
    free = _Tally() if claim.outside is None else _try(claim, claim.outside, examples, seed)
    as_stated = claim.status == "false as stated" or not own.failures
    shown: tuple[Any, ...] = ()
    if not as_stated:
        shown = (_smallest(claim, own.first, examples, seed),)
    elif claim.counterexample is not None:
        shown = (claim.counterexample(),)
        as_stated = not claim.decide(*shown).holds
    finding: Finding = "as stated" if as_stated else "not so"
    if as_stated and own.applied < math.ceil(claim.floor * own.tried):
        finding = "falls short"
    return Result(
        claim,
        own.tried,
        own.applied,
        own.failures,
        free.tried,
        free.failures,
        finding,
        describe(*shown) if shown else None,
        claim.decide(*shown).evidence if shown else own.evidence,
    )


@dataclass
class _Tally:
    tried: int = 0
    applied: int = 0
    failures: int = 0
    first: Any = None
    evidence: str = ""

    def add(self, instance: Any, outcome: Outcome) -> None:
        self.tried += 1
        if outcome.applies:
            self.applied += 1
            self.evidence = outcome.evidence
        if not outcome.holds:
            self.failures += 1
            self.first = instance if self.failures == 1 else self.first


def _try(claim: Claim, instances: Instances, examples: int, seed: int) -> _Tally:
    """Decide drawn instances, and count."""
    import hypothesis
    from hypothesis import HealthCheck, Phase, settings

    tally = _Tally()

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(_strategy(instances))
    def trial(instance: Any) -> None:
        tally.add(instance, claim.decide(instance))

    trial()
    return tally


def _smallest(claim: Claim, known: Any, examples: int, seed: int) -> Any:
    """Return a small instance that fails; the one that is known where none smaller turns up."""
    import random

    import hypothesis
    from hypothesis import HealthCheck, settings
    from hypothesis.errors import NoSuchExample

    quiet = settings(
        max_examples=10 * examples,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    try:
        return hypothesis.find(
            _strategy(claim.instances),
            lambda instance: not claim.decide(instance).holds,
            settings=quiet,
            random=random.Random(seed),
        )
    except NoSuchExample:
        return known


def _strategy(instances: Instances) -> SearchStrategy[Any]:
    return instances() if callable(instances) else instances


def _need_hypothesis() -> None:
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        raise MissingExtra("iirl-opt claims", "testing") from None
