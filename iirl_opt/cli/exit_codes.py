"""Exit codes: what the command says to the shell that called it.

0 answered, and every expectation of the file met; 1 an expectation, a proof or a statement failed;
2 bad input (the message on standard error names file and key or line); 3 no answer (a solver's
limit, an inconclusive or contradictory set of observations, rows that nothing meets, chains that
have not mixed; unless the file expects just that); 70 a fault of iirl-opt itself, with
its traceback on standard error. Stopped from outside, with what was done until then kept: 130 by
Ctrl-C, 143 by SIGTERM (129 by SIGHUP), 141 by a reader that has gone.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ANSWERED",
    "BAD_INPUT",
    "CLOSED",
    "INTERNAL",
    "INTERRUPTED",
    "NO_ANSWER",
    "TERMINATED",
    "UNMET",
    "all_or_unmet",
]

ANSWERED, UNMET, BAD_INPUT, NO_ANSWER, INTERNAL = 0, 1, 2, 3, 70
INTERRUPTED, CLOSED, TERMINATED = 130, 141, 143


def all_or_unmet(met: Iterable[bool]) -> int:
    """Return the code of an answer, by whether all that was expected of it is met."""
    return ANSWERED if all(met) else UNMET
