"""Places of files: what could not be written is refused before any work, and stays as it was."""

import json
import os
from pathlib import Path

import pytest
from command_table import ROWS, everything, is_refused
from commands import iirl, whole


def too_late(*_: object, **__: object) -> None:
    raise AssertionError("work began")


@pytest.fixture
def places(here: Path) -> Path:
    """A folder with places that no file can take."""
    Path("folder.lp").mkdir()
    Path("folder.png").mkdir()
    Path("loop.lp").symlink_to("loop.lp")
    return here


@pytest.mark.parametrize(
    "target", ["folder.lp", "no/a.lp", "own.py/a.lp", "loop.lp", "figure-1.toml", "n" * 300]
)
def test_a_program_is_not_built_for_a_file_that_cannot_be_written(
    target: str, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ROWS["export"].work, too_late)
    before, text = everything(places), Path("figure-1.toml").read_text("utf-8")
    is_refused(iirl("export", "figure-1.toml", target, "--lp"), f"to write is {target!r}")
    assert everything(places) == before
    assert Path("figure-1.toml").read_text("utf-8") == text


@pytest.mark.parametrize("picture", ["folder.png", "no/a.png", "own.py/a.png"])
def test_a_run_does_not_begin_for_a_picture_that_cannot_be_written(
    picture: str, places: Path
) -> None:
    before = everything(places)
    is_refused(iirl("learn", "two-rooms.toml", "--plot", picture), f"--plot is {picture!r}")
    assert everything(places) == before


@pytest.mark.parametrize("command", [name for name in ROWS if name != "convert"])
def test_a_folder_in_the_place_of_a_file_is_refused(
    command: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command != "learn":  # what is named there prepares a run
        monkeypatch.setattr(ROWS[command].work, too_late)
    words = ROWS[command].works.removesuffix(" --resume").split()
    for name in ROWS[command].leaves:
        Path("out", name).mkdir()
        is_refused(whole(command, *words, "--out", "out"), f"--out is 'out/{name}'")
        Path("out", name).rmdir()
    assert not list(Path("out").iterdir())


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_is_read_only_is_left_alone(what: str, here: Path) -> None:
    folder = Path("shut")
    folder.mkdir()
    target = folder / "a.lp"
    target.write_text("mine")
    (target if what == "file" else folder).chmod(0o444 if what == "file" else 0o555)
    is_refused(iirl("export", "figure-1.toml", target, "--lp"), str(target))
    folder.chmod(0o755)
    assert target.read_text() == "mine"


def test_a_file_that_fails_costs_check_no_other(here: Path) -> None:
    Path("bad.toml").write_text("version = \n")
    done = whole("check", "two-rooms", "bad.toml", "figure-1.toml", "--json", "--out", "chk")
    assert done.code == 2
    assert done.err.startswith("iirl-opt: bad.toml:1:")
    document = json.loads(done.out)
    assert json.loads(Path("chk/result.json").read_text()) == document
    assert [failed["file"] for failed in document["failed"]] == ["bad.toml"]
    assert len({finding["file"] for finding in document["expectations"]}) == 2
    assert document["complete"]


@pytest.mark.parametrize(
    "words",
    [
        "figure 7 --scale smal --out new/one",
        "figure 7 --json --out new --restart --resume",
        "figure 7 --scheduler x --out new",
        "compare two-rooms.toml --jobs 2 --scheduler x --out new",
        "learn two-rooms.toml --learner active --proposals 3 --out new",
    ],
)
def test_a_refused_command_leaves_no_folder(words: str, here: Path) -> None:
    before = everything(here)
    is_refused(whole(*words.split()))
    assert everything(here) == before


def test_a_program_that_is_there_is_replaced_by_force_alone(here: Path) -> None:
    Path("mine.lp").write_text("mine")
    words = ("export", "figure-1.toml", "mine.lp", "--lp")
    is_refused(whole(*words), "there already", "--force")
    assert Path("mine.lp").read_text() == "mine"
    assert whole(*words, "--force").code == 0
    assert Path("mine.lp").read_text().endswith("end\n")
