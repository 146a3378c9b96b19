from .canvas import (
    legend_below as legend_below,
    panels as panels,
    save as save,
)
from .chains import (
    plot_chains as plot_chains,
)
from .curves import (
    plot_curves as plot_curves,
    plot_regret as plot_regret,
)
from .mazes import (
    plot_maze as plot_maze,
    plot_rewards as plot_rewards,
)

__all__ = [
    "legend_below",
    "panels",
    "plot_chains",
    "plot_curves",
    "plot_maze",
    "plot_regret",
    "plot_rewards",
    "save",
]
