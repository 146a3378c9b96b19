from .cluster import dask_executor as dask_executor
from .comparison import (
    compare_cells as compare_cells,
    compare_runs as compare_runs,
)
from .figure import (
    FIGURES as FIGURES,
    Figure as Figure,
    find_figure as find_figure,
    run_figure as run_figure,
)
from .sweep import (
    Cell as Cell,
    CellResult as CellResult,
    run_cells as run_cells,
)
from .tables import (
    tidy as tidy,
    write_tidy as write_tidy,
)

__all__ = [
    "FIGURES",
    "Cell",
    "CellResult",
    "Figure",
    "compare_cells",
    "compare_runs",
    "dask_executor",
    "find_figure",
    "run_cells",
    "run_figure",
    "tidy",
    "write_tidy",
]
