"""Interactive inverse reinforcement learning as optimisation models.

The everyday names are here, everything else under the name of its room: `iirl.rewards`,
`iirl.commitment`, `iirl.verification`, ... All is loaded when it is first used: importing the
package brings in neither a solver nor a plotting library. The stub beside this file is the list.
"""

from iirl_opt import _start

_start.hold()  # before anything that takes time to import

from pkgutil import iter_modules  # noqa: E402

from iirl_opt.rooms import attach  # noqa: E402

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(__name__, __file__)

# Rooms are there by name; a star import brings what stands at the top.
__all__ = sorted({"__version__", *__all__} - {room.name for room in iter_modules(__path__)})
