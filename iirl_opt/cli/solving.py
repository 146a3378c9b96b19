"""Commands that answer a model file: `solve` one, `check` what many expect."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from iirl_opt.cli.completion import complete_model
from iirl_opt.cli.exit_codes import ANSWERED, INTERRUPTED, UNMET, all_or_unmet
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
from iirl_opt.cli.printing import Printer
from iirl_opt.errors import FileProblem, Interrupted

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
    expected = problem.expect if complete and problem.as_stated and seed is None else []
    findings = library.check(expected, answer.quantities, problem.path)
    document = {
        **head("solve", problem, seed=seed, complete=complete),
        "quantities": dict(answer.quantities),
        "evidence": dict(answer.evidence),
        "expectations": [asdict(finding) for finding in findings],
    }
    printer.give(document)
    printer.say(f"{problem.title}\n  {problem.source}\n")
    for line in problem.question.report(answer):
        printer.say(line)
    printer.say_findings(findings)
    printer.keep(document)
    if not complete:
        typer.echo("iirl-opt: interrupted; this is the best that was found until then", err=True)
        return INTERRUPTED
    return all_or_unmet(finding.met for finding in findings)


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
    report: list[dict[str, Any]] = []
    checked = 0
    with printer.kept(), printer.progress(len(files), "checking") as advance:
        for file in files:
            problem = library.read_model(str(file), **asked)
            quantities = library.answer(problem, seed=seed).quantities
            expected = problem.expect if problem.as_stated else []
            findings = library.check(expected, quantities, file)
            report += [{"file": str(file), **asdict(finding)} for finding in findings]
            failed = [finding for finding in findings if not finding.met]
            mark = "NOT MET" if failed else "ok"
            checked += 1
            advance(f"{mark:<8}{file} ({len(findings)} expectations)")
            for finding in failed:
                found = f"expected {finding.expected}, found {finding.found!r}"
                printer.say(f"        {finding.quantity}: {found}")
    complete = not printer.interrupted
    unmet = sum(not finding["met"] for finding in report)
    of = f"{len(files)} files" if complete else f"{checked} of {len(files)} files"
    printer.say(f"{len(report)} expectations in {of}, {unmet} not met")
    document = {
        **head("check", seed=seed, complete=complete),
        "unmet": unmet,
        "expectations": report,
    }
    printer.give(document)
    printer.keep(document)
    return INTERRUPTED if not complete else UNMET if unmet else ANSWERED


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
