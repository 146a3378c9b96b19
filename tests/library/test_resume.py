"""Runs that are taken up again: the same result, to the last bit, wherever they were left."""

import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from commands import child, iirl

from iirl_opt import library
from iirl_opt.checkpoint import Checkpoint, dump
from iirl_opt.errors import FileProblem
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.learn import interact, recall, record_of
from iirl_opt.library import LEARNERS, make_learner

GAME, TRUTH = random_game(4, 2, 2, rng=3)
MAZE = library.read_model("small-maze")


def timeless(value):
    """Return a document without what the clock says."""
    if isinstance(value, dict):
        return {name: timeless(part) for name, part in value.items() if name != "seconds"}
    return [timeless(part) for part in value] if isinstance(value, list) else value


def data(run, folder):
    """Return what a run leaves but its pictures, by file."""
    folder.mkdir()
    (folder / "result.json").write_text(json.dumps(timeless(run.document())))
    assert len(list(run.write_data(folder))) < 2
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.process
def test_a_file_has_the_same_digest_in_every_process():
    names = ("narrow-prior", "small-maze", "careless-partner", "contradiction", "figure-1")
    code = (
        "import sys; from iirl_opt import library;"
        "print(*(library.read_model(name).digest for name in sys.argv[1:]))"
    )
    done = child([sys.executable, "-c", code, *names], env={"PYTHONHASHSEED": "7"})
    digests = [library.read_model(name).digest for name in names]
    assert done.out.split() == digests
    assert len({*digests}) == len(names)


@pytest.mark.parametrize("name", [each + end for each in LEARNERS for end in ("", "-fixed")])
def test_a_learner_that_recalls_is_the_one_that_was_told(name):
    learner = make_learner(name, GAME, seed=1)
    if name.startswith("algorithm-4"):
        learner = replace(learner, proposals=20, thin=2, fast=False)
    seen = [(BoltzmannFollower(5.0), None)]
    if name.startswith(("active", "algorithm")):
        seen += [(OptimalFollower("random"), 2)]
    for follower, least in seen:
        facts = {"follower": follower, "min_length": least, "best": 1.0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            played = list(interact(learner, TRUTH, 3, **facts))
            now = learner
            for before in played[:2]:
                now = recall(now, json.loads(dump(record_of(before))), best=1.0).learner
            (last,) = interact(now, TRUTH, 3, **facts)
            assert dump(record_of(last)) == dump(record_of(played[2]))
            assert last.learner.facts() == played[2].learner.facts()
            assert last.learner.plan().tobytes() == played[2].learner.plan().tobytes()


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("small-maze", {"episodes": 3}),
        ("two-rooms", {"episodes": 3, "learner": "active-fixed"}),
        ("hidden-boltzmann", {"proposals": 50, "chains": 2}),
        ("careless-partner", {"proposals": 600, "chains": 2}),
    ],
)
def test_a_run_left_at_every_step_leaves_the_same_files(tmp_path: Path, name, given):
    problem = library.read_model(name)
    whole = library.learn(problem, **given)
    steps = len(list(whole))
    begin = "new"
    for done in range(steps + 1):
        run = library.learn(problem, checkpoint=tmp_path / "learn.jsonl", begin=begin, **given)
        lines, begin = iter(run), "resume"
        assert run.taken_up == done
        assert (next(lines, None) is None) == (done == steps) == run.complete
        del lines
    assert data(run, tmp_path / "run") == data(whole, tmp_path / "whole")


def kept(path, changed):
    """Write the checkpoint of two episodes, whose second record is changed but rightly signed."""
    run = library.learn(MAZE, episodes=2)
    list(run)
    with Checkpoint(path, run.about) as work:
        for i, episode in enumerate(run.episodes):
            record = {**record_of(episode), "facts": [["rows", 3]], "seconds": 0.5}
            work.append({**record, **changed} if i else record)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, None),
        ({"episode": 3}, "episode is 3; allowed 2"),
        ({"pi1": [0] * 31}, "leader policy"),
        ({"pi1": "none"}, "pi1"),
        ({"pi1": [[0.5] * 6] * 32}, "sums to 3"),
        ({"pi2": [4] * 32}, "pi2"),
        ({"pi2": [True] * 32}, "pi2"),
        ({"pi2": None}, "pi2"),
        ({"values": [1.0]}, "values"),
        ({"values": [None] * 32}, "values"),
        ({"values": [10**400] * 32}, "values"),
        ({"steps": [[0, 0]]}, "steps"),
        ({"steps": []}, "steps"),
        ({"steps": [[32, 0, 0]]}, "steps"),
        ({"plan": {}}, "plan"),
        ({"memory": 3}, "memory"),
        ({"facts": {"rows": 3}}, "facts"),
        ({"facts": [["rows"]]}, "facts"),
        ({"facts": [["rows", "many"]]}, "many"),
        ({"seconds": None}, "seconds"),
    ],
)
def test_a_record_that_is_no_step_of_the_run_is_refused_by_its_line(tmp_path: Path, changed, said):
    path = tmp_path / "learn.jsonl"
    kept(path, changed)
    before = path.read_bytes()
    run = library.learn(MAZE, episodes=2, checkpoint=path, begin="resume")
    if said is None:
        assert list(run) == []
        return
    with pytest.raises(FileProblem, match=said) as refused:
        iter(run)
    assert refused.value.line == 3
    assert path.read_bytes() == before


@pytest.mark.parametrize("record", [3, None, [], "text", {}])
def test_a_record_of_anything_else_is_refused(tmp_path: Path, record):
    for name, given in (("small-maze", {}), ("careless-partner", {"proposals": 600})):
        path = tmp_path / f"{name}.jsonl"
        problem = library.read_model(name)
        with Checkpoint(path, library.learn(problem, **given).about) as work:
            work.append(record)
        with pytest.raises(FileProblem, match="no step of this run"):
            iter(library.learn(problem, checkpoint=path, begin="resume", **given))


def test_the_command_goes_on_extends_gives_again_and_refuses_another_run(
    tmp_path: Path,
):
    def learn(*options):
        return iirl("learn", "small-maze", "--out", tmp_path, *options)

    def result():
        return timeless(json.loads((tmp_path / "result.json").read_text()))

    assert learn("--episodes", 3).code == 0
    whole = result()
    with Checkpoint(tmp_path / "learn.jsonl", library.learn(MAZE).about, begin="resume") as work:
        records = work.records
    with Checkpoint(tmp_path / "learn.jsonl", library.learn(MAZE).about) as work:
        work.append(records[0])  # as it is when the run is killed in its second episode

    refused = learn("--episodes", 3)
    assert refused.code == 2
    assert "unfinished, with 1 record" in refused.err
    assert result() == whole
    for asked, fact in ((("--seed", 5), "seed 0"), (("--learner", "active"), "'algorithm-1'")):
        refused = learn("--resume", *asked)
        assert (refused.code, refused.out) == (2, "")
        assert fact in refused.err
    done = learn("--resume", "--episodes", 3)
    assert done.code == 0, done.err
    assert "1 of 3 steps are in" in done.out
    assert "episode   1" not in done.out
    assert result() == whole
    again = learn("--resume", "--episodes", 3)
    assert (again.code, result()) == (0, whole)
    assert "episode  " not in again.out
    assert "allowed at most 2" in learn("--resume", "--episodes", 2).err
    assert learn("--resume", "--episodes", 4).code == 0
    assert result()["episodes"][:3] == whole["episodes"]
    assert learn("--restart", "--episodes", 3).code == 0
    assert result() == whole


def test_a_second_writer_and_a_folder_in_the_way_are_refused_before_anything(tmp_path: Path):
    with Checkpoint(tmp_path / "learn.jsonl", library.learn(MAZE).about) as work:
        work.append({})
        for option in ("--resume", "--restart", "--json"):
            done = iirl("learn", "small-maze", option, "--out", tmp_path)
            assert (done.code, done.out) == (2, "")
            assert "learn.jsonl: is being written by another process" in done.err
    (tmp_path / "file").touch()
    done = iirl("learn", "small-maze", "--out", tmp_path / "file" / "out")
    assert (done.code, done.out) == (2, "")
    assert str(tmp_path / "file") in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--json", "--resume"], "--resume with --json needs the folder"),
        (["--json", "--restart"], "--restart with --json needs the folder"),
        (["--resume", "--restart"], "allowed one of them"),
    ],
)
def test_options_that_have_no_meaning_together_are_refused(tmp_path: Path, options, said):
    done = iirl("learn", "small-maze", *options, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert said in " ".join(done.err.split())
    assert not list(tmp_path.iterdir())
