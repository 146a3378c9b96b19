"""What a name in single backticks means: the everyday names, the rooms, and other libraries.

The house writes `` `verify_affine` `` for the public name, wherever it stands, and
`` `FeasibleRewards.observe` `` for a method; a bare name means the *everyday* name, else the one
room that has it. A field of a record that has no entry of its own leads to the page of the record.
Names of other libraries lead to their pages by a short list: their inventories need a network.
"""

import builtins
from importlib import import_module
from pathlib import Path

from docutils import nodes
from reference_pages import ROOMS, Room
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import iirl_opt


def _public() -> dict[str, str]:
    """Return the full name of each public name that means one thing: everyday names come first."""
    homes: dict[str, list[str]] = {}
    for room in ROOMS:
        for name in Room(room).offered:
            homes.setdefault(name, []).append(f"iirl_opt.{room}.{name}")
    found = {name: full[0] for name, full in homes.items() if len(full) == 1}
    for name, full in homes.items():
        if name in iirl_opt.__all__:
            same = [f for f in full if resolve(f) is getattr(iirl_opt, name)]
            found[name] = same[0]
    return found


def resolve(full: str) -> object:
    """Return what stands under a full name ``iirl_opt.room.name``."""
    module, _, name = full.rpartition(".")
    return getattr(import_module(module), name)


PUBLIC = _public()

PYTHON, NUMPY = "https://docs.python.org/3/library/", "https://numpy.org/doc/stable/reference/"
CVXPY = "https://www.cvxpy.org/api_reference/"

# Pages of other libraries, for the names that annotations and docstrings use.
OUTSIDE = {
    "collections.abc.Callable": PYTHON + "collections.abc.html",
    "collections.abc.Collection": PYTHON + "collections.abc.html",
    "collections.abc.Hashable": PYTHON + "collections.abc.html",
    "collections.abc.Iterable": PYTHON + "collections.abc.html",
    "collections.abc.Iterator": PYTHON + "collections.abc.html",
    "collections.abc.Mapping": PYTHON + "collections.abc.html",
    "collections.abc.Sequence": PYTHON + "collections.abc.html",
    "concurrent.futures": PYTHON + "concurrent.futures.html",
    "concurrent.futures.Executor": PYTHON + "concurrent.futures.html",
    "concurrent.futures._base.Executor": PYTHON + "concurrent.futures.html",
    "fractions.Fraction": PYTHON + "fractions.html",
    "itertools.permutations": PYTHON + "itertools.html",
    "pathlib.Path": PYTHON + "pathlib.html",
    "typing.Any": PYTHON + "typing.html",
    "typing.Self": PYTHON + "typing.html",
    "numpy.ndarray": NUMPY + "generated/numpy.ndarray.html",
    "numpy.typing.ArrayLike": NUMPY + "typing.html",
    "numpy.random.Generator": NUMPY + "random/generator.html",
    "cvxpy.Constraint": CVXPY + "cvxpy.constraints.html",
    "cvxpy.Expression": CVXPY + "cvxpy.expressions.html",
    "cvxpy.Maximize": CVXPY + "cvxpy.problems.html",
    "cvxpy.Parameter": CVXPY + "cvxpy.expressions.html",
    "cvxpy.error.DCPError": CVXPY + "cvxpy.html",
    "cvxpy.error.SolverError": CVXPY + "cvxpy.html",
    "cvxpy.Problem": CVXPY + "cvxpy.problems.html",
    "cvxpy.Variable": CVXPY + "cvxpy.expressions.html",
    "hypothesis.strategies.SearchStrategy": "https://hypothesis.readthedocs.io/",
    "matplotlib.axes.Axes": "https://matplotlib.org/stable/api/axes_api.html",
    "networkx.MultiDiGraph": "https://networkx.org/documentation/stable/reference/classes/multidigraph.html",
}


def meanings(target: str, module: str | None, cls: str | None) -> list[str]:
    """Return the full names that a name may stand for, the likeliest first."""
    bare = target.removeprefix("iirl.").removeprefix("iirl_opt.")
    head, _, rest = bare.partition(".")
    found = [f"iirl_opt.{bare}"]
    if cls:
        found.append(f"{module}.{cls}.{bare}")
    if module:
        found.append(f"{module}.{bare}")
    room, last = bare.partition(".")[0], bare.rpartition(".")[2]
    found.append(f"iirl_opt.{room}.{last}")
    if head in PUBLIC:
        found.append(PUBLIC[head] + (f".{rest}" if rest else ""))
    return found


def missing_reference(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.reference | None:
    """Resolve a name of Python that stands under another full name, or in another library."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    if target in OUTSIDE or hasattr(builtins, target):
        page = OUTSIDE.get(target, PYTHON + "functions.html")
        link = nodes.reference("", "", internal=False, refuri=page)
        link += content
        return link
    known = env.domains["py"].objects
    candidates = meanings(target, node.get("py:module"), node.get("py:class"))
    # A field without an entry of its own leads to the class that has it.
    records = [full.rpartition(".") for full in candidates]
    for full in candidates + [home for home, _, part in records if _has_field(home, part)]:
        if full in known:
            builder, doc = app.builder, known[full].docname
            anchor = known[full].node_id
            uri = builder.get_relative_uri(node["refdoc"], doc) + (f"#{anchor}" if anchor else "")
            link = nodes.reference("", "", internal=True, refuri=uri, reftitle=full)
            link += content
            return link
    return _private(target)


def _private(target: str) -> nodes.literal | None:
    """Return a file of the library, or a name in one that is not public, as code."""
    parts = target.split(".")
    files = [Path(iirl_opt.__path__[0], *parts[1:n]) for n in (len(parts), len(parts) - 1)]
    here = parts[0] == "iirl_opt" and len(parts) > 1
    if here and any(f.is_dir() or f.with_suffix(".py").exists() for f in files):
        return nodes.literal("", target)
    return None


def _has_field(home: str, part: str) -> bool:
    """Return whether a full name is that of a public class with such a field."""
    module, _, name = home.rpartition(".")
    if module.removeprefix("iirl_opt.") not in ROOMS:
        return False
    value = getattr(import_module(module), name, None)
    fields = {f for b in getattr(value, "__mro__", ()) for f in getattr(b, "__annotations__", {})}
    return part in fields


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("missing-reference", missing_reference)
    return {"parallel_read_safe": True}
