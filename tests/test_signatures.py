"""All public signatures stand in one text file: no change of them goes unseen.

``python tests/test_signatures.py`` writes the file anew.
"""

import dataclasses
import enum
import importlib
import inspect
import re
from pathlib import Path

import iirl_opt

FILE = Path(__file__).with_name("signatures.txt")
PACKAGE = Path(iirl_opt.__file__).parent
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.pyi"))
ROOMS += ["errors", "observation"]


def signature(thing):
    """Return the arguments of a callable as text, without what differs between runs."""
    try:
        text = str(inspect.signature(thing))
    except ValueError:
        return "(...)"
    return re.sub(r" at 0x[0-9a-f]+|<factory>", "", text.replace("typing.", ""))


def lines_of(name, thing):
    """Yield a line for a public thing, and one for each public part of a class."""
    if not inspect.isclass(thing):
        yield f"{name}{signature(thing)}" if callable(thing) else f"{name}: {type(thing).__name__}"
        return
    bases = ", ".join(base.__name__ for base in thing.__bases__ if base is not object)
    if issubclass(thing, enum.Enum):
        yield f"{name}({bases}): {', '.join(thing.__members__)}"
        return
    abstract = inspect.isabstract(thing) or getattr(thing, "_is_protocol", False)
    yield f"class {name}({bases})" if abstract else f"class {name}({bases}) {signature(thing)}"
    fields = (
        {field.name for field in dataclasses.fields(thing)}
        if dataclasses.is_dataclass(thing)
        else set()
    )
    ours = [kind for kind in thing.__mro__ if kind.__module__.startswith("iirl_opt")]
    parts = {part: held for kind in reversed(ours) for part, held in vars(kind).items()}
    for part, held in sorted(parts.items()):
        if part.startswith("_") or part in fields:
            continue
        if isinstance(held, property) or type(held).__name__ == "cached_property":
            yield f"{name}.{part}: property"
        elif callable(inner := getattr(thing, part)):
            yield f"{name}.{part}{signature(inner)}"


def listing():
    """Return the whole list: the everyday names, then every room's with their signatures."""
    yield f"iirl_opt: {', '.join(name for name in iirl_opt.__all__)}"
    for room in sorted(ROOMS):
        module = importlib.import_module(f"iirl_opt.{room}")
        for name in sorted(module.__all__):
            yield from lines_of(f"{room}.{name}", getattr(module, name))


def test_the_public_signatures_are_those_of_the_list():
    assert FILE.read_text(encoding="utf-8").splitlines() == list(listing()), (
        "a public signature changed: if it should, run `python tests/test_signatures.py`"
    )


# Classes in whose terms the rooms speak to each other, and not to users; types of the language.
INNER = """Advance Answers Arithmetic Axes Bank ExactRows FollowerPlay Labels Mixtures
ParameterPrior Rational Vector"""


def returned(thing):
    """Yield the names of our own classes that a public callable, or a part of a class, returns."""
    parts = vars(thing).items() if inspect.isclass(thing) else [("", thing)]
    for part, held in parts:
        inner = getattr(held, "fget", None) or getattr(held, "func", None) or held
        if part.startswith("_") or not callable(inner) or inspect.isclass(inner):
            continue
        home = importlib.import_module(inner.__module__)
        for word in re.findall(r"[A-Z]\w+", str(inspect.get_annotations(inner).get("return"))):
            found = getattr(home, word, None)
            if inspect.isclass(found) and found.__module__.startswith("iirl_opt"):
                yield word


def test_a_record_that_a_public_callable_returns_is_public():
    rooms = {room: importlib.import_module(f"iirl_opt.{room}") for room in ROOMS}
    public = {name for module in rooms.values() for name in module.__all__}
    things = [getattr(module, name) for module in rooms.values() for name in module.__all__]
    found = {word for thing in things if callable(thing) for word in returned(thing)}
    assert len(found) > 60
    assert found - public - set(INNER.split()) == set()


if __name__ == "__main__":
    FILE.write_text("\n".join(listing()) + "\n", encoding="utf-8")
