"""Sets of rewards: feasible ones, domains, affine classes, cuts, centres, regret over a set."""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
