from .records import (
    Tabular as Tabular,
    tabulate as tabulate,
)
from .table import (
    FactTable as FactTable,
)

__all__ = [
    "FactTable",
    "Tabular",
    "tabulate",
]
