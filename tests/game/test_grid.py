"""Grid games against a second construction, written cell by cell from the paper's words."""

from collections import deque
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from iirl_opt.errors import InvalidArgument, InvalidGame, InvalidPolicy
from iirl_opt.game.grid import grid_game
from iirl_opt.game.mazes import introductory_game, introductory_mazes, maze_maker

MOVES = {"N": (-1, 0), "E": (0, 1), "S": (1, 0), "W": (0, -1)}
PAPER_TEXT = [
    ".......",
    "......2",
    ".......",
    "...S...",
    ".......",
    ".1.....",
    ".....3.",
]


def beside(text, cell, direction):
    """Where one step leads: the next cell, or the same one at a wall or the border."""
    row, column = cell[0] + MOVES[direction][0], cell[1] + MOVES[direction][1]
    inside = 0 <= row < len(text) and 0 <= column < len(text[0])
    return (row, column) if inside and text[row][column] != "#" else cell


def slow_row(text, cell, left, doors, move, slip, rule):
    """The distribution over (cell, prizes left) after one step, as the paper tells it."""
    here = text[cell[0]][cell[1]]
    if rule == "absorb" and here.isdigit():
        return {(cell, left): Fraction(1)}
    remaining = left.replace(here, "") if rule == "vanish" else left
    row = {}
    outcomes = [(beside(text, cell, move) if move in doors else cell, 1 - slip)]
    outcomes += [(beside(text, cell, direction), slip / 4) for direction in MOVES]
    for target, probability in outcomes:
        if probability:
            row[target, remaining] = row.get((target, remaining), 0) + probability
    return row


def slow_kernel(text, slip, doors, rule="vanish", walls=False):
    """All rows, keyed by ((cell, prizes left), doors, move)."""
    cells = [(r, c) for r in range(len(text)) for c in range(len(text[0]))]
    cells = [cell for cell in cells if walls or text[cell[0]][cell[1]] != "#"]
    names = sorted(filter(str.isdigit, "".join(text))) if rule == "vanish" else []
    subsets = chain(*(combinations(names, k) for k in range(len(names) + 1)))
    return {
        ((cell, "".join(left)), opened, move): slow_row(
            text, cell, "".join(left), opened, move, slip, rule
        )
        for left in subsets
        for cell in cells
        for opened in doors
        for move in MOVES
    }


def label(state):
    (row, column), left = state
    return f"({row},{column}) {left}".rstrip()


def assert_same_kernel(game, expected):
    assert game.is_rational
    n_a, n_b = game.n_leader_actions, game.n_follower_actions
    assert game.n_states * n_a * n_b == len(expected)
    for (state, opened, move), row in expected.items():
        s = game.states.index(label(state))
        a = game.leader_actions.index(f"open {opened}" if opened else "shut")
        b = game.follower_actions.index(move)
        found = game.rational.rows.row((s * n_a + a) * n_b + b)
        assert {game.states[j]: p for j, p in found.items()} == {
            label(target): p for target, p in row.items()
        }


PAIRS = ("NE", "NS", "NW", "ES", "EW", "SW")


def test_maze_maker_is_what_the_paper_describes():
    expected = slow_kernel(PAPER_TEXT, Fraction(1, 5), PAIRS)
    game, reward = maze_maker()
    assert_same_kernel(game, expected)
    assert game.matrix.nnz == sum(map(len, expected.values())) == 39264
    assert game.shape == (392, 6, 4)
    assert game.discount == 0.9
    assert game.leader_actions == tuple(f"open {pair}" for pair in PAIRS)
    assert game.follower_actions == ("N", "E", "S", "W")
    assert np.flatnonzero(game.start).tolist() == [24]
    assert game.states[24] == "(3,3) 123"
    for s, name in enumerate(game.states):
        place, _, left = name.partition(" ")
        prize = {"(5,1)": "1", "(1,6)": "2", "(6,5)": "3"}.get(place, "0")
        assert reward[s] == (int(prize) if prize in left else 0)


def test_cells_and_layers_are_numbered_as_by_the_authors():
    maze = maze_maker()
    assert maze.layers == ("123", "23", "13", "12", "3", "2", "1", "")
    assert maze.cells[49 + 36].tolist() == [5, 1]
    assert np.flatnonzero(maze.reward[:49]).tolist() == [13, 36, 47]
    assert maze.reward[[13, 36, 47]].tolist() == [2, 1, 3]


@pytest.mark.parametrize("slip", ["0", "1/5", "1"])
def test_a_three_by_three_maze_with_one_prize_matches_row_by_row(slip):
    game, reward = maze_maker(size=3, start=4, prizes={2: "1/2"}, slip=slip, discount=0)
    assert_same_kernel(game, slow_kernel(["..1", ".S.", "..."], Fraction(slip), PAIRS))
    assert game.n_states == 18
    assert reward[game.states.index("(0,2) 1")] == 0.5 == reward.sum()


def test_a_smaller_maze_starts_in_its_centre():
    maze = maze_maker(size=5, prizes={6: 1, 18: 2})
    assert maze.game.n_states == 25 * 4
    assert maze.starts == ((2, 2),)
    assert maze.prizes == {(1, 1): 1.0, (3, 3): 2.0}


def test_every_row_of_maze_maker_sums_to_one_exactly_in_twentieths():
    rational = maze_maker().game.rational
    for i in range(392 * 24):
        row = rational.rows.row(i)
        assert sum(row.values()) == 1
        assert all((20 * p).denominator == 1 for p in row.values())


def test_either_agent_of_maze_maker_moves_the_certain_part_and_no_more():
    # The leader's door or the follower's choice sends 1 − slip = 0.8 elsewhere.
    assert maze_maker().game.influence() == pytest.approx((1.6, 1.6))
    assert maze_maker(slip=1).game.influence() == (0, 0)


def test_a_locked_door_holds_the_cart_but_not_its_slips():
    game = maze_maker().game
    centre = game.states.index("(3,3) 123")
    row = game.kernel[
        centre, game.leader_actions.index("open NE"), game.follower_actions.index("S")
    ]
    assert row[centre] == pytest.approx(0.8)
    assert row[game.states.index("(4,3) 123")] == pytest.approx(0.05)


def test_every_step_from_a_prize_loses_that_prize_and_only_there_is_one_lost():
    game, reward = maze_maker()
    left = np.array([name.partition(" ")[2] for name in game.states])
    reach = game.kernel.max(axis=(1, 2)) > 0
    for s in range(game.n_states):
        after = set(left[reach[s]])
        prize = {1.0: "1", 2.0: "2", 3.0: "3", 0.0: ""}[reward[s]]
        assert after == {left[s].replace(prize, "") if prize else left[s]}


def test_a_maze_unpacks_as_game_and_reward_and_keeps_its_arrays_from_harm():
    maze = maze_maker()
    game, truth = maze
    assert game is maze.game
    assert truth is maze.reward
    with pytest.raises(ValueError, match="read-only"):
        truth[0] = 1
    shown = " ".join(repr(maze).split())
    assert shown.startswith("GridGame( 7×7 cells, prizes (1.0, 2.0, 3.0), TwoAgentMDP(392")


@st.composite
def texts(draw):
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    line = st.text("#.. S", min_size=columns, max_size=columns)
    grid = [list(draw(line)) for _ in range(rows)]
    for prize in draw(st.sampled_from(["", "5", "17"])):
        grid[draw(st.integers(0, rows - 1))][draw(st.integers(0, columns - 1))] = prize
    grid[draw(st.integers(0, rows - 1))][draw(st.integers(0, columns - 1))] = "."
    return ["".join(line) for line in grid]


@given(
    text=texts(),
    slip=st.fractions(0, 1, max_denominator=6),
    doors=st.sampled_from([PAIRS, ("NESW",), ("", "N", "ESW")]),
    rule=st.sampled_from(["vanish", "stay", "absorb"]),
    walls=st.booleans(),
)
def test_any_grid_matches_the_slow_construction(text, slip, doors, rule, walls):
    maze = grid_game(
        text, discount="1/2", slip=slip, doors=doors, prize_rule=rule, wall_states=walls
    )
    assert_same_kernel(maze.game, slow_kernel(text, slip, doors, rule, walls))
    free = [c for c in "".join(text) if c != "#"]
    n_starts = free.count("S") or len(free)
    assert np.unique(maze.game.start[maze.game.start > 0]) == pytest.approx(1 / n_starts)
    assert all(text[r][c] in ("S" if "S" in free else ". 157") for r, c in maze.starts)
    assert maze.walls.tolist() == [[c == "#" for c in line] for line in text]
    digits = sorted(filter(str.isdigit, free))
    assert maze.layers[0] == "".join(digits)
    assert list(maze.prizes.values()) == list(map(float, digits))
    paid = (2 ** (len(digits) - 1) if digits else 0) if rule == "vanish" else 1
    assert maze.reward.sum() == paid * sum(map(float, digits))


def optimal_value(game, reward):
    value = np.zeros(game.n_states)
    for _ in range(400):
        value = reward + game.discount * (game.kernel @ value).max(axis=(1, 2))
    return value


@pytest.mark.parametrize(
    ("rule", "worth"),
    [("vanish", 1), ("absorb", 1 / (1 - 0.9)), ("stay", 1 / (1 - 0.9))],
)
def test_a_lone_prize_d_steps_away_is_worth_its_discounted_pay(rule, worth):
    game, reward = grid_game("S..7", discount=0.9, doors="open", prize_rule=rule)
    assert optimal_value(game, reward)[0] == pytest.approx(7 * worth * 0.9**3)


def test_the_leader_opens_what_it_says_in_canonical_order():
    game, _ = grid_game("S.1", discount=0, doors=("", "WE", "NESW"))
    assert game.leader_actions == ("shut", "open EW", "open NESW")
    east = game.follower_actions.index("E")
    start, middle = game.states.index("(0,0) 1"), game.states.index("(0,1) 1")
    assert game.kernel[start, :, east, middle].tolist() == [0, 1, 1]


def test_named_prizes_may_be_traps_and_redefine_digits():
    maze = grid_game("Sx1", discount="1/2", prizes={"x": -0.25, "1": "3/4"})
    assert maze.prizes == {(0, 2): 0.75, (0, 1): -0.25}
    assert maze.layers == ("1x", "x", "1", "")
    assert maze.reward.tolist() == [0, -0.25, 0.75, 0, -0.25, 0, 0, 0, 0.75, 0, 0, 0]
    assert not np.signbit(maze.reward[maze.reward == 0]).any()


def test_a_text_is_one_string_or_its_lines():
    lines = ["S.#", " #1"]
    one = grid_game("\n" + "\n".join(lines) + "\n", discount=0)
    assert one.game == grid_game(lines, discount=0).game
    assert (one.rows, one.columns) == (2, 3)


def test_prizes_that_stay_may_share_a_character():
    maze = grid_game("1S1", discount=0, prize_rule="stay")
    assert maze.reward.tolist() == [1, 0, 1]
    assert maze.layers == ("1",)


# The three mazes of Figure 1(a): dark cells and arrows, (row, column) from the top left.
FIGURE = [
    ([(1, 1), (1, 2), (1, 3)], "NEEE"),
    ([(0, 1), (0, 2), (2, 2)], "EEEN"),
    ([(0, 2), (1, 1), (1, 2)], "SEEENN"),
]


def shortest_paths(blocked):
    """All shortest ways from (1, 0) to (0, 3) on the 3×4 board, by breadth-first search."""
    ways, found = deque([((1, 0), "")]), []
    while ways:
        (row, column), way = ways.popleft()
        if found and len(way) > len(found[0]):
            return found
        if (row, column) == (0, 3):
            found.append(way)
        elif len(way) < 12:
            for move, (dr, dc) in MOVES.items():
                cell = row + dr, column + dc
                if 0 <= cell[0] < 3 and 0 <= cell[1] < 4 and cell not in blocked:
                    ways.append((cell, way + move))
    return found


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_arrow_of_each_introductory_maze_is_its_one_shortest_path(which):
    blocked, arrow = FIGURE[which]
    maze = introductory_mazes()[which]
    assert np.argwhere(maze.walls).tolist() == sorted(map(list, blocked))
    assert shortest_paths(blocked) == [arrow]
    game, reward = maze
    assert game.shape == (12, 1, 4)
    at = game.start
    for move in arrow:
        at = at @ game.kernel[:, 0, game.follower_actions.index(move)]
    assert at.tolist() == reward.tolist() == [float(s == 3) for s in range(12)]
    assert optimal_value(game, reward) @ game.start == pytest.approx(0.9 ** len(arrow) * 10)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_blocked_cells_of_an_introductory_maze_are_never_entered(which):
    maze = introductory_mazes()[which]
    kernel = maze.game.kernel
    for row, column in FIGURE[which][0]:
        cell = 4 * row + column
        assert not np.delete(kernel[..., cell], cell, axis=0).any()


def test_the_introductory_game_is_each_maze_when_the_leader_says_so_everywhere():
    both = introductory_game()
    assert both.game.leader_actions == ("maze 1", "maze 2", "maze 3")
    assert both.game.is_rational
    for a, maze in enumerate(introductory_mazes()):
        pi1 = both.game.leader_policy({"*": f"maze {a + 1}"})
        faced = both.game.follower_mdp(pi1)
        assert (faced.kernel == maze.game.kernel[:, 0]).all()
        assert both.reward.tolist() == maze.reward.tolist()
        assert both.game.states == maze.game.states
    assert both.starts == ((1, 0),)
    assert both.render() == ". . . 1\nS . . .\n. . . ."


def test_the_picture_shows_the_board():
    assert maze_maker().render() == str(maze_maker()) == "\n".join(map(" ".join, PAPER_TEXT))


def test_the_picture_shows_doors_and_moves_in_the_layer_asked_for():
    maze = grid_game(["S1", "#2"], discount=0)
    game = maze.game
    pi1 = game.leader_policy({"(0,0) 12": "open ES", "(0,1) 2": "open SW", "*": "open NE"})
    pi2 = game.follower_policy(
        {
            "(0,0) 12": "E",
            "(0,1) 12": {"S": 0.75, "W": 0.25},
            "(0,1) 2": "S",
            "*": {"N": 0.5, "W": 0.5},
        }
    )
    assert maze.render(pi1, pi2) == "SES→  1NE⇣\n####  2NE?"
    assert maze.render(pi1, left="2") == "SNE  .SW\n###  2NE"
    assert maze.render(follower=pi2, left="2") == "S?  .↓\n##  2?"
    mixed = 0.9 * pi1 + 0.1 / 6
    assert maze.render(mixed, left="") == "Sne  .ne\n###  .ne"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": "..\n...\n.."}, "grid line 2 has length 3; allowed 2, as in line 1"),
        ({"text": "..\n.?"}, "grid line 2, column 2 is '?'"),
        ({"text": "##\n##"}, "grid has no free cell"),
        ({"text": "##", "wall_states": True}, "grid has no free cell"),
        ({"text": ""}, "grid has no free cell"),
        ({"text": []}, "grid has no free cell"),
        ({"text": "1.1"}, "prize '1' stands in several cells"),
        ({"text": "abcdefghijklm", "prizes": dict.fromkeys("abcdefghijklm", 1)}, "vanish are 13"),
        ({"prizes": {"S": 1}}, "prizes names 'S'"),
        ({"prizes": {"ab": 1}}, "prizes names 'ab'"),
        ({"prizes": {"x": float("nan")}}, r"prizes\['x'\] is nan; allowed a finite number"),
        ({"prizes": {"x": 10**400}}, r"prizes\['x'\] is 10"),
        ({"slip": -0.1}, "slip is -0.1; allowed 0 ≤ slip ≤ 1"),
        ({"slip": "3/2"}, "slip is 3/2"),
        ({"slip": float("inf")}, "slip is inf"),
        ({"slip": 1e-30}, "slip is 1e-30; allowed a fraction of denominator"),
        ({"doors": "NE"}, "doors is 'NE'; allowed 'pairs', 'open' or distinct sets"),
        ({"doors": ["NX"]}, "doors is"),
        ({"doors": ["NN"]}, "doors is"),
        ({"doors": ["NE", "EN"]}, "doors is"),
        ({"doors": []}, "doors is"),
        ({"doors": [3]}, r"doors\[0\] is 3"),
        ({"prize_rule": "fade"}, "prize_rule is 'fade'; allowed one of"),
    ],
)
def test_a_grid_that_is_none_is_refused_with_its_place(arguments, message):
    with pytest.raises(InvalidArgument, match=message):
        grid_game(**{"text": "S1", "discount": 0.9} | arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 0}, "size is 0"),
        ({"size": 2.5}, "size is 2.5"),
        ({"size": 5}, r"prize cell is 36; allowed 0 … 24"),
        ({"start": 49}, r"start is 49; allowed 0 … 48"),
        ({"start": -1}, "start is -1"),
        ({"start": 13}, "start is 13, where a prize is"),
        ({"prizes": {1.5: 1}}, "prize cell is 1.5"),
        ({"prizes": dict.fromkeys(range(10), 1)}, "prizes are 10; allowed at most 9"),
    ],
)
def test_a_maze_maker_outside_its_grid_is_refused(arguments, message):
    with pytest.raises(InvalidArgument, match=message):
        maze_maker(**arguments)


def test_other_errors_come_from_the_game_and_the_picture():
    with pytest.raises(InvalidGame, match="discount is 1"):
        grid_game("S1", discount=1)
    with pytest.raises(InvalidArgument, match="left is '9'; allowed one of"):
        maze_maker().render(left="9")
    with pytest.raises(InvalidPolicy, match="follower policy has shape"):
        maze_maker().render(follower=np.ones((2, 4)) / 4)


def test_one_cell_without_prizes_is_a_game():
    game, reward = maze_maker(size=1, prizes={})
    assert game.states == ("(0,0)",)
    assert (game.kernel == 1).all()
    assert reward.tolist() == [0]
