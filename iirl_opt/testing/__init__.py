"""What users need to test theorems of their own: strategies for hypothesis, assertions, and suites.

The strategies need the extra ``testing``; the assertions do not. Opening this room loads a solver
and what else the first example of a test would wait for (`iirl_opt.testing.first_example`).
"""

from iirl_opt.errors import MissingExtra
from iirl_opt.rooms import attach
from iirl_opt.testing import first_example as first_example

_found, __dir__, __all__ = attach(__name__, __file__)


def __getattr__(name: str) -> object:
    try:
        return _found(name)
    except ModuleNotFoundError as problem:
        if (problem.name or "").split(".")[0] != "hypothesis":
            raise
        raise MissingExtra(f"iirl_opt.testing.{name}", "testing") from None
