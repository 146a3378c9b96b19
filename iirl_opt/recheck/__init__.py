"""The second checker: certificates of version 2, by Python's standard library and nothing else.

    python -m recheck proof.json [--seconds 600]

prints the claim, what was checked, and ``PROVED`` (exit code 0) or ``NOT PROVED`` with the
condition that failed (1); what is no certificate is refused with the reason (2). Copy this folder
to a machine without the library and run the command beside it; where the library is,
``python -m iirl_opt.recheck`` is the same. It was written from the page "The certificate format" of
the documentation, imports nothing of the library, and decides everything in whole numbers and
fractions.

`arithmetic` has the numbers, `reading` what a document may look like, `game` the game and the
fields; `occupancy`, `responses`, `inclusion`, `rank` and `tree` check one kind of claim each;
`document` joins them, and `command` is the command.
"""

from .command import inspect, main
from .document import KINDS, check, holds
from .reading import TROUBLE, NotProved, Unreadable

__all__ = ["KINDS", "TROUBLE", "NotProved", "Unreadable", "check", "holds", "inspect", "main"]
