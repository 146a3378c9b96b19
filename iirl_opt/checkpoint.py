"""Checkpoints: finished pieces of work, kept as they are done, checked when they are read again.

A checkpoint is a file of JSON lines: a *head* that says what is being computed and by which
versions, a *record* for each finished piece, and a last line once all is done. Each line carries
a digest of itself, so what was changed or damaged since is refused and never computed with. What
was appended outlives the process; a line that was cut off half-way is dropped; one process at a
time may write (`iirl_opt.files.Journal`). Unfinished work is never thrown away unasked.

Checkpoints of format 1, of before, have no digests: they are gone on from as they are, and what is
appended to them has one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from json import JSONDecoder
from pathlib import Path
from typing import Any, Literal, NoReturn, Self

from iirl_opt.errors import FileProblem
from iirl_opt.files import Journal

__all__ = ["Beginning", "Checkpoint", "dump"]

FORMAT = 2

# How a first line begins: its digest stands between.
BEGINS, DIGITS, GOES_ON = b'{"digest": "', 16, b'", "head": {'

Beginning = Literal["new", "resume", "restart"]


def dump(value: object) -> str:
    """Return JSON in one line, the same for equal values.

    Raises
    ------
    ValueError
        It holds NaN or an infinity.
    """
    return json.dumps(value, sort_keys=True, allow_nan=False)


class Checkpoint:
    """Finished work in a file, a record for each piece; a context manager, which closes it.

    Parameters
    ----------
    about : what is being computed, JSON-able; a checkpoint of anything else is no beginning.
    begin : ``"resume"`` takes the records that are there, if there are any; ``"restart"`` drops
        them; ``"new"`` drops them if all was done, and refuses to otherwise.

    Attributes
    ----------
    records : those that were there when it was opened.
    complete : whether all is done.

    Raises
    ------
    FileProblem
        Another process writes it; it is unfinished and to be begun anew; it is of something else
        (names the fact), damaged before its last line (names the line), no checkpoint, or too
        large.
    OSError
        It cannot be made or opened.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "work.jsonl")
    ...     with Checkpoint(file, {"seed": 0}) as work:
    ...         work.append({"piece": 1})
    ...     with Checkpoint(file, {"seed": 0}, begin="resume") as work:
    ...         print(work.records, work.complete)
    [{'piece': 1}] False
    """

    path: Path
    records: list[Any]
    complete: bool

    def __init__(
        self, path: str | Path, about: Mapping[str, Any], *, begin: Beginning = "new"
    ) -> None:
        self.path = Path(path)
        self._head = json.loads(dump({"format": FORMAT, **about}))
        self._journal = Journal(path, resume=begin != "restart")
        try:
            kinds, contents = self._read(self._journal.lines)
            if not _is_cut_off(self._journal.torn, first=not kinds):
                raise self._no_line(len(kinds) + 1)
            self.complete = kinds[-1:] == ["end"]
            if begin == "new" and kinds and not self.complete:
                self._refuse_to_drop(len(kinds) - 1)
            if begin == "resume" and kinds:
                self._check(kinds, contents)
                self._begun, self.records = True, contents[1 : len(kinds) - self.complete]
            else:
                self._begun, self.records, self.complete = False, [], False
                self._journal.forget()
        except BaseException:
            self._journal.close()
            raise
        self._count = len(self.records)

    def append(self, record: object) -> None:
        """Keep a finished piece, JSON-able; when this returns, it outlives the process."""
        if self.complete:  # it goes on after all: its end comes later
            self._journal.drop_last()
            self.complete = False
        self._begin()
        self._write("record", record)
        self._count += 1

    def finish(self) -> None:
        """Say that all is done: then it may be begun anew without being asked to drop it."""
        if not self.complete:
            self._begin()
            self._write("end", self._count)
            self.complete = True

    def end_with(self, stack: ExitStack) -> None:
        """Say that all is done once a stack is closed, if no error closes it."""

        def end(kind: object, *_: object) -> None:
            if kind is None:
                self.finish()

        stack.push(end)

    def close(self) -> None:
        """Let another process write it; one that holds nothing goes, if it came with this."""
        self._journal.close()

    def problem(self, index: int, what: str) -> FileProblem:
        """Return the error that says what is wrong with a record, by its line."""
        return FileProblem(self.path, what, line=index + 2)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: Any) -> None:
        self._journal.__exit__(*raised)

    def _begin(self) -> None:
        if not self._begun:
            self._write("head", self._head)
            self._begun = True

    def _write(self, kind: str, content: object) -> None:
        self._journal.append(dump({kind: content, "digest": _digest_of(kind, content)}))

    def _read(self, lines: Sequence[bytes]) -> tuple[list[str], list[Any]]:
        """Return the kind and the content of each line, all as they were written."""
        kinds, contents = [], []
        old = bool(lines) and _is_old(lines[0])
        for number, line in enumerate(lines, start=1):
            kind, content = self._parsed(number, line, old)
            kinds.append(kind)
            contents.append(content)
        return kinds, contents

    def _parsed(self, number: int, line: bytes, old: bool) -> tuple[str, Any]:
        try:
            written = json.loads(line)
            if old and isinstance(written, dict) and "digest" not in written:
                return (
                    ("head", {**written, "format": FORMAT}) if number == 1 else ("record", written)
                )
            digest = written.pop("digest")
            ((kind, content),) = written.items()
            whole = digest == _digest_of(kind, content)
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            raise self._no_line(number) from None
        if not whole:
            problem = "was changed since it was written; it cannot be resumed from"
            raise FileProblem(self.path, problem, line=number)
        return kind, content

    def _no_line(self, number: int) -> FileProblem:
        return FileProblem(self.path, "holds no line of a checkpoint", line=number)

    def _check(self, kinds: Sequence[str], contents: Sequence[Any]) -> None:
        """Refuse lines out of order, and a checkpoint of something else by what differs."""
        expected = ["head", *["record"] * (len(kinds) - 1 - self.complete)]
        for number, (kind, wanted) in enumerate(zip(kinds, expected, strict=False), start=1):
            if kind != wanted:
                raise FileProblem(self.path, f"is a {kind}; allowed a {wanted}", line=number)
        if self.complete and contents[-1] != len(kinds) - 2:
            problem = f"ends {contents[-1]!r} records, and has {len(kinds) - 2}"
            raise FileProblem(self.path, problem, line=len(kinds))
        written = contents[0]
        # A digest says least, so it comes last.
        for name in sorted({**self._head, **written}, key=lambda name: name == "digest"):
            was, now = written.get(name), self._head.get(name)
            if was != now:
                problem = f"was written with {name} {was!r}, now it is {now!r}; do not resume"
                if name == "digest":
                    file = self._head.get("file", "the model file")
                    changed = f"{file} or the options that read it were changed"
                    problem = f"is of something else: {changed} since it was written; do not resume"
                raise FileProblem(self.path, problem, line=1)

    def _refuse_to_drop(self, count: int) -> NoReturn:
        pieces = "1 record" if count == 1 else f"{count} records"
        problem = (
            f"is unfinished, with {pieces}; allowed to resume (--resume) or to drop it (--restart)"
        )
        raise FileProblem(self.path, problem)


def _is_old(line: bytes) -> bool:
    """Return whether a first line is the head of a checkpoint whose lines have no digests."""
    try:
        head = json.loads(line)
    except (RecursionError, ValueError):
        return False
    return isinstance(head, dict) and head.get("format") == 1 and "digest" not in head


def _is_cut_off(torn: bytes, *, first: bool) -> bool:
    """Return whether what has no line end may go: it is no more than the beginning of a line.

    Parameters
    ----------
    first : whether it would be the first line, which a file of somebody else's begins with, too.
    """
    digest = torn[len(BEGINS) : len(BEGINS) + DIGITS]
    if first and not (
        all(digit in b"0123456789abcdef" for digit in digest)
        and (BEGINS + digest + GOES_ON).startswith(torn[: len(BEGINS + GOES_ON) + DIGITS])
    ):
        return False
    if b"\r" in torn:  # which none of our lines holds: their ends were changed
        return False
    try:
        text = torn.decode("ascii")
        return JSONDecoder().raw_decode(text)[1] == len(text)
    except (RecursionError, ValueError):
        return True


def _digest_of(kind: str, content: object) -> str:
    return sha256(dump({kind: content}).encode()).hexdigest()[:DIGITS]
