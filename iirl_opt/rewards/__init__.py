"""Sets of rewards: feasible ones, domains, affine classes, cuts, centres, regret over a set."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
