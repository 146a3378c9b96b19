"""The house can be read: short files, and names that stand in one place."""

import ast
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from source import PACKAGE, parsed

FILES = {str(path.relative_to(PACKAGE)): path for path in PACKAGE.rglob("*.py")}

# The chains' inner loops are compiled as one: numba specialises what it sees in one module.
LONG = {"bayesian/engine.py"}


def defined(kind):
    """The names of all functions or classes of modules, with the files that define them."""
    homes = defaultdict(list)
    for name, path in FILES.items():
        for node in parsed(path).body:
            if isinstance(node, kind):
                homes[node.name].append(name)
    return homes


@pytest.mark.parametrize("name", sorted(FILES.keys() - LONG))
def test_a_file_is_a_short_chapter(name):
    assert len(FILES[name].read_text("utf-8").splitlines()) <= 500


def test_a_class_name_stands_once():
    homes = defined(ast.ClassDef)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_a_private_function_can_be_found_by_its_name():
    homes = defined(ast.FunctionDef)
    private = {name: files for name, files in homes.items() if name.startswith("_")}
    special = {"__getattr__", "__dir__"}
    assert {n: f for n, f in private.items() if len(f) > 2 and n not in special} == {}


@pytest.mark.parametrize("name", FILES)
def test_a_file_says_first_what_it_is_about(name):
    assert ast.get_docstring(parsed(FILES[name]))


def test_a_file_of_tests_has_a_name_of_its_own():
    """Modules of tests are found by their names alone: of two alike pytest imports one."""
    names = Counter(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    assert {name for name, count in names.items() if count > 1} == set()
