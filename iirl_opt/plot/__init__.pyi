from .pictures import (
    legend_below as legend_below,
)
from .pictures import (
    panels as panels,
)
from .pictures import (
    plot_chains as plot_chains,
)
from .pictures import (
    plot_curves as plot_curves,
)
from .pictures import (
    plot_maze as plot_maze,
)
from .pictures import (
    plot_regret as plot_regret,
)
from .pictures import (
    plot_rewards as plot_rewards,
)
from .pictures import (
    save as save,
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
