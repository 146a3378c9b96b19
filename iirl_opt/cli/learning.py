"""The main job: `learn` a reward from episodes, or the posterior of what was seen."""

from __future__ import annotations

from dataclasses import asdict
from itertools import chain
from typing import Annotated

import typer

from iirl_opt.cli.exit_codes import INTERRUPTED, NO_ANSWER, all_or_unmet
from iirl_opt.cli.json_document import head, text_of
from iirl_opt.cli.options import (
    NOTHING,
    Asked,
    File,
    Json,
    LearnerName,
    Out,
    Picture,
    Restart,
    Resume,
    Seed,
    asking,
    beginning,
    check_picture,
)
from iirl_opt.cli.places import goes_on
from iirl_opt.cli.printing import Printer, lines_of_findings

__all__ = ["learn"]

LEAVES = ("result.json", "learn.jsonl", "regret.png", "maze.png", "posterior.png", "draws.npz")


@asking
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
    asked: Asked = NOTHING,
    out: Out = None,
    resume: Resume = False,
    restart: Restart = False,
    as_json: Json = False,
) -> int:
    """Learn the unknown reward: by Algorithm 1 or another learner; or its posterior."""
    from iirl_opt import library
    from iirl_opt.library.learners import check_learner

    check_picture(picture)
    if learner is not None:
        check_learner(learner)
    problem = library.read_model(file, **asked)
    printer = Printer(as_json, out, LEAVES, always=problem.path.stem)
    folder = printer.folder
    checkpoint = None if folder is None else folder / "learn.jsonl"
    run = library.learn(
        problem,
        checkpoint=checkpoint,
        begin=beginning(checkpoint, resume=resume, restart=restart),
        until=printer.until,
        episodes=episodes,
        seed=seed,
        learner=learner,
        proposals=proposals,
        chains=chains,
    )
    lines = iter(run)  # refuses what the folder holds before anything is computed
    printer.say(f"{problem.title}: {problem.game}\n{run.title}")
    if run.taken_up:
        printer.say(f"{run.taken_up} of {run.total} steps are in {checkpoint}")
    try:
        with (
            goes_on(checkpoint, lambda: run.taken_up),
            printer.progress(run.total - run.taken_up) as advance,
        ):
            for line in lines:
                advance(line)
    except KeyboardInterrupt:
        how = f"; with --resume the same command goes on from {checkpoint}"
        kept = how if checkpoint is not None and run.taken_up else ""
        typer.echo(f"iirl-opt: interrupted, keeping what is done{kept}", err=True)
    found = run.document()
    expected = problem.expect if run.as_stated else []
    findings = library.check(expected, found["quantities"], problem.path)
    document = {
        **head("learn", problem, seed=seed, complete=run.complete),
        **found,
        "expectations": [asdict(finding) for finding in findings],
    }
    if folder is not None:
        printer.draws()
    files = run.write(folder, text_of(document, lines=True), picture)
    report = chain(run.report(), lines_of_findings(findings))
    with goes_on(checkpoint, lambda: run.taken_up):
        printer.give(document, report, name=None, beside=files)
    if not run.complete:
        return INTERRUPTED
    if not run.verdict:
        return NO_ANSWER
    return all_or_unmet(finding.met for finding in findings)
