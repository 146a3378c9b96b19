"""A model file as text: read into checked tables, every error with file and key or line.

A `Document` is the whole file; which families its question may be of is an argument, since they
are listed elsewhere (`iirl_opt.library.families.catalogue`).
"""

from __future__ import annotations

import functools
import operator
import re
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin

import msgspec
from msgspec import Struct

from iirl_opt.errors import FileProblem
from iirl_opt.exact.numbers import DIGITS, UNREADABLE, as_fraction
from iirl_opt.files import read_text
from iirl_opt.library.question import Question
from iirl_opt.library.schema import (
    SOURCES,
    Concentration,
    ConstraintTable,
    ExpectTable,
    FollowerTable,
    GameTable,
    Number,
    ObservationTable,
    PreferenceTable,
    PriorTable,
    RewardTable,
    Table,
    TrajectoryTable,
)
from iirl_opt.spelling import allowed_names, nearest

__all__ = [
    "VERSION",
    "Document",
    "as_document",
    "document_schema",
    "parse_document",
    "read_document",
]

VERSION, MOST_BYTES = 1, 2**28


class Document(Table, kw_only=True):
    """A whole model file."""

    version: int
    title: str
    source: str
    game: GameTable
    question: Question
    reward: RewardTable | None = None
    follower_reward: RewardTable | None = None
    follower: FollowerTable | None = None
    prior: PriorTable | None = None
    observation: list[ObservationTable] = msgspec.field(default_factory=list)
    trajectory: list[TrajectoryTable] = msgspec.field(default_factory=list)
    preference: list[PreferenceTable] = msgspec.field(default_factory=list)
    constraint: list[ConstraintTable] = msgspec.field(default_factory=list)
    expect: list[ExpectTable] = msgspec.field(default_factory=list)


@functools.cache
def document_of(questions: tuple[type[Question], ...]) -> type[Document]:
    """Return the document whose question is of one of some families."""
    one_of_them: Any = functools.reduce(operator.or_, questions)
    kind: Any = msgspec.defstruct(
        "ModelFile",
        [("question", one_of_them)],
        bases=(Document,),
        module=__name__,
        kw_only=True,
        forbid_unknown_fields=True,
    )
    return cast(type[Document], kind)


def document_schema(questions: tuple[type[Question], ...]) -> dict[str, Any]:
    """Return the JSON Schema of model files whose question is of one of some families."""
    schema = msgspec.json.schema(document_of(questions), schema_hook=_schema_of_number)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _schema_of_number(kind: type) -> dict[str, Any]:
    """Return the schema of a number of the problem, or of those of a prior."""
    number: dict[str, Any] = {"type": ["number", "string"]}
    if kind is Concentration:
        return {"anyOf": [number, {"type": "object", "additionalProperties": number}]}
    if kind is Number:
        return number
    raise NotImplementedError  # so msgspec learns that a type is none of ours


def read_document(path: Path, questions: tuple[type[Question], ...]) -> Document:
    """Read the tables of a model file and check them: see `parse_document`.

    Raises
    ------
    FileProblem
        From `parse_document` too.
    """
    try:
        text = read_text(path, MOST_BYTES)
    except UnicodeDecodeError as problem:
        raise FileProblem(path, f"is no UTF-8 text (byte {problem.start})") from None
    return parse_document(path, text, questions)


def parse_document(path: Path, text: str, questions: tuple[type[Question], ...]) -> Document:
    """Return the tables of a model file from its text, checked.

    Parameters
    ----------
    questions : the families of which its question may be.

    Raises
    ------
    FileProblem
        The text is no TOML (names line and column), a key is missing, unknown or of the wrong
        type (names the key), or the version is another.
    """
    try:
        tables = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as problem:
        raise _syntax(path, str(problem)) from None
    except RecursionError:
        raise FileProblem(path, "is nested too deeply") from None
    except (ValueError, ArithmeticError):  # of an integer, or of a Decimal
        raise FileProblem(path, f"holds a number of more than {DIGITS} digits") from None
    found = tables.get("version")
    if found is not None and found != VERSION:
        raise FileProblem(path, f"is {found!r}; this release reads {VERSION}", key="version")
    document = as_document(path, tables, questions)
    refuse_sources(path, document.game, "game")
    return document


def refuse_sources(path: Path, table: GameTable, key: str) -> None:
    """Refuse a game with no source, or with several."""
    given = [name for name in SOURCES if getattr(table, name) is not None]
    if len(given) != 1:
        what = f"has {' and '.join(given)}" if given else "has no source"
        raise FileProblem(path, f"{what}; give exactly one of {', '.join(SOURCES)}", key=key)


def as_document(
    path: Path, tables: dict[str, Any], questions: tuple[type[Question], ...]
) -> Document:
    """Return tables of plain values as a document, wherever its game is.

    Raises
    ------
    FileProblem
        As `read_document`; names `path`.
    """
    kind = document_of(questions)
    try:
        document = msgspec.convert(tables, kind, strict=True, dec_hook=_read_number)
    except msgspec.ValidationError as problem:
        raise _wrong_table(path, str(problem), tables, kind, problem.__cause__) from None
    for i, expected in enumerate(document.expect):
        said = [expected.value, expected.values, expected.at_most, expected.at_least]
        if all(each is None for each in said):
            problem_said = "needs one of value, values, at_most, at_least"
            raise FileProblem(path, problem_said, key=f"expect[{i}]")
        if expected.values is not None and said.count(None) < 3:
            raise FileProblem(path, "stands alone", key=f"expect[{i}].values")
    for i, row in enumerate(document.constraint):
        if row.equals is row.at_most is row.at_least is None:
            raise FileProblem(path, "needs equals, at_most or at_least", key=f"constraint[{i}]")
    return document


def _syntax(path: Path, message: str) -> FileProblem:
    at = re.search(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if at is None:
        return FileProblem(path, message)
    text = message[: at.start()]
    if at[1] is None:
        return FileProblem(path, f"{text} at the end of the file")
    return FileProblem(path, text, line=int(at[1]), column=int(at[2]))


class _Unread(ValueError):
    """What stands where a number should."""

    def __init__(self, found: Any, problem: str) -> None:
        super().__init__(problem)
        self.found = found


def _read_number(kind: type, found: Any) -> Any:
    """Return what a table holds as a number, exactly; or as the numbers of a prior."""
    if kind is Concentration:
        if isinstance(found, dict):
            return Concentration(
                Fraction(1), {k: _read_number(Number, x) for k, x in found.items()}
            )
        return Concentration(_read_number(Number, found), {})
    if isinstance(found, bool) or not isinstance(found, int | float | Decimal | str | Fraction):
        raise _Unread(found, f"is {_short(found)}; allowed a number, or a text such as '1/3'")
    try:
        # A file has Decimals; a float is Python's, and means the decimal that it prints as.
        return as_fraction(repr(found) if isinstance(found, float) else found)
    except UNREADABLE as problem:
        long = "digits" in str(problem)
        why = f"has more than {DIGITS} digits" if long else "is no number"
        raise _Unread(found, f"{_short(found)} {why}") from None


def _short(found: Any) -> str:
    text = str(found).lower() if isinstance(found, Decimal) else repr(found)
    return text if len(text) <= 60 else f"{text[:40]}…{text[-10:]}"


def _places(found: Any, tables: Any, key: str = "") -> Iterator[str]:
    """Yield the dotted keys at which tables hold this very object."""
    if tables is found:
        yield key
    elif isinstance(tables, dict):
        for name, inner in tables.items():
            yield from _places(found, inner, f"{key}.{name}" if key else name)
    elif isinstance(tables, list):
        for i, inner in enumerate(tables):
            yield from _places(found, inner, f"{key}[{i}]")


def _wrong_table(
    path: Path,
    message: str,
    tables: dict[str, Any],
    kind: type[Document],
    cause: BaseException | None,
) -> FileProblem:
    """Say what msgspec found in the words of the file: the dotted key, and a near miss."""
    text, _, at = message.partition(" - at `$")
    key = at.rstrip("`").lstrip(".").replace("[...]", "[*]")
    if isinstance(cause, _Unread):
        places = [*_places(cause.found, tables)]
        return FileProblem(path, text, key=places[0] if len(places) == 1 else key)
    unknown = re.search(r"contains unknown field `(.+)`", text)
    missing = re.search(r"missing required field `(.+)`", text)
    if unknown:
        known = _known_keys(kind, key, tables)
        near = nearest(unknown[1], known)
        hint = (
            f"allowed {allowed_names(unknown[1], known)}"
            if near is None
            else f"did you mean {near!r}?"
        )
        text = f"unknown key; {hint}" if known else "unknown key"
    elif missing:
        asks = ": what is asked of the game, as iirl_opt.make_question makes it"
        text = "is missing" + (asks if not key and missing[1] == "question" else "")
    elif text.startswith(("Invalid enum value", "Invalid value")):
        text += _allowed(kind, key, tables, text)
    name = (unknown or missing or [None, ""])[1]
    return FileProblem(path, text, key=".".join(part for part in (key, name) if part) or None)


def _known_keys(kind: type[Document], key: str, tables: Any) -> list[str]:
    """Return the keys that the table at a dotted key may have, where it is of one kind."""
    kinds = _kinds_at(kind, key, tables)
    return [f.encode_name for f in msgspec.structs.fields(kinds[0])] if len(kinds) == 1 else []


def _allowed(kind: type[Document], key: str, tables: Any, said: str) -> str:
    """Return the values that a key may have, in words, where they are few; `said` has its own."""
    place, _, name = key.rpartition(".")
    known: list[Any] = []
    for table in _kinds_at(kind, place, tables):
        config = table.__struct_config__
        if config.tag_field == name:
            known.append(config.tag)
            continue
        hints = [f.type for f in msgspec.structs.fields(table) if f.encode_name == name]
        known += [one for hint in hints for one in _literals(hint)]
    own = re.search("'(.*)'", said)
    return f"; allowed {allowed_names(own and own[1], map(repr, known))}" if known else ""


def _kinds_at(kind: type[Document], key: str, tables: Any) -> list[type[Struct]]:
    """Return the kinds that the table at a dotted key may be of, by its tag if that is known."""
    kinds: list[type[Struct]] = [kind]
    for part in re.sub(r"\[.*?\]", "", key).split(".") if key else ():
        if len(kinds) != 1:
            return []
        fields = {f.encode_name: f.type for f in msgspec.structs.fields(kinds[0])}
        tables = tables.get(part) if isinstance(tables, dict) else None
        kinds = _structs(fields.get(part))
        if len(kinds) > 1 and isinstance(tables, dict):
            tags = [(one, one.__struct_config__) for one in kinds]
            tagged = [one for one, its in tags if tables.get(its.tag_field) == its.tag]
            kinds = tagged or kinds
    return kinds


def _literals(hint: Any) -> list[Any]:
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [one for inner in get_args(hint) for one in _literals(inner)]


def _structs(hint: Any) -> list[type[Struct]]:
    if isinstance(hint, type) and issubclass(hint, Struct):
        return [hint]
    return [table for inner in getattr(hint, "__args__", ()) for table in _structs(inner)]
