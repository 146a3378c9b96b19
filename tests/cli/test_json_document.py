"""What ``--json`` prints begins alike, whatever the command, and is one document alone."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from iirl_opt import cli
from iirl_opt.cli.app import app, run
from iirl_opt.cli.json_document import FORMAT, HEAD, head, text_of
from iirl_opt.experiments import commitment
from iirl_opt.experiments.sweep import Cell
from iirl_opt.library import read_model
from iirl_opt.versions import PACKAGES, versions

GOLDEN = Path(__file__).parents[1] / "golden"
PROOF = GOLDEN / "verify" / "certificate.json"
COMPARED = ["two-rooms", "--learners", "algorithm-1", "--episodes", "1", "--runs", "1"]

# One call of each command, and what its head says of file, title and seed.
CALLS = {
    "learn": (["two-rooms", "--seed", "5"], "two-rooms.toml", True, 5),
    "solve": (["two-rooms"], "two-rooms.toml", True, 0),
    "check": (["two-rooms"], None, False, None),
    "export": (["figure-1", "--lp"], "figure-1.toml", True, None),
    "schema": ([], None, False, None),
    "verify": (["strict-4"], "strict-4.toml", True, None),
    "recheck": ([str(PROOF)], "certificate.json", False, None),
    "claims": ([str(GOLDEN / "claims" / "own.py"), "--examples", "1"], "own.py", False, 0),
    "figure": (["7"], None, True, 0),
    "compare": ([*COMPARED, "--seed", "3"], "two-rooms.toml", True, 3),
    "show": (["maze-maker"], "maze-maker.toml", True, 0),
    "play": (["maze", "--prizes", "AB", "--seed", "2"], None, True, 2),
    "convert": (["two-rooms", "rooms.npz"], "two-rooms.toml", True, 0),
}


def one_cell(seed: int) -> list[Cell]:
    return [Cell(7, "small", "epsilon-greedy", seed, {"epsilon": 0.5, "size": [3, 2, 2]})]


def test_every_command_is_tried() -> None:
    names = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert names == CALLS.keys()


@pytest.mark.parametrize("command", CALLS)
def test_every_document_has_the_same_head(
    command: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    figure = replace(commitment.FIGURE_7, scales={"small": one_cell})
    monkeypatch.setattr(commitment, "FIGURE_7", figure)
    arguments, file, titled, seed = CALLS[command]
    run([command, *arguments, "--json"])
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    document = json.loads(printed)
    assert tuple(document)[: len(HEAD)] == HEAD
    assert len(document) > len(HEAD)
    assert (document["format"], document["command"]) == (FORMAT, command)
    assert document["versions"] == versions()
    assert document["file"] == file
    assert (document["title"] is not None) == titled
    assert document["seed"] == seed
    assert document["complete"] is True
    made = ["rooms.npz"] if command == "convert" else []  # what it is asked for
    assert [path.name for path in tmp_path.iterdir()] == made
    if file is not None and file.endswith(".toml"):
        game = read_model(file.removesuffix(".toml")).game
        assert document["fingerprint"] == game.fingerprint
        assert document["discount"] == game.discount


def test_a_head_says_what_is_given_and_null_for_the_rest() -> None:
    given = head("command", file="file", seed=3, complete=False)
    assert tuple(given) == HEAD
    assert given.pop("versions").keys() == set(PACKAGES)
    assert given == {
        "format": FORMAT,
        "command": "command",
        "file": "file",
        "title": None,
        "fingerprint": None,
        "discount": None,
        "seed": 3,
        "complete": False,
    }


def test_the_seed_is_the_one_that_was_given_or_the_files_own() -> None:
    problem = read_model("two-rooms")
    assert head("learn", problem)["seed"] == problem.question.seed == 0
    assert head("learn", problem, seed=7)["seed"] == 7


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_json_has_no_word_for_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        text_of({"value": number})


def test_a_document_is_one_line_or_many() -> None:
    document = {"a": [1, 2], "b": "ü"}
    assert "\n" not in text_of(document)
    assert json.loads(text_of(document)) == json.loads(text_of(document, lines=True)) == document
    assert text_of(document, lines=True).count("\n") == 6


def test_the_head_is_made_in_one_place() -> None:
    words = ('"versions":', '"format":')
    files = Path(cli.__file__).parent.glob("*.py")
    assert [path.name for path in files if any(word in path.read_text() for word in words)] == []
