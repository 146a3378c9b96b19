"""What the documents show is what comes out: the README's tour and every docstring example."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import iirl_opt

ROOT = Path(__file__).parents[1]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(iirl_opt.__path__, "iirl_opt.")
    if not module.name.startswith("iirl_opt.testing._")
)


def test_the_tour_of_the_readme() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README", "README.md", 0)
    assert len(test.examples) > 15
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test)
    assert runner.failures == 0


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.rst")), ids=lambda page: page.stem)
def test_examples_of_the_documentation(page: Path) -> None:
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
    assert outcome.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert outcome.failed == 0


def test_every_public_name_has_a_docstring() -> None:
    silent = [name for name in iirl_opt.__all__[1:] if not getattr(iirl_opt, name).__doc__]
    assert not silent


def test_the_readme_has_its_two_lines() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 2
    assert "iirl-opt learn maze-maker" in blocks[0]
    assert "pytest" in blocks[1]
    assert all(block.count("\n") == 1 and "venv" in block for block in blocks)
