"""Kinds of files: one table of what is read and written, and by which names files are known.

A file is of the kind that its name says, upper case or lower. Its first bytes are looked at too:
where they are those of another kind, that is said, and nothing is read as what it is not. One more
kind is one line more in `KINDS`; its reader and writer are loaded when a file needs them.

A reader is called as ``read(path, discount=…, …)``, with those arguments of `read_file` that are
given and that the kind takes, and returns an `ImportedGame`; a writer as ``write(problem, path)``.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from iirl_opt.brief import in_brief
from iirl_opt.checks import FLAG, MAPPING, PATH, TEXT, checked, each
from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.files import GZIP, UTF_16, first_bytes
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.spelling import allowed_names

__all__ = [
    "KINDS",
    "LOSSES",
    "FileKind",
    "kind_of",
    "kind_to_write",
    "named_kind",
    "named_kinds",
    "read_file",
    "write_file",
]

HEAD = 2**14  # bytes that are looked at

# What kinds of files have no place for, in words.
LOSSES = {
    "discount": "the discount, which is given where the file is read",
    "start": "starts that are not the same on all their states",
    "names": "some names of states and actions",
    "labels": "sets of states",
    "empty": "sets that hold no state",
    "rewards": "more than one reward, and its name",
    "choices": "which choices the source has",
    "leader": "choices of the leader",
}


# Why a kind of files does not take what may be said of a file.
WITHOUT = {
    "constants": "has no constants",
    "normalise": "leaves nothing to normalise",
    "leader": "has no action labels or players",
    "absorbing": "is no model of PRISM's or Storm's",
}


@dataclass(frozen=True)
class FileKind:
    """A kind of files.

    Attributes
    ----------
    name : as on the command line.
    title : what such a file is, in words.
    suffixes : how names of such files end, in lower case.
    looks : what its first bytes show, as a regular expression; empty if nothing does.
    reader : ``module:function``, empty if nothing of `formats` reads it.
    writer : ``module:function``, empty if nothing writes it.
    takes : which of what may be said of a file the reader takes: see `read_file`.
    options : what the writer takes besides: ``rounded``, consent to rounding.
    loses : what a file of this kind has no place for, of a list in ``LOSSES``.
    elsewhere : what reads it and what writes it, where that is nothing of `formats`.
    beside : ``module:function`` of a path and the files written, refuses others that are read too.
    binary : whether it is no text.

    Examples
    --------
    >>> kind = next(kind for kind in KINDS if kind.name == "drn")
    >>> kind.title, kind.suffixes
    ("a DRN file of Storm's", ('.drn', '.drn.gz'))
    >>> kind.stem(Path("folder/dice.drn"))
    'dice'
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    looks: bytes
    reader: str = ""
    writer: str = ""
    takes: tuple[str, ...] = ("discount", "normalise")
    options: tuple[str, ...] = ()
    loses: tuple[str, ...] = ()
    elsewhere: tuple[str, str] = ("", "")
    beside: str = ""
    binary: bool = False

    __repr__ = in_brief

    def stem(self, path: Path) -> str:
        """Return the name of a file without the suffix of its kind."""
        ends = (end for end in self.suffixes if path.name.lower().endswith(end))
        return path.name[: -max(map(len, ends), default=0) or None]

    def read(self, path: str | Path, **given: Any) -> ImportedGame:
        """Read a file of this kind, whatever its name says; see `read_file`."""
        said = {name: value for name, value in given.items() if value is not None}
        for name, value in said.items():
            if name not in self.takes:
                allowed = f"none, since {self.title} {WITHOUT[name]}"
                raise InvalidArgument(name, f"is {value!r}", allowed, value)
        found: ImportedGame = _load(self.reader)(path, **said)
        return found

    def write(self, problem: ImportedGame, path: str | Path, *, rounded: bool = False) -> None:
        """Write a file of this kind; `rounded` where the writer asks for that consent."""
        options = {"rounded": True} if rounded and "rounded" in self.options else {}
        _load(self.writer)(problem, path, **options)

    def check_beside(self, path: Path, written: Collection[Path]) -> None:
        """Refuse to write files at a place where others would be read with them."""
        if self.beside:
            _load(self.beside)(path, written)

    def looks_like(self, head: bytes) -> bool:
        """Return whether the first bytes of a file are those of this kind."""
        return bool(self.looks and re.search(self.looks, head))


DPOMDP = "iirl_opt.formats.dpomdp"
TABLES = "iirl_opt.formats.frames.files"
SAVED = "iirl_opt.formats.saved"
PRISM = "iirl_opt.formats.prism"

CHOICES = ("leader", "absorbing")  # what may be said of choices that have labels

# Of kinds with one suffix, the first whose looks fit; of others, the longest suffix.
KINDS: tuple[FileKind, ...] = (
    FileKind(
        "npz",
        "a saved game",
        (".npz",),
        rb"\APK\x03\x04",
        f"{SAVED}:read_npz",
        f"{SAVED}:write_npz",
        takes=("discount",),
        binary=True,
    ),
    FileKind(
        "dpomdp",
        "a problem of two agents for the MADP toolbox",
        (".dpomdp", ".dpomdp.gz"),
        rb"(?m)^\s*agents\s*:",
        f"{DPOMDP}.problem:read_dpomdp",
        f"{DPOMDP}.writing:write_dpomdp",
        options=("rounded",),
        loses=("names", "labels", "rewards", "choices"),
    ),
    FileKind(
        "pomdp",
        "a problem of one agent in Cassandra's format",
        (".pomdp", ".pomdp.gz"),
        rb"(?m)\A(?!(?s:.*)^\s*agents\s*:)(?s:.*)^\s*(states|actions)\s*:",
        f"{DPOMDP}.pomdp:read_pomdp",
        f"{DPOMDP}.writing:write_pomdp",
        options=("rounded",),
        loses=("names", "labels", "rewards", "choices", "leader"),
    ),
    FileKind(
        "prism",
        "a program of PRISM's",
        (".nm", ".pm", ".sm", ".prism"),
        rb"(?m)^\s*module\s+\w+",
        f"{PRISM}.storm:read_prism",
        takes=("discount", "constants", *CHOICES),
        loses=("discount",),
    ),
    FileKind(
        "jani",
        "a JANI model",
        (".jani",),
        rb'"jani-version"\s*:',
        f"{PRISM}.storm:read_prism",
        takes=("discount", "constants", *CHOICES),
        loses=("discount",),
    ),
    FileKind(
        "drn",
        "a DRN file of Storm's",
        (".drn", ".drn.gz"),
        rb"(?m)^@type\s*:",
        f"{PRISM}.drn:read_drn",
        f"{PRISM}.writing:write_drn",
        takes=("discount", "normalise", *CHOICES),
        loses=("discount", "start", "names", "empty", "leader"),
    ),
    FileKind(
        "explicit",
        "an explicit model of PRISM's",
        (".tra",),
        b"",
        f"{PRISM}.explicit:read_explicit",
        f"{PRISM}.writing:write_explicit",
        takes=("discount", "normalise", *CHOICES),
        loses=("discount", "start", "names", "leader"),
        beside=f"{PRISM}.explicit:check_beside",
    ),
    FileKind(
        "csv",
        "a table of transitions",
        (".csv", ".csv.gz"),
        rb"\A[^\n]+,[^\n]*\bprobability\b",
        f"{TABLES}:read_table",
        f"{TABLES}:write_table",
    ),
    FileKind(
        "parquet",
        "a table of transitions",
        (".parquet",),
        rb"\APAR1",
        f"{TABLES}:read_table",
        f"{TABLES}:write_table",
        binary=True,
    ),
    FileKind(
        "model",
        "a model file",
        (".toml",),
        rb"(?m)^\s*(\[\s*game\s*[].]|version\s*=\s*\d+\s*$)",
        loses=("labels", "choices"),
        elsewhere=("iirl_opt.read_model", "iirl_opt.library.write_model"),
    ),
    FileKind(
        "node-link",
        "a graph of networkx",
        (".json",),
        rb'\A\s*\{\s*"(directed|multigraph|graph|nodes|edges|links)"\s*:',
        "iirl_opt.formats.node_link:read_node_link",
        "iirl_opt.formats.node_link:write_node_link",
    ),
    FileKind(
        "certificate",
        "a certificate",
        (".json",),
        rb'\A\s*\{\s*"version"\s*:\s*\d+,\s*"kind"',
        elsewhere=("iirl_opt.certificate.read_certificate", ""),
    ),
)


@checked(path=PATH, constants=MAPPING, normalise=FLAG, leader=each(TEXT), absorbing=FLAG)
def read_file(
    path: str | Path,
    *,
    discount: Any = None,
    constants: Mapping[str, Any] | None = None,
    normalise: bool = False,
    leader: Iterable[str] | None = None,
    absorbing: bool = False,
) -> ImportedGame:
    """Read a file of any kind that the library reads: see `KINDS`.

    Parameters
    ----------
    discount : 0 ≤ γ < 1, used in place of the file's; needed where the file holds none.
    constants : values of a file's constants by name, such as ``{"K": 2}``.
    normalise : whether rows within 2e-3 of one are divided by their sum: what is left of 1/3 in a
        file of six digits.
    leader : action labels and players of a file of PRISM's or Storm's that are the leader's.
    absorbing : whether states of such a file that have no choice stay where they are.

    Raises
    ------
    FileProblem
        The file is of no kind that is known, of another than its name says, or damaged.
    InvalidArgument
        Something is said of the file that its kind does not take.
    MissingExtra
        Its reader needs a package that is not installed.
    OSError
        There is no such file, or it cannot be opened.

    **Cost** arithmetic, that of its reader.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "1/2")
    >>> with TemporaryDirectory() as folder:
    ...     iirl.save_game(game, Path(folder, "game.npz"))
    ...     read_file(Path(folder, "game.npz"), discount="9/10").game
    TwoAgentMDP(2 states, 1×1 actions, discount=0.9, 3 transitions, rational)
    """
    kind = kind_of(path)
    if not kind.reader:
        problem = f"is {kind.title}, {_reason(kind.elsewhere[0], 'reads')}"
        raise FileProblem(Path(path), problem)
    return kind.read(
        path,
        discount=discount,
        constants=constants or None,
        normalise=normalise or None,
        leader=leader,
        absorbing=absorbing or None,
    )


@checked(path=PATH)
def write_file(
    problem: ImportedGame | TwoAgentMDP, path: str | Path, *, kind: str | None = None
) -> None:
    """Write a problem to a file of the kind that its name says: whole, or not at all.

    Parameters
    ----------
    kind : the kind by its name in `KINDS`, where the suffix does not say it.

    Raises
    ------
    FileProblem
        The name says no kind that is known, or one that is not written.
    InvalidValue
        The problem is one that the kind cannot hold.
    OSError
        The folder is not there or cannot be written to.

    **Cost** arithmetic, that of its writer.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "1/2", states=["hall", "goal"])
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("game.npz", "game.json", "game.dpomdp"):
    ...         write_file(game, Path(folder, name))
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['game.dpomdp', 'game.json', 'game.npz']
    """
    given = ImportedGame.of(problem)
    kind_to_write(path, kind).write(given, path)


def kind_to_write(path: str | Path, name: str | None = None) -> FileKind:
    """Return the kind of a name, else the one that the name of a file says, if it is written.

    Raises
    ------
    FileProblem
        It says none that is known, or one that is not written here.
    InvalidArgument
        There is no kind of that name.
    """
    path = Path(path)
    named = named_kinds(path) if name is None else (named_kind(name),)
    written = [kind for kind in named if kind.writer]
    if written:
        return written[0]
    said = "has a name that says no kind of files"
    if named:
        said = f"is {named[0].title}, {_reason(named[0].elsewhere[1], 'writes')}"
    raise FileProblem(path, f"{said}; allowed {_suffixes('writer')}")


def named_kind(name: str) -> FileKind:
    """Return the kind of a name.

    Raises
    ------
    InvalidArgument
        There is none of that name.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    known = [kind.name for kind in KINDS if kind.writer or kind.elsewhere[1]]
    raise InvalidArgument("kind", f"is {name!r}", allowed_names(name, known), name)


def kind_of(path: str | Path) -> FileKind:
    """Return the kind of a file that is there: that which its name and its first bytes say.

    Raises
    ------
    FileProblem
        They say different things, or nothing.
    OSError
        There is no such file, or it cannot be opened.

    **Cost** arithmetic, on some first bytes.
    """
    path = Path(path)
    head = first_bytes(path, HEAD).removeprefix(BOM_UTF8)
    named = named_kinds(path)
    for kind in named:
        if kind.looks_like(head):
            return kind
    other = next((kind for kind in KINDS if kind.looks_like(head)), None)
    if other is not None:
        raise FileProblem(path, _misnamed(other, path))
    if not named:
        raise FileProblem(path, f"is of no known kind; allowed {_suffixes('reader')}")
    if b"\0" in head and not named[0].binary and not head.startswith(UTF_16):
        raise FileProblem(
            path, f"is no UTF-8 text, but binary; allowed {named[0].title} ({named[0].suffixes[0]})"
        )
    return named[0]


def _misnamed(kind: FileKind, path: Path) -> str:
    """Say what a file looks like whose name says something else, and what to do."""
    with path.open("rb") as file:
        packed = file.read(2) == GZIP
    suffixes = [suffix for suffix in kind.suffixes if suffix.endswith(".gz") == packed]
    if not suffixes:
        return f"looks like {kind.title}, compressed by gzip: unpack it"
    return f"looks like {kind.title}: give it a name that ends in {' or '.join(suffixes)}"


def named_kinds(path: Path) -> tuple[FileKind, ...]:
    """Return the kinds whose suffix a name has, those of the longest suffix alone."""
    name = path.name.lower()
    found = [(len(end), kind) for kind in KINDS for end in kind.suffixes if name.endswith(end)]
    longest = max((length for length, _ in found), default=0)
    return tuple(kind for length, kind in found if length == longest)


def _suffixes(door: str) -> str:
    """Return the suffixes of the kinds that are read, or written, and of those that others do."""
    own = [end for kind in KINDS if getattr(kind, door) for end in kind.suffixes]
    others = [
        f"{end} ({by})"
        for kind in KINDS
        for end in kind.suffixes
        if (by := kind.elsewhere[door == "writer"]) and end not in own
    ]
    return ", ".join([*own, *others])


def _reason(elsewhere: str, does: str) -> str:
    """Say who reads or writes a kind, if anybody does."""
    return f"which {elsewhere} {does}" if elsewhere else f"which nothing here {does}"


def _load(place: str) -> Any:
    """Return the function that ``module:function`` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
