"""The architecture, read off the source: who may import whom, and what is loaded when."""

import ast
import graphlib
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import iirl_opt

PACKAGE = Path(iirl_opt.__file__).parent

LAYERS = ["errors", "checks", "exact", "game", "follower", "observation"]
LAYERS += ["planning", "certificate"]
LAYERS += [
    "solver",
    "programs",
    "learn",
    "formats",
    "library",
    "testing",
    "claims",
    "plot",
    "experiments",
]
LAYERS += ["cli"]
LAYERS = ["recheck", "recheck_tree", *LAYERS]
GAME = [
    "policy",
    "labels",
    "kernel",
    "mdp",
    "decide",
    "values",
    "exact",
    "store",
    "graph",
    "grid",
    "generate",
]

# Where alone a library may be imported.
HOMES = {
    "cvxpy": ("solver", "programs"),
    "highspy": ("solver",),
    "networkx": ("game.graph",),
    "matplotlib": ("plot",),
    "hypothesis": ("testing", "claims"),
    "typer": ("cli",),
}
HEAVY = ("cvxpy", "highspy", "networkx", "matplotlib", "hypothesis", "joblib", "typer", "rich")


def name_of(path):
    """The module of a file, without the name of the package: ``game.mdp``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {name_of(path): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}


def is_for_type_checkers(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def running(tree):
    """All nodes but those that only a type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if is_for_type_checkers(node):
            for other in node.orelse:
                yield other
                yield from running(other)
        else:
            yield node
            yield from running(node)


def imports(name, tree=None):
    """All modules that a module imports somewhere, inside functions too, by their full names."""
    for node in running(TREES[name] if tree is None else tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if node.module == "iirl_opt" and alias.name in iirl_opt._MODULE_OF:
                    yield iirl_opt._MODULE_OF[alias.name]
                else:
                    yield whole if whole.removeprefix("iirl_opt.") in TREES else node.module
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "iirl_opt":
            yield iirl_opt._MODULE_OF.get(node.attr, "iirl_opt")


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
    iirl_opt.solve
"""
    assert set(imports("", ast.parse(source))) == {
        "first",
        "numpy.linalg",
        "iirl_opt.errors",
        "iirl_opt.game.mdp",
        "iirl_opt.game.policy",
        "iirl_opt.solver",
    }


def test_the_reader_finds_the_package():
    assert {"errors", "game", "game.mdp", "solver", "programs.rewards", "cli"} <= TREES.keys()
    assert inner_imports("game.values") == {
        "checks",
        "errors",
        "exact.numbers",
        "game.decide",
        "game.mdp",
        "game.policy",
    }


# Imports run one way


@pytest.mark.parametrize("name", INNER)
def test_a_module_imports_only_what_stands_before_it(name):
    layer = LAYERS.index(name.split(".")[0])
    for other in inner_imports(name):
        assert LAYERS.index(other.split(".")[0]) <= layer, f"{name} imports {other}"


@pytest.mark.parametrize("name", [name for name in INNER if name.startswith("game.")])
def test_inside_the_game_layer_too(name):
    own = GAME.index(name.removeprefix("game."))
    for other in inner_imports(name):
        if other.startswith("game."):
            assert GAME.index(other.removeprefix("game.")) < own, f"{name} imports {other}"


@pytest.mark.parametrize(("name", "beside"), [("recheck", set()), ("recheck_tree", {"recheck"})])
def test_the_second_checker_shares_nothing(name, beside):
    used = {module.split(".")[0] for module in imports(name)}
    assert used - sys.stdlib_module_names == beside
    users = {other for other in TREES if other != "recheck_tree" and name in inner_imports(other)}
    assert users == set()


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
        name = name_of(path)
        if name not in ("", "testing"):
            own = f"iirl_opt.{name}."
            assert all(m == "__future__" or m.startswith(own) for m in imports(name)), name


# One door to solvers


def solving_classes():
    """The classes of this package with a method `solve`, which itself goes through the door."""
    for tree in TREES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                methods = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
                if "solve" in methods:
                    yield node.name


def doors(tree, known):
    """The calls of `solve` on what is neither linear algebra nor a known class."""
    made = {
        ast.unparse(target): node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        on = node.func.value
        origin = made.get(ast.unparse(on), on)
        maker = ast.unparse(origin.func) if isinstance(origin, ast.Call) else ast.unparse(origin)
        if node.func.attr == "solve_via_data":
            yield ast.unparse(node)
        if node.func.attr == "solve" and maker.split(".")[-1] not in {*known, "linalg", "splu"}:
            yield ast.unparse(node)


def test_the_watch_at_the_door_lets_pass_what_it_should():
    source = """
plain = splu(matrix)
plain.solve(x)
typed: Any = splu(matrix)
bare: int
typed.solve(x), splu(y).solve(z), np.linalg.solve(a, b), Model(game).solve()
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
    "name", [name for name in INNER if not inside(name, ["exact", "game.decide", "solver"])]
)
def test_programs_are_solved_in_one_place(name):
    assert list(doors(TREES[name], set(solving_classes()))) == []


# Loading


def loaded_by(code):
    """The heavy libraries that are in memory after some code, in a fresh interpreter."""
    report = f"{code}; import sys; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    "code",
    [
        "import iirl_opt; dir(iirl_opt); iirl_opt.__version__",
        "from iirl_opt import TwoAgentMDP, MDP, InvalidGame",
        "from iirl_opt import maze_maker, random_game, load_game, policy_iteration, split",
        "from iirl_opt import OptimalFollower, Observation, best_responses",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code):
    assert loaded_by(code) == []


def test_what_needs_a_solver_or_a_graph_loads_it_then():
    assert "cvxpy" in loaded_by("from iirl_opt import FeasibleRewards")
    assert loaded_by("from iirl_opt import to_networkx") == ["networkx"]


# The public names


@pytest.mark.parametrize("name", [name for name in iirl_opt.__all__ if name != "__version__"])
def test_a_public_name_is_what_its_module_calls_so(name):
    module = importlib.import_module(iirl_opt._MODULE_OF[name])
    assert getattr(iirl_opt, name) is getattr(module, name)
    assert name in module.__all__
    assert name in dir(iirl_opt)


def test_every_public_name_lives_in_one_place():
    names = [name for names in iirl_opt._HOME.values() for name in names]
    assert len(names) == len(set(names))
    assert iirl_opt.__all__ == ["__version__", *sorted(names)]
    for names in iirl_opt._HOME.values():
        assert list(names) == sorted(names)


def test_no_public_name_is_hidden_by_a_module():
    # Importing iirl_opt.x sets the attribute x of the package: it must not be a public name.
    assert not {name.split(".")[0] for name in INNER} & set(iirl_opt.__all__)


def test_type_checkers_see_the_modules_that_hold_public_names():
    block = next(node for node in TREES[""].body if is_for_type_checkers(node))
    seen = {node.module for node in block.body if isinstance(node, ast.ImportFrom)}
    assert seen == set(iirl_opt._HOME)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'iirl_opt' has no attribute 'nothing'"):
        _ = iirl_opt.nothing


@pytest.mark.parametrize("name", [name for name in INNER if not name.endswith("__main__")])
def test_all_that_a_module_offers_exists(name):
    module = importlib.import_module(f"iirl_opt.{name}")
    offered = getattr(module, "__all__", [])
    assert [part for part in offered if not hasattr(module, part)] == []
    assert len(set(offered)) == len(offered)
