"""Failures: what a command says, and by which exit code, of an error that is no fault of ours."""

from __future__ import annotations

from iirl_opt import errors
from iirl_opt.cli.exit_codes import BAD_INPUT, NO_ANSWER

__all__ = ["FAILURES", "failure", "printable"]

FAILURES = (errors.IIRLError, OSError, MemoryError)

UNANSWERED = (
    errors.SolverProblem,
    errors.OnlyConstantRewards,
    errors.NotExact,
    errors.WorkersLost,
)


def failure(problem: Exception) -> tuple[int, str]:
    """Return the exit code of one of the `FAILURES`, and what is wrong, its place first."""
    if isinstance(problem, MemoryError):
        return NO_ANSWER, "there is not enough memory for this"
    said = str(problem)
    if isinstance(problem, UNANSWERED):
        return NO_ANSWER, said
    if isinstance(problem, OSError) and problem.filename is not None:
        said = f"{problem.filename}: {problem.strerror}"
    return BAD_INPUT, printable(said)


def printable(said: str) -> str:
    """Return a message without the middle of what is endless, and without what moves a cursor."""
    said = said if len(said) <= 500 else f"{said[:200]} … {said[-200:]}"
    # What a name holds may be no character at all.
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in said)
