"""Is the reward this one? Ideal and strict environments, realising and verifying them."""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
