"""Every command with streams of all sorts: for programs, of a code page, closed, full, gone."""

import json
import os
from contextlib import suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from command_table import ROWS, every_command, is_whole, words_of
from commands import whole

LOST = "iirl-opt: of the model file: question, follower, expect are lost\n"  # by `convert`


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
