from .animation import (
    animate_maze as animate_maze,
)
from .canvas import (
    legend_below as legend_below,
    panels as panels,
    save as save,
)
from .chains import (
    plot_chains as plot_chains,
)
from .commitments import (
    plot_commitment as plot_commitment,
    plot_dominance as plot_dominance,
)
from .curves import (
    plot_curves as plot_curves,
    plot_regret as plot_regret,
)
from .feasible import (
    plot_feasible as plot_feasible,
)
from .graph import (
    plot_game as plot_game,
)
from .mazes import (
    plot_maze as plot_maze,
    plot_rewards as plot_rewards,
)

__all__ = [
    "animate_maze",
    "legend_below",
    "panels",
    "plot_chains",
    "plot_commitment",
    "plot_curves",
    "plot_dominance",
    "plot_feasible",
    "plot_game",
    "plot_maze",
    "plot_regret",
    "plot_rewards",
    "save",
]
