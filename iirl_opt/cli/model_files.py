"""Commands about model files: `show` what one holds, `export` its program, `schema` of them all."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iirl_opt.cli.completion import complete_model
from iirl_opt.cli.exit_codes import ANSWERED
from iirl_opt.cli.json_document import head, text_of
from iirl_opt.cli.options import (
    NOTHING,
    Asked,
    File,
    GameSeed,
    Json,
    Out,
    asking,
)
from iirl_opt.cli.places import check_file
from iirl_opt.cli.printing import Printer

if TYPE_CHECKING:
    from iirl_opt.library import ModelProblem

__all__ = ["export", "schema", "show"]


@asking
def show(
    file: Annotated[
        str | None,
        typer.Argument(
            help="As of `solve`; without one, all shipped models are shown.",
            autocompletion=complete_model,
        ),
    ] = None,
    seed: GameSeed = None,
    asked: Asked = NOTHING,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Show what a file holds: sizes, influence, a picture of a grid; or list all shipped models."""
    if file is None:
        return _show_all(Printer(as_json, out))
    from iirl_opt import library

    problem = library.read_model(file, game_seed=seed, **asked)
    printer = Printer(as_json, out)
    with printer.progress(name="reading"):
        facts = _facts(problem)
    document = {**head("show", problem, seed=seed), **facts}
    lines = [f"{problem.title}\n  {problem.source}\n"]
    lines += [f"  {name:<12} {value}" for name, value in _in_words(problem, facts).items()]
    if problem.grid is not None:
        lines.append(f"\n{problem.grid.render()}")
    printer.give(document, lines)
    return ANSWERED


def _show_all(printer: Printer) -> int:
    """Show name, family and title of every shipped model."""
    from iirl_opt.library.shipped import shipped_titles

    models = shipped_titles()
    document = {**head("show"), "models": models}
    name, family = (max(len(model[key]) for model in models) for key in ("name", "family"))
    line = f"{{name:<{name}}}  {{family:<{family}}}  {{title}}"
    printer.give(document, (line.format(**model) for model in models))
    return ANSWERED


def _facts(problem: ModelProblem) -> dict[str, Any]:
    """Return what there is to say of a file, ready for JSON."""
    import numpy as np

    from iirl_opt.game.classes import reachable

    game, truth = problem.game, problem.truth
    leader, follower = game.influence()
    reward = None
    if truth is not None:
        ends = {"least": float(truth.min()), "largest": float(truth.max())}
        reward = {"shape": list(truth.shape), **ends}
    file = problem.imported
    return {
        "source": problem.source,
        "states": game.n_states,
        "leader_actions": game.n_leader_actions,
        "follower_actions": game.n_follower_actions,
        "transitions": game.n_transitions,
        "density": game.n_transitions / (game.n_states**2 * game.n_choices),
        "rational": game.is_rational,
        "leader_influence": leader,
        "follower_influence": follower,
        "start_states": int(np.count_nonzero(game.start)),
        "reachable_states": int(reachable(game).sum()),
        "reward": reward,
        "rewards": [] if file is None else list(file.rewards),
        "labels": {} if file is None else {k: int(v.sum()) for k, v in file.labels.items()},
    }


def _in_words(problem: ModelProblem, facts: dict[str, Any]) -> dict[str, str]:
    """Return the facts in words, for people."""
    game, reward = problem.game, facts["reward"]
    more = {"rewards": ", ".join(facts["rewards"])} if len(facts["rewards"]) > 1 else {}
    if facts["labels"]:
        marked = (f"{name} ({count:,})" for name, count in facts["labels"].items())
        more["labels"] = f"{', '.join(marked)} of the states"
    return {
        "states": f"{game.n_states:,} ({facts['start_states']} at the start, "
        f"{facts['reachable_states']:,} reachable)",
        "actions": f"leader {game.n_leader_actions}, follower {game.n_follower_actions}",
        "discount": f"{game.discount:g}",
        "transitions": f"{game.n_transitions:,} ({facts['density']:.2%} of the entries), "
        + ("rational" if facts["rational"] else "floating point"),
        "influence": f"leader {facts['leader_influence']:.4g}, "
        f"follower {facts['follower_influence']:.4g} (of at most 2)",
        "reward": ("none is chosen" if more.get("rewards") else "none")
        if reward is None
        else f"shape {tuple(reward['shape'])}, from {reward['least']:g} to {reward['largest']:g}",
        **more,
        "fingerprint": game.fingerprint[:16],
    }


@asking
def export(
    file: File,
    target: Annotated[
        Path | None, typer.Argument(help="File to write; the program goes to standard output.")
    ] = None,
    lp: Annotated[bool, typer.Option("--lp", help="In the LP format.")] = False,
    mps: Annotated[bool, typer.Option("--mps", help="In the MPS format.")] = False,
    seed: GameSeed = None,
    asked: Asked = NOTHING,
    out: Annotated[Path | None, typer.Option(help="Folder for NAME.lp or NAME.mps.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: Json = False,
) -> int:
    """Write the linear program behind a model file, with our names, for any solver."""
    from iirl_opt import library
    from iirl_opt.solver import write_program

    forms = [form for form, wanted in ((".lp", lp), (".mps", mps)) if wanted]
    if not forms or (len(forms) == 2 and out is None):
        raise typer.BadParameter("give --lp or --mps; both need a folder, --out DIR")
    problem = library.read_model(file, game_seed=seed, **asked)
    printer = Printer(as_json, out, [f"{problem.path.stem}{form}" for form in forms])
    if target is not None and out is not None:
        raise typer.BadParameter(f"the file to write is {str(target)!r}, beside --out {out}")
    if target is not None:
        check_file(target, "the file to write", problem.path, replace=force)
    with printer.progress(name="building"):
        program = library.program(problem)
    with tempfile.TemporaryDirectory() as spare:
        if target is None or out is not None:
            folder = Path(spare) if out is None else out
            paths = [folder / f"{problem.path.stem}{form}" for form in forms]
        else:
            paths = [target]
        written = [write_program(program, *each) for each in zip(paths, forms, strict=True)]
        kept = out is not None or target is not None
        texts = {} if kept else {path.suffix[1:]: path.read_text() for path in written}
        names = [str(path) for path in written] if kept else []
        document = {**head("export", problem, seed=seed), "written": names, "programs": texts}
        printer.give(document, map(str.rstrip, texts.values()), name=None, beside=written * kept)
    return ANSWERED


def schema(out: Out = None, as_json: Json = False) -> int:
    """Print the JSON Schema of model files, for editors and other programs."""
    from iirl_opt import library

    printer = Printer(as_json, out, ["schema.json"])
    found = library.model_schema()
    text = text_of(found, lines=True)
    files = printer.texts({"schema.json": text})
    printer.give({**head("schema"), "schema": found}, [text], name=None, beside=files)
    return ANSWERED
