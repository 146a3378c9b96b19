"""What users need to test theorems of their own: strategies for hypothesis, and assertions.

The strategies need the extra ``testing``; the assertions do not. Both are loaded when they are
first used, so that hypothesis finds the registered types without loading the rest.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "assertions": ("assert_certificate", "assert_kkt", "assert_policy"),
    "extreme": ("boundary_rewards", "tied_rewards"),
    "strategies": (
        "followers",
        "games",
        "mdps",
        "observations",
        "policies",
        "rewards",
        "trajectories",
    ),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'iirl_opt.testing' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"iirl_opt.testing.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if TYPE_CHECKING:
    from iirl_opt.testing.assertions import *  # noqa: F403
    from iirl_opt.testing.extreme import *  # noqa: F403
    from iirl_opt.testing.strategies import *  # noqa: F403
