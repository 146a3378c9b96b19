"""What differs between a problem and what a file makes of it is said, each thing by itself."""

from fractions import Fraction

import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.errors import FileProblem, InvalidGame
from iirl_opt.formats import ImportedGame
from iirl_opt.formats.comparison import differences, write_compared

WEIGHTS = [[[[1, 9]], [[0, 1]]], [[[1, 0]], [[1, 1]]]]


def problem(weights=WEIGHTS, discount="9/10", start=None, rewards=None, **more):
    names = {key: more.pop(key) for key in ("states", "leader_actions") if key in more}
    game = iirl.TwoAgentMDP(weights, discount, start, **names)
    return ImportedGame(game, {"r": np.array([0.0, 1.0])} if rewards is None else rewards, **more)


NEAR = np.nextafter(1.0, 2)
ONE = problem()


def test_nothing_differs_between_equals_of_other_forms():
    wide = {"r": np.broadcast_to(ONE.reward()[:, None, None], (2, 2, 1))}
    for other in (problem(), problem(rewards=wide), problem(available=np.ones((2, 2, 1), bool))):
        assert differences(ONE, other) == differences(other, ONE)
        assert differences(ONE, other) == type(differences(ONE, other))()


@pytest.mark.parametrize(
    ("other", "part", "said"),
    [
        (problem(states=["0", 1]), "lost", "names of states: 0 is '0'"),
        (problem(leader_actions=["x", "y"]), "lost", "names of leader actions: 0 is 'x', 1 is 'y'"),
        (problem(rewards={}), "lost", "reward 'r': is lost"),
        (problem(rewards={"q": ONE.reward()}), "lost", "reward 'r': is called 'q'"),
        (problem(rewards={"r": [0, 1], "q": [0, 0]}), "lost", "reward 'q', 0 everywhere: stands"),
        (problem(rewards={"r": [0, NEAR]}), "rounded", "reward 'r': rounded, by up to 2.22e-16"),
        (problem(rewards={"r": [0, 2]}), "another", "reward 'r': off by up to 1"),
        (problem(discount=0.9), "rounded", "discount: rounded, by up to 2.22e-16"),
        (problem(discount="0.91"), "another", "discount: off by up to 0.111"),
        (problem(start=[1, 2]), "another", "start: off by up to 0.167"),
        (
            problem(start=[0.5, NEAR / 2]),
            "rounded",
            "start: rounded, by",
        ),
        (
            problem(np.array(WEIGHTS) / np.sum(WEIGHTS, axis=-1, keepdims=True)),
            "rounded",
            "probabilities: rounded, by less than floats tell",
        ),
        (problem([[[[1, 3]], [[0, 1]]], WEIGHTS[1]]), "another", "probabilities: off by up to"),
        (problem([[[[1, 0]]], [[[1, 1]]]]), "another", "are (2, 1, 1), not (2, 2, 1)"),
    ],
)
def test_each_thing_that_differs_is_said(other, part, said):
    found = differences(ONE, other)
    (line,) = getattr(found, part)
    assert said in line
    assert sum(map(len, (found.lost, found.rounded, found.another))) == 1


def test_a_small_change_near_a_discount_of_one_is_another_game():
    near = [problem(discount=1 - Fraction(k, 10**13)) for k in (1, 2)]
    assert differences(*near).another == ("discount: off by up to 0.5",)


def test_labels_and_choices_are_compared():
    marks = np.array([True, False])
    some = np.array([[[True], [False]], [[True], [True]]])
    full = problem(labels={"done": marks}, available=some)
    assert differences(full, full).lost == ()
    assert len(differences(full, ONE).lost) == 2
    assert differences(full, problem(labels={"done": ~marks}, available=some)).lost == (
        "label 'done': is lost",
    )


def test_another_game_is_never_left_on_the_disk(tmp_path):
    path = tmp_path / "out.txt"
    for other, error, said in (
        (problem(discount="0.91"), FileProblem, "cannot hold this problem .discount: off"),
        (problem(discount=0.9), InvalidGame, "discount would be rounded.*--round"),
    ):
        with pytest.raises(error, match=said):
            write_compared(ONE, path, lambda part: part.write_text("x"), lambda _, o=other: o)
        assert not list(tmp_path.iterdir())


def test_files_that_belong_together_take_their_places_together(tmp_path):
    def write(part):
        part.write_text("new")
        part.with_suffix(".lab").write_text("new")

    path, beside = tmp_path / "out.tra", tmp_path / "out.lab"
    beside.write_text("old")
    with pytest.raises(FileProblem, match=r"out\.lab: is there already"):
        write_compared(ONE, path, write, lambda _: ONE)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("out.lab", "old")]
    found, written = write_compared(ONE, path, write, lambda _: ONE, replace=True)
    assert (found.lost, sorted(written)) == ((), [beside, path])
    assert beside.read_text() == path.read_text() == "new"
