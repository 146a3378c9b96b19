"""DRN files: every form of them, every refusal, and what is written read again."""

import sys
from fractions import Fraction

import numpy as np
import pytest
from doors import same

import iirl_opt as iirl
from iirl_opt.errors import FileProblem, InvalidArgument, InvalidReward, MissingExtra
from iirl_opt.formats import (
    ImportedGame,
    from_stormpy,
    read_drn,
    read_file,
    read_prism,
    write_drn,
)

HEAD = """// Exported by storm
@type: MDP
@value_type: rational
@parameters

@reward_models
steps cost
@nr_states
3
@nr_choices
5
@model
"""
BODY = """state 0 [1, 0] init
//[x=0	& !b]
	action send [0, 1/3]
		0 : 1/3
		1 : 2/3
	action send [0, 0]
		2 : 1
state 1 [0.1, 0] "two words" other
//[x=1	& b]
	action __NOLABEL__ [0, 0]
		2 : 0.75
		0 : .25
	action __NOLABEL__ [0, -2]
		1 : 1
state 2 [0, 0] other
//[x=2	& ]
	action 0 [0, 0]
		2 : 1
"""


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a text as a DRN file."""

    def reader(text, discount=0.5, **more):
        path = tmp_path / "m.drn"
        path.write_text(text, encoding="utf-8")
        return read_drn(path, discount, **more)

    return reader


def test_a_file_is_read_with_all_that_it_says(read):
    found = read(HEAD + BODY, "9/10")
    game = found.game
    assert game.states == ("x=0,b=false", "x=1,b=true", "x=2,b=true")
    assert game.follower_actions == ("send", "send#2", "choice 0", "choice 1")
    assert found.available[:, 0].tolist() == [[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    rows = game.rational.rows.dense().reshape(*game.shape, 3)
    assert rows[0, 0, 0].tolist() == [Fraction(1, 3), Fraction(2, 3), 0]
    assert rows[1, 0, 2].tolist() == [Fraction(1, 4), 0, Fraction(3, 4)]
    assert found.rewards["steps"].tolist() == [1, 0.1, 0]
    assert found.rewards["cost"][:2, 0].tolist() == [[1 / 3, 0, 1 / 3, 1 / 3], [0, 0, 0, -2]]
    assert {name: marks.tolist() for name, marks in found.labels.items()} == {
        "init": [1, 0, 0],
        "two words": [0, 1, 0],
        "other": [0, 1, 1],
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@value_type: rational\n", ""),
        ("@parameters\n\n", ""),
        ("@nr_choices\n5\n", ""),
        ("// Exported by storm\n", "\ufeff"),
        ("\n", "\r\n"),
        ("\t", "    "),
        ("@reward_models", "@placeholders\n$0 : 1/3\n$1 : 2/3\n@reward_models"),
        (" : 1\n", " : 1.0e0\n"),
    ],
)
def test_what_says_the_same_is_read_alike(read, old, new):
    text = (HEAD + BODY).replace(old, new)
    if "$0" in new:
        text = (
            text.replace("] \n", "]\n")
            .replace(" 1/3\n\t\t1", " $0\n\t\t1")
            .replace(", 1/3]", ", $0]")
        )
    same(read(text), read(HEAD + BODY))


@pytest.mark.parametrize(
    ("models", "names"), [("\n", ["reward"]), ("r \n", ["r"]), (" r \n", ["reward", "r"])]
)
def test_a_reward_without_a_name_is_called_reward(read, models, names):
    values = ", ".join("1" for _ in names)
    body = f"state 0 [{values}] init\n action 0 [{values}]\n  0 : 1\n"
    text = f"@type: MDP\n@reward_models\n{models}@nr_states\n1\n@model\n{body}"
    assert {k: r.ravel().tolist() for k, r in read(text).rewards.items()} == {k: [2] for k in names}


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("MDP", "CTMC", None, "holds a CTMC, of continuous time"),
        ("MDP", "POMDP", None, "holds a POMDP, partially observed"),
        ("MDP", "Markov Automaton", None, "holds a Markov Automaton, of continuous time"),
        ("MDP", "MDQ", None, "holds MDQ; allowed MDP, DTMC or SMG"),
        ("MDP", "DTMC", None, "a DTMC with two actions in a state"),
        ("@type: MDP\n", "", None, "holds no @type"),
        ("rational", "double-interval", None, "holds double-interval probabilities"),
        ("rational", "parametric", None, "holds parametric probabilities"),
        ("@parameters\n", "@parameters\np q\n", None, "has the parameters p q"),
        ("steps cost", "cost cost", None, "two reward models called 'cost'"),
        ("@nr_states\n3", "@nr_states\n4", None, "has 3 states; its head says 4"),
        ("@nr_states\n3", "@nr_states\n0", None, "@nr_states 0; allowed a whole number from 1"),
        ("@nr_states\n3\n", "", None, "@nr_states missing"),
        ("@model\n", "", None, "has no @model"),
        ("@model\n", "@type: MDP\n@model\n", 12, "found @type again"),
        ("state 1", "state 7", 20, "found state 7; allowed 1"),
        ("[0.1, 0]", "[0.1]", 20, "found 1 rewards; allowed 2"),
        ("[0.1, 0]", "[x, 0]", 20, "found 'x' as a reward"),
        ("2/3", "1/2", 15, "this action sums to 0.83333"),
        ("2/3", "2/0", 15, "found '2/0' as a probability"),
        ("2/3", "[0.1,0.2]", 15, "as a probability of this action"),
        ("1 : 2/3", "0 : 2/3", 15, "a successor twice"),
        ("1 : 2/3", "3 : 2/3", 17, "found '3 : 2/3'; allowed 'state"),
        ("1 : 2/3", "1 2/3", 17, "found '1 2/3'"),
        ("state 0 [1, 0] init\n", "", 14, "found an action; allowed after a state"),
        ("2 : 1\n", "2 : 1\n\tact north\n", 20, "found 'act north'"),
    ],
)
def test_the_first_wrong_line_is_named(read, old, new, line, said):
    with pytest.raises(FileProblem, match=said) as caught:
        read((HEAD + BODY).replace(old, new, 1))
    assert caught.value.line == line


def test_rewards_beyond_all_floats_are_refused(read):
    for word in ("1e999", "9" * 400, "1e300"):
        with pytest.raises(InvalidReward):
            read((HEAD + BODY).replace("[0.1, 0]", f"[{word}, 0]"))


def test_a_choice_without_successors_is_no_choice(read):
    with pytest.raises(FileProblem, match="this action sums to 0"):
        read((HEAD + BODY).replace("\t\t2 : 1\nstate 1", "state 1"))


def test_what_is_written_is_read_again_exactly(read, tmp_path):
    found = read(HEAD + BODY)
    out = write_drn(found, tmp_path / "out.drn")
    same(read_drn(out, 0.5), found)
    same(read_file(out, discount=0.5), found)
    parted = read(HEAD + BODY, leader=["send"])
    same(read_drn(write_drn(parted, out), 0.5, leader=["send"]), parted)


def test_programs_need_an_extra_and_other_files_none(read, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "stormpy", None)  # as where it is not installed
    assert read(HEAD + BODY).game.n_states == 3
    for door in (read_prism, from_stormpy):
        with pytest.raises(MissingExtra, match=r"GPL-3.0.*Linux and macOS.*iirl-opt\[prism\]"):
            door(tmp_path / "any.nm" if door is read_prism else Sparse(), 0.5)


class Sparse:
    """What looks like a model of stormpy's."""

    is_sparse_model, nr_states, transition_matrix = True, 1, None


def test_names_that_are_no_values_of_variables_become_numbers(tmp_path):
    game = iirl.TwoAgentMDP([[[[0, 1]]], [[[3, 1]]]], "1/2", [0, 1], states=["x=1", "hall"])
    back = read_drn(write_drn(ImportedGame(game, {"r": [0.1, 1e-9]}), tmp_path / "x.drn"), "1/2")
    assert back.game.states == (0, 1)
    assert back.game.fingerprint == game.fingerprint
    assert back.reward().tolist() == [0.1, 1e-9]
    with pytest.raises(InvalidArgument, match=r"rewards\['a b'\] cannot be written"):
        write_drn(ImportedGame(game, {"a b": np.ones(2)}), tmp_path / "y.drn")
    assert not (tmp_path / "y.drn").exists()
