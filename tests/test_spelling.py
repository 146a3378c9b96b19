"""Misspelt names: wherever a name is chosen from a list, the nearest is said."""

import pytest
from baselines import ROOMS

import iirl_opt as iirl
from iirl_opt.errors import IIRLError
from iirl_opt.experiments.figure import find_figure
from iirl_opt.formats.kinds import named_kind
from iirl_opt.library.learners import LEARNERS, check_learner
from iirl_opt.spelling import allowed_names, nearest

NAMES = ["maze-maker", "two-rooms", "Big_Maze", "a b"]


@pytest.mark.parametrize(
    "word",
    ["maze-makr", "MAZE-MAKER", "maze_maker", "maze maker", " maze-maker", "mazemaker", "maz"],
)
def test_a_slip_of_the_pen_has_a_nearest_name(word):
    assert nearest(word, NAMES) == "maze-maker"


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_nearest_to_itself_and_to_itself_in_capitals(name):
    assert nearest(name, NAMES) == nearest(name.upper(), NAMES) == name


@pytest.mark.parametrize("word", ["", "soup", "x" * 10**6, "maze" * 10**4, None, 7, ("z",)])
def test_what_is_near_to_nothing_has_none(word):
    assert nearest(word, NAMES) is None
    assert allowed_names(word, NAMES) == ", ".join(NAMES)


def test_names_are_what_they_are_and_not_their_text():
    assert nearest("(1, 2)", [(1, 1), (1, 2)]) == (1, 2)
    assert allowed_names("x", []).startswith("none")


def test_a_long_list_begins_with_the_nearest_and_ends_with_its_count():
    said = allowed_names("room-70", [f"room-{i}" for i in range(100)])
    assert said.startswith("room-70 (the nearest), room-0, ")
    assert said.endswith("… (100 in all)")


@pytest.mark.parametrize(
    ("choose", "meant"),
    [
        *((lambda name=name: check_learner(name[1:]), name) for name in LEARNERS),
        (lambda: check_learner("actve-fixed"), "active"),
        (lambda: find_figure("propositon-1"), "proposition-1"),
        (lambda: find_figure(3).cells("papr", 0), "paper"),
        (lambda: named_kind("dpomp"), "dpomdp"),
        (lambda: iirl.OptimalFollower(ties="randon"), "random"),
        (lambda: iirl.HiGHS(method="simplx"), "simplex"),
    ],
)
def test_whoever_chooses_from_a_list_is_told_the_nearest(choose, meant):
    with pytest.raises(IIRLError, match=rf"{meant}\S* \(the nearest\)"):
        choose()


@pytest.mark.parametrize("room", [room for room in ROOMS.values() if hasattr(room, "__path__")])
def test_a_name_that_a_room_has_not_is_answered_by_the_nearest(room):
    """Of a room that is one file Python itself says the nearest, in the traceback."""
    for name in room.__all__[:3]:
        wrong = name[:-1] + "zz"
        with pytest.raises(AttributeError, match=rf"has no attribute '{wrong}'; .*\w") as said:
            getattr(room, wrong)
        assert said.value.name == wrong
    with pytest.raises(AttributeError) as said:
        _ = room.soup_of_nothing
    assert ";" not in str(said.value)


@pytest.mark.parametrize(
    ("room", "wrong", "right"),
    [
        (iirl.rewards, "analytic_center", "'analytic_centre'"),
        (iirl, "analytic_center", "iirl_opt.rewards.analytic_centre"),
        (iirl.commitment, "FeasibleRewards", "iirl_opt.FeasibleRewards"),
        (iirl.learn, "ChebyshevCenter", "'ChebyshevCentre'"),
        (iirl, "FeasableRewards", "'FeasibleRewards'"),
    ],
)
def test_american_spellings_and_names_of_other_rooms_are_understood(room, wrong, right):
    with pytest.raises(AttributeError, match=f"{right}$"):
        getattr(room, wrong)
