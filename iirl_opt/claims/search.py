"""The search that tries claims: instances are drawn, decided and counted.

`run_claims` draws instances with hypothesis and compares what it finds with the status of a claim.
Where a statement holds, is repaired or is a definition, no instance drawn may fail; where it needs
a condition none may that meets it, and the counterexample fails without it; where it is false as
stated the counterexample fails. How many of the other instances fail is reported.

Every result says to how many instances the statement *applies*, and *falls short* where these are
fewer than the share of the instances drawn that the claim declares, its `floor`.

The search is a pure function of the claims, the number of examples and the seed.
"""

from __future__ import annotations

import math
import os
import runpy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from iirl_opt.brief import in_brief
from iirl_opt.checks import PATH, SEED, checked, each, is_a, whole
from iirl_opt.claims.claim import Claim, Instances, Outcome, describe
from iirl_opt.errors import FileProblem, MissingExtra
from iirl_opt.library.misplaced import PYTHON, find_file
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["Finding", "Result", "read_claims", "run_claims"]

Finding: TypeAlias = Literal["as stated", "not so", "falls short"]


@dataclass(frozen=True)
class Result(Tabular):
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
    instance : the instance of `counterexample` itself.

    Examples
    --------
    >>> from hypothesis.strategies import integers
    >>> words = "mine", "my note", "No square is below its root."
    >>> claim = Claim(*words, instances=integers(), predicate=lambda n: n * n >= n)
    >>> (result,) = run_claims([claim], examples=10)
    >>> result.instances, result.failures, result.finding, result.agrees
    (10, 0, 'as stated', True)
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
    instance: Any = None

    __repr__ = in_brief

    def table(self) -> FactTable:
        """Return one row: what `record` says."""
        return FactTable([self.record()], self.claim.name)

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

    Examples
    --------
    >>> from hypothesis.strategies import integers
    >>> words = "mine", "my note", "No number exceeds 5."
    >>> claim = Claim(*words, instances=integers(0, 9), predicate=lambda n: n <= 5)
    >>> (result,) = run_claims([claim], examples=20)
    >>> result.finding, result.counterexample  # the smallest that fails
    ('not so', '6')
    """
    _need_hypothesis()
    with _storage():
        return [_run(claim, examples, seed) for claim in claims]


@contextmanager
def _storage() -> Iterator[None]:
    """Let hypothesis keep what it notes on the way elsewhere than in the folder one works in.

    Where it has a folder already, or one was named, it is left to itself.
    """
    from hypothesis import configuration

    place = configuration.storage_directory(intent_to_write=False)
    home = Path(getattr(place, "home_directory", str(place)))  # a path itself, in older versions
    if "HYPOTHESIS_STORAGE_DIRECTORY" in os.environ or home.exists():
        yield
        return
    with TemporaryDirectory() as folder:
        configuration.set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            configuration.set_hypothesis_home_dir(home)


@checked(path=PATH)
def read_claims(path: str | Path) -> tuple[Claim, ...]:
    """Read the list ``claims`` of a Python file.

    Raises
    ------
    FileProblem
        There is no such file, it does not run, or it has no such list.

    **Cost** that of running the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> lines = '''
    ... from hypothesis.strategies import integers
    ... from iirl_opt.claims import Claim
    ... claims = [Claim("mine", "my note", "A square is ≥ 0.", integers(), lambda n: n * n >= 0)]
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "mine.py").write_text(lines)
    ...     [claim.name for claim in read_claims(f"{folder}/mine.py")]
    ['mine']
    """
    file = Path(path)
    _need_hypothesis()
    find_file(file, PYTHON)
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
        *shown,
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
