"""Exit codes: what the command says to the shell that called it.

0 answered, and every expectation of the file met; 1 an expectation, a proof or a statement failed;
2 bad input (the message on standard error names file and key or line); 3 no answer (a solver's
limit, an inconclusive or contradictory set of observations); 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ANSWERED", "BAD_INPUT", "INTERRUPTED", "NO_ANSWER", "UNMET", "all_or_unmet"]

ANSWERED, UNMET, BAD_INPUT, NO_ANSWER, INTERRUPTED = 0, 1, 2, 3, 130


def all_or_unmet(met: Iterable[bool]) -> int:
    """Return the code of an answer, by whether all that was expected of it is met."""
    return ANSWERED if all(met) else UNMET
