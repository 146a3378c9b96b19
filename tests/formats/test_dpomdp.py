"""Files in the `.dpomdp` format: real ones, every form of the syntax, every refusal."""

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from iirl_opt.errors import FileProblem, InvalidArgument, InvalidGame
from iirl_opt.formats import read_dpomdp
from iirl_opt.formats.dpomdp.declarations import read_header
from iirl_opt.formats.dpomdp.statements import split_statements
from iirl_opt.formats.dpomdp.tables import Tables
from iirl_opt.game.mdp import TwoAgentMDP

SHARED = Path(__file__).parents[2] / ".." / "shared" / "problems"
real = pytest.mark.skipif(not SHARED.is_dir(), reason="the real problem files are not here")

HEADER = """\
agents: 2
discount: 0.9
values: reward
states: hall goal
start: hall
actions:
open shut
go stay
observations:
2
dark light
"""
FIRST = HEADER.count("\n") + 1
STILL = "T: * : identity\n"


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a text and returns its path."""

    def write(text):
        path = tmp_path / "problem.dpomdp"
        path.write_text(text, encoding="utf-8")
        return path

    return write


# Real files --------------------------------------------------------------------------------


@real
@pytest.mark.parametrize(
    ("name", "shape", "discount", "form", "influence"),
    [
        ("dectiger", (2, 3, 3), 1, "sab", (1, 1)),
        ("recycling", (4, 3, 3), 0.9, "sab", (1.6, 1.6)),
        ("GridSmall", (16, 5, 5), 0.9, "next state", (1.4, 1.4)),
        ("oneDoor_2_7_0.20_0.00_0_2", (65, 4, 4), 0.95, "s", (1.47, 1.47)),
        ("broadcastChannel", (4, 2, 2), 1, "sab", (0.2, 1.8)),
    ],
)
def test_real_files_have_the_sizes_and_facts_of_their_table(name, shape, discount, form, influence):
    path = SHARED / f"{name}.dpomdp"
    if discount == 1:
        with pytest.raises(FileProblem, match="discount=") as caught:
            read_dpomdp(path)
        assert path.read_text().split("\n")[caught.value.line - 1].startswith("discount: 1")
    problem = read_dpomdp(path, discount="19/20" if discount == 1 else None)
    assert problem.game.shape == shape
    assert problem.discount == discount
    assert problem.game.discount == (0.95 if discount == 1 else discount)
    assert problem.reward_form == form
    assert problem.reward().shape == (shape if form == "sab" else shape[:1])
    assert problem.game.influence() == pytest.approx(influence, abs=0.005)
    assert problem.game.is_rational
    assert problem.path == path


@real
def test_real_starts_and_rewards_are_those_of_the_files():
    door = read_dpomdp(SHARED / "oneDoor_2_7_0.20_0.00_0_2.dpomdp")
    assert door.game.start[door.game.states.index("l1_r3")] == 1
    assert door.reward()[door.game.states.index("bumped_bumped")] == -20
    tiger = read_dpomdp(SHARED / "dectiger.dpomdp", discount=0.5)
    assert tiger.game.start.tolist() == [0.5, 0.5]
    left = tiger.game.states.index("tiger-left")
    opens = (
        tiger.game.leader_actions.index("open-right"),
        tiger.game.follower_actions.index("listen"),
    )
    assert (tiger.reward()[left][opens], tiger.reward()[1 - left][opens]) == (9, -101)
    assert read_dpomdp(SHARED / "recycling.dpomdp").game.states == (0, 1, 2, 3)


@real
@pytest.mark.parametrize("discount", [None, 0.9])
def test_the_invalid_example_is_refused_at_its_first_wrong_word(discount):
    with pytest.raises(
        FileProblem, match=r"action of agent 2 is called '2'.*from 0 to 1"
    ) as caught:
        read_dpomdp(SHARED / "example.dpomdp", discount)
    assert (caught.value.line, caught.value.column) == (199, 6)


def optimal(kernel, reward, discount):
    """Return (V, Q) of one planner for both agents, reward (S, A, B), by value iteration."""
    values = np.zeros(len(kernel))
    for _ in range(20_000):
        q = reward + discount * kernel @ values
        new = q.max(axis=(1, 2))
        if abs(new - values).max() < 1e-13:
            return new, q
        values = new
    raise AssertionError("value iteration did not converge")


@real
def test_values_of_a_next_state_reward_come_back_in_the_convention_of_the_file():
    problem = read_dpomdp(SHARED / "GridSmall.dpomdp")
    game, kernel = problem.game, problem.game.kernel
    entering = np.zeros(16)
    entering[[0, 5, 10, 15]] = 1.0
    assert np.array_equal(problem.reward(), entering)
    in_file, q_file = optimal(kernel, kernel @ entering, 0.9)
    ours = np.broadcast_to(problem.reward()[:, None, None], game.shape)
    of_state, q_state = optimal(kernel, ours, 0.9)
    assert problem.file_values(of_state) == pytest.approx(in_file, abs=1e-10)
    assert not np.allclose(of_state, in_file)
    best_file = q_file > in_file[:, None, None] - 1e-9
    best_state = q_state > of_state[:, None, None] - 1e-9
    assert np.array_equal(best_file, best_state)
    assert not best_file.all()


# Transitions -------------------------------------------------------------------------------

HALF, FLIP, STAY = [[0.5, 0.5], [0.5, 0.5]], [[0, 1], [1, 0]], [[1, 0], [0, 1]]
EVERY = list(itertools.product((0, 1), (0, 1)))


@pytest.mark.parametrize(
    ("text", "joint", "block"),
    [
        ("T: open go : hall : goal : 1\nT: open go : hall : hall : 0", [(0, 0)], [[0, 1], [0, 1]]),
        ("T: 0 0 : 0 : 1 : 1\nT: 0 0 : 0 : 0 : 0.0", [(0, 0)], [[0, 1], [0, 1]]),
        ("T: shut 0 : 0 : * : .5", [(1, 0)], [[0.5, 0.5], [0, 1]]),
        ("T: 1 stay : * : * : 5.e-1", [(1, 1)], HALF),
        ("T: 2 : * : * : +0.5", [(1, 0)], HALF),
        ("T: * : * : * : 0.5", EVERY, HALF),
        ("T: * * : * : * : 0.5", EVERY, HALF),
        ("T: shut * : * : * : 0.5", [(1, 0), (1, 1)], HALF),
        ("T: * stay : * : * : 0.5", [(0, 1), (1, 1)], HALF),
        ("T: * 0: * :* : 0.5", [(0, 0), (1, 0)], HALF),
        ("T: open go : goal :\n0.25 0.75", [(0, 0)], [[1, 0], [0.25, 0.75]]),
        ("T: open go : goal : 0.25 0.75", [(0, 0)], [[1, 0], [0.25, 0.75]]),
        ("T: open go : * :\n0.25 0.75", [(0, 0)], [[0.25, 0.75], [0.25, 0.75]]),
        ("T: * stay : goal :\nuniform", [(0, 1), (1, 1)], [[1, 0], [0.5, 0.5]]),
        ("T: open go : hall : uniform", [(0, 0)], [[0.5, 0.5], [0, 1]]),
        ("T: open go :\n0 1\n1 0", [(0, 0)], FLIP),
        ("T: open * :\n0 1 # to the goal\n\n# and back\n\t1   0 ", [(0, 0), (0, 1)], FLIP),
        ("T: 3 : 0 1 1 0", [(1, 1)], FLIP),
        ("T: 3 :\n0 1 1 0", [(1, 1)], FLIP),
        ("T: 3 : 0 1\n1 0", [(1, 1)], FLIP),
        ("T: * :\nuniform", EVERY, HALF),
        ("T: * : uniform", EVERY, HALF),
        ("T: *\nuniform", EVERY, HALF),
        ("T: open go : goal : reset", [(0, 0)], [[1, 0], [1, 0]]),
        ("T: * stay :\nreset", [(0, 1), (1, 1)], [[1, 0], [1, 0]]),
        ("T: * : uniform\nT: open go :\nidentity", [(0, 1), (1, 0), (1, 1)], HALF),
        ("T: * : uniform\nT: * : 0 :\n1 0\nT: * : 1 : 0 1", EVERY, STAY),
    ],
)
def test_each_form_of_transitions_writes_its_rows_over_the_earlier_ones(file, text, joint, block):
    expected = np.tile(np.eye(2)[:, None, None, :], (1, 2, 2, 1))
    for a, b in joint:
        expected[:, a, b] = block
    game = read_dpomdp(file(HEADER + STILL + text + "\n")).game
    assert np.array_equal(game.kernel, expected)
    assert game.is_rational
    assert game.states == ("hall", "goal")
    assert (game.leader_actions, game.follower_actions) == (("open", "shut"), ("go", "stay"))


def test_the_last_agent_runs_fastest_in_a_joint_index(file):
    sized = HEADER.replace("go stay", "go stay wait").replace("states: hall goal", "states: 6")
    sized = sized.replace("start: hall", "start: 0")
    text = "".join(f"T: {j} : * : {j} : 1\n" for j in range(6))
    kernel = read_dpomdp(file(sized + text)).game.kernel
    for a, b in itertools.product(range(2), range(3)):
        assert (kernel[:, a, b, 3 * a + b] == 1).all()


def test_counts_give_indices_as_labels(file):
    text = HEADER.replace("hall goal", "2").replace("start: hall", "start: 1")
    text = text.replace("open shut", "3").replace("agents: 2", "agents: ann bob")
    game = read_dpomdp(file(text + STILL)).game
    assert (game.states, game.leader_actions) == ((0, 1), (0, 1, 2))
    assert game.follower_actions == ("go", "stay")
    assert game.start.tolist() == [0, 1]


def test_one_state_and_one_action_each_are_enough(file):
    text = HEADER.replace("hall goal", "1").replace("start: hall", "start:\n1.0")
    text = text.replace("open shut", "1").replace("go stay", "1")
    problem = read_dpomdp(
        file(text + "T: 0 : 0 : 0 : 1\nR: 0 : 0 : 0 : 0 0 : 3\nR: * : * : * : * : 3\n")
    )
    assert problem.game.kernel.tolist() == [[[[1.0]]]]
    assert (problem.reward_form, problem.reward().tolist()) == ("s", [3.0])


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: "# a comment: with a colon\n\n" + text.replace("\n", "  # said\n\n"),
        lambda text: text.replace(": ", ":\t"),
        lambda text: text.replace(": ", ":").replace(" :", ":"),
        lambda text: text.replace(
            "T:", "O: * : goal :\n0.5 0.5\nuniform\nO: nobody : 9 : 9 : 9\nT:"
        ),
    ],
)
def test_blanks_comments_line_ends_and_observations_do_not_matter(file, change):
    text = HEADER + STILL + "T: open go : hall : 0.25 0.75\nR: open go : goal : * : * : 2\n"
    plain, other = read_dpomdp(file(text)), read_dpomdp(file(change(text)))
    assert plain.game == other.game
    assert np.array_equal(plain.reward(), other.reward())


def test_a_comment_need_not_be_utf_8(tmp_path):
    path = tmp_path / "old.dpomdp"
    path.write_bytes("# Zdeněk Škoda\n".encode("iso-8859-2") + (HEADER + STILL).encode())
    assert read_dpomdp(path).game.shape == (2, 2, 2)


# Start, discount, exactness ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("start: b", [0, 1, 0]),
        ("start: 2", [0, 0, 1]),
        ("start:\nb", [0, 1, 0]),
        ("start: uniform", ["1/3", "1/3", "1/3"]),
        ("start:\nuniform", ["1/3", "1/3", "1/3"]),
        ("start: 0.1 0.2 0.7", ["1/10", "1/5", "7/10"]),
        ("start:\n0 1 0", [0, 1, 0]),
        ("start include: a 2", ["1/2", 0, "1/2"]),
        ("start include: b b", [0, 1, 0]),
        ("start  include:\na b c", ["1/3", "1/3", "1/3"]),
        ("start exclude: a", [0, "1/2", "1/2"]),
        ("start exclude: 1 c", [1, 0, 0]),
    ],
)
def test_each_form_of_start_is_exact(file, text, expected):
    header = HEADER.replace("hall goal", "a b c").replace("start: hall", text)
    game = read_dpomdp(file(header + STILL)).game
    assert game.rational.start == tuple(Fraction(x) for x in expected)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("start: d", 5, "no state is called 'd'"),
        ("start: 3", 5, "from 0 to 2"),
        ("start: 0.5 0.4 0", 5, "sums to 0.9"),
        ("start:\n0.5 0.4 0", 6, "sums to 0.9"),
        ("start:\n0.5 0.5", 6, "found 2 numbers; allowed rows of 3"),
        ("start: 1 0 0\n1 0 0", 6, "a row too many; allowed 1×"),
        ("start: 1 0 x", 5, "'x'"),
        ("start: 1.5 -0.5 0", 5, "'1.5'"),
        ("start:", 5, "found 0 rows"),
        ("start include:", 5, "leaves no state"),
        ("start include: *", 5, r"called '\*'"),
        ("start exclude: a b c", 5, "leaves no state"),
        ("begin: a", 5, "allowed 'start:'"),
    ],
)
def test_each_wrong_start_is_refused_at_its_line(file, text, line, message):
    header = HEADER.replace("hall goal", "a b c").replace("start: hall", text)
    with pytest.raises(FileProblem, match=message) as caught:
        read_dpomdp(file(header + STILL))
    assert caught.value.line == line


def test_a_given_discount_overrides_that_of_the_file(file):
    path = file(HEADER + STILL)
    assert read_dpomdp(path).game.rational.discount == Fraction(9, 10)
    problem = read_dpomdp(path, discount=Fraction(1, 3))
    assert problem.game.rational.discount == Fraction(1, 3)
    assert problem.discount == 0.9
    with pytest.raises(InvalidGame, match="discount is 1"):
        read_dpomdp(path, discount=1)


@pytest.mark.parametrize("text", ["1", "1.0", "1.", "+1e0"])
def test_discount_1_asks_the_caller_for_another(file, text):
    path = file(HEADER.replace("0.9", text) + STILL)
    with pytest.raises(FileProblem, match="0 ≤ γ < 1: give one in its place") as caught:
        read_dpomdp(path)
    assert (caught.value.line, caught.value.column) == (2, 11)
    assert read_dpomdp(path, discount=0).game.discount == 0


def test_rows_that_are_exact_in_decimals_make_a_rational_game(file):
    text = STILL + "T: open go : hall : 0.1 0.9\nT: open go : goal : 0.300 .70\n"
    rational = read_dpomdp(file(HEADER + text)).game.rational
    assert rational.rows.row(0) == {0: Fraction(1, 10), 1: Fraction(9, 10)}
    assert rational.rows.row(4) == {0: Fraction(3, 10), 1: Fraction(7, 10)}


def test_uniform_rows_are_exact_thirds(file):
    header = HEADER.replace("hall goal", "a b hall")
    rational = read_dpomdp(
        file(header + "T: * : uniform\nT: open go : 1 : 0.1 0.2 0.7\n")
    ).game.rational
    assert rational.rows.row(0) == dict.fromkeys(range(3), Fraction(1, 3))
    assert rational.rows.row(4) == {0: Fraction(1, 10), 1: Fraction(1, 5), 2: Fraction(7, 10)}


def test_probabilities_of_many_digits_stay_exact(file):
    small = Fraction(1, 10**30)
    text = STILL + f"T: open go : hall : 1e-30 0.{'9' * 30}\n"
    assert read_dpomdp(file(HEADER + text)).game.rational.rows.row(0) == {0: small, 1: 1 - small}


def test_a_row_that_is_only_nearly_exact_is_divided_by_its_exact_sum(file):
    header = HEADER.replace("hall goal", "a b hall")
    third = "0.3333333333333333"
    game = read_dpomdp(file(header + STILL + f"T: open go : a : {third} {third} {third}\n")).game
    assert game.rational.rows.row(0) == dict.fromkeys(range(3), Fraction(1, 3))
    uneven = read_dpomdp(file(header + STILL + "T: open go : a : 0.3 0.3 0.4000000001\n")).game
    row = {0: 3 * 10**9, 1: 3 * 10**9, 2: 4 * 10**9 + 1}
    assert uneven.rational.rows.row(0) == {j: Fraction(n, 10**10 + 1) for j, n in row.items()}
    assert game.kernel.sum(axis=3) == pytest.approx(np.ones((3, 2, 2)), abs=1e-15)


# Rewards -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("", "s", [0, 0]),
        ("R: * : * : * : * : 7", "s", [7, 7]),
        ("R: * : goal : * : * : +20", "s", [0, 20]),
        ("R: * * : 1 : * : * * : -1e2", "s", [0, -100]),
        ("R: * : * : * : * : 1\nR: * : hall : * : * : 0", "s", [0, 1]),
        ("R: open go : goal : * : * : 5\nR: * : goal : * : * : 2", "s", [0, 2]),
        ("R: open go: *: * : * : 2", "sab", [[[2, 0], [0, 0]]] * 2),
        ("R: * stay : goal : * : * : .5", "sab", [np.zeros((2, 2)), [[0, 0.5], [0, 0.5]]]),
        ("R: 2 : 0 : * : * : 1", "sab", [[[0, 0], [1, 0]], np.zeros((2, 2))]),
        ("R: * : * : goal : * : 3", "next state", [0, 3]),
        ("R: * : * : goal : * : 3\nR: * : * : hall : * : 3", "s", [3, 3]),
        ("R: * : goal : * : 0 light : 4\nR: * : goal : * : * : 4", "s", [0, 4]),
        ("R: * : goal : * : 0 * : 4\nR: * : goal : * : 1 * : 4", "s", [0, 4]),
        ("R: * : * : goal :\n3 3 3 3", "next state", [0, 3]),
        ("R: * : * : goal : 3 3 3 3", "next state", [0, 3]),
        ("R: * : * :\n1 1 1 1\n3 3 3 3", "next state", [1, 3]),
        ("R: * : goal :\n5 5 5 5\n5 5 5 5", "s", [0, 5]),
    ],
)
@pytest.mark.parametrize("values", ["reward", "cost"])
def test_each_form_of_rewards_is_read_in_its_least_form(file, text, form, expected, values):
    header = HEADER.replace("reward", values)
    problem = read_dpomdp(file(header + STILL + text + "\n"))
    assert problem.reward_form == form
    assert problem.values == values
    assert np.array_equal(problem.reward(), np.array(expected) * (1 if values == "reward" else -1))
    assert not np.signbit(problem.reward()[problem.reward() == 0]).any()
    with pytest.raises(ValueError, match="read-only"):
        problem.reward()[0] = 1


def test_a_reward_of_everything_becomes_its_expectation_over_the_next_state(file):
    text = STILL + "T: open go : hall : 0.25 0.75\nR: open go : hall : goal : * : 8\n"
    problem = read_dpomdp(file(HEADER + text + "R: shut * : hall : hall : * : 1\n"))
    assert problem.reward_form == "sab and next state"
    assert problem.reward().tolist() == [[[6, 0], [1, 1]], [[0, 0], [0, 0]]]
    assert problem.file_values([1, 2]).tolist() == [1, 2]


def test_a_next_state_reward_is_its_expectation_where_the_discount_is_0(file):
    text = STILL + "T: open go : hall : 0.25 0.75\nR: * : * : goal : * : 8\n"
    problem = read_dpomdp(file(HEADER + text), discount=0)
    assert problem.reward_form == "next state"
    assert problem.reward().tolist() == [[[6, 0], [0, 0]], [[8, 8], [8, 8]]]
    assert problem.file_values([6, 8]).tolist() == [6, 8]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("R: * : * : * : dark * : 1", 0),
        ("R: * : * : * : 0 light : 1", 0),
        ("R: * : * : * : 3 : 1", 0),
        ("R: * : * : * : * : 0\nR: * : * : goal :\n1 1 1 2", 1),
        ("R: * : 0 : 1 : 1 * : 1\nR: * : hall : goal : 0 * : 2", 0),
    ],
)
def test_a_reward_that_tells_observations_apart_is_refused(file, text, line):
    header = HEADER.replace("\n2\ndark light", "\ndark light\ndark light")
    with pytest.raises(FileProblem, match="depends on the joint observation") as caught:
        read_dpomdp(file(header + STILL + text + "\n"))
    assert caught.value.line == FIRST + 1 + line


def test_more_observations_than_memory_has_room_for_are_refused_where_told_apart(file):
    header = HEADER.replace("dark light", "999999999999")
    assert read_dpomdp(file(header + STILL + "R: * : * : * : * : 1\n")).reward().tolist() == [1, 1]
    with pytest.raises(FileProblem, match="number of rewards to tell apart") as caught:
        read_dpomdp(file(header + STILL + "R: * : * : * : 7 : 1\n"))
    assert (caught.value.line, caught.value.column) == (FIRST + 1, 16)


def test_file_values_refuses_another_shape(file):
    problem = read_dpomdp(file(HEADER + STILL))
    with pytest.raises(InvalidArgument, match=r"\(3,\).*\(2,\)"):
        problem.file_values([1, 2, 3])
    with pytest.raises(InvalidArgument, match="1 axes"):
        problem.file_values([[1], [2]])


# Refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "message"),
    [
        ("agents: 2", "agents: 3", 1, 9, "found 3 agents; allowed 2"),
        ("agents: 2", "agents: ann", 1, 9, "found 1 agents"),
        ("agents: 2", "agents:", 1, 8, "found 0 lines of agents"),
        ("agents: 2", "agents 2", 1, 1, "found 'agents'; allowed 'agents:'"),
        ("agents: 2\n", "", 1, 1, "found 'discount:'; allowed 'agents:'"),
        ("agents: 2", "agents: 2 : 3", 1, 13, "found a second colon"),
        ("0.9", "1.1", 2, 11, "found the discount '1.1'"),
        ("0.9", "-0.1", 2, 11, "allowed 0 ≤ γ ≤ 1"),
        ("0.9", "high", 2, 11, "found the discount 'high'"),
        ("0.9", "0.9 0.8", 2, 11, "found the discount '0.9 0.8'"),
        ("0.9", "0.9\n0.8", 3, 1, "found 2 lines of discount"),
        ("reward", "payoff", 3, 9, "found 'payoff'; allowed 'reward' or 'cost'"),
        ("values: reward\n", "", 3, 1, "found 'states:'; allowed 'values:'"),
        ("hall goal", "hall hall", 4, 14, "found state 'hall' again"),
        ("hall goal", "hall *", 4, 14, r"found state '\*'"),
        ("hall goal", "hall 2nd", 4, 14, "names that begin with a letter"),
        ("hall goal", "0", 4, 9, "a number from 1"),
        ("hall goal", "hall 1000000", 4, 14, "begin with a letter"),
        ("hall goal", "9" * 5000, 4, 9, "a number from 1"),
        ("hall goal\nstart: hall", "1000000000\nstart: uniform", 4, 9, r"S² = 1e\+18; allowed"),
        ("open shut", "1000000000", 4, 9, r"S²·A·B = 8e\+09; allowed up to"),
        ("open shut\n", "", 6, 9, "found 1 lines of actions; allowed 2"),
        ("open shut\n", "open shut\nlift\n", 9, 1, "found 3 lines of actions"),
        ("open shut", "open open", 7, 6, "found action of agent 1 'open' again"),
        ("go stay", "0", 8, 1, "a number from 1"),
        ("dark light", "dark dark", 11, 6, "found observation of agent 2 'dark' again"),
    ],
)
def test_each_wrong_declaration_is_refused_at_its_place(file, old, new, line, column, message):
    assert old in HEADER
    with pytest.raises(FileProblem, match=message) as caught:
        read_dpomdp(file(HEADER.replace(old, new, 1) + STILL))
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("Q: * : uniform", 0, 1, "found 'Q:'; allowed 'T:', 'O:' or 'R:'"),
        ("states: hall", 0, 1, "found 'states:'"),
        ("0.5 0.5", 0, 1, "found '0.5'; allowed nothing after 'identity'"),
        ("T:", 0, 3, "found ''; allowed"),
        ("T: open : hall : goal : 1", 0, 4, "one action of agent 1 and one action of agent 2"),
        ("T: open go go : hall : goal : 1", 0, 4, "found 'open go go'"),
        ("T: 4 : hall : goal : 1", 0, 4, "found '4'; allowed.*0 to 3"),
        ("T: open 2 : hall : goal : 1", 0, 9, "agent 2 is called '2'.*0 to 1"),
        ("T: opne go : hall : goal : 1", 0, 4, "did you mean 'open'"),
        ("T: go open : hall : goal : 1", 0, 4, "no action of agent 1 is called 'go'"),
        ("T: * : hal : goal : 1", 0, 8, "did you mean 'hall'"),
        ("T: * : hall : 2 : 1", 0, 15, "no state is called '2'"),
        ("T: * : hall : -1 : 1", 0, 15, "no state is called '-1'"),
        ("T: * : hall goal : hall : 1", 0, 8, r"found 'hall goal'; allowed one state or '\*'"),
        ("T: * :  : hall : 1", 0, 7, "found ''; allowed one state"),
        ("T: * : hall : goal : 1.5", 0, 22, "'1.5'; allowed a probability, 0 ≤ p ≤ 1"),
        ("T: * : hall : goal : -0.1", 0, 22, "allowed a probability"),
        ("T: * : hall : goal : nan", 0, 22, "'nan'"),
        ("T: * : hall : goal : 1_0", 0, 22, "'1_0'"),
        ("T: * : hall : goal : 0,5", 0, 22, "'0,5'"),
        ("T: * : hall : goal : 1e9999999", 0, 22, "'1e9999999'"),
        ("T: * : hall : goal :", 0, 21, "found 0 rows; allowed 1×1 numbers"),
        ("T: * : hall : goal : 1 0", 0, 24, "a row too many; allowed 1×1"),
        ("T: * : hall : goal : 1\n0", 1, 1, "a row too many; allowed 1×"),
        ("T: * : hall : goal : 1 : 0", 0, 26, "found a fifth colon"),
        ("T: * : hall : goal 1", 0, 15, "found 'goal'; allowed a probability"),
        ("T: * : hall : 0.5", 0, 18, "found 1 numbers; allowed rows of 2"),
        ("T: * : hall : 0 1 0", 0, 19, "found 3 numbers; allowed rows of 2"),
        ("T: * : hall :\n0.5 0.5 0", 1, 9, "found 3 numbers; allowed rows of 2"),
        ("T: * : hall : identity", 0, 15, "'identity'"),
        ("T: * :\n0 1\n1", 2, 2, "found 1 numbers; allowed rows of 2"),
        ("T: * :\n0 1", 1, 4, "found 1 rows; allowed 2×2 numbers"),
        ("T: * :\n0 1\n1 0\n0 1", 3, 1, "a row too many; allowed 2×2"),
        ("T: * :\n0 1\nidentity", 2, 1, "'identity'"),
        ("R: * : 5", 0, 8, "found 2 colons; allowed 3 to 5"),
        ("R: * : * : * : * : * : 5", 0, 24, "found 6 colons"),
        ("R: * : * : * : * 20", 0, 16, r"found '\*'; allowed a finite number"),
        ("R: * : * : * : * : 1e999", 0, 20, "'1e999'; allowed a finite number"),
        ("R: * : * : * : * : inf", 0, 20, "'inf'; allowed a finite number"),
        ("R: * : * : * : * :", 0, 19, "found 0 rows"),
        ("R: * : * : * : noise 1 : 3", 0, 16, "no observation of agent 1 is called 'noise'"),
        ("R: * : * : * : 4 : 3", 0, 16, "found '4'; allowed.*0 to 3"),
        ("R: * : * : goal :\n1 2 3", 1, 6, "found 3 numbers; allowed rows of 4"),
        ("R: * : goal :\n1 1 1 1", 1, 8, "found 1 rows; allowed 2×4 numbers"),
        ("R: * : 3 : * : * : 1", 0, 8, "no state is called '3'"),
    ],
)
def test_each_wrong_statement_is_refused_at_its_place(file, text, line, column, message):
    text = f"{HEADER}{STILL}{text}\nT: nobody : 9 : 9 : 9\n"
    with pytest.raises(FileProblem, match=message) as caught:
        read_dpomdp(file(text))
    assert (caught.value.line, caught.value.column) == (FIRST + 1 + line, column)
    assert str(caught.value).startswith(f"{caught.value.path}:{FIRST + 1 + line}:{column}: ")


@pytest.mark.parametrize("wanted", ["agents", "discount", "start", "observations"])
def test_a_file_that_ends_too_early_names_what_comes_next(file, wanted):
    with pytest.raises(FileProblem, match=f"the file ends; allowed '{wanted}:' next"):
        read_dpomdp(file(HEADER.partition(f"{wanted}:")[0]))


def test_a_missing_file_is_the_operating_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_dpomdp(tmp_path / "nowhere.dpomdp")


def test_a_row_that_does_not_sum_to_one_names_the_line_that_wrote_it_last(file):
    text = HEADER + (
        "T: * : identity\n"
        "T: open stay : goal : hall : 0.5\n"  # 1.5, repaired below
        "T: shut go : hall : goal : 0.25\n"  # 1.25, and written to again below
        "T: open go :\n"
        "1 0\n"
        "0.6 0.5\n"  # 1.1
        "T: open stay : goal : goal : 0.5\n"
        "T: shut go : hall : hall : 1\n"
    )
    with pytest.raises(FileProblem, match=r"'goal'.*\('open', 'go'\) sums to 1.1; allowed") as one:
        read_dpomdp(file(text))
    assert one.value.line == FIRST + 5
    text = text.replace("0.6 0.5", "0.6 0.4")
    with pytest.raises(FileProblem, match=r"'hall'.*\('shut', 'go'\) sums to 1.25") as two:
        read_dpomdp(file(text))
    assert two.value.line == FIRST + 7
    assert read_dpomdp(file(text.replace("hall : goal : 0.25", "hall : goal : 0"))).game.shape == (
        2,
        2,
        2,
    )


def test_wrong_words_come_before_wrong_sums(file):
    text = HEADER + "T: * : hall : 0.5 0.6\nT: * : goal : 0.5 0.5\nR: x : * : * : * : 0\n"
    with pytest.raises(FileProblem) as caught:
        read_dpomdp(file(text))
    assert caught.value.line == FIRST + 2


def test_a_row_within_1e_9_of_one_is_read_and_one_beyond_is_not(file):
    row = "T: open go : hall : 0.5 0.{}\n"
    exact = read_dpomdp(file(HEADER + STILL + row.format("5000000009"))).game.rational.rows.row(0)
    assert exact == {0: Fraction(5 * 10**9, 10**10 + 9), 1: Fraction(5 * 10**9 + 9, 10**10 + 9)}
    with pytest.raises(FileProblem, match=r"sums to 1\.000000002"):
        read_dpomdp(file(HEADER + STILL + row.format("500000002")))


def test_missing_rows_name_state_and_joint_action(file):
    with pytest.raises(FileProblem, match=r"'hall'.*\('open', 'stay'\) is missing") as caught:
        read_dpomdp(file(HEADER + "T: open go : identity\nT: shut * : identity\n"))
    assert caught.value.line is None
    with pytest.raises(FileProblem, match=r"'hall'.*\('open', 'go'\) is missing"):
        read_dpomdp(file(HEADER))
    with pytest.raises(FileProblem, match=r"\('open', 'go'\) sums to 0; allowed") as written:
        read_dpomdp(file(HEADER + STILL + "T: open go : goal : goal : 0\n"))
    assert written.value.line == FIRST + 1


# Round trip --------------------------------------------------------------------------------


def parts(draw, n, whole=20):
    """Draw n multiples of 1/20 that sum to one."""
    cuts = sorted(draw(st.lists(st.integers(0, whole), min_size=n - 1, max_size=n - 1)))
    return [Fraction(b - a, whole) for a, b in itertools.pairwise([0, *cuts, whole])]


@st.composite
def games(draw):
    """Draw a game whose transitions and start are multiples of 1/20."""
    n, n_a, n_b = (draw(st.integers(1, 3)) for _ in range(3))
    rows = [parts(draw, n) for _ in range(n * n_a * n_b)]
    kernel = np.array(rows, dtype=object).reshape(n, n_a, n_b, n)
    names = [
        draw(st.sampled_from([None, tuple(f"{kind}-{i}" for i in range(size))]))
        for kind, size in (("s", n), ("lead_", n_a), ("f", n_b))
    ]
    return TwoAgentMDP(
        kernel,
        Fraction(draw(st.integers(1, 19)), 20),
        np.array(parts(draw, n), dtype=object),
        states=names[0],
        leader_actions=names[1],
        follower_actions=names[2],
    )


@st.composite
def files(draw):
    """Draw a game, a reward of shape (S, A, B, S) and a text that says both."""
    game = draw(games())
    n, n_a, n_b = game.shape
    axes = draw(st.sampled_from([(0,), (0, 1, 2), (3,), (0, 1, 2, 3)]))
    shape = [size if axis in axes else 1 for axis, size in enumerate((n, n_a, n_b, n))]
    quarters = st.integers(-40, 40).map(lambda k: k / 4)
    size = int(np.prod(shape))
    values = draw(st.lists(quarters, min_size=size, max_size=size))
    reward = np.broadcast_to(np.array(values).reshape(shape), (n, n_a, n_b, n))

    def say(labels, i):
        return draw(st.sampled_from([str(i), str(labels[i])]))

    def joint(a, b):
        agents = f"{say(game.leader_actions, a)} {say(game.follower_actions, b)}"
        return draw(st.sampled_from([agents, str(a * n_b + b)]))

    def declare(labels):
        return " ".join(labels) if isinstance(labels[0], str) else str(len(labels))

    def row(s, a, b):
        exact = game.rational.rows.row((s * n_a + a) * n_b + b)
        return [str(float(exact.get(t, 0))) for t in range(n)]

    lines = [
        "agents: 2",
        f"discount: {float(game.rational.discount)}",
        "values: reward",
        f"states: {declare(game.states)}",
        "start:",
        " ".join(str(float(p)) for p in game.rational.start),
        "actions:",
        declare(game.leader_actions),
        declare(game.follower_actions),
        "observations:",
        "2",
        "dark",
    ]
    if draw(st.booleans()):
        lines += ["T: * :", "uniform", "R: * : * : * : * : 99"]
    statements = []
    for a, b in itertools.product(range(n_a), range(n_b)):
        style = draw(st.sampled_from(["matrix", "rows", "entries"]))
        if style == "matrix":
            statements.append([f"T: {joint(a, b)} :", *(" ".join(row(s, a, b)) for s in range(n))])
        for s in range(n):
            state, next_states = say(game.states, s), [say(game.states, t) for t in range(n)]
            if style == "rows":
                gap = draw(st.sampled_from([" ", "\n"]))
                statements.append([f"T: {joint(a, b)}: {state} :{gap}{' '.join(row(s, a, b))}"])
            elif style == "entries":
                statements.append(
                    [
                        f"T: {joint(a, b)} : {state} : {t} : {p}"
                        for t, p in zip(next_states, row(s, a, b), strict=True)
                    ]
                )
            numbers = [str(reward[s, a, b, t]) for t in range(n)]
            if draw(st.booleans()):
                block = [f"{v} {v}" for v in numbers]
                statements.append([f"R: {joint(a, b)} : {state} :", *block])
            else:
                statements.append(
                    [
                        f"R: {joint(a, b)} : {state} : {t} : * : {v}"
                        for t, v in zip(next_states, numbers, strict=True)
                    ]
                )
    lines += itertools.chain.from_iterable(draw(st.permutations(statements)))
    return game, reward, "\n".join(lines)


@given(drawn=files())
def test_a_written_game_is_read_back_equal(tmp_path_factory, drawn):
    game, reward, text = drawn
    path = tmp_path_factory.getbasetemp() / "drawn.dpomdp"
    path.write_text(text)
    problem = read_dpomdp(path)
    assert problem.game == game
    assert problem.game.rational.start == game.rational.start
    for i in range(game.n_states * game.n_choices):
        mine = {t: p for t, p in game.rational.rows.row(i).items() if p}
        assert problem.game.rational.rows.row(i) == mine
    over_state = (reward == reward[:, :1, :1, :1]).all()
    over_next = (reward == reward[:1, :1, :1, :]).all()
    over_actions = (reward == reward[..., :1]).all()
    if over_state:
        assert problem.reward_form == "s"
        assert np.array_equal(problem.reward(), reward[:, 0, 0, 0])
    elif over_actions:
        assert problem.reward_form == "sab"
        assert np.array_equal(problem.reward(), reward[..., 0])
    elif over_next:
        assert problem.reward_form == "next state"
        assert np.array_equal(problem.reward(), reward[0, 0, 0])
    else:
        assert problem.reward_form == "sab and next state"
        expected = (game.kernel * reward).sum(axis=3)
        assert problem.reward() == pytest.approx(expected, abs=1e-12)


JOINTS = st.sampled_from(["*", "1", "open go", "open *", "* stay", "shut 0"])
PLACES = st.sampled_from(["*", "hall", "goal", "1"])
SEEN = st.sampled_from(["*", "* dark", "0 *", "1 light", "3"])
ENTRIES = st.one_of(
    st.tuples(st.just("T"), JOINTS, PLACES, PLACES, st.sampled_from(["0", "0.5", "1"])),
    st.tuples(st.just("R"), JOINTS, PLACES, PLACES, SEEN, st.sampled_from(["0", "1", "-2.5"])),
)


def told(path, entries, gap):
    """What a file says that has a gap before the last number of each statement."""
    lines = [f"{' : '.join(words)} :{gap}{number}\n" for *words, number in entries]
    path.write_text(HEADER + "".join(lines), encoding="utf-8")
    header = read_header(path, split_statements(path), 1e-9)
    tables = Tables(header)

    def place(line):
        return (line - FIRST) // (1 + gap.count("\n"))

    try:
        for statement in header.statements:
            tables.write(statement)
    except FileProblem as refused:
        return refused.problem, place(refused.line)
    probabilities = np.array(tables.probabilities)[tables.codes]
    last = np.where(tables.written > 0, place(tables.written), -1)
    return probabilities.tolist(), last.tolist(), tables.reward.tolist()


@given(entries=st.lists(ENTRIES, max_size=30))
def test_a_number_on_the_line_means_what_it_means_below_it(tmp_path_factory, entries):
    path = tmp_path_factory.mktemp("lines") / "problem.dpomdp"
    assert told(path, entries, " ") == told(path, entries, "\n")


@given(drawn=files(), data=st.data())
def test_file_values_are_those_of_the_expected_reward_for_any_policy(tmp_path_factory, drawn, data):
    game, reward, text = drawn
    path = tmp_path_factory.getbasetemp() / "valued.dpomdp"
    path.write_text(text)
    problem = read_dpomdp(path)
    actions = [data.draw(st.integers(0, game.n_choices - 1)) for _ in range(game.n_states)]
    a, b = np.divmod(actions, game.n_follower_actions)
    at = np.arange(game.n_states), a, b
    chain = game.kernel[at]
    inverse = np.linalg.inv(np.eye(game.n_states) - game.discount * chain)
    in_file = inverse @ (game.kernel * reward).sum(axis=3)[at]
    ours = problem.reward() if problem.reward().ndim == 1 else problem.reward()[at]
    assert problem.file_values(inverse @ ours) == pytest.approx(in_file, rel=1e-9, abs=1e-9)


def test_many_digits_beside_uniform_rows_keep_their_exact_numbers(file):
    # The common denominator of all rows is beyond 64 bits; that of each row is not, or is.
    header = HEADER.replace("hall goal", "a b hall")
    for digits in (18, 30):
        p = "0." + "3" * digits
        rest = "0." + "6" * (digits - 1) + "7"
        game = read_dpomdp(
            file(header + STILL + f"T: * : b : uniform\nT: open go : a : {p} 0 {rest}\n")
        ).game
        assert game.rational.rows.row(0) == {0: Fraction(p), 2: Fraction(rest)}
        b = game.n_choices
        assert game.rational.rows.row(b) == dict.fromkeys(range(3), Fraction(1, 3))
