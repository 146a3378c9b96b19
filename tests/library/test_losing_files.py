"""Model files of partners that lose something, and of preferences: read, answered and written."""

from fractions import Fraction

import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt import library
from iirl_opt.errors import FileProblem, IIRLError
from iirl_opt.observation import Suboptimality, record_trajectory
from iirl_opt.rewards import prefer

ANY = np.ones((2, 1))
GAME = iirl.TwoAgentMDP(
    [[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]],
    "1/2",
    start=[1, 0],
    states=["hall", "attic"],
    follower_actions=["stay", "up"],
)
STAYED, WENT = np.eye(2)[[0, 0]], np.eye(2)[[1, 0]]


def walk(*steps):
    """A trajectory of states and follower actions."""
    return record_trajectory(GAME, ANY, [(s, 0, b) for s, b in steps])


def made(**given):
    """A problem of the family, with the answer of one who stayed and loses a third."""
    question = {"family": "feasible_rewards", "ask": "maximise", "objective": [0, 1]}
    seen = iirl.observe(GAME, ANY, STAYED, suboptimality=Suboptimality("1/3"))
    return library.make_model(GAME, **{"question": question, "observations": [seen], **given})


@pytest.mark.parametrize(
    "said",
    [
        Suboptimality("1/3"),
        Suboptimality(0.25, start=True),
        Suboptimality(share=Fraction(1, 7)),
        None,
    ],
)
def test_what_may_be_lost_survives_a_file(said, tmp_path):
    problem = made(observations=[iirl.observe(GAME, ANY, STAYED, suboptimality=said)])
    again = library.read_model(library.write_model(problem, tmp_path / "a.toml"))
    assert again.observations == problem.observations
    assert library.answer(again).quantities == library.answer(problem).quantities


def test_what_may_be_lost_is_part_of_the_digest():
    digests = {
        made(
            observations=[iirl.observe(GAME, ANY, STAYED, suboptimality=loss)],
            preferences=[prefer(GAME, (ANY, WENT), (ANY, STAYED), by=by)],
        ).digest
        for loss in (None, 0.1, 0.2)
        for by in (0, 1)
    }
    assert len(digests) == 6


def test_preferences_survive_a_file(tmp_path):
    long, short = walk(("hall", "stay"), ("hall", "up"), ("attic", "stay")), walk(("attic", "up"))
    said = [
        prefer(GAME, (ANY, WENT), (ANY, STAYED), by=Fraction(1, 3)),
        prefer(GAME, short, long, absorbed=True),
    ]
    problem = made(preferences=said)
    again = library.read_model(library.write_model(problem, tmp_path / "a.toml"))
    assert again.preferences == tuple(said)
    assert len({*again.preferences, *said}) == 2
    assert len(again.feasible_rewards().seen) == 3
    assert library.answer(again).quantities == library.answer(problem).quantities


def test_a_correlated_policy_has_no_table():
    mixed = np.full((2, 2, 2), [[0.5, 0], [0, 0.5]])
    game = iirl.TwoAgentMDP(np.full((2, 2, 2, 2), 0.5), "1/2")
    said = prefer(game, mixed, np.full((2, 2, 2), 0.25))
    question = {"family": "feasible_rewards", "ask": "maximise", "objective": [0, 1]}
    with pytest.raises(IIRLError, match="correlated"):
        library.make_model(game, question=question, preferences=[said])


def test_compatibility_and_price_are_asked_in_files():
    told = library.answer(
        made(question={"family": "feasible_rewards", "ask": "compatibility", "target": [0, 2]})
    ).quantities
    assert told["compatibility"] == pytest.approx(1)
    assert told["loss[1]"] == pytest.approx(2)
    priced = {"family": "feasible_rewards", "ask": "maximise", "objective": [0, 1], "price": 0.1}
    assert library.answer(made(question=priced)).quantities["reward[attic]"] == pytest.approx(1)
    with pytest.raises(FileProblem, match=r"question\.price"):
        made(question={"family": "feasible_rewards", "ask": "contains", "price": 1.0})


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        *(("price", x) for x in (0.0, -1.0)),
        *(("bound", x) for x in (0.0, -1.0)),
        *(("penalty", x) for x in (-1.0, -0.1)),
    ],
)
def test_a_number_of_a_question_outside_its_range_is_refused_by_its_key(key, wrong):
    question = {"family": "feasible_rewards", "ask": "maximise", "objective": [0, 1], key: wrong}
    with pytest.raises(FileProblem, match=rf"question\.{key}: is {wrong}; allowed a finite"):
        made(question=question)


def test_a_share_in_a_box_is_refused_by_its_key():
    seen = [iirl.observe(GAME, ANY, STAYED, suboptimality=Suboptimality(share="1/4"))]
    for ask in ("maximise", "nearest"):
        question = {"family": "feasible_rewards", "ask": ask, "domain": "box"}
        with pytest.raises(FileProblem, match=r"question\.domain: is 'box', beside a share"):
            made(question=question, observations=seen)


def test_contradictions_name_what_may_be_lost_and_what_is_preferred():
    said = prefer(GAME, (ANY, WENT), (ANY, STAYED), by=0.5)  # and the loss is at most a third
    problem = made(preferences=[said])
    answer = library.answer(problem)
    assert answer.quantities["infeasible"] == 1
    rows = answer.evidence["rows"]
    assert {(row["episode"], row["state"], row["action"]) for row in rows} == {
        (1, "hall", None),
        (2, None, None),
    }
    told = problem.question.against(answer)
    assert told[0].startswith("episode 2 (multiplier") or told[1].startswith("episode 2 (multi")
    assert any(line.startswith("episode 1, hall (multiplier") for line in told)


@pytest.mark.parametrize("family", ["commitment", "learning", "bayesian", "affine_equivalence"])
def test_other_families_take_neither(family):
    asks = {"affine_equivalence": {"ask": "explains", "hypothesis": [0, 1]}}
    question = {"family": family, **asks.get(family, {})}
    reward = [0, 1]
    with pytest.raises(FileProblem, match="suboptimality"):
        made(question=question, reward=reward)
    said = prefer(GAME, (ANY, WENT), (ANY, STAYED))
    with pytest.raises(FileProblem, match="preference"):
        library.make_model(GAME, reward, question=question, preferences=[said])


@pytest.mark.parametrize("ask", ["dimension", "centre", "max_margin"])
def test_what_is_not_built_is_refused_by_the_file(ask):
    with pytest.raises(FileProblem, match="suboptimality"):
        made(question={"family": "feasible_rewards", "ask": ask})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('loss = "1/3"', "loss = -1", "observation[0]: loss is"),
        ("loss = ", "share = 2, loss = ", "observation[0]: share is"),
        ("loss = ", "share = 1, loss = ", "observation[0]: loss and share are both given"),
        ("loss = ", "lost = ", "lost"),
        ("by = ", "by = -", "preference[0]: by is"),
        ("[game]", "[game]\nhorizon = 2", "preference: is not read beside game.horizon"),
    ],
)
def test_faults_of_a_file_are_named(old, new, said, tmp_path):
    problem = made(preferences=[prefer(GAME, (ANY, WENT), (ANY, STAYED), by=0.5)])
    path = library.write_model(problem, tmp_path / "a.toml")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(FileProblem) as caught:
        library.read_model(path)
    assert said in str(caught.value)
