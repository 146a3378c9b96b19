"""The main job: `learn` a reward from episodes, or the posterior of what was seen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iirl_opt.cli.exit_codes import INTERRUPTED, NO_ANSWER, all_or_unmet
from iirl_opt.cli.json_document import head, text_of
from iirl_opt.cli.options import (
    Discount,
    File,
    Json,
    LearnerName,
    Out,
    Picture,
    Seed,
    check_picture,
)
from iirl_opt.cli.printing import Printer
from iirl_opt.files import write_text

if TYPE_CHECKING:
    from iirl_opt.learn.episodes import Episode
    from iirl_opt.library.problem import Problem

__all__ = ["learn"]


def learn(
    file: File,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Episodes in place of the file's own.")
    ] = None,
    seed: Seed = None,
    learner: LearnerName = None,
    proposals: Annotated[
        int | None, typer.Option(min=1, help="Of each chain, in the family bayesian.")
    ] = None,
    chains: Annotated[int | None, typer.Option(min=1, help="In the family bayesian.")] = None,
    picture: Picture = None,
    discount: Discount = None,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Learn the unknown reward: by Algorithm 1 or another learner; or its posterior."""
    from iirl_opt import library
    from iirl_opt.library import schema as model

    check_picture(picture)
    printer = Printer(as_json, out)
    problem = library.read_model(file, discount=discount)
    if isinstance(problem.question, model.Bayesian):
        if learner is not None:
            raise typer.BadParameter("--learner is for files of the family learning")
        stated = discount is None and not any((episodes, proposals, chains)) and seed is None
        given = {"seed": seed, "proposals": proposals, "chains": chains, "episodes": episodes}
        return _learn_bayesian(problem, given, stated, picture, printer)
    if proposals is not None or chains is not None:
        raise typer.BadParameter("--proposals and --chains are for files of the family bayesian")
    run = library.learn(problem, episodes=episodes, seed=seed, learner=learner)
    done: list[Episode[Any]] = []
    records: list[dict[str, Any]] = []
    complete = False
    best = library.learning_answer(problem, done).quantities["optimal_value"]
    total = getattr(problem.question, "episodes", 0) if episodes is None else episodes
    printer.say(f"{problem.title}: {problem.game}")
    printer.say(f"best commitment: value {best:.6f}")
    began = time.perf_counter()
    try:
        with printer.progress(total) as advance:
            for episode in run:
                done.append(episode)
                records.append(_record(problem, best, episode, time.perf_counter() - began))
                advance(_line(records[-1]))
        complete = True
    except KeyboardInterrupt:
        printer.say("interrupted: keeping the episodes done")
    quantities = library.learning_answer(problem, done).quantities
    replaced = any(given is not None for given in (episodes, seed, learner, discount))
    as_stated = complete and not replaced
    findings = library.check(problem.expect, quantities, problem.path) if as_stated else ()
    last = done[-1].learner if done else None
    estimate = None if last is None or not complete else last.estimate()
    result = {
        **head("learn", problem, seed=seed, complete=complete),
        "quantities": quantities,
        "episodes": records,
        "reward": None if estimate is None else estimate.tolist(),
        "expectations": [asdict(finding) for finding in findings],
    }
    printer.give(result)
    printer.say_findings(findings)
    folder = printer.folder(problem.path.stem)
    if folder is not None:
        for written in _write_learning(folder, result, problem, done):
            printer.say(f"wrote {written}")
    if picture is not None and done:
        printer.say(f"wrote {_plot_regret(result, problem, picture)}")
    if not complete:
        return INTERRUPTED
    return all_or_unmet(finding.met for finding in findings)


def _record(problem: Problem, best: float, episode: Episode[Any], seconds: float) -> dict[str, Any]:
    value = float(problem.game.start @ problem.reported(episode.values))
    return {
        "episode": episode.number,
        "value": value,
        "regret": best - value,
        **episode.learner.facts(),
        "seconds": round(seconds, 4),
    }


def _line(record: dict[str, Any]) -> str:
    shown = ("episode", "value", "regret", "seconds")
    facts = [f"   {name} {value:>6g}" for name, value in record.items() if name not in shown]
    return (
        f"episode {record['episode']:>3}   value {record['value']:>10.6f}   "
        f"regret {record['regret']:>10.6f}{''.join(facts)}"
    )


def _write_learning(
    folder: Path, result: dict[str, Any], problem: Problem, episodes: list[Episode[Any]]
) -> Iterator[Path]:
    """Write the result file, and pictures where matplotlib is present."""
    folder.mkdir(parents=True, exist_ok=True)
    yield write_text(folder / "result.json", text_of(result, lines=True) + "\n")
    if not episodes or find_spec("matplotlib") is None:
        return
    from iirl_opt import plot

    yield _plot_regret(result, problem, folder / "regret.png")
    if problem.grid is not None:
        last = episodes[-1]
        axes = plot.plot_maze(problem.grid, last.pi1, last.pi2)
        axes.set_title(f"doors and moves of episode {episodes[-1].number}", fontsize=10)
        yield plot.save(axes, folder / "maze.png")


def _plot_regret(result: dict[str, Any], problem: Problem, path: Path) -> Path:
    from iirl_opt import plot

    axes = plot.plot_regret([record["regret"] for record in result["episodes"]])
    axes.set_title(problem.title, fontsize=10)
    return plot.save(axes, path)


def _learn_bayesian(
    problem: Problem,
    given: dict[str, int | None],
    as_stated: bool,
    picture: Path | None,
    printer: Printer,
) -> int:
    """Run a file of the family bayesian: the draws, or its episodes."""
    from iirl_opt import library
    from iirl_opt.experiments.inference import Inference
    from iirl_opt.library.bayesian import Settings

    run = Inference(Settings(problem, **given))
    printer.say(f"{problem.title}: {problem.game}\n{run.title}")
    try:
        with printer.progress(run.total) as advance:
            for line in run:
                advance(line)
    except KeyboardInterrupt:
        printer.say("interrupted: keeping what is done")
    as_stated = as_stated and run.complete and run.verdict
    found = run.quantities
    findings = library.check(problem.expect, found, problem.path) if as_stated else ()
    result = {
        **head("learn", problem, seed=given["seed"], complete=run.complete),
        **run.document(),
        "expectations": [asdict(finding) for finding in findings],
    }
    printer.give(result)
    for line in run.report():
        printer.say(line)
    printer.say_findings(findings)
    folder = printer.folder(problem.path.stem)
    for written in run.write(folder, text_of(result, lines=True), picture):
        printer.say(f"wrote {written}")
    if not run.complete:
        return INTERRUPTED
    if not run.verdict:
        return NO_ANSWER
    return all_or_unmet(finding.met for finding in findings)
