"""Docstrings of the house as numpydoc reads them, with the types that stand in the signatures.

A docstring of this library says less than numpydoc wants and one thing more. *Types* stand in the
signature alone, so an entry reads ``name : what it is``; here the annotation becomes the type and
the words the description, and what a function returns is named. *Source* and *Cost* stand in
paragraphs at the end of whatever section is last; here they go to the Notes, or numpydoc would read
them as parameters. *Attributes* become entries of the index, so that ``Solved.status`` can be
linked.
"""

import inspect
import re
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from annotations import type_of
from reference_pages import members_of
from sphinx.application import Sphinx

SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
FIELDS = ("Parameters", "Attributes", "Other Parameters")
NOTE = re.compile(r"(?:^|(?<=\s))(?=\*\*(?:Source|Cost)\*\*)")

# What these are wherever a docstring does not say it.
CONVENTIONS = {
    "ax": "the axes to draw on; new ones by default.",
    "domain": "where to look; the `RewardSimplex` by default.",
    "feasible": "the rewards that explain what was seen.",
    "game": "the game.",
    "path": "the file.",
    "pi1": "the leader's policy, shape (S, A).",
    "pi2": "the follower's policy, shape (S, B).",
    "reward": "shape (S,), or (S, A, B) where joint rewards are taken.",
    "rng": "where randomness comes from: a seed, or a generator, which is moved on.",
    "seed": "what all randomness is made from.",
    "solver": "which solver, and how it is set; `HiGHS` by default.",
}


@dataclass
class Docstring:
    """A docstring in parts: what stands first, and its sections by name."""

    lead: str
    sections: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> "Docstring":
        """Read the sections of a docstring, and gather what it says of source and cost as Notes."""
        pieces = SECTION.split(text)
        found = cls(pieces[0])
        found.sections = dict(zip(pieces[1::2], pieces[2::2], strict=True))
        notes = []
        for name, body in [("", found.lead), *found.sections.items()]:
            if name == "Examples":
                continue
            kept = []
            for paragraph in re.split(r"\n{2,}", body):
                parts = NOTE.split(paragraph) if paragraph.startswith("**") else [paragraph]
                if len(parts) > 1 or NOTE.match(paragraph):
                    notes += [part.strip() for part in parts if part.strip()]
                else:
                    kept.append(paragraph)
            if name:
                found.sections[name] = "\n\n".join(kept)
            else:
                found.lead = "\n\n".join(kept)
        if notes:
            before = found.sections.get("Notes", "").strip()
            found.sections["Notes"] = "\n\n".join([before, *notes]).strip() + "\n"
        return found

    def write(self) -> list[str]:
        parts = [self.lead.strip(), ""]
        for name, body in self.sections.items():
            parts += [name, "-" * len(name), *body.strip("\n").split("\n"), ""]
        return "\n".join(parts).split("\n")


def entries_of(body: str) -> dict[str, str]:
    """Return the entries ``names : words`` of a section, the words without their indentation."""
    found: dict[str, str] = {}
    for block in re.split(r"\n(?=\S)", body.strip("\n")):
        first, _, rest = block.partition("\n")
        names, _, words = first.partition(" : ")
        if names.strip():
            found[names.strip()] = f"{words}\n{inspect.cleandoc(rest)}".strip()
    return found


def signature_of(value: object) -> dict[str, inspect.Parameter]:
    try:
        parameters = dict(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return {}
    return {name: p for name, p in parameters.items() if name not in ("self", "cls")}


def parameters_of(value: object, given: dict[str, str]) -> str:
    """Return the section Parameters, in which each parameter of the signature has its type."""
    parameters = signature_of(value)
    told = {name for names in given for name in re.split(r",\s*", names)}
    kinds = inspect.Parameter
    stars = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}
    entries: list[tuple[str, str, str]] = []
    for names, words in given.items():
        each = re.split(r",\s*", names)
        known = [parameters[n.lstrip("*")] for n in each if n.lstrip("*") in parameters]
        types = [type_of(parameter.annotation, value) for parameter in known]
        entries.append((names, ", ".join(dict.fromkeys(filter(None, types))), words))
    for name, parameter in parameters.items():
        if name in told or f"*{name}" in told or f"**{name}" in told or name.startswith("_"):
            continue
        shown = stars.get(parameter.kind, "") + name
        entries.append((shown, type_of(parameter.annotation, value), CONVENTIONS.get(name, "")))
    order = list(parameters)

    def place(entry: tuple[str, str, str]) -> int:
        first = re.split(r",\s*", entry[0])[0].lstrip("*")
        return order.index(first) if first in order else len(order)

    return "\n".join(_entry(*entry) for entry in sorted(entries, key=place))


def _entry(name: str, type_: str, words: str) -> str:
    body = "".join(f"\n    {line}" for line in words.split("\n")) if words else ""
    return f"{name} : {type_}{body}" if type_ else f"{name}{body}"


def attributes_of(cls: type) -> dict[str, tuple[Any, str]]:
    """Return the fields of a class by name, each with its annotation and what is said of it."""
    found: dict[str, tuple[Any, str]] = {}
    if issubclass(cls, Enum):
        return {m.name: ("", re.sub(r"`(\w+)`", r"``\1``", str(m.value))) for m in cls}
    methods = set(members_of(cls))
    for base in reversed(cls.__mro__):
        if base.__module__.split(".")[0] != "iirl_opt":
            continue
        text = inspect.cleandoc(vars(base).get("__doc__") or "")
        sections = Docstring.read(text).sections
        told = {**entries_of(sections.get("Attributes", ""))}
        if "Parameters" not in sections:
            for name, annotation in inspect.get_annotations(base).items():
                if not name.startswith("_") and "ClassVar" not in str(annotation):
                    found[name] = (annotation, found.get(name, ("", ""))[1])
        annotations = inspect.get_annotations(base)
        for names, words in told.items():
            for name in re.split(r",\s*", names):
                known = annotations.get(name, found.get(name, ("", ""))[0])
                found[name] = (known, words)
    return {name: entry for name, entry in found.items() if name not in methods}


def raised(body: str) -> str:
    """Return the section Raises with each exception as a link of its own."""
    lines = []
    for line in body.strip("\n").split("\n"):
        if line and not line.startswith(" "):
            line = re.sub(r"[A-Za-z_.]+", lambda found: f":obj:`{found[0]}`", line)
        lines.append(line)
    return "\n".join(lines)


def named_parameters(text: str, value: object) -> str:
    """Return a text in which single backticks around a parameter are those of code."""
    names = "|".join(map(re.escape, signature_of(value)))
    if not names:
        return text
    return re.sub(rf"(?<![`:\w])`({names})`(?![`_])", r"``\1``", text)


def before_numpydoc(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Rewrite a docstring in place as numpydoc expects it."""
    inner = value.fget if isinstance(value, property) else value
    inner = inner.func if isinstance(inner, cached_property) else inner
    doc = Docstring.read("\n".join(lines))
    given = entries_of(doc.sections.pop("Parameters", ""))
    attributes = doc.sections.pop("Attributes", None)
    is_class = isinstance(value, type)
    if what in ("function", "method") or (is_class and given):
        section = parameters_of(inner, given)
        doc.sections = {"Parameters": section, **doc.sections} if section else doc.sections
    if "Raises" in doc.sections:
        doc.sections["Raises"] = raised(doc.sections["Raises"])
    if what in ("function", "method") and "Returns" not in doc.sections:
        returned = type_of(getattr(inner, "__annotations__", {}).get("return", "None"), inner)
        if returned != "None":
            doc.sections["Returns"] = returned
    if what == "property" and (kind := type_of(inner.__annotations__.get("return", ""), inner)):
        doc.lead = f"{doc.lead.strip()}\n\n:Type: {kind}"
    if attributes is not None and not is_class:
        doc.sections["Attributes"] = attributes
    lines[:] = named_parameters("\n".join(doc.write()), inner).split("\n")


def after_numpydoc(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Append the attributes of a class, and a table of its methods."""
    if not isinstance(value, type):
        return
    fields = attributes_of(value)
    if fields:
        lines += ["", ".. rubric:: Attributes", ""]
    for field_name, (annotation, words) in fields.items():
        kind = type_of(annotation, value) if annotation else ""
        lines += [f".. py:attribute:: {field_name}", "   :no-contents-entry:", ""]
        lines += [f"   {line}" for line in (f":Type: {kind}\n\n" if kind else "").split("\n")]
        lines += [f"   {line}" for line in words.split("\n")] + [""]
    members = members_of(value)
    short = name.rpartition(".")[2]
    if len(members) > 2:
        lines += ["", ".. rubric:: Methods and properties", "", ".. autosummary::"]
        lines += ["   :nosignatures:", "", *(f"   ~{short}.{member}" for member in members), ""]


def setup(app: Sphinx) -> dict[str, bool]:
    # numpydoc stands at the default priority of 500.
    app.connect("autodoc-process-docstring", before_numpydoc, priority=400)
    app.connect("autodoc-process-docstring", after_numpydoc, priority=600)
    return {"parallel_read_safe": True}
