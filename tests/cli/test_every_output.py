"""Every command with streams of all sorts: for programs, of a code page, closed, full, gone."""

import errno
import json
import os
import re
from contextlib import suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from command_table import (
    ROWS,
    WITH_CHECKPOINT,
    every_command,
    is_ended,
    is_whole,
    words_of,
)
from commands import whole

from iirl_opt import files

LOST = "iirl-opt: of the model file: question, follower, expect, policy are lost\n"  # by `convert`
WRITERS = ("convert", "export")  # which find nothing but a file


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
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_a_closed_pipe_ends_a_command_without_a_word_and_costs_no_file(
    command: str, form: tuple[str, ...], here: Path, made: Path
) -> None:
    words = words_of(command, made)
    reader, writer = os.pipe()
    os.close(reader)
    out = os.fdopen(writer, "w", buffering=1)
    try:
        done = whole(*words, *form, out=out)
    finally:
        with suppress(BrokenPipeError):  # of what was not written yet
            out.close()
    assert (done.code, done.err.replace(LOST, "")) == (141, "")
    if form or command not in WITH_CHECKPOINT:
        is_whole(command)
    else:  # these have a word to say before they begin, or of each cell
        assert {path.suffix for path in Path("out").iterdir()} <= {".jsonl"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
@every_command
def test_a_full_disk_behind_standard_output_is_said_and_costs_no_file(
    command: str, here: Path, made: Path
) -> None:
    words = words_of(command, made)
    with open("/dev/full", "wb", buffering=0) as full:
        done = whole(*words, "--json", out=TextIOWrapper(full, write_through=True))
    assert done.code == 2
    assert "No space left on device" in done.err
    assert "Traceback" not in done.err
    is_whole(command)


@every_command
def test_a_full_disk_is_named_and_what_was_found_is_printed(
    command: str, here: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    words = words_of(command, made)
    monkeypatch.setattr(files.os, "fsync", full)  # by which every file comes to its place
    done = whole(*words, "--json")
    assert done.code == 2
    [*_, said] = done.err.splitlines()
    assert re.match(r"iirl-opt: (out/[\w.-]+|game\.npz): No space left on device", said), said
    assert command in WRITERS or json.loads(done.out)["command"] == command
    if command in WITH_CHECKPOINT:
        [kept] = Path("out").iterdir()
        assert said.endswith(f"; with --resume the same command goes on from {kept}")
        assert not is_ended(kept)
    else:
        assert not list(Path("out").iterdir())
