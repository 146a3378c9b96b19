"""The command ``iirl-opt``: model files in, answers with their evidence out.

Exit codes: 0 answered, and every expectation of the file met; 1 an expectation, or a statement of a
figure, failed; 2 bad input (the message on standard error names file and key or line); 3 no answer
(a solver's limit, an inconclusive or contradictory set of observations); 130 interrupted. With
``--json`` one JSON document and nothing else goes to standard output. Files go where ``--out``
says; without it and without ``--json`` `learn`, `figure` and `compare` write to ``results/NAME``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iirl_opt import errors
from iirl_opt.cli.schema import schema
from iirl_opt.files import write_text

if TYPE_CHECKING:
    from iirl_opt.library import Finding, ModelProblem

__all__ = ["app", "main"]

ANSWERED, UNMET, BAD_INPUT, NO_ANSWER, INTERRUPTED = 0, 1, 2, 3, 130
RESULT_FORMAT = 1
PICTURES = (".png", ".pdf", ".svg")

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
Seed = Annotated[int | None, typer.Option(min=0, help="Seed in place of the file's own.")]
GameSeed = Annotated[
    int | None,
    typer.Option("--seed", min=0, help="Seed of a random game in place of the file's own."),
]
Out = Annotated[Path | None, typer.Option(help="Folder for the result files.")]

app.command()(schema)


def main() -> None:
    """Run the command and leave with its exit code."""
    code = run(sys.argv[1:])
    runs = sys.modules.get("iirl_opt.solver.run")
    if runs is not None and runs.left_to_themselves():
        # A solver that has not heard that it is to stop would be torn down amidst its work.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


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
    except (errors.SolverProblem, errors.OnlyConstantRewards, errors.NotExact) as problem:
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
    proposals: Annotated[
        int | None, typer.Option(min=1, help="Of each chain, in the family bayesian.")
    ] = None,
    chains: Annotated[int | None, typer.Option(min=1, help="In the family bayesian.")] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--plot", help="File (png, pdf, svg) for the main picture: regret, or chains."
        ),
    ] = None,
    discount: Discount = None,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Learn the unknown reward: Algorithm 1, or in the family bayesian its posterior."""
    from iirl_opt import library

    _check_picture(picture)
    problem = library.read_model(file, discount=discount)
    numbers = {"episodes": episodes, "seed": seed, "proposals": proposals, "chains": chains}
    run = library.learn(problem, **numbers)
    say: Callable[[str], Any] = _silent if as_json else typer.echo
    say(f"{problem.title}: {problem.game}\n{run.title}")
    try:
        with _progress(run.total, shown=not as_json) as advance:
            for line in run:
                advance(line)
    except KeyboardInterrupt:
        say("interrupted: keeping what is done")
    document = run.document()
    findings = (
        library.check(problem.expect, document["quantities"], problem.path) if run.as_stated else ()
    )
    result = {
        **_head("learn", problem),
        **document,
        "expectations": [asdict(finding) for finding in findings],
    }
    say = _report(result, as_json)
    for line in run.report():
        say(line)
    _say_findings(findings, say)
    folder = Path("results", problem.path.stem) if out is None and not as_json else out
    for written in run.write(folder, json.dumps(result, indent=1, allow_nan=False), picture):
        say(f"wrote {written}")
    if not run.complete:
        return INTERRUPTED
    if not run.verdict:
        return NO_ANSWER
    return ANSWERED if all(finding.met for finding in findings) else UNMET


@app.command()
def solve(
    file: File,
    seed: Seed = None,
    discount: Discount = None,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Answer the question of any model file, with its evidence."""
    from iirl_opt import library

    problem = library.read_model(file, discount=discount)
    complete = True
    try:
        answer = library.answer(problem, seed=seed)
    except errors.Interrupted as stop:
        if not isinstance(stop.found, library.ModelAnswer):
            raise
        answer, complete = stop.found, False
    as_stated = complete and problem.as_stated and seed is None
    findings = library.check(problem.expect, answer.quantities, problem.path) if as_stated else ()
    result = {
        **_head("solve", problem),
        "complete": complete,
        "quantities": dict(answer.quantities),
        "evidence": dict(answer.evidence),
        "expectations": [asdict(finding) for finding in findings],
    }
    say = _report(result, as_json)
    say(f"{problem.title}\n  {problem.source}\n")
    for line in problem.question.report(answer):
        say(line)
    _say_findings(findings, say)
    _keep(result, out, say)
    if not complete:
        typer.echo("iirl-opt: interrupted; this is the best that was found until then", err=True)
        return INTERRUPTED
    return ANSWERED if all(finding.met for finding in findings) else UNMET


@app.command()
def check(
    paths: Annotated[list[str], typer.Argument(help="Model files, folders of them, or names.")],
    seed: Seed = None,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Derive every expectation of model files again, and report those that fail."""
    from iirl_opt import library

    files: list[Path] = []
    for name in paths:
        folder = Path(name)
        inside = sorted(folder.glob("**/*.toml")) if folder.is_dir() else [library.find_model(name)]
        if not inside:
            raise errors.FileProblem(folder, "holds no model file")
        files += inside
    say = _silent if as_json else typer.echo
    report: list[dict[str, Any]] = []
    unmet = 0
    for file in files:
        problem = library.read_model(file)
        quantities = library.answer(problem, seed=seed).quantities
        findings = library.check(problem.expect, quantities, file)
        report += [{"file": str(file), **asdict(finding)} for finding in findings]
        failed = [finding for finding in findings if not finding.met]
        unmet += len(failed)
        say(f"{'NOT MET' if failed else 'ok':<8}{file} ({len(findings)} expectations)")
        for finding in failed:
            say(f"        {finding.quantity}: expected {finding.expected}, found {finding.found!r}")
    say(f"{len(report)} expectations in {len(files)} files, {unmet} not met")
    result = {"format": RESULT_FORMAT, "command": "check", "unmet": unmet, "expectations": report}
    _keep(result, out, _report(result, as_json))
    return UNMET if unmet else ANSWERED


@app.command()
def export(
    file: File,
    target: Annotated[
        Path | None, typer.Argument(help="File to write; the program goes to standard output.")
    ] = None,
    lp: Annotated[bool, typer.Option("--lp", help="In the LP format.")] = False,
    mps: Annotated[bool, typer.Option("--mps", help="In the MPS format.")] = False,
    seed: GameSeed = None,
    discount: Discount = None,
    out: Annotated[Path | None, typer.Option(help="Folder for NAME.lp or NAME.mps.")] = None,
    as_json: Json = False,
) -> int:
    """Write the linear program behind a model file, with our names, for any solver."""
    from iirl_opt import library
    from iirl_opt.solver import write_program

    forms = [form for form, wanted in ((".lp", lp), (".mps", mps)) if wanted]
    if not forms or (len(forms) == 2 and out is None):
        raise typer.BadParameter("give --lp or --mps; both need a folder, --out DIR")
    problem = library.read_model(file, discount=discount, game_seed=seed)
    program = library.program(problem)
    with tempfile.TemporaryDirectory() as spare:
        if target is None or out is not None:
            folder = Path(spare) if out is None else out
            folder.mkdir(parents=True, exist_ok=True)
            paths = [folder / f"{problem.path.stem}{form}" for form in forms]
        else:
            paths = [target]
        written = [write_program(program, *each) for each in zip(paths, forms, strict=True)]
        kept = out is not None or target is not None
        result = {
            **_head("export", problem),
            "written": [str(path) for path in written] if kept else [],
            "programs": {} if kept else {p.suffix[1:]: p.read_text() for p in written},
        }
        say = _report(result, as_json)
        for path in written:
            say(f"wrote {path}" if kept else path.read_text().rstrip())
    return ANSWERED


@app.command()
def verify(
    file: File,
    seed: GameSeed = None,
    discount: Discount = None,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Judge a reward hypothesis by one answer: confirmed, refuted or inconclusive, with a proof."""
    from iirl_opt import library
    from iirl_opt.certificate import certify
    from iirl_opt.errors import NotCertified
    from iirl_opt.verification import Verdict

    problem = library.read_model(file, discount=discount, game_seed=seed)
    answer = library.verify(problem)
    report = answer.found
    certificate, missing = None, ""
    try:
        certificate = certify(report)
    except NotCertified as none:
        missing = str(none)
    findings = (
        library.check(problem.expect, answer.quantities, problem.path) if problem.as_stated else ()
    )
    result = {
        **_head("verify", problem),
        "verdict": report.verdict.name.lower(),
        "angle": report.angle,
        "reason": report.evidence,
        "assumptions": list(report.assumptions),
        "certificate": None if certificate is None else json.loads(certificate.to_json()),
        "expectations": [asdict(finding) for finding in findings],
    }
    say = _report(result, as_json)
    say(f"{problem.title}\n")
    say(str(report))
    if certificate is None:
        say(f"  {missing}")
    else:
        say(f"  proof: {certificate.kind}, {'checked' if certificate.check() else 'NOT VALID'}")
    _say_findings(findings, say)
    _keep(result, out, say)
    if out is not None and certificate is not None:
        say(f"wrote {_write(out / 'certificate.json', certificate.to_json())}")
    if findings:
        return ANSWERED if all(finding.met for finding in findings) else UNMET
    return NO_ANSWER if report.verdict is Verdict.INCONCLUSIVE else ANSWERED


@app.command()
def recheck(
    file: Annotated[Path, typer.Argument(help="A certificate, as `verify --out` writes it.")],
    own: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", help="A model file whose game, reward and answer to compare."
        ),
    ] = None,
    seed: GameSeed = None,
    discount: Discount = None,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Check a certificate in exact numbers: no solver is asked.

    It is about the game inside the file; with --model also whether that is the game, the reward and
    the answer of a model file.
    """
    from iirl_opt.certificate import read_certificate

    certificate = read_certificate(file)
    outcome = certificate.check()
    differences: tuple[str, ...] = ()
    if own is not None:
        from iirl_opt import library

        problem = library.read_model(own, discount=discount, game_seed=seed)
        differences = library.match(certificate, problem).differences
    result = {
        "format": RESULT_FORMAT,
        "command": "recheck",
        "file": file.name,
        "kind": certificate.kind,
        "claim": certificate.claim,
        "source": certificate.source,
        "holds": bool(outcome),
        "reasons": list(outcome.reasons),
        "model": own,
        "differences": list(differences),
    }
    say = _report(result, as_json)
    say(f"{certificate.kind}: {certificate.claim}\n  by {certificate.source}")
    about = "the game inside this file" if own is None else f"{own}"
    if differences:
        about = f"ANOTHER PROBLEM than {own}"
    say(f"{'proved' if outcome else 'NOT PROVED'} in exact numbers, about {about}")
    for reason in (*outcome.reasons, *differences):
        say(f"  {reason}")
    _keep(result, out, say)
    return ANSWERED if outcome and not differences else UNMET


@app.command()
def claims(
    file: Annotated[
        str | None, typer.Argument(help="A Python file with a list `claims` of your own.")
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="Instances to draw for each.")] = 25,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Try every statement of the paper: status, instances that meet its premise, counterexample."""
    from iirl_opt.claims import PAPER, read_claims, run_claims

    say = _silent if as_json else typer.echo
    tried = PAPER if file is None else read_claims(file)
    width = max((len(claim.name) for claim in tried), default=0)
    records: list[dict[str, Any]] = []
    for claim in tried:
        (result,) = run_claims([claim], examples=examples, seed=seed)
        record = result.record()
        records.append(record)
        count = f"{result.failures} of {result.applies} fail"
        if result.applies < result.instances:
            count += f" ({result.instances} drawn)"
        if result.outside:
            count += f", outside {result.outside_failures} of {result.outside}"
        shown = record["counterexample"] or ""
        if shown and result.agrees and not claim.model:
            shown = "(in code)"
        mark = {"as stated": "ok ", "not so": "NOT SO", "falls short": "SHORT "}[result.finding]
        say(f"{mark} {claim.name:<{width}}  {claim.status:<17}  {count:<15} {shown}".rstrip())
        if result.finding == "falls short":
            say(f"      fewer than {result.floor} instances meet the premise: it was not tried")
        say(f"      {claim.place}: {claim.statement}")
        if result.evidence:
            say(f"      {'counterexample' if shown else 'last instance'}: {result.evidence}")
    unmet = sum(not record["agrees"] for record in records)
    short = sum(record["finding"] == "falls short" for record in records)
    document = {
        "examples": examples,
        "seed": seed,
        "unmet": unmet,
        "short": short,
        "claims": records,
    }
    if as_json:
        typer.echo(json.dumps(document, allow_nan=False))
    ended = f", {short} of them for want of instances" if short else ""
    say(f"{len(records)} claims, {unmet} not as their status says{ended}")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        say(f"wrote {_write(out / 'claims.json', json.dumps(document, indent=1))}")
    return UNMET if unmet else ANSWERED


@app.command()
def figure(
    number: Annotated[str, typer.Argument(help="Its number in the paper, or proposition-1.")],
    scale: Annotated[str, typer.Option(help="small, or the paper's own size: paper.")] = "small",
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint in the folder.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the games and runs.")] = 0,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Compute a figure of the paper again, or try its Proposition 1, and check what it says."""
    from iirl_opt.experiments.figure import find_figure, run_figure

    wanted = find_figure(number)
    total = len(wanted.cells(scale, seed))
    sweep = _Sweep(f"figure-{wanted.number}", total, jobs, resume, out, as_json)
    if not as_json:
        typer.echo(f"figure {wanted.number}, {scale}: {wanted.title}")
    document = sweep.run(lambda **how: run_figure(wanted, scale, seed=seed, **how))
    if document is None:
        return INTERRUPTED
    say = _report(document, as_json)
    for statement in document["statements"]:
        mark = "ok " if statement["holds"] else "NOT SO"
        say(f"{mark} {statement['text']} ({statement['evidence']})")
    sweep.keep(document, wanted.draw, say)
    return ANSWERED if all(s["holds"] for s in document["statements"]) else UNMET


@app.command()
def compare(
    file: File,
    learners: Annotated[
        str,
        typer.Option(help="Names with commas between; -fixed behind one fixes its environment."),
    ] = "algorithm-1,active,max-margin-fixed",
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of each run.")] = 30,
    runs: Annotated[int, typer.Option(min=1, help="Runs, each with its first commitment.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint in the folder.")
    ] = False,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Let several learners learn on a game file of yours, and compare what they lose."""
    from iirl_opt.experiments.learning import FIGURE_3, compare_cells, compare_runs
    from iirl_opt.library import find_model

    path = find_model(file)
    cells = compare_cells(str(path), learners.split(","), episodes=episodes, runs=runs, seed=seed)
    sweep = _Sweep("compare", len(cells), jobs, resume, out, as_json, f"compare-{path.stem}")
    document = sweep.run(lambda **how: compare_runs(cells, **how))
    if document is None:
        return INTERRUPTED
    say = _report(document, as_json)
    say("regret as a share of the optimal value, mean over runs: in all, last third")
    for panel in document["summary"]["panels"].values():
        for name, found in panel.items():
            say(f"{name:<28}{found['total']['mean']:>10.4f}{found['late']['mean']:>12.2e}")
    sweep.keep(document, FIGURE_3.draw, say)
    return ANSWERED


@app.command()
def show(
    file: File,
    seed: GameSeed = None,
    discount: Discount = None,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Show what a file holds: sizes, sparsity, influence, and a picture of a grid."""
    import numpy as np

    from iirl_opt import library
    from iirl_opt.game.classes import reachable

    problem = library.read_model(file, discount=discount, game_seed=seed)
    game = problem.game
    influence = game.influence()
    facts: dict[str, Any] = {
        **_head("show", problem),
        "source": problem.source,
        "states": game.n_states,
        "leader_actions": game.n_leader_actions,
        "follower_actions": game.n_follower_actions,
        "transitions": game.n_transitions,
        "density": game.n_transitions / (game.n_states**2 * game.n_choices),
        "rational": game.is_rational,
        "leader_influence": influence[0],
        "follower_influence": influence[1],
        "start_states": int(np.count_nonzero(game.start)),
        "reachable_states": int(reachable(game).sum()),
        "reward": None,
    }
    if problem.truth is not None:
        facts["reward"] = {
            "shape": list(problem.truth.shape),
            "least": float(problem.truth.min()),
            "largest": float(problem.truth.max()),
        }
    say = _report(facts, as_json)
    reward = facts["reward"]
    say(f"{problem.title}\n  {problem.source}\n")
    rows = {
        "states": f"{game.n_states:,} ({facts['start_states']} at the start, "
        f"{facts['reachable_states']:,} reachable)",
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
        say(f"  {name:<12} {value}")
    if problem.grid is not None:
        say(f"\n{problem.grid.render()}")
    _keep(facts, out, say)
    return ANSWERED


def _head(command: str, problem: ModelProblem) -> dict[str, Any]:
    """Return what every result document starts with: what was asked, and of which versions."""
    packages = ("iirl-opt", "cvxpy", "highspy", "numpy", "scipy")
    return {
        "format": RESULT_FORMAT,
        "command": command,
        "file": problem.path.name,
        "title": problem.title,
        "fingerprint": problem.game.fingerprint,
        "discount": problem.game.discount,
        "versions": {name: _version(name) for name in packages},
    }


def _check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be written, before anything is computed."""
    if path is None:
        return
    if path.suffix not in PICTURES:
        raise typer.BadParameter(f"--plot is {str(path)!r}; allowed names in {', '.join(PICTURES)}")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"--plot is {str(path)!r}, in no folder that there is")
    if find_spec("matplotlib") is None:
        raise errors.MissingExtra("--plot", "plot")


def _write(path: Path, text: str) -> Path:
    return write_text(path, text + "\n")


def _report(result: dict[str, Any], as_json: bool) -> Callable[[str], Any]:
    """Print the JSON document where it is wanted; return what prints the lines for people."""
    if as_json:
        typer.echo(json.dumps(result, allow_nan=False))
    return _silent if as_json else typer.echo


def _keep(result: dict[str, Any], out: Path | None, say: Callable[[str], Any]) -> None:
    """Write the result into a folder, where one is named."""
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        say(f"wrote {_write(out / 'result.json', json.dumps(result, indent=1, allow_nan=False))}")


def _say_findings(findings: tuple[Finding, ...], say: Callable[[str], Any]) -> None:
    for finding in findings:
        mark = "ok " if finding.met else "NOT MET"
        say(f"{mark} {finding.quantity} = {finding.found!r} (expected {finding.expected})")


def _silent(_: str) -> None:
    """Say nothing."""


class _Sweep:
    """A run of many cells: its folder, its checkpoint, and what is written at the end."""

    def __init__(
        self,
        name: str,
        total: int,
        jobs: int,
        resume: bool,
        out: Path | None,
        as_json: bool,
        folder: str | None = None,
    ) -> None:
        if out is None and as_json and resume:
            raise typer.BadParameter("--resume with --json needs the folder, --out DIR")
        own = Path("results", name if folder is None else folder)
        self.folder = own if out is None and not as_json else out
        self.checkpoint = None if self.folder is None else self.folder / f"{name}.jsonl"
        self.name, self.total, self.jobs, self.resume = name, total, jobs, resume
        self.shown = not as_json

    def run(self, compute: Callable[..., dict[str, Any]]) -> dict[str, Any] | None:
        """Return the document, or None when interrupted: then it is said what is kept."""
        try:
            with _progress(self.total, shown=self.shown, name=self.name) as advance:
                return compute(
                    jobs=self.jobs,
                    checkpoint=self.checkpoint,
                    resume=self.resume,
                    progress=lambda result: advance(f"{result.seconds:>9.2f} s   {result.cell}"),
                )
        except KeyboardInterrupt:
            kept = f"; go on with --resume from {self.checkpoint}" if self.checkpoint else ""
            typer.echo(f"iirl-opt: interrupted{kept}", err=True)
            return None

    def keep(
        self,
        document: dict[str, Any],
        draw: Callable[[Any, Path], Path],
        say: Callable[[str], Any],
    ) -> None:
        """Write the document and, where matplotlib is there, its picture."""
        if self.folder is None:
            return
        text = json.dumps(document, indent=1, allow_nan=False)
        say(f"wrote {_write(self.folder / f'{self.name}.json', text)}")
        if find_spec("matplotlib") is not None:
            say(f"wrote {draw(document['summary'], self.folder / f'{self.name}.png')}")


@contextmanager
def _progress(
    total: int, *, shown: bool, name: str = "learning"
) -> Iterator[Callable[[str], None]]:
    """Yield a function that prints a line and moves the bar, which only a terminal shows."""
    if not (shown and sys.stdout.isatty()):
        yield typer.echo if shown else _silent
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = (name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, transient=True) as bar:
        task = bar.add_task(name, total=total)

        def advance(line: str) -> None:
            bar.console.print(line, highlight=False)
            bar.advance(task)

        yield advance


def _version(package: str) -> str:
    with suppress(PackageNotFoundError):
        return version(package)
    return "unknown"
