"""The JSON Schema of model files: it takes what the library reads, and refuses what it refuses."""

import json
import tomllib

import pytest

from iirl_opt.cli.app import run
from iirl_opt.library import model_schema, shipped_models
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
