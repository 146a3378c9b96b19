"""Checkpoints: what was appended comes back, what was changed is refused, nothing goes unasked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from iirl_opt.checkpoint import Checkpoint
from iirl_opt.errors import FileProblem

ABOUT = {"command": "learn", "seed": 0}


def kept(path: Path, records: list[object], *, finish: bool = False) -> None:
    with Checkpoint(path, ABOUT) as work:
        for record in records:
            work.append(record)
        if finish:
            work.finish()


@given(
    records=st.lists(
        st.recursive(
            st.floats(allow_nan=False, allow_infinity=False) | st.text() | st.integers(),
            lambda some: st.lists(some, max_size=3),
            max_leaves=5,
        ),
        max_size=4,
    ),
    cut=st.integers(0, 4),
)
def test_what_was_appended_comes_back_bit_for_bit(
    records: list[object], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("work") / "work.jsonl"
    with Checkpoint(path, ABOUT) as work:
        for record in records[:cut]:
            work.append(record)
    with Checkpoint(path, ABOUT, begin="resume") as work:
        assert work.records == records[:cut]
        assert not work.complete
        for record in records[cut:]:
            work.append(record)
        work.finish()
    with Checkpoint(path, ABOUT, begin="resume") as work:
        assert repr(work.records) == repr(records)
        assert work.complete


def test_a_line_that_was_cut_off_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    kept(path, [1, 2, 3])
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with Checkpoint(path, ABOUT, begin="resume") as work:
            assert work.records == [1, 2, 3][: max(0, sum(end <= length for end in ends) - 1)]


@pytest.mark.parametrize("line", [0, 1, 2, 3])
def test_no_byte_of_it_can_be_changed_unnoticed(line: int, tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    kept(path, [0.25, {"regret": 0.5}], finish=True)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for place in range(len(lines[line]) - 1):
        for byte in (b"7", b'"', b"\xff"):
            changed = lines[line][:place] + byte + lines[line][place + 1 :]
            if changed == lines[line]:
                continue
            path.write_bytes(b"".join([*lines[:line], changed, *lines[line + 1 :]]))
            with pytest.raises(FileProblem) as refused:
                Checkpoint(path, ABOUT, begin="resume")
            assert f"{path}:{line + 1}" in str(refused.value)
            assert path.read_bytes() != whole


@pytest.mark.parametrize("order", [[0, 2, 1, 3], [0, 1, 3], [1, 2, 3], [0, 1, 0, 2, 3], [0, 3, 3]])
def test_lines_that_were_moved_are_refused_unless_they_only_differ_in_order(
    order: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "work.jsonl"
    kept(path, ["a", "b"], finish=True)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[i] for i in order))
    if order == [0, 2, 1, 3]:
        with Checkpoint(path, ABOUT, begin="resume") as work:
            assert work.records == ["b", "a"]
        return
    with pytest.raises(FileProblem):
        Checkpoint(path, ABOUT, begin="resume")


def test_unfinished_work_goes_only_when_it_is_asked_to(tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    kept(path, [1])
    before = path.read_bytes()
    with pytest.raises(FileProblem, match=r"unfinished, with 1 record;.*resume.*restart"):
        Checkpoint(path, ABOUT)
    assert path.read_bytes() == before
    with Checkpoint(path, {"another": 1}, begin="restart") as work:
        assert work.records == []
        assert path.read_bytes() == before
        work.append(2)
        work.finish()
    kept(path, [3])  # what is finished may be begun anew
    with Checkpoint(path, ABOUT, begin="resume") as work:
        assert work.records == [3]


def test_a_checkpoint_of_something_else_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    kept(path, [1])
    before = path.read_bytes()
    for about in ({**ABOUT, "seed": 1}, {"command": "learn"}, {**ABOUT, "seed": 0, "jobs": 2}):
        with pytest.raises(FileProblem, match=r":1: was written with (seed|jobs) "):
            Checkpoint(path, about, begin="resume")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("now", "fact"),
    [
        ({"file": "b.toml", "digest": "2", "seed": 0}, "was written with file 'a.toml', now"),
        ({"file": "a.toml", "digest": "2", "seed": 1}, "was written with seed 0, now it is 1"),
        ({"file": "a.toml", "digest": "2", "seed": 0}, "a.toml or the options that read it"),
    ],
)
def test_that_what_was_read_is_another_is_said_last(
    now: dict[str, Any], fact: str, tmp_path: Path
) -> None:
    with Checkpoint(tmp_path / "w", {"file": "a.toml", "digest": "1", "seed": 0}) as work:
        work.append(1)
    with pytest.raises(FileProblem, match=fact):
        Checkpoint(tmp_path / "w", now, begin="resume")


def test_there_is_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    with Checkpoint(path, ABOUT) as work:
        work.append(1)
        for begin in ("new", "resume", "restart"):
            with pytest.raises(FileProblem, match="another process"):
                Checkpoint(path, ABOUT, begin=begin)
        work.append(2)
    with Checkpoint(path, ABOUT, begin="resume") as work:
        assert work.records == [1, 2]


@pytest.mark.parametrize("content", [b"[]\n", b"1\n", b"{}\n", b"\xff\n", b"[" * 9999 + b"\n"])
@pytest.mark.parametrize("begin", ["new", "resume"])
def test_what_is_no_checkpoint_is_refused_and_left_alone(
    content: bytes, begin: str, tmp_path: Path
) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(FileProblem, match=r"notes\.txt:1: holds no line of a checkpoint"):
        Checkpoint(path, ABOUT, begin=begin)
    assert path.read_bytes() == content


@pytest.mark.parametrize("reopened", [False, True])
def test_what_was_finished_may_go_on(reopened: bool, tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    with Checkpoint(path, ABOUT) as work:
        work.append(1)
        work.finish()
        if not reopened:
            work.append(2)
            work.finish()
    if reopened:
        with Checkpoint(path, ABOUT, begin="resume") as work:
            work.append(2)
            work.finish()
    with Checkpoint(path, ABOUT, begin="resume") as work:
        assert (work.records, work.complete) == ([1, 2], True)


def test_a_record_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    kept(path, ["a", "b"])
    with Checkpoint(path, ABOUT, begin="resume") as work:
        number = json.loads(str(work.problem(1, "is bad")).rsplit(":", 2)[1])
        assert json.loads(path.read_bytes().splitlines()[number - 1])["record"] == "b"


def test_what_is_finished_can_go_on_and_end_later(tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    for begin, piece in (("new", 1), ("resume", 2), ("resume", 3)):
        with Checkpoint(path, {"seed": 0}, begin=begin) as work:
            assert work.records == list(range(1, piece))
            work.append(piece)
            work.finish()
    with Checkpoint(path, {"seed": 0}, begin="resume") as work:
        assert (work.records, work.complete) == ([1, 2, 3], True)


def test_a_line_without_a_digest_is_of_the_format_before_alone(tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    path.write_text('{"format": 1, "seed": 0}\n{"piece": 1}\n')
    with Checkpoint(path, {"seed": 0}, begin="resume") as work:
        assert work.records == [{"piece": 1}]
        work.append({"piece": 2})
    with Checkpoint(path, {"seed": 0}, begin="resume") as work:
        assert work.records == [{"piece": 1}, {"piece": 2}]
    with Checkpoint(path, {"seed": 0}, begin="restart") as work:
        work.append({"piece": 1})
    path.write_text(path.read_text() + '{"piece": 2}\n')
    with pytest.raises(FileProblem, match=":3: holds no line of a checkpoint"):
        Checkpoint(path, {"seed": 0}, begin="resume")


def test_a_checkpoint_with_other_line_ends_goes_on_or_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    kept(path, [1, 2], finish=True)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"\n", b"\r\n"))
    for more in (3, 4):
        with Checkpoint(path, ABOUT, begin="resume") as work:
            work.append(more)
            work.finish()
    with Checkpoint(path, ABOUT, begin="resume") as work:
        assert (work.records, work.complete) == ([1, 2, 3, 4], True)
    for end in (b"\r", b" ", b""):
        path.write_bytes(whole.replace(b"\n", end))
        is_left_alone(path)


@pytest.mark.parametrize("content", [b"my own data", b"{", b'{"mine": 1}', b"\0", b'{"digest": "x'])
def test_what_has_no_whole_line_is_dropped_only_as_the_beginning_of_a_head(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "work.jsonl"
    path.write_bytes(content)
    if content == b"{":  # which a head begins with, and tells nothing
        with Checkpoint(path, ABOUT) as work:
            assert work.records == []
    else:
        is_left_alone(path)


def is_left_alone(path: Path) -> None:
    """It is refused, unless it is to be dropped, and stays as it is."""
    before = path.read_bytes()
    for begin in ("new", "resume"):
        with pytest.raises(FileProblem, match="holds no line of a checkpoint"):
            Checkpoint(path, ABOUT, begin=begin)
        assert path.read_bytes() == before
