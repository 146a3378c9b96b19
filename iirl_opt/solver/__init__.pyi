from .door import (
    solve as solve,
)
from .export import (
    LinearRows as LinearRows,
)
from .export import (
    linear_rows as linear_rows,
)
from .export import (
    write_program as write_program,
)
from .live import (
    LiveProgram as LiveProgram,
)
from .records import (
    Clarabel as Clarabel,
)
from .records import (
    HiGHS as HiGHS,
)
from .records import (
    Named as Named,
)
from .records import (
    Residuals as Residuals,
)
from .records import (
    Solved as Solved,
)
from .records import (
    Solver as Solver,
)
from .records import (
    Status as Status,
)

__all__ = [
    "Clarabel",
    "HiGHS",
    "LinearRows",
    "LiveProgram",
    "Named",
    "Residuals",
    "Solved",
    "Solver",
    "Status",
    "linear_rows",
    "solve",
    "write_program",
]
