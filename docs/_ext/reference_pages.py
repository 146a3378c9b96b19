"""Pages of the reference, written from the lists of public names: a page a room and one a name.

The *rooms* are the packages of the house; a room's public names are its list ``__all__``, and the
file that a name comes from is read from its stub. ``subjects.toml`` says under which *subject* of
the room a file or a name is shown; what it does not know is shown last, so none is left out.
"""

import ast
import inspect
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType

from stories import stories

import iirl_opt

# In the order in which one meets them.
ROOMS = [
    "game",
    "follower",
    "observation",
    "rewards",
    "occupancy",
    "commitment",
    "verification",
    "learn",
    "bayesian",
    "certificate",
    "solver",
    "plot",
    "printing",
    "formats",
    "library",
    "testing",
    "claims",
    "experiments",
    "play",
    "errors",
    "versions",
]

ROOM_PAGE = """{title}
{line}

.. py:module:: {module}

{text}

{subjects}

.. toctree::
   :hidden:

{pages}
"""

NAME_PAGE = """{meta}{title}
{line}

{where}

.. currentmodule:: {module}

.. auto{kind}:: {name}
{members}{stories}"""

# The subject of names that ``subjects.toml`` does not know.
MORE = "More"

# A page without parts has nothing to list at its side.
NO_CONTENTS = ":html_theme.sidebar_secondary.remove: true\n\n"


@dataclass(frozen=True)
class Room:
    """A package, its public names, and the subjects under which they are shown."""

    name: str

    @property
    def module(self) -> ModuleType:
        return import_module(f"iirl_opt.{self.name}")

    @cached_property
    def offered(self) -> list[str]:
        """The public names: all of a package, the everyday ones of a file that is none."""
        # A file that is no room of its own has names for the library's own use, too.
        own = self.name == "versions"
        return [n for n in self.module.__all__ if not own or n in iirl_opt.__all__]

    @cached_property
    def files(self) -> dict[str, str]:
        """Of each public name the file that it comes from, as the stub says."""
        stub = Path(str(self.module.__file__)).with_suffix(".pyi")
        if not stub.exists():
            return dict.fromkeys(self.offered, "")
        files: dict[str, str] = {}
        for node in ast.parse(stub.read_text("utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                files |= dict.fromkeys((alias.name for alias in node.names), node.module or "")
        return files

    @cached_property
    def subjects(self) -> dict[str, list[str]]:
        """The public names by subject, in the order of ``subjects.toml``."""
        wanted = tomllib.loads((Path(__file__).parents[1] / "subjects.toml").read_text("utf-8"))
        places = {entry: s for s, entries in wanted[self.name].items() for entry in entries}
        order = [*places, ""]
        subjects: dict[str, list[str]] = {subject: [] for subject in [*wanted[self.name], MORE]}
        ranked = []
        for name in self.offered:
            entry = name if name in places else self.files.get(name, "")
            ranked.append((order.index(entry if entry in places else ""), name))
        for rank, name in sorted(ranked, key=lambda pair: pair[0]):
            subjects[places.get(order[rank], MORE)].append(name)
        return {subject: names for subject, names in subjects.items() if names}


def members_of(cls: type) -> list[str]:
    """Return the public methods and properties that a class has from this library."""
    found: dict[str, None] = {}
    for base in cls.__mro__:
        if base.__module__.split(".")[0] != "iirl_opt":
            continue
        for name in vars(base):
            # What the class itself has under the name: a field may stand for a property of a base.
            value = inspect.getattr_static(cls, name)
            method = inspect.isroutine(getattr(value, "__func__", value))
            method = method or isinstance(value, property | cached_property)
            if method and inspect.getdoc(value) and not name.startswith("_"):
                found[name] = None
    return list(found)


def _directive(name: str, value: object) -> tuple[str, list[str]]:
    """Return the kind of autodoc directive for a public name, and those of its members."""
    if not isinstance(value, type):
        return ("function", []) if callable(value) else ("data", ["   :no-value:"])
    lines = []
    for member in members_of(value):
        found = inspect.getattr_static(value, member)
        kind = "property" if isinstance(found, property | cached_property) else "method"
        lines += ["", f"   .. auto{kind}:: {name}.{member}"]
    return "exception" if issubclass(value, BaseException) else "class", lines


def _heading(text: str, mark: str) -> str:
    return f"{text}\n{mark * len(text)}\n"


def _without_files(room: Room) -> str:
    """Return what a room says of itself, in which names of its files are code and no links."""
    folder = Path(str(room.module.__file__)).parent
    files = {path.stem for path in folder.iterdir()} | {path.stem for path in folder.glob("*/*")}
    text = str(inspect.getdoc(room.module))
    offered = set(room.offered)
    return re.sub(
        r"(?<!`)`(\w+)`(?!`)",
        lambda found: f"``{found[1]}``" if found[1] in files - offered else found[0],
        text,
    )


def _room_page(room: Room) -> str:
    module = room.module.__name__
    parts = []
    for subject, names in room.subjects.items():
        rows = "\n".join(f"   {name}" for name in names)
        parts.append(f"{_heading(subject, '-')}\n.. autosummary::\n   :nosignatures:\n\n{rows}\n")
    shown = [name for names in room.subjects.values() for name in names]
    return ROOM_PAGE.format(
        title=room.name.capitalize(),
        line="=" * len(room.name),
        module=module,
        text=_without_files(room),
        subjects="\n".join(parts),
        pages="\n".join(f"   {name} <{module}.{name}>" for name in shown),
    )


def _name_page(room: Room, name: str, told: list[str]) -> str:
    module = room.module.__name__
    short = f"iirl.{name}" if name in iirl_opt.__all__ else f"iirl.{room.name}.{name}"
    where = f"``{short}`` after ``import iirl_opt as iirl``; part of :doc:`{room.name}`."
    kind, members = _directive(name, getattr(room.module, name))
    title = name.replace("_", r"\_")
    return NAME_PAGE.format(
        meta="" if len(members) > 1 else NO_CONTENTS,
        title=title,
        line="=" * len(title),
        where=where,
        module=module,
        kind=kind,
        name=name,
        members="\n".join(members) + "\n",
        stories=f"\nIn the gallery: {', '.join(told)}.\n" if told else "",
    )


def _overview(rooms: list[Room]) -> str:
    """Return a section a room with its subjects and all names, for the reference's first page."""
    parts = []
    for room in rooms:
        first = str(inspect.getdoc(room.module)).split("\n\n")[0]
        rows = [".. list-table::", "   :widths: 30 70", "   :class: subjects", ""]
        for subject, names in room.subjects.items():
            links = ", ".join(f":obj:`~{room.module.__name__}.{name}`" for name in names)
            rows += [f"   * - {subject}", f"     - {links}"]
        title = room.name.capitalize()
        parts.append(
            f"{_heading(title, '-')}\n:doc:`{title} <api/{room.name}>`: {first}\n\n"
            + "\n".join(rows)
            + "\n"
        )
    pages = "".join(f"   api/{room.name}\n" for room in rooms)
    return "\n".join([*parts, ".. toctree::\n   :maxdepth: 1\n   :hidden:\n", pages])


def write_reference(folder: Path) -> None:
    """Write all pages into a folder; a page that is as it was keeps its time, for quick builds."""
    rooms, told = [Room(name) for name in ROOMS], stories()
    pages = {"rooms.txt": _overview(rooms)}
    for room in rooms:
        pages[f"{room.name}.rst"] = _room_page(room)
        for name in room.offered:
            uses = told.get(id(getattr(room.module, name)), [])
            pages[f"{room.module.__name__}.{name}.rst"] = _name_page(room, name, uses)
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")
