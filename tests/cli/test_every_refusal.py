"""Every command refuses what cannot be: one line that names it, and nothing on the disk."""

from collections.abc import Callable
from pathlib import Path

import pytest
from command_table import ROWS, every_command, everything, in_place_of_the_file, is_refused
from commands import iirl, whole

READ_A_FILE = [name for name in ROWS if name not in ("schema", "figure", "play")]
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


@every_command
@pytest.mark.parametrize("mistake", ["typo", "family", "option"])
def test_what_is_mistaken_is_named_and_what_fits(command: str, mistake: str, here: Path) -> None:
    row = ROWS[command]
    words, said = getattr(row, mistake)
    before = everything(here)
    rest = row.works.removesuffix(" --resume").split() if mistake == "option" else []
    # A folder that a refused command made is taken away again.
    out = [] if command == "convert" or "--out" in words else ["--out", "new/inner"]
    is_refused(iirl(command, *rest, *words.split(), *out), said)
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
