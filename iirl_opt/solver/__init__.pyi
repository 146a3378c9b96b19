from .conflict import (
    Conflict as Conflict,
    explain as explain,
)
from .door import (
    solve as solve,
)
from .export import (
    LinearRows as LinearRows,
    linear_rows as linear_rows,
    write_program as write_program,
)
from .live import (
    LiveProgram as LiveProgram,
)
from .records import (
    Clarabel as Clarabel,
    ConflictingRow as ConflictingRow,
    HiGHS as HiGHS,
    Named as Named,
    Residuals as Residuals,
    Solved as Solved,
    Solver as Solver,
    Status as Status,
)

__all__ = [
    "Clarabel",
    "Conflict",
    "ConflictingRow",
    "HiGHS",
    "LinearRows",
    "LiveProgram",
    "Named",
    "Residuals",
    "Solved",
    "Solver",
    "Status",
    "explain",
    "linear_rows",
    "solve",
    "write_program",
]
