"""Files that are not there, and files that hold no problem: what was meant, and what takes them."""

import json
import shutil
from pathlib import Path

import pytest

from iirl_opt.certificate import read_certificate
from iirl_opt.errors import FileProblem
from iirl_opt.library import find_model, read_model
from iirl_opt.library.misplaced import CERTIFICATE, PYTHON, find_file
from iirl_opt.library.shipped import shipped_by_name, shipped_titles


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with one model file, in a folder of it."""
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    shutil.copy(find_model("two-rooms"), "models/maze_maker.toml")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("maze-makr", "maze-maker (iirl-opt show"),
        ("Maze_Maker", "maze-maker (iirl-opt show"),
        ("maze-maker.toml", "maze-maker (iirl-opt show"),
        ("models/maze_makr.toml", "models/maze_maker.toml"),
        ("models/maze_maker", "models/maze_maker.toml"),
        ("models/maze-maker.toml", "models/maze_maker.toml"),
        ("models/MAZE_MAKER.TOML", "models/maze_maker.toml"),
        ("modles/maze_maker.toml", "models"),
        ("./modles/inner/maze_maker.toml", "models"),
    ],
)
def test_a_file_that_is_not_there_has_a_nearest_name(given, meant):
    with pytest.raises(FileProblem) as caught:
        find_model(given)
    assert f"; the nearest is {meant}" in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        "zzz",
        "absent.toml",
        "maze-makr.toml",
        "bridg.npz",
        "two-rooms/x",
        "/nowhere/at/all.toml",
        "models/q.npz",
        "a/" * 99,
        "é" * 100,
    ],
)
def test_where_nothing_is_near_nothing_is_proposed(given):
    with pytest.raises(FileProblem) as caught:
        find_model(given)
    assert "nearest" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("round", "it is a link to itself, in a circle"),
        ("round/maze_maker.toml", "round is a link to itself, in a circle"),
        ("lost", "it is a link to gone.toml, which is not there"),
        ("./lost/maze_maker.toml", "lost is a link to gone.toml, which is not there"),
    ],
)
def test_a_link_that_leads_to_no_file_says_where_it_leads(given, said):
    Path("round").symlink_to("round")
    Path("lost").symlink_to("gone.toml")
    with pytest.raises(FileProblem) as caught:
        find_model(given)
    assert said in str(caught.value)


def test_a_name_of_every_shipped_model_is_its_own_file():
    for model in shipped_titles():
        assert find_model(model["name"]) == shipped_by_name()[model["name"]]
        assert model["title"]
        assert model["family"] in {path.parent.name for path in shipped_by_name().values()}


FILES = {
    "proof.json": (json.dumps({"version": 2, "kind": "optimality"}), "iirl-opt recheck proof.json"),
    "result.json": (
        json.dumps({"format": 2, "command": "learn"}, indent=1),
        "iirl-opt learn found",
    ),
    "compare.jsonl": (json.dumps({"format": 2}), "--resume"),
    "my claims.py": ("claims = []", "iirl-opt claims 'my claims.py'"),
    "game.toml": ("version = 1", "iirl-opt solve game.toml"),
}
TAKEN = {"proof.json": CERTIFICATE, "my claims.py": PYTHON, "game.toml": None}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_holds_something_else_says_what_takes_it(name):
    text, taker = FILES[name]
    Path(name).write_text(text)
    for wanted in {CERTIFICATE, PYTHON} - {TAKEN.get(name)}:
        with pytest.raises(FileProblem, match=taker.replace("(", "[(]")):
            find_file(Path(name), wanted)
    if name != "game.toml":
        with pytest.raises(FileProblem, match=taker):
            read_model(name)


def test_a_file_of_the_right_kind_or_of_none_is_left_to_its_reader():
    for name, wanted in (("proof.json", CERTIFICATE), ("my claims.py", PYTHON)):
        Path(name).write_text(FILES[name][0])
        assert find_file(Path(name), wanted) == Path(name)
    Path("empty.json").touch()
    with pytest.raises(FileProblem, match="is no certificate"):
        read_certificate(find_file(Path("empty.json"), CERTIFICATE))


def test_a_folder_and_a_model_are_no_certificate():
    with pytest.raises(FileProblem, match="is a folder"):
        find_file(Path("models"), CERTIFICATE)
    with pytest.raises(FileProblem, match=r"iirl-opt solve .*two-rooms"):
        find_file(Path("two-rooms"), CERTIFICATE)
    with pytest.raises(FileProblem, match="is a folder"):
        find_model("models")
