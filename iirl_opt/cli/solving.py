"""Commands that answer a model file: `solve` one, `check` what many expect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iirl_opt.cli.completion import complete_model
from iirl_opt.cli.exit_codes import ANSWERED, INTERRUPTED, NO_ANSWER, UNMET, all_or_unmet
from iirl_opt.cli.failures import FAILURES, failure
from iirl_opt.cli.json_document import head
from iirl_opt.cli.options import (
    NOTHING,
    Asked,
    File,
    Json,
    Out,
    Seed,
    asking,
)
from iirl_opt.cli.printing import Printer, lines_of_findings
from iirl_opt.errors import FileProblem, Interrupted

if TYPE_CHECKING:
    from iirl_opt.library import Finding, ModelAnswer

__all__ = ["check", "solve"]


@asking
def solve(
    file: File,
    seed: Seed = None,
    asked: Asked = NOTHING,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Answer the question of any model file, with its evidence."""
    from iirl_opt import library

    problem = library.read_model(file, **asked)
    printer = Printer(as_json, out)
    complete = True
    try:
        with printer.progress(name="solving"):
            answer = library.answer(problem, seed=seed)
    except Interrupted as stop:
        if not isinstance(stop.found, library.ModelAnswer):
            raise
        answer, complete = stop.found, False
    decided = complete and problem.as_stated and seed is None and answer.decides
    findings = library.check(problem.expect if decided else [], answer.quantities, problem.path)
    document = {
        **head("solve", problem, seed=seed, complete=complete),
        "quantities": dict(answer.quantities),
        "evidence": dict(answer.evidence),
        "expectations": [asdict(finding) for finding in findings],
    }
    unanswered = complete and bool(answer.unanswered) and not findings
    report = chain(
        [f"{problem.title}\n  {problem.source}\n"],
        problem.question.report(answer),
        lines_of_findings(findings),
        [_no_answer(answer)] if unanswered else [],
    )
    printer.give(document, report)
    if not complete:
        typer.echo("iirl-opt: interrupted; this is the best that was found until then", err=True)
        return INTERRUPTED
    return NO_ANSWER if unanswered else all_or_unmet(finding.met for finding in findings)


@asking
def check(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Model files, folders of them, names, or games.", autocompletion=complete_model
        ),
    ],
    seed: Seed = None,
    asked: Asked = NOTHING,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Derive every expectation of model files again, and report those that fail."""
    from iirl_opt import library

    files = [file for path in paths for file in _model_files(path)]
    printer = Printer(as_json, out)
    failed = _Failed()
    problems = []
    for file in files:
        with failed.instead(file):
            problems.append((file, library.read_model(str(file), **asked)))
    if not problems:
        return failed.code
    report: list[dict[str, Any]] = []
    checked = len(failed.files)
    with printer.kept(), printer.progress(len(problems), "checking") as advance:
        for file, problem in problems:
            with failed.instead(file):
                answer = library.answer(problem, seed=seed)
                if not answer.decides:
                    failed.add(file, NO_ANSWER, _no_answer(answer))
                    continue
                expected = problem.expect if problem.as_stated else []
                findings = library.check(expected, answer.quantities, file)
                report += [{"file": str(file), **asdict(finding)} for finding in findings]
                advance("\n".join(_lines_of_file(file, findings)))
            checked += 1
    unmet = sum(not finding["met"] for finding in report)
    document = {
        **head("check", seed=seed, complete=not printer.interrupted),
        "unmet": unmet,
        "expectations": report,
        "failed": failed.files,
    }
    of = f"{checked} of {len(files)} files" if printer.interrupted else f"{len(files)} files"
    more = f"; {len(failed.files)} could not be checked" if failed.files else ""
    printer.give(document, [f"{len(report)} expectations in {of}, {unmet} not met{more}"])
    worst = max(failed.code, UNMET if unmet else ANSWERED)
    return INTERRUPTED if printer.interrupted else worst


class _Failed:
    """The files of `check` that could not be read or answered: the others are checked all the same.

    Attributes
    ----------
    files : for each its name and what is wrong, ready for JSON.
    code : the worst of their exit codes: the largest.
    """

    def __init__(self) -> None:
        self.files: list[dict[str, str]] = []
        self.code = ANSWERED

    @contextmanager
    def instead(self, file: Path) -> Iterator[None]:
        """Keep and say what is wrong with a file, in place of raising it."""
        try:
            yield
        except FAILURES as problem:
            self.add(file, *failure(problem))

    def add(self, file: Path, code: int, said: str) -> None:
        """Keep and say what is wrong with a file."""
        self.code = max(self.code, code)
        self.files.append({"file": str(file), "problem": said})
        place = "" if str(file) in said else f"{file}: "
        typer.echo(f"iirl-opt: {place}{said}", err=True)


def _no_answer(answer: ModelAnswer) -> str:
    """Return why there is no answer, where no expectation says that there is to be none."""
    if not answer.decides:
        return "no answer: the chains have not mixed, so no expectation is held against them"
    name = answer.unanswered
    return f"no answer: {name} is {answer.quantities[name]:g}, and no expectation says so"


def _lines_of_file(file: Path, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield what there is to say of a file, and of what it expects in vain."""
    unmet = [finding for finding in findings if not finding.met]
    yield f"{'NOT MET' if unmet else 'ok':<8}{file} ({len(findings)} expectations)"
    for finding in unmet:
        yield f"        {finding.quantity}: expected {finding.expected}, found {finding.found!r}"


def _model_files(path: str) -> list[Path]:
    """Return the model files of a folder, or the one of this path or name."""
    from iirl_opt import library

    folder = Path(path)
    if not folder.is_dir():
        return [library.find_model(path)]
    inside = sorted(folder.glob("**/*.toml"))
    if not inside:
        raise FileProblem(folder, "holds no model file")
    return inside
