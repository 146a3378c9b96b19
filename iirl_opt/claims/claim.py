"""A claim: a statement as a predicate on one instance, and the search that tries it.

A `Claim` says where a statement comes from, what its status is, how to draw instances of it, and
how one instance is decided. `run_claims` draws instances with hypothesis and compares what it
finds with the status:

* ``holds``: as stated; no instance drawn fails;
* ``needs a condition``: `instances` meet the condition and none fails; without it the
  counterexample does, and so do some of the instances `outside`;
* ``false as stated``: the counterexample fails, and so do some of the instances drawn;
* ``repaired``: what is true in place of such a statement; no instance drawn fails.

The search is a pure function of the claims, the number of examples and the seed.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from iirl_opt.claims.exact import kernel_of
from iirl_opt.errors import FileProblem, InvalidArgument, MissingExtra
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Claim", "Outcome", "Result", "Status", "describe", "read_claims", "run_claims"]

Status: TypeAlias = Literal["holds", "needs a condition", "false as stated", "repaired"]
Instances: TypeAlias = "SearchStrategy[Any] | Callable[[], SearchStrategy[Any]]"

STATUSES: tuple[Status, ...] = get_args(Status)
FAILING: tuple[Status, ...] = ("needs a condition", "false as stated")


@dataclass(frozen=True)
class Outcome:
    """Whether a statement holds for an instance, and what shows it."""

    holds: bool
    evidence: str = ""


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
    status : what is known of it, one of the four words of the module.
    outside : the same as `instances`, but without the condition.
    counterexample : makes the smallest known instance that fails, where one does.
    model : the shipped model file that states the counterexample, where a family can express it.

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

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise InvalidArgument(
                f"status of {self.name}", f"is {self.status!r}", ", ".join(STATUSES), self.status
            )
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
    instances : how many instances were tried.
    failures : how many of them failed.
    agrees : whether that is what the status says.
    counterexample : the instance that fails, in words: the stored one, or the smallest one found
        where none should fail; None where none does.
    evidence : what shows that it fails, or what the last instance showed.
    """

    claim: Claim
    instances: int
    failures: int
    agrees: bool
    counterexample: str | None
    evidence: str

    def record(self) -> dict[str, Any]:
        """Return the result as JSON values; a counterexample with a model file is named by it."""
        return {
            "name": self.claim.name,
            "place": self.claim.place,
            "status": self.claim.status,
            "instances": self.instances,
            "counterexample": (self.claim.model if self.agrees else None) or self.counterexample,
            "statement": self.claim.statement,
            "failures": self.failures,
            "agrees": self.agrees,
            "evidence": self.evidence,
        }


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
    if examples < 1:
        raise InvalidArgument("examples", f"is {examples}", "a whole number ≥ 1", examples)
    _need_hypothesis()
    return [_run(claim, examples, seed) for claim in claims]


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
    doubled = [claim.name for i, claim in enumerate(found) if claim.name in _names(found[:i])]
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
    tally = _try(claim, claim.instances, examples, seed)
    tried, failures = tally.tried, tally.failures
    if claim.outside is not None:
        free = _try(claim, claim.outside, examples, seed)
        tried, failures = tried + free.tried, failures + free.failures
    agrees = claim.status == "false as stated" or not tally.failures
    shown: tuple[Any, ...] = ()
    if not agrees:
        shown = (_smallest(claim, tally.first, examples, seed),)
    elif claim.counterexample is not None:
        shown = (claim.counterexample(),)
        agrees = not claim.decide(*shown).holds
    evidence = claim.decide(*shown).evidence if shown else tally.evidence
    words = describe(*shown) if shown else None
    return Result(claim, tried, failures, agrees, words, evidence)


@dataclass
class _Tally:
    tried: int = 0
    failures: int = 0
    first: Any = None
    evidence: str = ""


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
        outcome = claim.decide(instance)
        tally.tried += 1
        tally.evidence = outcome.evidence
        if not outcome.holds:
            tally.failures += 1
            tally.first = instance if tally.failures == 1 else tally.first

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


def _names(claims: Iterable[Claim]) -> set[str]:
    return {claim.name for claim in claims}


def _need_hypothesis() -> None:
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        raise MissingExtra("iirl-opt claims", "testing") from None
