"""The architecture, read off the source: who may import whom, and what is loaded when."""

import ast
import graphlib
import importlib
import sys
from collections import Counter
from functools import cache

import pytest
from source import PACKAGE, loaded_by, parsed

import iirl_opt

ORDER = """_start recheck spelling rooms brief errors versions checks files printing checkpoint
exact game follower observation certificate solver occupancy rewards commitment verification learn
bayesian plot formats library testing _hypothesis claims experiments play cli __main__"""
LAYERS = ORDER.split()

# Where alone a library may be imported.
HOMES = {
    "cvxpy": (
        *("solver", "occupancy", "rewards", "commitment", "verification"),
        "testing.conformance",
    ),
    "highspy": ("solver",),
    "networkx": ("game.graph", "formats"),
    "matplotlib": ("plot",),
    "hypothesis": ("testing", "_hypothesis", "claims"),
    "typer": ("cli",),
    "gymnasium": ("formats",),
    "stormpy": ("formats",),
    "quantecon": ("formats",),
    "narwhals": ("formats", "printing"),
    "distributed": ("experiments",),
    "pyarrow": ("formats", "experiments"),
    "textual": ("play.terminal",),
}


def name_of(path):
    """The module of a file, without the name of the package: ``game.mdp``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {name_of(path): parsed(path) for path in PACKAGE.rglob("*.py")}


def stub_names(path):
    """The names that a stub lists, each with the module that it takes it from."""
    package = ".".join(["iirl_opt", name_of(path.with_suffix(".py"))]).rstrip(".")
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield f"{package}.{alias.name}", f"{package}.{node.module or alias.name}"


STUBS = {path: dict(stub_names(path)) for path in PACKAGE.rglob("*.pyi")}

# Every name that can be imported, with the module that has it.
NAMES = {f"iirl_opt.{name}": f"iirl_opt.{name}" for name in TREES} | {
    name: home for names in STUBS.values() for name, home in names.items()
}


def home_of(name):
    """The module that a name is defined in, which a stub may take from another."""
    while (home := NAMES.get(name, "iirl_opt")) != name and home not in {"iirl_opt"}:
        member = f"{home}.{name.rsplit('.', 1)[-1]}"
        if member not in NAMES:
            return home
        name = member
    return home


def is_for_type_checkers(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def running(tree):
    """All nodes but those that only a type checker sees."""
    rest = [tree]
    while rest:
        for node in ast.iter_child_nodes(rest.pop()):
            seen = node.orelse if is_for_type_checkers(node) else [node]
            yield from seen
            rest += seen


@cache
def imports(name):
    """All modules that a module imports somewhere, inside functions too, by their full names."""
    return frozenset(imported(name, TREES[name]))


def imported(name, tree):
    for node in running(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 or inside(name, ["recheck"]), f"{name} has a relative import"
            home = ".".join(filter(None, ["iirl_opt.recheck" * node.level, node.module]))
            for alias in node.names:
                whole = f"{home}.{alias.name}"
                yield home_of(whole) if whole in NAMES else home
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "iirl_opt"
        ):
            yield home_of(f"iirl_opt.{node.attr}")


def inner_imports(name):
    """The modules of this package that a module imports, without the name of the package."""
    found = {module.removeprefix("iirl_opt.") for module in imports(name) if "iirl_opt." in module}
    assert found <= TREES.keys()
    return found


def inside(name, homes):
    return any(name == home or name.startswith(f"{home}.") for home in homes)


INNER = sorted(name for name in TREES if name)


# The reader itself


def test_the_reader_sees_every_form_of_import():
    source = """
if TYPE_CHECKING:
    import unseen
else:
    import first
import numpy.linalg as la
from iirl_opt import errors, TwoAgentMDP
from iirl_opt.game import mdp
def late():
    from iirl_opt.game.policy import split
    iirl_opt.solve, iirl_opt.game.split
"""
    assert set(imported("", ast.parse(source))) == {
        "first",
        "numpy.linalg",
        "iirl_opt.errors",
        "iirl_opt.game.mdp",
        "iirl_opt.game.policy",
        "iirl_opt.solver.door",
        "iirl_opt.game",
    }


def test_the_reader_finds_the_package():
    assert {"errors", "game", "game.mdp", "solver", "rewards.feasible", "cli"} <= TREES.keys()
    assert inner_imports("game.values") == {
        "checks",
        "errors",
        "game.factors",
        "game.mdp",
        "game.problem",
        "game.reward",
    }


# Imports run one way


@pytest.mark.parametrize("name", INNER)
def test_a_module_imports_only_what_stands_before_it(name):
    layer = LAYERS.index(name.split(".")[0])
    for other in inner_imports(name):
        assert LAYERS.index(other.split(".")[0]) <= layer, f"{name} imports {other}"


def test_the_second_checker_shares_nothing():
    theirs = {name for name in TREES if inside(name, ["recheck"])}
    assert len(theirs) > 1
    for name in TREES:
        inner = inner_imports(name)
        assert inner <= theirs if name in theirs else not inner & theirs, name
    used = {module.split(".")[0] for name in theirs for module in imports(name)}
    assert used - sys.stdlib_module_names == {"iirl_opt"}


def test_there_is_no_circle():
    graphlib.TopologicalSorter({name: inner_imports(name) for name in INNER}).prepare()


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_imported_in_its_place_alone(library):
    users = {
        name for name in TREES if any(module.split(".")[0] == library for module in imports(name))
    }
    assert {name for name in users if not inside(name, HOMES[library])} == set()


def test_no_folder_imports_anything_when_it_is_opened():
    for path in PACKAGE.rglob("__init__.py"):
        if path.parent.name != "recheck":  # it stands alone, without the lazy loader
            # A property test must not wait for a solver within its first example.
            testing = {"iirl_opt.errors", "iirl_opt.testing.first_example"}
            early = testing if path.parent.name == "testing" else set()
            early |= {"iirl_opt._start"} if path.parent == PACKAGE else set()
            assert imports(name_of(path)) <= {"iirl_opt.rooms", "pkgutil"} | early, path


# One door to solvers


@cache
def solving_classes():
    """The classes of this package with a method `solve`, which itself goes through the door."""
    return {
        node.name
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        if any(isinstance(part, ast.FunctionDef) and part.name == "solve" for part in node.body)
    }


def calls_of(tree, *methods):
    """The calls of methods by these names."""
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in methods:
            yield node


def doors(tree, known):
    """The calls of `solve` on what is neither linear algebra nor a known class."""
    calls = list(calls_of(tree, "solve", "solve_via_data"))
    if not calls:
        return
    made = {
        ast.unparse(target): node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    }
    for node in calls:
        on = node.func.value
        origin = made.get(ast.unparse(on), on)
        maker = ast.unparse(origin.func) if isinstance(origin, ast.Call) else ast.unparse(origin)
        # A class, or a constructor of it by another name.
        known_maker = not {*known, "linalg", "splu"}.isdisjoint(maker.split(".")[-2:])
        if node.func.attr == "solve_via_data" or not known_maker:
            yield ast.unparse(node)


def test_the_watch_at_the_door_lets_pass_what_it_should():
    source = """
plain = splu(matrix)
plain.solve(x)
typed: Any = splu(matrix)
bare: int
typed.solve(x), splu(y).solve(z), np.linalg.solve(a, b), Model(game).solve(), Model.of(x).solve()
problem = cp.Problem(objective)
problem.solve(), cp.Problem(objective).solve(), model.problem.solve(), chain.solve_via_data(data)
"""
    assert set(doors(ast.parse(source), {"Model"})) == {
        "problem.solve()",
        "cp.Problem(objective).solve()",
        "model.problem.solve()",
        "chain.solve_via_data(data)",
    }


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in INNER
        if not inside(name, ["exact", "game.factors", "game.refinement", "solver"])
    ],
)
def test_programs_are_solved_in_one_place(name):
    assert list(doors(TREES[name], solving_classes())) == []


# Loading


LIGHT = [
    "import iirl_opt; dir(iirl_opt); iirl_opt.__version__; iirl_opt.commitment",
    "from iirl_opt import TwoAgentMDP, MDP, errors; errors.InvalidGame",
    "from iirl_opt import maze_maker, random_game, load_game, policy_iteration",
    "from iirl_opt.game import split, exact_values",
    "from iirl_opt import CommitmentProblem, dominance, best_responses",
    "from iirl_opt.commitment import BranchAndBound, Enumeration, ValueIteration, LocalSearch",
    "from iirl_opt.commitment import MixedInteger, OccupancyProgram, NormalForm, JointOptimum",
    "from iirl_opt.commitment import commit, Automatic, Commitment, misspecification_loss",
    "from iirl_opt import OptimalFollower, Observation, best_responses",
]


@pytest.mark.process
def test_nothing_heavy_is_loaded_before_it_is_needed():
    assert loaded_by(LIGHT) == {code: [] for code in LIGHT}


@pytest.mark.process
def test_what_needs_a_solver_or_a_graph_loads_it_then():
    graph, sets = "from iirl_opt import to_networkx", "from iirl_opt import FeasibleRewards"
    found = loaded_by([graph, sets])
    assert found[graph] == ["networkx"]
    assert "cvxpy" in found[sets]


# The public names


@pytest.mark.parametrize("path", STUBS, ids=lambda path: name_of(path.with_suffix(".py")) or "top")
def test_a_stub_lists_what_its_room_offers(path):
    room = importlib.import_module(
        ".".join(["iirl_opt", name_of(path.with_suffix(".py"))]).rstrip(".")
    )
    rooms = {name for name, home in STUBS[path].items() if name == home}
    names = {name.rsplit(".", 1)[-1] for name in STUBS[path].keys() - rooms}
    assert set(room.__all__) - {"__version__"} == names
    assert names <= set(dir(room))
    tree = ast.parse(path.read_text("utf-8"))
    assert all(isinstance(node, ast.ImportFrom | ast.Assign | ast.AnnAssign) for node in tree.body)


@pytest.mark.parametrize("path", STUBS, ids=lambda path: name_of(path.with_suffix(".py")) or "top")
def test_a_public_name_is_what_its_module_calls_so(path):
    for name, home in STUBS[path].items():
        module = importlib.import_module(home)
        if name != home:
            own = name.rsplit(".", 1)[-1]
            assert own in module.__all__
            room = importlib.import_module(name.rsplit(".", 1)[0])
            assert getattr(room, own) is getattr(module, own)


def test_the_everyday_names_are_few():
    assert len(iirl_opt.__all__) <= 68


def test_a_public_name_stands_in_one_room():
    rooms = [
        name for path, names in STUBS.items() if name_of(path.with_suffix(".py")) for name in names
    ]
    twice = [
        name for name, n in Counter(name.rsplit(".", 1)[-1] for name in rooms).items() if n > 1
    ]
    assert twice == []


def test_no_public_name_is_hidden_by_a_module():
    # Importing iirl_opt.x sets the attribute x of the package: it must not be a public name.
    for path, names in STUBS.items():
        room = ".".join(["iirl_opt", name_of(path.with_suffix(".py"))]).rstrip(".")
        hidden = {f"iirl_opt.{name}" for name in TREES} & names.keys()
        assert {name for name in hidden if names[name] != name} == set(), room


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        _ = iirl_opt.nothing


@pytest.mark.parametrize("name", [name for name in INNER if not name.endswith("__main__")])
def test_all_that_a_module_offers_exists(name):
    module = importlib.import_module(f"iirl_opt.{name}")
    offered = getattr(module, "__all__", [])
    assert [part for part in offered if not hasattr(module, part)] == []
    assert len(set(offered)) == len(offered)
