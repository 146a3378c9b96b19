"""Pictures show what they claim: line data, doors and arrows by their number and strength."""

from pathlib import Path

import numpy as np
import pytest

plot = pytest.importorskip("iirl_opt.plot", exc_type=ImportError)

from iirl_opt.follower import OptimalFollower  # noqa: E402
from iirl_opt.game.grid import grid_game  # noqa: E402
from iirl_opt.programs.commitment import commit  # noqa: E402


def test_regret_of_several_runs_is_drawn_by_name() -> None:
    axes = plot.plot_regret({"one": [3.0, 1.0], "two": [2.0, 0.0, 0.0]})
    lines = {line.get_label(): line for line in axes.lines}
    np.testing.assert_array_equal(lines["two"].get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(lines["one"].get_ydata(), [3, 1])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "two"]


def test_a_maze_shows_two_doors_and_one_move_a_free_cell(tmp_path: Path) -> None:
    maze = grid_game(["1..", ".#.", "S.2"], discount="9/10")
    plan = commit(maze.game, maze.reward)
    moves = OptimalFollower().respond(maze.game, plan.policy, maze.reward)
    axes = plot.plot_maze(maze, plan.policy, moves)
    assert len(axes.patches) == 9
    assert len(axes.lines) == 2 * 8
    prizes = [text.get_text() for text in axes.texts if text.get_text()]
    assert sorted(prizes) == ["+1", "+2"]
    assert len(axes.texts) == 8 + 2
    assert plot.save(axes, tmp_path / "maze.png").stat().st_size > 1000


def test_the_strength_of_a_door_is_its_probability() -> None:
    maze = grid_game(["S1"], discount="9/10", doors=("E", "W"))
    pi1 = np.tile([0.25, 0.75], (maze.game.n_states, 1))
    axes = plot.plot_maze(maze, pi1)
    assert sorted(line.get_alpha() for line in axes.lines) == [0.25, 0.25, 0.75, 0.75]
