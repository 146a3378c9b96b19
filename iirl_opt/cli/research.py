"""Commands about the paper: try its `claims`, compute a `figure`, `compare` learners."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iirl_opt.cli.completion import (
    complete_claims,
    complete_figure,
    complete_learners,
    complete_scale,
)
from iirl_opt.cli.exit_codes import ANSWERED, INTERRUPTED, UNMET, all_or_unmet
from iirl_opt.cli.json_document import head
from iirl_opt.cli.options import (
    NOTHING,
    Asked,
    File,
    Jobs,
    Json,
    Out,
    Patience,
    Restart,
    Resume,
    Scheduler,
    asking,
)
from iirl_opt.cli.printing import Printer
from iirl_opt.cli.sweeps import SweepRun, files_of
from iirl_opt.errors import InvalidArgument

if TYPE_CHECKING:
    from iirl_opt.claims.claim import Claim
    from iirl_opt.claims.search import Result

__all__ = ["claims", "compare", "figure"]


def claims(
    file: Annotated[
        str | None,
        typer.Argument(
            help="A Python file with a list `claims` of your own.", autocompletion=complete_claims
        ),
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="Instances to draw for each.")] = 25,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Try every statement of the paper: status, instances that meet its premise, counterexample."""
    from iirl_opt.claims import PAPER, read_claims, run_claims

    tried = PAPER if file is None else read_claims(file)
    stems = _stems(tried)
    printer = Printer(as_json, out, ["claims.json", *(f"{stem}.toml" for stem in stems)])
    width = max((len(claim.name) for claim in tried), default=0)
    records: list[dict[str, Any]] = []
    failing: list[Result] = []
    with printer.kept(), printer.progress(len(tried), "claims") as advance:
        for claim in tried:
            (result,) = run_claims([claim], examples=examples, seed=seed)
            failing += [] if result.counterexample is None else [result]
            records.append(result.record())
            shown = records[-1]["counterexample"] or ""
            advance("\n".join(_lines_of_claim(claim, result, shown, width)))
    unmet = sum(not record["agrees"] for record in records)
    name = None if file is None else Path(file).name
    short = sum(record["finding"] == "falls short" for record in records)
    document = {
        **head("claims", file=name, seed=seed, complete=not printer.interrupted),
        "examples": examples,
        "unmet": unmet,
        "short": short,
        "claims": records,
    }
    ended = f", {short} of them for want of instances" if short else ""
    of = f" of {len(tried)}" if printer.interrupted else ""
    line = f"{len(records)}{of} claims, {unmet} not as their status says{ended}"
    named = dict(zip(map(id, tried), stems, strict=True))
    places = [(result, named[id(result.claim)]) for result in failing]
    files = () if out is None else _write_counterexamples(places, out)
    printer.give(document, [line], name="claims.json", beside=files)
    return INTERRUPTED if printer.interrupted else UNMET if unmet else ANSWERED


def _stems(tried: Sequence[Claim]) -> list[str]:
    """Return what the file of a counterexample of each claim is called, but for its ending."""
    stems: dict[str, None] = {}
    for claim in tried:
        stem = re.sub(r"[^\w.-]+", "-", claim.name)
        while stem in stems:
            stem += "-"
        stems[stem] = None
    return list(stems)


def _write_counterexamples(failing: list[tuple[Result, str]], out: Path) -> Iterator[str]:
    """Write the instance that fails of each claim as a model file, and yield what it shows."""
    from iirl_opt.claims.problems import stated_problem
    from iirl_opt.library import write_model

    for result, name in failing:
        problem, why = stated_problem(result)
        if problem is None:
            yield f"no file for {result.claim.name}: its instance {why}"
            continue
        lines = [f"{result.claim.name}, {result.claim.status}", result.claim.statement]
        comment = "\n".join([*lines, result.evidence, why])
        written = write_model(problem, out / f"{name}.toml", comment=comment)
        yield f"wrote {written}" + (f" ({why})" if why else "")


def _lines_of_claim(claim: Claim, result: Result, shown: str, width: int) -> list[str]:
    """Return what there is to say of a claim: how often it failed, its words, an instance."""
    count = f"{result.failures} of {result.applies} fail"
    if result.applies < result.instances:
        count += f" ({result.instances} drawn)"
    if result.outside:
        count += f", outside {result.outside_failures} of {result.outside}"
    if shown and result.agrees and not claim.model:
        shown = "(in code)"
    mark = {"as stated": "ok ", "not so": "NOT SO", "falls short": "SHORT "}[result.finding]
    lines = [f"{mark} {claim.name:<{width}}  {claim.status:<17}  {count:<15} {shown}".rstrip()]
    if result.finding == "falls short":
        lines.append(
            f"      fewer than {result.floor} instances meet the premise: it was not tried"
        )
    lines.append(f"      {claim.place}: {claim.statement}")
    if result.evidence:
        lines.append(f"      {'counterexample' if shown else 'last instance'}: {result.evidence}")
    return lines


def figure(
    number: Annotated[
        str,
        typer.Argument(
            help="Its number in the paper, proposition-1 or transfer.",
            autocompletion=complete_figure,
        ),
    ],
    scale: Annotated[
        str,
        typer.Option(
            help="small, or the paper's own size: paper; transfer has more.",
            autocompletion=complete_scale,
        ),
    ] = "small",
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    patience: Patience = None,
    resume: Resume = False,
    restart: Restart = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the games and runs.")] = 0,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Compute a figure of the paper again, or a table of ours, and check what is said of it."""
    from iirl_opt.experiments.figure import find_figure, run_figure
    from iirl_opt.library.shipped import shipped_by_name

    try:
        wanted = find_figure(number)
    except InvalidArgument as problem:
        if Path(number).suffix or number in shipped_by_name():
            problem.allowed += "; iirl-opt compare takes a file"
        raise
    name = f"figure-{wanted.number}"
    printer = Printer(as_json, out, files_of(name), always=name)
    heading = f"figure {wanted.number}, {scale}: {wanted.title}"
    sweep = SweepRun(printer, name, len(wanted.cells(scale, seed)), heading)
    found = sweep.run(
        lambda **how: run_figure(wanted, scale, seed=seed, **how),
        jobs=jobs,
        scheduler=scheduler,
        patience=patience,
        resume=resume,
        restart=restart,
    )
    if found is None:
        return INTERRUPTED
    document = {**head("figure", title=wanted.title, seed=seed), **found}
    lines = (
        f"{'ok ' if each['holds'] else 'NOT SO'} {each['text']} ({each['evidence']})"
        for each in found["statements"]
    )
    sweep.give(document, lines, wanted.draw)
    return all_or_unmet(statement["holds"] for statement in found["statements"])


@asking
def compare(
    file: File,
    learners: Annotated[
        str,
        typer.Option(
            help="Names with commas between; -fixed behind one fixes its environment.",
            autocompletion=complete_learners,
        ),
    ] = "algorithm-1,active,max-margin-fixed",
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of each run.")] = 30,
    runs: Annotated[int, typer.Option(min=1, help="Runs, each with its first commitment.")] = 5,
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    patience: Patience = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run.")] = 0,
    resume: Resume = False,
    restart: Restart = False,
    asked: Asked = NOTHING,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Let several learners learn on a game file of yours, and compare what they lose."""
    from iirl_opt import library
    from iirl_opt.experiments.comparison import compare_cells, compare_runs
    from iirl_opt.experiments.learning import FIGURE_3

    path = library.find_model(file)
    problem = library.read_model(path, **asked)
    problem.need_truth()
    cells = compare_cells(
        str(path), learners.split(","), episodes=episodes, runs=runs, seed=seed, asked=asked
    )
    printer = Printer(as_json, out, files_of("compare"), always=f"compare-{path.stem}")
    sweep = SweepRun(printer, "compare", len(cells))
    found = sweep.run(
        lambda **how: compare_runs(cells, **how),
        jobs=jobs,
        scheduler=scheduler,
        patience=patience,
        resume=resume,
        restart=restart,
    )
    if found is None:
        return INTERRUPTED
    document = {**head("compare", problem, seed=seed), **found}
    lines = ["regret as a share of the optimal value, mean over runs: in all, last third"]
    for panel in found["summary"]["panels"].values():
        for name, regret in panel.items():
            share = f"{regret['total']['mean']:>10.4f}{regret['late']['mean']:>12.2e}"
            lines.append(f"{name:<28}{share}")
    sweep.give(document, lines, FIGURE_3.draw)
    return ANSWERED
