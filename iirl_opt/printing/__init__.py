"""Printing: what is shown of records, and tables of them for other programs.

Every record has a `repr` of one screen (`iirl_opt.brief`). One that says more as a table is
`Tabular`: a notebook shows it, and it goes out as a data frame, as CSV and as LaTeX. `tabulate`
puts many records into one `FactTable`.
"""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
