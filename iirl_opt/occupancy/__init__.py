"""Occupancy-measure programs: discounted state–action frequencies, budgets, their prices."""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
