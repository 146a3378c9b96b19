"""The JSON Schema of model files: it takes what the library reads, and refuses what it refuses."""

import json
import tomllib
from fractions import Fraction

import pytest

from iirl_opt.cli.app import run
from iirl_opt.follower import Power, ProportionalFollower
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.library import make_model, model_schema, shipped_models, write_model
from iirl_opt.library.families import catalogue

FILES = sorted(shipped_models().glob("**/*.toml"))


@pytest.fixture(scope="module")
def validator():
    jsonschema = pytest.importorskip("jsonschema")
    schema = model_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_model_is_valid(validator, path) -> None:
    assert [error.message for error in validator.iter_errors(tomllib.loads(path.read_text()))] == []


def test_what_is_written_is_valid(validator, tmp_path) -> None:
    game = TwoAgentMDP([[[[0.3, 0.7]]], [[[1, 0]]]], 0.9, states=[(0, "a"), 1])
    follower = ProportionalFollower(Power(2))
    expect = [{"quantity": "value", "values": [1, 2.5], "source": "s"}]
    problem = make_model(game, [0, Fraction(1, 3)], follower=follower, expect=expect)
    text = write_model(problem, tmp_path / "m.toml").read_text()
    assert [error.message for error in validator.iter_errors(tomllib.loads(text))] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('title = "', 'titel = "'),
        ("version = 1", 'version = "one"'),
        ('ask = "maximise"', 'ask = "minimise"'),
        ('family = "feasible_rewards"', 'family = "feasible"'),
        ('on = "reward"', 'on = "rewards"'),
        ("discount = ", "discount = true # "),
        ("[question]", "[answer]\nx = 1\n[question]"),
    ],
)
def test_a_fault_is_refused(validator, old: str, new: str) -> None:
    text = (shipped_models() / "feasible_rewards" / "goal-twice-the-start.toml").read_text()
    assert old in text
    assert validator.is_valid(tomllib.loads(text))
    assert not validator.is_valid(tomllib.loads(text.replace(old, new, 1)))


def test_the_command_prints_it(capsys) -> None:
    assert run(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(json.dumps(model_schema()))
    families = {kind.__name__ for kind in catalogue.FAMILIES}
    assert families <= printed["$defs"].keys()
    assert {"version", "title", "source", "game", "question"} == set(
        printed["$defs"]["ModelFile"]["required"]
    )
