"""Files that are written: the game that comes back is the one that went out."""

import gzip
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import iirl_opt as iirl
from iirl_opt.errors import FileProblem, IIRLError, InvalidArgument, InvalidGame, UnknownLabel
from iirl_opt.formats import (
    KINDS,
    ImportedGame,
    read_dpomdp,
    read_file,
    read_pomdp,
    write_dpomdp,
    write_file,
    write_pomdp,
)
from iirl_opt.formats.comparison import differences
from iirl_opt.formats.dpomdp.writing import KEYWORDS, NAME
from iirl_opt.formats.names import distinct_names

BRIDGE = Path(iirl.library.shipped_models()) / "learning" / "bridge.dpomdp"
AWKWARD = [
    "a room",
    "a_room",
    "a:b",
    "*",
    "#",
    "ü",
    "'q'",
    '"',
    "",
    "\n",
    "T",
    "uniform",
    "0",
    "s0",
]

numbers = st.integers(0, 5) | st.sampled_from([10**12, 10**30, 3 * 7**20])
floats = st.floats(-1e6, 1e6).map(lambda x: x + 0.0)
labels = st.sampled_from(AWKWARD) | st.text(max_size=4) | st.integers(0, 3) | st.tuples(st.text())


@st.composite
def problems(draw, leaders=2):
    """Draw a game with one reward, whose labels and numbers are as odd as they may be."""
    n, n_a, n_b = draw(st.integers(1, 3)), draw(st.integers(1, leaders)), draw(st.integers(1, 2))
    rows = []
    for _ in range(n * n_a * n_b):
        row = draw(st.lists(numbers, min_size=n, max_size=n).filter(any))
        rows.append(row)
    kernel = np.array(rows, dtype=object).reshape(n, n_a, n_b, n)
    if draw(st.booleans()):
        kernel = kernel.astype(float) / kernel.astype(float).sum(axis=-1, keepdims=True)
    names = {
        key: draw(st.lists(labels, min_size=k, max_size=k, unique=True))
        for key, k in (("states", n), ("leader_actions", n_a), ("follower_actions", n_b))
        if draw(st.booleans())
    }
    start = draw(st.lists(st.integers(0, 7), min_size=n, max_size=n).filter(any))
    discount = draw(st.sampled_from([0, "1/2", "0.999", 0.9, Fraction(7, 1024)]))
    game = iirl.TwoAgentMDP(kernel, discount, start, **names)
    shape = draw(st.sampled_from([game.shape[:1], game.shape]))
    size = int(np.prod(shape))
    entries = draw(st.lists(floats, min_size=size, max_size=size))
    reward = draw(st.sampled_from(["r", "r", "a [1]", *AWKWARD]))
    marks = {
        name: np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
        for name in draw(st.lists(st.sampled_from(AWKWARD), max_size=2, unique=True))
    }
    return ImportedGame(game, {reward: np.array(entries).reshape(shape)}, marks)


def plain(game):
    """Return a game without its names, for which those of a format may stand."""
    return game.fingerprint, game.shape


def same_reward(one, two, shape):
    wide = [r if r.ndim == 3 else np.broadcast_to(r[:, None, None], shape) for r in (one, two)]
    return np.array_equal(*wide)


def test_reset_leads_to_the_start_in_a_file_of_one_agent(tmp_path):
    head = "discount: 0.5\nvalues: reward\nstates: a b\nactions: x y\nstart: 0.25 0.75\n"
    for text, wanted in (
        ("T: x identity\nT: y reset\n", [[[1, 0], [1, 3]], [[0, 1], [1, 3]]]),
        ("T: * identity\nT: y : b\nreset\n", [[[1, 0], [1, 0]], [[0, 1], [1, 3]]]),
    ):
        (tmp_path / "m.pomdp").write_text(head + text)
        game = read_pomdp(tmp_path / "m.pomdp").game
        assert game == iirl.TwoAgentMDP(
            np.array(wanted)[:, None],
            "1/2",
            [1, 3],
            states="ab",
            leader_actions=["-"],
            follower_actions="xy",
        )
    (tmp_path / "m.pomdp").write_text(f"{head}T: x : a : b reset\n")
    with pytest.raises(FileProblem, match="found 'reset'; allowed a probability"):
        read_pomdp(tmp_path / "m.pomdp")


@given(problems(), st.sampled_from([".dpomdp", ".dpomdp.gz"]))
@settings(deadline=None, max_examples=50)
def test_what_goes_out_as_dpomdp_comes_back_exactly(tmp_path_factory, problem, suffix):
    path = tmp_path_factory.mktemp("out") / f"game{suffix}"
    write_file(problem, path)
    back = read_file(path)
    assert plain(back.game) == plain(problem.game)
    assert same_reward(back.reward(), problem.reward(), problem.game.shape)
    for mine, theirs in zip(problem.game.action_labels, back.game.action_labels, strict=True):
        told = [i for i, name in enumerate(mine) if name == theirs[i]]
        assert all(i in told for i, x in enumerate(mine) if str(x) not in KEYWORDS and is_name(x))


@given(problems(leaders=1))
@settings(deadline=None, max_examples=25)
def test_what_goes_out_as_pomdp_comes_back_exactly(tmp_path_factory, problem):
    path = tmp_path_factory.mktemp("out") / "game.pomdp"
    write_file(problem, path)
    back = read_file(path)
    assert plain(back.game) == plain(problem.game)
    assert same_reward(back.reward(), problem.reward(), problem.game.shape)
    assert back.game.leader_actions == ("-",)


@given(problems(), st.sampled_from([kind for kind in KINDS if kind.writer]))
@settings(deadline=None, max_examples=50)
def test_a_kind_of_file_gives_back_what_it_took(tmp_path_factory, problem, kind):
    path = tmp_path_factory.mktemp("out") / f"game{kind.suffixes[0]}"
    try:
        kind.write(problem, path)
    except IIRLError:
        assert not path.exists()
        return
    discount = problem.game.exact_discount if "discount" in kind.loses else None
    found = differences(problem, kind.read(path, discount=discount))
    # A table of text says floats by decimals.
    assert kind.name == "csv" or found.rounded == ()
    kept = [name for name, marks in problem.labels.items() if marks.any() or kind.name != "drn"]
    lost = [name for name in kept if f"label {name!r}: is lost" in found.lost]
    assert lost == [] or "labels" in kind.loses
    two = "leader" in kind.loses and problem.game.n_leader_actions > 1
    assert found.another == () or two


def is_name(label):
    return isinstance(label, str) and bool(NAME.fullmatch(label))


def test_costs_and_rewards_for_entering_a_state_stay_what_they_are(tmp_path):
    text = BRIDGE.read_text().replace("values: reward", "values: cost")
    (tmp_path / "in.dpomdp").write_text(text)
    problem = read_dpomdp(tmp_path / "in.dpomdp")
    write_dpomdp(problem, tmp_path / "out.dpomdp")
    back = read_dpomdp(tmp_path / "out.dpomdp")
    assert (back.values, back.reward_form) == ("cost", problem.reward_form)
    assert np.array_equal(back.reward(), problem.reward())


# What the formats do not hold


def game(kernel=((1, 2), (1, 0)), discount="1/2", **more):
    return iirl.TwoAgentMDP([[[row]] for row in kernel], discount, **more)


def test_a_discount_that_is_no_decimal_is_refused_or_rounded(tmp_path):
    path = tmp_path / "out.dpomdp"
    with pytest.raises(InvalidGame, match=r"discount is 1/3; allowed a decimal.*rounded=True"):
        write_dpomdp(game(discount="1/3"), path)
    assert not path.exists()
    write_dpomdp(game(discount="1/3"), path, rounded=True)
    assert read_dpomdp(path).game.discount == 1 / 3


def test_rows_of_too_many_digits_are_refused_or_rounded(tmp_path):
    wide, path = game([[1, 10**95], [1, 0]], states=["a", "b"]), tmp_path / "out.dpomdp"
    with pytest.raises(InvalidGame, match=r"P\[s='a', a=0, b=0\] takes numbers of more digits"):
        write_dpomdp(wide, path)
    write_dpomdp(wide, path, rounded=True)
    assert np.array_equal(read_dpomdp(path).game.kernel, wide.kernel)
    with pytest.raises(InvalidGame, match="start takes"):
        write_dpomdp(game(start=[1, 10**95]), path)


def test_of_several_rewards_one_is_chosen(tmp_path):
    path = tmp_path / "out.dpomdp"
    two = ImportedGame(game(), {"r": np.array([0.1, 0.2]), "q": np.array([1e-310, -1e15])})
    with pytest.raises(InvalidArgument, match="2 rewards"):
        write_dpomdp(two, path)
    with pytest.raises(UnknownLabel):
        write_dpomdp(two, path, reward="p")
    write_dpomdp(two, path, reward="q")
    assert read_dpomdp(path).reward().tolist() == [1e-310, -1e15]
    write_dpomdp(game(), path)
    assert read_dpomdp(path).reward().tolist() == [0, 0]


def test_a_leader_with_a_choice_is_in_no_file_of_one_agent(tmp_path):
    problem = read_dpomdp(BRIDGE)
    with pytest.raises(InvalidGame, match="leader_actions are 2; allowed 1"):
        write_pomdp(problem, tmp_path / "out.pomdp")


def test_names_are_told_apart_and_said(tmp_path):
    named = game(states=["a room", "a_room"], leader_actions=["T"], follower_actions=[("x", 1)])
    path = tmp_path / "out.dpomdp"
    write_dpomdp(named, path)
    assert read_dpomdp(path).game.states == ("a_room_2", "a_room")
    comments = re.findall("^# .* is written .*", path.read_text(), re.M)
    assert comments == [
        "# state 'a room' is written a_room_2",
        "# leader action 'T' is written T_2",
        "# follower action ('x', 1) is written x_1",
    ]


@given(st.lists(labels, unique=True, max_size=8))
def test_distinct_names_are_names_and_distinct(given_labels):
    names = distinct_names(given_labels, "state", NAME, KEYWORDS)
    assert len(set(names)) == len(names)
    for label, name in zip(given_labels, names, strict=True):
        assert NAME.fullmatch(name)
        assert name not in KEYWORDS
        assert name == label or not is_name(label) or label in KEYWORDS


# Files of one agent

TIGER = """\
# the tiger of Cassandra, Kaelbling & Littman (1994)
discount: 0.95
values: reward
states: tiger-left
  tiger-right
actions: listen open-left open-right
observations: tiger-left tiger-right
T: listen
identity
T: open-left
uniform
T: open-right : tiger-left
0.5 0.5
T: open-right : tiger-right : * 0.5
O: listen
0.85 0.15
0.15 0.85
R: listen : * : * : * -1
R: open-left : tiger-left : * : * -100
R: open-left : tiger-right
10 10
10 10
R: 2 : 0 : * : * 10
R: open-right : tiger-right : * : * -100
"""


@pytest.mark.parametrize("suffix", [".pomdp", ".POMDP", ".pomdp.gz"])
def test_the_observed_part_of_a_problem_of_one_agent(tmp_path, suffix):
    path = tmp_path / f"tiger{suffix}"
    path.write_bytes(gzip.compress(TIGER.encode()) if suffix.endswith("gz") else TIGER.encode())
    problem = read_file(path)
    assert problem.game.shape == (2, 1, 3)
    assert problem.game.states == ("tiger-left", "tiger-right")
    assert problem.game.exact_discount == Fraction(19, 20)
    assert problem.game.kernel[:, 0].tolist() == [
        [[1, 0], [0.5, 0.5], [0.5, 0.5]],
        [[0, 1], [0.5, 0.5], [0.5, 0.5]],
    ]
    assert problem.reward()[:, 0].tolist() == [[-1, -100, 10], [-1, 10, -100]]
    assert problem.game.exact_start == (Fraction(1, 2), Fraction(1, 2))
    other = read_pomdp(path, "1/2", agent="leader")
    assert other.game.shape == (2, 3, 1)
    assert other.game.leader_actions == problem.game.follower_actions
    assert np.array_equal(other.reward()[:, :, 0], problem.reward()[:, 0])


@pytest.mark.parametrize(
    ("old", "new", "said", "line"),
    [
        ("actions: listen open-left open-right\n", "", "'actions:' is missing", None),
        ("values: reward", "values: reward\nvalues: cost", "found 'values:' again", 4),
        ("T: listen\n", "wait: 1\nT: listen\n", "found 'wait:'", 8),
        ("-100\n", "x\n", "found 'x'; allowed a finite number", 19),
        ("* -100\n", "tiger-left -100\n", "depends on the joint observation", 19),
        ("R: 2 : 0", "R: 3 : 0", "no action is called '3'", 23),
        (": tiger-right : * 0.5", ": tiger-right : * 0.7", "sums to 1.4", 14),
        ("discount: 0.95", "discount: 1", "discount=", 2),
        ("T: open-left\nuniform\n", "", r"under joint action .* is missing", None),
        ("T: listen\n", "start: nowhere\nT: listen\n", "no state is called .nowhere", 8),
    ],
)
def test_a_fault_in_a_file_of_one_agent_is_named_with_its_line(tmp_path, old, new, said, line):
    path = tmp_path / "tiger.pomdp"
    assert old in TIGER
    path.write_text(TIGER.replace(old, new, 1))
    with pytest.raises(FileProblem, match=said) as caught:
        read_pomdp(path)
    assert caught.value.line == line


def test_a_column_is_that_of_the_file(tmp_path):
    path = tmp_path / "tiger.pomdp"
    path.write_text(TIGER.replace("* : * -100", "* : *    bad", 1))
    with pytest.raises(FileProblem) as caught:
        read_pomdp(path)
    row = path.read_text().split("\n")[caught.value.line - 1]
    assert row[caught.value.column - 1 :] == "bad"
