"""Files on disk: written whole or not at all, journals that outlive a crash, limits on reading.

A file is *written whole*: beside its place, and moved there when all of it is on the disk. Whatever
interrupts the writer, the old file stays as it was and nothing else is left behind.

A *journal* is a file of lines to which finished work is appended. What was appended is kept, a line
that was cut off half-way is dropped when the journal is opened again, and one process alone may
have it open: its lock goes with the process, however that ends.

A *text* is UTF-8, after a byte-order mark or without one; where the name of its file ends in
``.gz``, it is compressed by gzip.
"""

from __future__ import annotations

import codecs
import gzip
import os
import secrets
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from iirl_opt.errors import FileProblem

if sys.platform == "win32":  # pragma: no cover - another system's way to the same lock
    import msvcrt
else:
    import fcntl

__all__ = [
    "GZIP",
    "UTF_16",
    "Journal",
    "first_bytes",
    "read_bytes",
    "read_text",
    "write_text",
    "writing",
]

GZIP = b"\x1f\x8b"  # what a file begins with that gzip compressed
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # UTF-32 of a PC begins like UTF-16


@contextmanager
def writing(path: str | Path, suffix: str | None = None) -> Iterator[Path]:
    """Yield a path to write to; what stands there takes the place of `path` when the block ends.

    If the block raises, `path` is as it was. What is no ordinary file, such as ``/dev/stdout``, is
    written to as it is.

    Parameters
    ----------
    suffix : of the path that is yielded, for writers that go by it; that of `path` by default.

    Raises
    ------
    OSError
        The folder is not there or cannot be written to.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with writing(Path(folder, "answer.txt")) as part:
    ...         _ = part.write_text("42")
    ...     print([(file.name, file.read_text()) for file in Path(folder).iterdir()])
    [('answer.txt', '42')]
    """
    target = Path(os.path.realpath(path))  # a link stays one: what it leads to is replaced
    if target.exists() and not target.is_file():
        with _naming(path, target):
            yield target
        return
    kind = target.suffix if suffix is None else suffix
    part = target.with_name(f".part-{secrets.token_hex(8)}{kind}")
    try:
        with _naming(path, part):
            yield part
            with suppress(FileNotFoundError):
                part.chmod(target.stat().st_mode & 0o777)
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def _naming(path: str | Path, part: Path) -> Iterator[None]:
    """Let errors of the system name the path that was given, not the part beside it, or nothing."""
    try:
        yield
    except OSError as problem:
        # That a disk is full is said without a name.
        if problem.errno is not None and problem.filename in (None, str(part)):
            problem.filename = str(path)
        raise


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file whole or not at all, in UTF-8, and return its path.

    It is compressed if its name ends in ``.gz``; the same text gives the same bytes.

    Raises
    ------
    OSError
        The folder is not there or cannot be written to.
    """
    with writing(path) as part:
        content = text.encode()
        part.write_bytes(gzip.compress(content, mtime=0) if _is_named_gz(path) else content)
    return Path(path)


def read_bytes(path: str | Path, limit: int) -> bytes:
    """Return what a file holds, if that is not too much.

    Parameters
    ----------
    limit : how many bytes it may hold; no more than that is ever taken into memory.

    Raises
    ------
    FileProblem
        It holds more.
    OSError
        There is no such file, or it cannot be opened.
    """
    with Path(path).open("rb") as file:
        # Python sets aside as much as is asked for: what the file says it holds, and a little more.
        asked = min(os.fstat(file.fileno()).st_size, limit) + 1
        content = file.read(asked)
        while len(content) == asked <= limit:  # it says nothing, as a pipe, or it grows
            asked = min(2 * asked, limit + 1)
            content += file.read(asked - len(content))
    if len(content) > limit:
        raise FileProblem(Path(path), f"holds more than {limit} bytes")
    return content


def read_text(
    path: str | Path, limit: int, encoding: str = "utf-8-sig", errors: str = "strict"
) -> str:
    """Return what a text file holds, with ``\\n`` at the end of each line.

    Parameters
    ----------
    limit : how many bytes it may hold, unpacked.
    encoding, errors : as for `bytes.decode`; a byte-order mark is no part of the text.

    Raises
    ------
    FileProblem
        It holds more, is UTF-16, or is compressed and not named so, or damaged.
    OSError
        There is no such file, or it cannot be opened.
    UnicodeDecodeError
        It is no text in this encoding.
    """
    content = read_bytes(path, limit)
    packed = content.startswith(GZIP)
    if packed != _is_named_gz(path):
        found = "is compressed by gzip" if packed else "is not compressed by gzip"
        what = "a name that ends in .gz" if packed else "a name without .gz"
        raise FileProblem(Path(path), f"{found}; allowed {what}")
    if packed:
        content = _unpacked(Path(path), content, limit)
    if content.startswith(UTF_16):
        raise FileProblem(Path(path), "is no UTF-8 text, but UTF-16")
    text = content.decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def first_bytes(path: str | Path, count: int) -> bytes:
    """Return the first bytes of a file, unpacked if gzip compressed it, fewer if it is damaged.

    Raises
    ------
    FileProblem
        It is no ordinary file: of a pipe, the bytes would be gone.
    OSError
        There is no such file, or it cannot be opened.
    """
    path = Path(path)
    if not path.is_file():
        path.stat()
        raise FileProblem(path, "is a folder" if path.is_dir() else "is no ordinary file")
    with path.open("rb") as file:
        content = file.read(count)
    if content.startswith(GZIP):
        with suppress(zlib.error):
            return zlib.decompressobj(wbits=31).decompress(content, count)
    return content


def _is_named_gz(path: str | Path) -> bool:
    return Path(path).suffix.lower() == ".gz"


def _unpacked(path: Path, content: bytes, limit: int) -> bytes:
    """Return what gzip compressed; no more than the limit is ever taken into memory."""
    try:
        with gzip.GzipFile(fileobj=BytesIO(content)) as file:
            unpacked = file.read(limit + 1)
    except (EOFError, OSError, zlib.error) as problem:
        raise FileProblem(path, f"is no whole gzip file ({problem})") from None
    if len(unpacked) > limit:
        raise FileProblem(path, f"unpacks to more than {limit} bytes")
    return unpacked


class Journal:
    """A file of lines that grows, of which one process at a time may write.

    To be used as a context manager, which closes it. What is to go (a line that was cut off, or all
    if it is begun anew) goes with the first line that is appended, or when the block ends well; so
    one who finds the lines to be of something else can still leave the file as it is.

    Parameters
    ----------
    resume : go on from the lines that are there; otherwise it is begun anew.
    limit : how many bytes it may hold to be read.

    Attributes
    ----------
    lines : the whole lines that were there when it was opened, without their ends.
    torn : what stood behind the last of them: a line that was cut off, if all is well.

    Raises
    ------
    FileProblem
        Another process has it open, or it holds too much.
    OSError
        It cannot be made or opened.
    """

    path: Path
    lines: list[bytes]
    torn: bytes

    def __init__(self, path: str | Path, *, resume: bool = False, limit: int = 2**30) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._new = not self.path.exists()
        self._file = _alone(self.path)
        try:
            content = read_bytes(self.path, limit) if resume else b""
        except BaseException:
            self._file.close()
            raise
        *lines, self.torn = content.split(b"\n")
        self.lines = [line.removesuffix(b"\r") for line in lines]  # as some editors end them
        self._kept, self._clean = len(content) - len(self.torn), False
        self._last = len(lines[-1]) + 1 if lines else 0

    def append(self, line: str) -> None:
        """Write a line; when this returns, it outlives the process.

        Raises
        ------
        OSError
            It cannot be written, as on a full disk; what is there of it goes with the next.
        """
        content = line.encode() + b"\n"
        try:
            self._cut()
            self._clean = False
            written = 0
            while written < len(content):
                written += self._file.write(content[written:])
        except OSError as problem:
            problem.filename = str(self.path)
            raise
        self._last, self._clean = len(content), True
        self._kept += self._last

    def forget(self) -> None:
        """Begin anew after all: the lines that are there go with the next that is appended."""
        self._kept, self._clean, self.lines = 0, False, []

    def drop_last(self) -> None:
        """Let the last line go with the next that is appended."""
        self._kept, self._clean = self._kept - self._last, False

    def close(self) -> None:
        """Close it and leave the file as it is; one that was made for nothing goes."""
        if self._file.closed:
            return
        if self._new and os.fstat(self._file.fileno()).st_size == 0:
            with suppress(OSError):  # where what is open cannot go
                self.path.unlink()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with closing(self):
            if kind is None:
                self._cut()

    def _cut(self) -> None:
        if not self._clean:
            self._file.truncate(self._kept)
            self._clean = True


def _alone(path: Path) -> IO[bytes]:
    """Open a file to append to it, as the one process that does."""
    while True:
        # Without a buffer: a full disk is heard of at once.
        file = path.open("ab+", buffering=0)
        try:
            _lock(file, path)
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except FileNotFoundError:
            pass
        except BaseException:
            file.close()
            raise
        file.close()  # another process took it away before it was locked


def _lock(file: IO[bytes], path: Path) -> None:
    """Take the lock of an open file, which ends when the file is closed."""
    try:
        if sys.platform == "win32":  # pragma: no cover - another system's way to the same lock
            file.seek(2**40)  # far beyond what anybody reads or writes
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise FileProblem(path, "is being written by another process") from None
