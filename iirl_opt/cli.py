"""The command ``iirl-opt``: model files in, answers with their evidence out.

Exit codes: 0 answered, and every expectation of the file met; 1 an expectation failed; 2 bad input
(the message on standard error names file and key or line); 3 no answer (a solver's limit, an
inconclusive or contradictory set of observations); 130 interrupted. With ``--json`` one JSON
document and nothing else goes to standard output; files are then written only with ``--out``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iirl_opt import errors

if TYPE_CHECKING:
    from iirl_opt.learn.interactive import Episode
    from iirl_opt.library import Finding, Model
    from iirl_opt.programs.commitment import Commitment

__all__ = ["app", "main"]

ANSWERED, UNMET, BAD_INPUT, NO_ANSWER, INTERRUPTED = 0, 1, 2, 3, 130
RESULT_FORMAT = 1

# The ancestor of typer's usage errors, which typer itself does not export.
USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Interactive inverse reinforcement learning as optimisation models.",
)

File = Annotated[
    str, typer.Argument(help="A model file, a .dpomdp file, or the name of a shipped model.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Discount = Annotated[
    str | None, typer.Option(help="Discount in place of the file's own, such as 0.95 or 19/20.")
]
Seed = Annotated[int | None, typer.Option(help="Seed in place of the file's own.")]
Out = Annotated[Path | None, typer.Option(help="Folder for results [results/NAME].")]


def main() -> None:
    """Run the command and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command on its arguments and return the exit code."""
    try:
        code = app(arguments, prog_name="iirl-opt", standalone_mode=False)
    except USAGE as problem:
        problem.show()
        return BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("iirl-opt: interrupted", err=True)
        return INTERRUPTED
    except (errors.SolverProblem, errors.OnlyConstantRewards) as problem:
        typer.echo(f"iirl-opt: {problem}", err=True)
        return NO_ANSWER
    except (errors.IIRLError, OSError) as problem:
        typer.echo(f"iirl-opt: {problem}", err=True)
        return BAD_INPUT
    return int(code or ANSWERED)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"iirl-opt {_version('iirl-opt')}")
        raise typer.Exit


@app.callback()
def about(
    version_asked: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and leave.", is_eager=True, callback=_say_version
        ),
    ] = False,
) -> None:
    """Interactive inverse reinforcement learning as optimisation models."""


@app.command()
def learn(
    file: File,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Episodes in place of the file's own.")
    ] = None,
    seed: Seed = None,
    discount: Discount = None,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Let a leader learn the unknown reward from its partner, episode by episode (Algorithm 1)."""
    from iirl_opt import library
    from iirl_opt.programs.commitment import commit

    problem = library.read_model(file, discount=discount)
    run = library.learn(problem, episodes=episodes, seed=seed)
    total = problem.question.episodes if episodes is None else episodes
    best = commit(problem.game, problem.truth)  # type: ignore[arg-type]
    done: list[Episode] = []
    lines: list[dict[str, Any]] = []
    complete = False
    say = _silent if as_json else typer.echo
    say(f"{problem.title}: {problem.game}")
    say(f"best commitment: value {problem.reported(best.values):.6f}")
    began = time.perf_counter()
    try:
        with _progress(total, shown=not as_json) as advance:
            for episode in run:
                done.append(episode)
                lines.append(_episode_record(problem, best, episode, time.perf_counter() - began))
                advance(_episode_line(lines[-1]))
        complete = True
    except KeyboardInterrupt:
        say("interrupted: keeping the episodes done")
    quantities = library.learning_quantities(problem, best, done)
    as_stated = complete and episodes is None and seed is None and discount is None
    findings = library.check(problem.expect, quantities, problem.path) if as_stated else ()
    result = _learning_result(problem, done, lines, quantities, findings, complete)
    if as_json:
        typer.echo(json.dumps(result, allow_nan=False))
    _say_findings(findings, say)
    if out is not None or not as_json:
        folder = Path("results", problem.path.stem) if out is None else out
        for written in _write_learning(folder, result, problem, done):
            say(f"wrote {written}")
    if not complete:
        return INTERRUPTED
    return ANSWERED if all(finding.met for finding in findings) else UNMET


@app.command()
def show(file: File, discount: Discount = None, as_json: Json = False) -> int:
    """Show what a file holds: sizes, sparsity, influence, and a picture of a grid."""
    import numpy as np

    from iirl_opt import library

    problem = library.read_model(file, discount=discount)
    game = problem.game
    influence = game.influence()
    facts: dict[str, Any] = {
        "title": problem.title,
        "source": problem.source,
        "states": game.n_states,
        "leader_actions": game.n_leader_actions,
        "follower_actions": game.n_follower_actions,
        "discount": game.discount,
        "transitions": game.n_transitions,
        "density": game.n_transitions / (game.n_states**2 * game.n_choices),
        "rational": game.rational is not None,
        "leader_influence": influence[0],
        "follower_influence": influence[1],
        "start_states": int(np.count_nonzero(game.start)),
        "reward": None,
        "fingerprint": game.fingerprint,
    }
    if problem.truth is not None:
        facts["reward"] = {
            "shape": list(problem.truth.shape),
            "least": float(problem.truth.min()),
            "largest": float(problem.truth.max()),
        }
    if as_json:
        typer.echo(json.dumps(facts, allow_nan=False))
        return ANSWERED
    reward = facts["reward"]
    typer.echo(f"{problem.title}\n  {problem.source}\n")
    rows = {
        "states": f"{game.n_states:,} ({facts['start_states']} at the start)",
        "actions": f"leader {game.n_leader_actions}, follower {game.n_follower_actions}",
        "discount": f"{game.discount:g}",
        "transitions": f"{game.n_transitions:,} ({facts['density']:.2%} of the entries), "
        + ("rational" if facts["rational"] else "floating point"),
        "influence": f"leader {influence[0]:.4g}, follower {influence[1]:.4g} (of at most 2)",
        "reward": "none"
        if reward is None
        else f"shape {tuple(reward['shape'])}, from {reward['least']:g} to {reward['largest']:g}",
        "fingerprint": game.fingerprint[:16],
    }
    for name, value in rows.items():
        typer.echo(f"  {name:<12} {value}")
    if problem.grid is not None:
        typer.echo(f"\n{problem.grid.render()}")
    return ANSWERED


def _episode_record(
    problem: Model, best: Commitment, episode: Episode, seconds: float
) -> dict[str, Any]:
    value = problem.reported(episode.values)
    return {
        "episode": episode.number,
        "value": value,
        "regret": problem.reported(best.values) - value,
        "rows": episode.learner.known.n_rows,
        "seconds": round(seconds, 4),
    }


def _episode_line(record: dict[str, Any]) -> str:
    return (
        f"episode {record['episode']:>3}   value {record['value']:>10.6f}   "
        f"regret {record['regret']:>10.6f}   rows {record['rows']:>6}"
    )


def _learning_result(
    problem: Model,
    episodes: list[Episode],
    lines: list[dict[str, Any]],
    quantities: dict[str, float],
    findings: tuple[Finding, ...],
    complete: bool,
) -> dict[str, Any]:
    """Return the result of a run as one JSON document."""
    last = episodes[-1].learner if episodes else None
    estimate = None if last is None or not complete else last.reward
    return {
        "format": RESULT_FORMAT,
        "command": "learn",
        "file": problem.path.name,
        "title": problem.title,
        "fingerprint": problem.game.fingerprint,
        "discount": problem.game.discount,
        "seed": problem.question.seed if last is None else last.seed,
        "complete": complete,
        "versions": {
            name: _version(name) for name in ("iirl-opt", "cvxpy", "highspy", "numpy", "scipy")
        },
        "quantities": quantities,
        "episodes": lines,
        "reward": None if estimate is None else estimate.tolist(),
        "expectations": [asdict(finding) for finding in findings],
    }


def _write_learning(
    folder: Path, result: dict[str, Any], problem: Model, episodes: list[Episode]
) -> Iterator[Path]:
    """Write the result file, and pictures where matplotlib is present."""
    folder.mkdir(parents=True, exist_ok=True)
    yield _write(folder / "result.json", json.dumps(result, indent=1, allow_nan=False))
    if not episodes or find_spec("matplotlib") is None:
        return
    from iirl_opt import plot

    axes = plot.plot_regret([record["regret"] for record in result["episodes"]])
    axes.set_title(problem.title, fontsize=10)
    yield plot.save(axes, folder / "regret.png")
    if problem.grid is not None:
        last = episodes[-1].learner.history[-1]
        axes = plot.plot_maze(problem.grid, last.pi1, last.pi2)
        axes.set_title(f"doors and moves of episode {episodes[-1].number}", fontsize=10)
        yield plot.save(axes, folder / "maze.png")


def _write(path: Path, text: str) -> Path:
    """Write a file whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text + "\n", encoding="utf-8")
    os.replace(part, path)
    return path


def _say_findings(findings: tuple[Finding, ...], say: Callable[[str], Any]) -> None:
    for finding in findings:
        mark = "ok " if finding.met else "NOT MET"
        say(f"{mark} {finding.quantity} = {finding.found!r} (expected {finding.expected})")


def _silent(_: str) -> None:
    """Say nothing."""


@contextmanager
def _progress(total: int, *, shown: bool) -> Iterator[Callable[[str], None]]:
    """Yield a function that prints a line and moves the bar, which only a terminal shows."""
    if not (shown and sys.stdout.isatty()):
        yield typer.echo if shown else _silent
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = ("learning", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, transient=True) as bar:
        task = bar.add_task("learning", total=total)

        def advance(line: str) -> None:
            bar.console.print(line, highlight=False)
            bar.advance(task)

        yield advance


def _version(package: str) -> str:
    with suppress(PackageNotFoundError):
        return version(package)
    return "unknown"


if __name__ == "__main__":
    main()
