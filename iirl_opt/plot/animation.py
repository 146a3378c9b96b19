"""An animation of learning in a maze: an episode a frame, as a GIF."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iirl_opt.checks import PATH, POSITIVE, Rule, checked, has, is_a, refuse, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.files import writing
from iirl_opt.game.grid import GridGame
from iirl_opt.plot.canvas import new_axes
from iirl_opt.plot.mazes import plot_maze

if TYPE_CHECKING:
    from iirl_opt.learn.episodes import Episode

__all__ = ["animate_maze"]

# What each of the episodes may be.
EPISODE: Rule = has("number", "pi1", "pi2", "regret", what="an Episode")

# The width of a frame, in which the legend has room.
INCHES = 5.4


@checked(maze=is_a(GridGame), path=PATH, seconds=POSITIVE, width=whole(100))
def animate_maze(
    maze: GridGame,
    episodes: Iterable[Episode[Any]],
    path: str | Path,
    *,
    seconds: float = 0.6,
    width: int = 400,
) -> Path:
    """Write a GIF of a maze in which each frame is an episode, and return its path.

    A frame shows the doors that the leader opened and the moves that the follower made; its title
    is the number of the episode and its regret.

    Parameters
    ----------
    episodes : of a run on this maze, as `interact` yields them; an iterator is played as it comes.
    path : ends in ``.gif``.
    seconds : that a frame is shown.
    width : pixels.

    Raises
    ------
    InvalidArgument
        The path has another ending; there is no episode, or it is not of this maze.

    **Cost** the maze is drawn once a frame, and written as it comes.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from iirl_opt import InteractiveIRL, grid_game, interact
    >>> maze = grid_game(["S1"], discount=0.5)
    >>> run = interact(InteractiveIRL(maze.game), maze.reward, 1)
    >>> with TemporaryDirectory() as folder:
    ...     animate_maze(maze, run, Path(folder) / "learning.gif", width=100).name
    'learning.gif'
    """
    from matplotlib.animation import PillowWriter

    try:
        run = iter(episodes)
    except TypeError:
        allowed = "episodes, as `interact` yields them"
        raise refuse("episodes", episodes, allowed) from None
    if Path(path).suffix.lower() != ".gif":
        raise InvalidArgument("path", f"is {str(path)!r}", "a name that ends in .gif", path)
    axes = new_axes((INCHES, INCHES * (maze.rows + 1.4) / maze.columns))
    figure: Any = axes.figure
    figure.subplots_adjust(left=0.02, right=0.98, top=0.94, bottom=0.12)
    rate: Any = 1 / seconds  # frames a second, which need not be a whole number
    film, frames = PillowWriter(fps=rate), 0
    with writing(path) as part:
        for frames, episode in enumerate(map(EPISODE, repeat("episodes"), run), start=1):
            if frames == 1:
                film.setup(figure, part, dpi=width / INCHES)
            axes.clear()
            plot_maze(maze, episode.pi1, episode.pi2, ax=axes)
            axes.set_title(f"episode {episode.number}: regret {episode.regret:.2g}", fontsize=11)
            film.grab_frame()
        if not frames:
            raise InvalidArgument("episodes", "are none", "one at least", episodes)
        film.finish()
    return Path(path)
