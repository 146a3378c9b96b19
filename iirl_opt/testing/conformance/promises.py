"""What conformance suites share: promises, what breaks one, and how they are tried.

A promise is a sentence about an object, such as "`respond` leaves its arguments as they are". It
is broken by whatever goes wrong while it is tried, also by an error that the object raises. Then
the failure begins with the object, the interface and the sentence; below stands what was found, and
hypothesis adds the instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis.control import current_build_context
from hypothesis.errors import Flaky
from hypothesis.strategies import SearchStrategy
from numpy.typing import ArrayLike

from iirl_opt.checks import is_a, one_of
from iirl_opt.errors import IIRLError

__all__ = ["REFUSALS", "STRATEGY", "Promises", "agree", "flags", "require", "suite_settings"]

# What an object may raise to refuse what it is given.
REFUSALS = (IIRLError, ValueError, TypeError)

# How many instances more are tried once one has failed, to find a smaller one.
SHRINKING = 100

# What an argument `games` may be.
STRATEGY = is_a(SearchStrategy)


@dataclass(frozen=True)
class Promises:
    """What an interface promises, tried on one object.

    Parameters
    ----------
    interface : its name.
    subject : the object.
    """

    interface: str
    subject: object
    _since: list[int] = field(default_factory=list, repr=False)  # [instances since one failed]

    def begin(self) -> None:
        """Begin with an instance: of those that come `SHRINKING` after a failure, the last alone.

        The others end as if hypothesis had no more choices to give: it looks no further.
        """
        if not self._since:
            return
        self._since[0] += 1
        now = current_build_context()
        if self._since[0] > SHRINKING and not now.is_final:
            now.data.mark_overrun()

    @contextmanager
    def keeps(self, sentence: str) -> Iterator[None]:
        """Try a promise: whatever is raised within breaks it, and is told as the reason."""
        __tracebackhide__ = True
        try:
            yield
        except Exception as problem:
            self._since[:] = self._since or [0]
            kind = "" if type(problem) is AssertionError else f"{type(problem).__name__}: "
            raise AssertionError(f"{self._breaks(sentence)}\n  {kind}{problem}") from problem

    def refuses(self, what: str, call: Callable[..., Any], *given: Any, **named: Any) -> None:
        """Try the promise that a call refuses what it is given: by one of `REFUSALS`."""
        __tracebackhide__ = True
        with self.keeps(f"{what} is refused with a ValueError, a TypeError or an IIRLError"):
            try:
                answer = call(*given, **named)
            except REFUSALS:
                return
            raise AssertionError(f"it was accepted, and led to {answer!r}")

    def run(self, suite: Callable[[], None]) -> None:
        """Run a hypothesis test; what behaves otherwise from run to run breaks a promise, too."""
        __tracebackhide__ = True
        try:
            suite()
        except Flaky as moody:
            found = [f"\n  once: {one}" for one in getattr(moody, "exceptions", ())]
            sentence = "what is done twice ends in the same"
            failure = AssertionError("".join([self._breaks(sentence), *found]))
            for note in getattr(moody, "__notes__", ()):
                failure.add_note(note)
            raise failure from moody

    def _breaks(self, sentence: str) -> str:
        return f"{self.subject!r} breaks a promise of {self.interface}: {sentence}"


def agree(one: Any, other: Any, names: tuple[str, str], near: float = 0.0) -> None:
    """Fail unless two arrays are equal, or within `near` of each other."""
    __tracebackhide__ = True
    x, y = np.asarray(one), np.asarray(other)
    fine = x.shape == y.shape and (
        np.allclose(x.astype(float), y.astype(float), rtol=near, atol=near)
        if near
        else np.array_equal(x, y)
    )
    require(fine, f"{names[0]}: {_in_a_line(x)}\n  {names[1]}: {_in_a_line(y)}")


def require(holds: bool, otherwise: str) -> None:
    """Fail unless something holds."""
    __tracebackhide__ = True
    if not holds:
        raise AssertionError(otherwise)


def flags(**given: Any) -> None:
    """Refuse options that are neither True nor False."""
    for name, value in given.items():
        one_of(True, False)(name, value)


def suite_settings(**options: Any) -> settings:
    """Return the settings of suites: those of the profile that is loaded, without a deadline.

    An example is many calls, and a failure names the promise itself: no explain phase either.
    """
    now = settings()
    return settings(
        now,
        deadline=None,
        suppress_health_check=[*now.suppress_health_check, HealthCheck.too_slow],
        phases=[phase for phase in now.phases if phase is not Phase.explain],
        report_multiple_bugs=False,
        **options,
    )


def _in_a_line(array: ArrayLike) -> str:
    return np.array2string(np.asarray(array), separator=", ").replace("\n", "")
