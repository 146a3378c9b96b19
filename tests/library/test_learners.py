"""Learners by name: one table for the command, comparisons and model files."""

from pathlib import Path

import numpy as np
import pytest

from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.game.generate import random_game
from iirl_opt.game.policy import uniform_policy
from iirl_opt.learn.learner import Learner
from iirl_opt.library import LEARNERS, learn, make_learner, read_model
from iirl_opt.library.learners import check_learner

GAME, TRUTH = random_game(4, 2, 2, rng=3)


@pytest.mark.parametrize("name", [each + end for each in LEARNERS for end in ("", "-fixed")])
def test_each_name_makes_a_learner_with_its_seed_and_first_commitment(name):
    first = uniform_policy(4, 2)
    learner = make_learner(name, GAME, seed=7, first=first)
    assert isinstance(learner, Learner)
    assert learner.game is GAME
    assert (learner.seed, learner.episode, learner.estimate()) == (7, 0, None)
    assert np.array_equal(learner.ask(), first)


def test_joint_rewards_are_learnt_by_algorithm_1_alone():
    for name in ("algorithm-1", "algorithm-1-random-ties", "algorithm-1-fixed"):
        made = make_learner(name, GAME, joint=True)
        assert getattr(made, "learner", made).joint
    for name in ("active", "max-margin-fixed", "algorithm-4"):
        with pytest.raises(InvalidArgument, match="by state"):
            make_learner(name, GAME, joint=True)


@pytest.mark.parametrize("name", ["algorithm-2", "-fixed", "active-fixed-fixed", ""])
def test_a_name_that_is_none_is_refused_with_those_that_are(name):
    for ask in (check_learner, lambda name: make_learner(name, GAME)):
        with pytest.raises(InvalidArgument, match=r"algorithm-1.*-fixed"):
            ask(name)


@pytest.mark.parametrize(
    "name", ["algorithm-1", "active", "committee", "max-margin-fixed", "algorithm-4"]
)
def test_a_model_file_is_played_by_each_kind_of_learner(name):
    run = learn(read_model("two-rooms"), episodes=1, learner=name)
    assert len(list(run)) == 1
    assert run.quantities["final_regret"] >= 0
    assert ("truth_feasible" in run.quantities) == (name in ("algorithm-1", "active", "committee"))
    assert ("rows" in run.quantities) == (name != "algorithm-4")
    assert ("beta" in run.quantities) == (name == "algorithm-4")


def test_an_estimate_is_tried_in_unseen_games_where_that_is_asked(tmp_path):
    model = Path(__file__).parents[2] / "models" / "learning" / "elsewhere.toml"
    text = model.read_text(encoding="utf-8")
    for unseen, message in (("-1", "is -1; allowed 0 … 1000"), ("10000", "is 10000")):
        path = tmp_path / "elsewhere.toml"
        path.write_text(text.replace("unseen = 20", f"unseen = {unseen}"), encoding="utf-8")
        with pytest.raises(FileProblem, match=f"question.unseen: {message}"):
            read_model(path)
    path.write_text(text.replace("unseen = 20", "unseen = 0"), encoding="utf-8")
    for file, asked in ((model, True), (path, False)):
        run = learn(read_model(file), episodes=1)
        assert len(list(run)) == 1
        assert ("loss_elsewhere" in run.quantities) == asked
