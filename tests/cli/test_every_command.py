"""Every command in every situation: its exit code, which stream says what, what is left on disk.

A row of the table is a command, a test a situation. A new command has no row yet, and fails.
"""

import json
import os
import shutil
import typing
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
import typer
from commands import iirl, whole

from iirl_opt.cli import sweeps
from iirl_opt.cli.app import app

MODELS = Path(__file__).parents[2] / "models"
SHIPPED = ("learning/two-rooms", "occupancy/correlated-budget", "commitment/figure-1")
PROOF = "affine_equivalence/strict-4-refuted"
TITLE = "β ≤ ½ → 東京, 🙂"  # no code page of one byte has all of it
OWN = "from iirl_opt.claims import PAPER\n\nclaims = list(PAPER)[:1]\n"
COMPARE = "two-rooms.toml --learners algorithm-1 --episodes 1 --runs 1"


class Row(typing.NamedTuple):
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
        ("two-rooms.toml", "allowed 1, 3, 4, 6, 7"),
        ("--jobs 0", "--jobs"),
        "iirl_opt.experiments.figure.run_figure",
        frozenset({"figure-7.json", "figure-7.jsonl", "figure-7.csv", "figure-7.png"}),
    ),
    "compare": Row(
        f"{COMPARE} --resume",
        ("two-romms", "two-rooms"),
        ("figure-1.toml --learners best", "best"),
        ("--runs 0", "--runs"),
        "iirl_opt.experiments.comparison.compare_runs",
        frozenset({"compare.json", "compare.jsonl", "compare.csv", "compare.png"}),
    ),
}
SWEEPS = {"figure": "figure-7.jsonl", "compare": "compare.jsonl"}
READ_A_FILE = [name for name in ROWS if name not in ("schema", "figure")]
BAD_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "no such file"),
    "empty": (Path.touch, ""),
    "binary": (lambda path: path.write_bytes(bytes(range(256))), ""),
    "utf-16": (lambda path: path.write_text("version = 1", "utf-16"), ""),
    "folder": (Path.mkdir, ""),
    "device": (lambda path: path.symlink_to("/dev/null"), ""),
    "broken link": (lambda path: path.symlink_to("gone"), "no such file"),
    "link to itself": (lambda path: path.symlink_to(path.name), ""),
    "below a file": (lambda path: path.parent.touch(), ""),
}
LOST = "iirl-opt: of the model file: question, follower, expect are lost\n"  # by `convert`
every_command = pytest.mark.parametrize("command", ROWS)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file for each command, and the checkpoints of finished sweeps."""
    folder = tmp_path_factory.mktemp("made")
    for shipped in (*SHIPPED, PROOF):
        text = (MODELS / f"{shipped}.toml").read_text()
        head, _, rest = text.partition("title = ")
        own = f"{head}title = {json.dumps(TITLE, ensure_ascii=False)}\n{rest.partition(chr(10))[2]}"
        (folder / Path(f"{shipped}.toml").name).write_text(own, "utf-8")
    (folder / "own.py").write_text(OWN)
    assert iirl("verify", "strict-4-refuted.toml", "--out", "proof", cwd=folder).code == 0
    shutil.copy(folder / "proof/certificate.json", folder / "proof.json")
    shutil.rmtree(folder / "proof")
    with pytest.MonkeyPatch.context() as here:
        # A pool of processes is not the point.
        here.setattr(sweeps, "_executor", lambda scheduler: ThreadPoolExecutor(1))
        for command, words in (("figure", "7"), ("compare", COMPARE)):
            done = iirl(command, *words.split(), "--json", "--out", command, cwd=folder)
            assert done.code == 0, done.err
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own to work in, with those files; whose ``out`` has the checkpoints."""
    (tmp_path / "out").mkdir()
    for path in made.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words_of(command: str, made: Path) -> list[str]:
    """The words of a command that works and writes to the folder ``out``, which is there."""
    if command in SWEEPS:
        shutil.copy(made / command / SWEEPS[command], "out")
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
    for path in Path("out").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")


def is_refused(done: typing.Any, *said: str) -> None:
    """One line, or click's four, on standard error, which says what; and no more."""
    assert (done.code, done.out) == (2, ""), done
    *_, last = done.err.splitlines()
    assert len(done.err.splitlines()) <= 4
    assert last.startswith(("iirl-opt: ", "Error: "))
    assert len(last) < 600
    assert "Errno" not in done.err
    for words in said:
        assert words in last


def test_every_command_has_a_row() -> None:
    assert set(ROWS) == set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@every_command
def test_json_is_one_line_for_any_program_and_files_are_whole(
    command: str, here: Path, made: Path
) -> None:
    done = whole(*words_of(command, made), "--json")
    assert done.code == 0, done.err
    assert all(line.startswith("iirl-opt: ") for line in done.err.splitlines())
    assert done.out.count("\n") == 1
    assert done.out.isascii()
    document = json.loads(done.out)
    assert (document["command"], document["complete"]) == (command, True)
    is_whole(command)


@every_command
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_what_a_code_page_lacks_is_replaced(
    command: str, encoding: str, here: Path, made: Path
) -> None:
    written = BytesIO()
    with TextIOWrapper(written, encoding, write_through=True) as out:
        done = whole(*words_of(command, made), out=out)
        text = written.getvalue().decode(encoding)
    assert (done.code, "Traceback" in done.err) == (0, False)
    assert "\x1b" not in text
    assert "wrote " in text
    is_whole(command)


@every_command
def test_without_standard_output_files_are_written(command: str, here: Path, made: Path) -> None:
    done = whole(*words_of(command, made), out=None)
    assert done.code == 0, done.err
    is_whole(command)


@every_command
def test_without_standard_error_a_refusal_has_its_code(command: str, here: Path) -> None:
    refused = whole(command, *ROWS[command].typo[0].split(), err=None)
    assert (refused.code, refused.out) == (2, "")


@every_command
def test_a_closed_pipe_ends_a_command_without_a_word(command: str, here: Path, made: Path) -> None:
    words = words_of(command, made)
    reader, writer = os.pipe()
    os.close(reader)
    out = os.fdopen(writer, "w", buffering=1)
    try:
        done = whole(*words, out=out)
    finally:
        with suppress(BrokenPipeError):  # of what was not written yet
            out.close()
    assert (done.code, done.err.replace(LOST, "")) == (141, "")
    left = {path.name for path in Path("out").iterdir() if path.suffix != ".parquet"}
    assert left <= ROWS[command].leaves


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
@every_command
def test_a_full_disk_behind_standard_output_is_said(command: str, here: Path, made: Path) -> None:
    words = words_of(command, made)
    with open("/dev/full", "wb", buffering=0) as full:
        done = whole(*words, out=TextIOWrapper(full, write_through=True))
    assert done.code == 2
    assert "No space left on device" in done.err
    assert "Traceback" not in done.err


@every_command
@pytest.mark.parametrize("mistake", ["typo", "family", "option"])
def test_what_is_mistaken_is_named_and_what_fits(command: str, mistake: str, here: Path) -> None:
    row = ROWS[command]
    words, said = getattr(row, mistake)
    before = everything(here)
    rest = row.works.removesuffix(" --resume").split() if mistake == "option" else []
    is_refused(iirl(command, *rest, *words.split()), said)
    assert everything(here) == before


@pytest.mark.parametrize("command", READ_A_FILE)
@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_file_that_is_none_is_named(command: str, kind: str, here: Path) -> None:
    path = Path("below/bad.toml" if kind == "below a file" else "bad.toml")
    make, said = BAD_FILES[kind]
    make(path)
    before = everything(here)
    is_refused(iirl(*in_place_of_the_file(command, str(path))), str(path), said)
    assert everything(here) == before


@pytest.mark.parametrize("command", READ_A_FILE)
@pytest.mark.parametrize("name", ["", "a\0b.toml", "x" * 5000, "/dev/null", "\udcff.toml", "-"])
def test_a_name_of_no_file_is_refused(command: str, name: str, here: Path) -> None:
    if (command, name) == ("check", ""):
        pytest.skip("it takes folders, and this is the one to work in")
    before = everything(here)
    is_refused(iirl(*in_place_of_the_file(command, name)))
    assert everything(here) == before


@every_command
@pytest.mark.parametrize("out", ["own.py", "own.py/below", "/proc/none", "loop"])
def test_where_nothing_can_be_written_nothing_is_done(
    command: str, out: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("loop").symlink_to("loop")
    worked = []
    if command != "learn":  # what is named there prepares a run, and another prints its first line
        monkeypatch.setattr(ROWS[command].work, lambda *_, **__: worked.append(1))
    words = ROWS[command].works.removesuffix(" --resume").split()
    if command == "convert":
        monkeypatch.undo()
        monkeypatch.chdir(here)
        asked = [command, words[0], f"{out}/game.npz"]
    else:
        asked = [command, *words, "--out", out]
    before = everything(here)
    is_refused(whole(*asked), out)
    assert (worked, everything(here)) == ([], before)


@every_command
def test_ctrl_c_is_said_in_a_line(
    command: str, here: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    words = words_of(command, made)
    monkeypatch.setattr(ROWS[command].work, interrupted)
    done = whole(*words)
    assert done.code == 130
    assert done.err.startswith("iirl-opt: interrupted")
    assert done.err.count("\n") == 1
    assert "ok" not in done.out


@every_command
def test_our_own_fault_is_no_verdict(
    command: str, here: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object, **__: object) -> None:
        raise AssertionError("planted")

    words = words_of(command, made)
    monkeypatch.setattr(ROWS[command].work, fault)
    done = whole(*words)
    assert done.code == 70
    assert "AssertionError: planted" in done.err
    assert "this is a fault of iirl-opt" in done.err


@every_command
@pytest.mark.parametrize("columns", [20, 60])
def test_help_fits_a_narrow_terminal(
    command: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    done = iirl(command, "--help")
    assert (done.code, done.err) == (0, "")
    if columns == 60:
        assert max(map(len, done.out.splitlines())) <= columns
