"""A family of model files is one file and one line: a seventh is made here out of these alone."""

import importlib
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from iirl_opt import library
from iirl_opt.cli.app import run
from iirl_opt.errors import FileProblem
from iirl_opt.library import shipped_models
from iirl_opt.library.families import catalogue

# The one file of the family: how large, or small, the shares of the states are together.
SEVENTH = '''
"""The family ``shares``: how much of a whole the states can hold together."""

from typing import Literal

from iirl_opt.errors import FileProblem
from iirl_opt.library import ModelAnswer, ProgramQuestion


class SharesQuestion(ProgramQuestion, tag="shares"):
    ask: Literal["most", "least"]
    whole: float = 1.0

    def check(self, problem):
        if self.whole <= 0:
            raise FileProblem(problem.path, f"is {self.whole}; allowed > 0", key="question.whole")

    def program(self, problem):
        import cvxpy as cp

        shares = cp.Variable(problem.game.n_states, name="shares")
        least = (shares >= 0).set_label("least")
        all_of_it = (cp.sum(shares) <= self.whole).set_label("whole")
        sense = cp.Maximize if self.ask == "most" else cp.Minimize
        return cp.Problem(sense(cp.sum(shares)), [least, all_of_it])

    def find(self, problem):
        from iirl_opt.library.answers import solver_record
        from iirl_opt.solver import solve

        solved = solve(self.program(problem))
        return ModelAnswer({"total": solved.value}, {"solved": solver_record(solved)}, solved)

    def report(self, answer):
        yield "the shares:"
        yield from super().report(answer)
'''
SEVENTH = SEVENTH.replace(
    "class Shares", "from iirl_opt.errors import FileProblem\n\n\nclass Shares"
)

FILE = """
version = 1
title = "Shares of three"
source = "by hand"

[game.generator]
name = "random_game"
states = 3
leader_actions = 2
follower_actions = 2
seed = 0

[question]
family = "shares"
ask = "most"
whole = 2.5

[[expect]]
quantity = "total"
value = 2.5
tolerance = 1e-9
source = "the whole"
"""


@pytest.fixture
def seventh(tmp_path: Path, monkeypatch) -> Path:
    """A model file of a family that was not there before."""
    module = tmp_path / "shares.py"
    module.write_text(SEVENTH)
    spec = importlib.util.spec_from_file_location("shares", module)
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "shares", made)
    spec.loader.exec_module(made)
    monkeypatch.setattr(catalogue, "FAMILIES", (*catalogue.FAMILIES, made.SharesQuestion))
    path = tmp_path / "thirds.toml"
    path.write_text(FILE)
    return path


def test_a_seventh_family_is_solved_checked_shown_and_exported(seventh: Path, capsys) -> None:
    assert run(["solve", str(seventh)]) == 0
    out = capsys.readouterr().out
    assert "the shares:" in out
    assert "ok  total = " in out
    assert run(["check", str(seventh), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unmet"] == 0
    assert run(["show", str(seventh)]) == 0
    assert "Shares of three" in capsys.readouterr().out
    assert run(["export", str(seventh), "--lp"]) == 0
    assert "shares" in capsys.readouterr().out
    assert "SharesQuestion" in library.model_schema()["$defs"]


def test_it_refuses_what_it_does_not_do(seventh: Path) -> None:
    problem = library.read_model(seventh)
    with pytest.raises(FileProblem, match=r"question\.family: is not learning"):
        library.learn(problem)
    with pytest.raises(FileProblem, match=r"question\.ask: does not ask to verify"):
        library.verify(problem)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("whole = 2.5", "hole = 2.5", r"question\.hole: unknown key; did you mean 'whole'"),
        ("whole = 2.5", "whole = 0.0", r"question\.whole: is 0\.0; allowed > 0"),
        ('ask = "most"', 'ask = "more"', r"question\.ask"),
        ("[question]", "[prior]\nreward = 2\n\n[question]", "the family bayesian alone"),
    ],
)
def test_its_faults_are_named_as_any_others(seventh: Path, old: str, new: str, place: str) -> None:
    seventh.write_text(FILE.replace(old, new))
    with pytest.raises(FileProblem, match=place):
        library.read_model(seventh)


def test_the_list_names_every_file_of_the_folder() -> None:
    folder = Path(catalogue.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "catalogue"}
    assert {kind.__module__.rpartition(".")[2] for kind in catalogue.FAMILIES} == files
    assert {kind.family() for kind in catalogue.FAMILIES} == files


def test_every_key_of_a_question_is_described_in_the_readme() -> None:
    told = (shipped_models() / "README.md").read_text(encoding="utf-8")
    for kind in catalogue.FAMILIES:
        for key in kind.__struct_fields__:
            assert re.search(rf"`{key}\b", told), f"{kind.family()}: {key}"


@pytest.mark.process
def test_a_file_is_read_and_shown_without_a_solver() -> None:
    names = [next((shipped_models() / kind.family()).glob("*.toml")) for kind in catalogue.FAMILIES]
    code = (
        "import sys; from iirl_opt.cli.app import run; from iirl_opt.library import read_model\n"
        f"for name in {[str(name) for name in names]!r}:\n"
        "    read_model(name); assert run(['show', name]) == 0\n"
        "print({'cvxpy', 'highspy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("set()\n")


def test_a_learner_stands_in_the_file_or_in_its_place(tmp_path: Path) -> None:
    text = (shipped_models() / "learning" / "two-rooms.toml").read_text(encoding="utf-8")
    assert "learner" not in tomllib.loads(text)["question"]
    path = tmp_path / "active.toml"
    path.write_text(text.replace("[question]\n", '[question]\nlearner = "active"\n'))
    own = library.learn(library.read_model("two-rooms"), episodes=1)
    assert type(own.learner).__name__ == "InteractiveIRL"
    assert type(library.learn(library.read_model(path)).learner).__name__ == "ActiveIRL"
    given = library.learn(library.read_model(path), learner="max-margin")
    assert type(given.learner).__name__ == "InteractiveIRL"
    assert not given.as_stated
    path.write_text(path.read_text().replace('"active"', '"actve"'))
    with pytest.raises(FileProblem, match=r"question\.learner: learner is 'actve'"):
        library.read_model(path)
    joint = path.read_text().replace('"actve"', '"active"\nrewards = "joint"')
    path.write_text(joint)
    with pytest.raises(FileProblem, match=r"question\.learner: .* which learns rewards by state"):
        library.learn(library.read_model(path))


def test_verify_judges_once_and_learn_finds_the_optimum_once(monkeypatch, capsys) -> None:
    calls = []

    def counted(place: str) -> None:
        module, _, name = place.rpartition(".")
        own = getattr(importlib.import_module(module), name)
        monkeypatch.setattr(place, lambda *args, **how: calls.append(name) or own(*args, **how))

    for place in ("verification.verify_affine", "commitment.commit", "learn.episodes.best_value"):
        counted(f"iirl_opt.{place}")
    assert run(["verify", "ideal-5"]) == 0
    assert calls == ["verify_affine"]
    calls.clear()
    assert run(["learn", "two-rooms", "--episodes", "2", "--json"]) == 0
    assert calls == ["commit"]
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["complete"]
