"""Every command: how it works, how it is asked for what cannot be, what it leaves.

A row of the table is a command; the tests of `cli` that go over it are situations.
"""

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from commands import Done

COMPARE = "two-rooms.toml --learners algorithm-1 --episodes 1 --runs 1"


class Row(NamedTuple):
    """A command that works, and how it is asked for what cannot be.

    Attributes
    ----------
    works : the words that work, the file or the number first.
    typo, family, option : words that are refused, and what has to be said of them; a fitting
        command, where the file is of another family.
    work : the function that does what takes time.
    leaves : names of the files in the folder of ``--out``.
    """

    works: str
    typo: tuple[str, str]
    family: tuple[str, str]
    option: tuple[str, str]
    work: str
    leaves: frozenset[str] = frozenset({"result.json"})


CERTIFICATE = ("proof.json", "iirl-opt recheck")
ROWS = {
    "learn": Row(
        "two-rooms.toml --episodes 1",
        ("two-romms", "two-rooms"),
        ("figure-1.toml", "iirl-opt solve"),
        ("--episodes 0", "--episodes"),
        "iirl_opt.library.learn",
        frozenset({"result.json", "learn.jsonl", "regret.png"}),
    ),
    "show": Row(
        "two-rooms.toml",
        ("two-romms", "two-rooms"),
        CERTIFICATE,
        ("--seed -1", "--seed"),
        "iirl_opt.game.classes.reachable",
    ),
    "solve": Row(
        "correlated-budget.toml",
        ("correlated-buget", "correlated-budget"),
        CERTIFICATE,
        ("--discount 1", "discount is 1"),
        "iirl_opt.library.answer",
    ),
    "check": Row(
        "correlated-budget.toml",
        ("correlated-buget", "correlated-budget"),
        CERTIFICATE,
        ("--seed x", "--seed"),
        "iirl_opt.library.answer",
    ),
    "convert": Row(
        "two-rooms.toml game.npz",
        ("two-romms game.npz", "two-rooms"),
        ("proof.json game.npz", "iirl-opt recheck"),
        ("--to npy", "npz"),
        "iirl_opt.formats.comparison.write_compared",
        frozenset(),
    ),
    "export": Row(
        "figure-1.toml --lp",
        ("figure-l --lp", "figure-1"),
        ("two-rooms.toml --lp", "not one linear program"),
        ("--const x", "--const"),
        "iirl_opt.library.program",
        frozenset({"figure-1.lp"}),
    ),
    "schema": Row(
        "",
        ("--jsn", "--json"),
        ("two-rooms.toml", "two-rooms.toml"),
        ("--out", "--out"),
        "iirl_opt.library.model_schema",
        frozenset({"schema.json"}),
    ),
    "verify": Row(
        "strict-4-refuted.toml",
        ("strict-4-refutd", "strict-4-refuted"),
        ("figure-1.toml", "iirl-opt solve"),
        ("--discount x", "discount is 'x'"),
        "iirl_opt.library.verify",
        frozenset({"result.json", "certificate.json"}),
    ),
    "recheck": Row(
        "proof.json",
        ("prof.json", "prof.json: no such file"),
        ("two-rooms.toml", "iirl-opt solve"),
        ("--model nowhere", "nowhere"),
        "iirl_opt.certificate.Violation.check",
    ),
    "claims": Row(
        "own.py --examples 1",
        ("ovn.py", "ovn.py: no such file"),
        ("two-rooms.toml", "two-rooms.toml"),
        ("--examples 0", "--examples"),
        "iirl_opt.claims.run_claims",
        frozenset({"claims.json", "theorem-1.toml"}),
    ),
    "figure": Row(
        "7 --resume",
        ("77", "allowed 7 (the nearest), 1, 3"),
        ("two-rooms.toml", "; iirl-opt compare takes a file"),
        ("--jobs 0", "--jobs"),
        "iirl_opt.experiments.figure.run_figure",
        frozenset(f"figure-7.{end}" for end in ("json", "jsonl", "csv", "meta.json", "png")),
    ),
    "compare": Row(
        f"{COMPARE} --resume",
        ("two-romms", "two-rooms"),
        ("figure-1.toml --learners best", "best"),
        ("--runs 0", "--runs"),
        "iirl_opt.experiments.comparison.compare_runs",
        frozenset(f"compare.{end}" for end in ("json", "jsonl", "csv", "meta.json", "png")),
    ),
    "play": Row(
        "maze --prizes CF",
        ("mase --prizes CF", "maze (the nearest)"),
        ("maze --prizes CC", "two different letters of ABCDEFGH"),
        ("--seed -1", "--seed"),
        "iirl_opt.play.session.Session.stay",
        frozenset({"result.json", "session.toml"}),
    ),
}
SWEEPS = {"figure": "figure-7.jsonl", "compare": "compare.jsonl"}
WITH_CHECKPOINT = {"learn": "learn.jsonl", **SWEEPS}
every_command = pytest.mark.parametrize("command", ROWS)


def words_of(command: str, made: Path) -> list[str]:
    """The words of a command that works and writes to the folder ``out``, which is there."""
    if command in SWEEPS:
        *lines, _ = (made / command / SWEEPS[command]).read_text().splitlines(keepends=True)
        Path("out", SWEEPS[command]).write_text("".join(lines))  # as it is before its end
    out = [] if command == "convert" else ["--out", "out"]
    return [command, *ROWS[command].works.split(), *out]


def in_place_of_the_file(command: str, name: str) -> list[str]:
    """The words of a command that works, but for its file."""
    return [command, name, *ROWS[command].works.split()[1:]]


def everything(folder: Path) -> set[Path]:
    """All that is below a folder."""
    return set(folder.rglob("*"))


def is_whole(command: str) -> None:
    """All that a command writes is there, whole, and nothing else."""
    if command == "convert":
        assert Path("game.npz").read_bytes().startswith(b"PK")
    left = {path.name for path in Path("out").iterdir() if path.suffix != ".parquet"}
    assert left == ROWS[command].leaves  # parquet needs pyarrow
    for path in Path("out").glob("*.json"):
        assert json.loads(path.read_text())
    if command in WITH_CHECKPOINT:
        assert is_ended(Path("out", WITH_CHECKPOINT[command]))
    for path in Path("out").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")


def is_ended(checkpoint: Path) -> bool:
    """Whether a checkpoint says that all is done."""
    return "end" in json.loads(checkpoint.read_text().splitlines()[-1])


def is_refused(done: Done, *said: str) -> None:
    """One line on standard error, which says what; and no more."""
    assert (done.code, done.out) == (2, ""), done
    [line] = done.err.splitlines()
    assert line.startswith("iirl-opt: ")
    assert line.isprintable()
    assert len(line) < 600
    assert "Errno" not in done.err
    for words in said:
        assert words in line
