"""What the documents show is what comes out: the README's tour and every docstring example."""

import doctest
import importlib
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from inspect import getdoc, isclass
from pathlib import Path
from textwrap import dedent

import pytest
from commands import iirl

import iirl_opt

ROOT = Path(__file__).parents[1]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(iirl_opt.__path__, "iirl_opt.")
    if not module.name.startswith("iirl_opt.testing._")
)
ROOMS = sorted(path.parent.name for path in (ROOT / "iirl_opt").glob("*/__init__.pyi"))


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


# A block of the documentation: its language, the name of the file that it shows, its lines.
BLOCK = re.compile(
    r"^\.\. code-block:: (\w+)\n(?:   :caption: (\S+)\n)?\n((?:   .*\n|\n)+)", re.MULTILINE
)


def output(command: str, folder: Path) -> str:
    """Run a line that a reader would type: ``iirl-opt`` in this process, all else in a shell."""
    if command.startswith("iirl-opt "):
        done = iirl(*shlex.split(command)[1:], cwd=folder)
        return done.out + done.err
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    ).stdout


@pytest.mark.process
@pytest.mark.parametrize("page", ["certificates_elsewhere", "verify"])
def test_commands_of_the_documentation(page: str, tmp_path: Path) -> None:
    """What a page shows in a terminal comes out, in a folder that holds the files that it shows."""
    for extra in (ROOT / "docs").glob("*.mjs"):
        shutil.copy(extra, tmp_path)
    tried = 0
    for language, name, text in BLOCK.findall((ROOT / f"docs/{page}.rst").read_text("utf-8")):
        if name:
            (tmp_path / name).write_text(dedent(text), "utf-8")
        for shown in dedent(text).split("$ ")[1:] if language == "console" else ():
            command, _, wanted = shown.partition("\n")
            if shutil.which(shlex.split(command)[0]) is None and command.startswith("node "):
                continue  # another language: where it is installed
            found = output(command, tmp_path)
            assert doctest.OutputChecker().check_output(wanted, found, FLAGS), (command, found)
            tried += 1
    assert tried > 1


def test_the_mathematics_has_each_statement_with_its_status() -> None:
    from iirl_opt.claims import PAPER

    page = (ROOT / "docs/mathematics.rst").read_text("utf-8")
    rows = re.split(r"\n   \* - \.\. _statement-", page)[1:]
    told = {row.split(":")[0]: re.split(r"\n     - ", row) for row in rows}
    status = {claim.name: claim.status for claim in PAPER}
    named = [name for cells in told.values() for name in re.findall(r"``([\w-]+)``", cells[2])]
    assert sorted(named) == sorted(status)  # every claim in one row
    for label, (_, printed, true, _) in told.items():
        assert printed in {status[name] for name in re.findall(r"``([\w-]+)``", true)}, label


def test_sources_link_to_statements_that_have_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    link = importlib.import_module("statements").link
    page = (ROOT / "docs/mathematics.rst").read_text("utf-8")
    names = [
        *(f"Theorem {n}" for n in (1, 2, 3)),
        *(f"Lemma {n}" for n in (1, 2, 3)),
        *(f"Corollary {n}" for n in (1, 2)),
        "Proposition 1",
        *(f"Algorithm {n}" for n in (1, 2, 3, 4)),
    ]
    for name in names:
        lines = [f"Say {name}.", "", "**Source** paper,", f"{name}, line 3.", "", f"Not {name}."]
        link(lines)
        label = "statement-" + name.lower().replace(" ", "-")
        assert lines[3] == f":ref:`{name} <{label}>`, line 3."
        assert (lines[0], lines[5]) == (f"Say {name}.", f"Not {name}.")
        assert f".. _{label}:\n" in page


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert outcome.failed == 0


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_has_an_example_and_every_function_its_cost(room: str) -> None:
    module = importlib.import_module(f"iirl_opt.{room}")
    things = {name: getattr(module, name) for name in module.__all__}
    callables = {
        name: thing
        for name, thing in things.items()
        if callable(thing) and not (isclass(thing) and issubclass(thing, Exception))
    }
    said = {name: getdoc(thing) or "" for name, thing in callables.items()}
    functions = [name for name, thing in callables.items() if not isclass(thing)]
    assert [name for name, text in said.items() if ">>> " not in text] == []
    assert [name for name in functions if "**Cost**" not in said[name]] == []


def test_the_readme_has_its_two_lines() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 2
    assert "iirl-opt learn maze-maker" in blocks[0]
    assert "pytest" in blocks[1]
    assert all(block.count("\n") == 1 and "venv" in block for block in blocks)
