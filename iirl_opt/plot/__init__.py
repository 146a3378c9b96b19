"""Pictures of games, rewards, regret and chains, by matplotlib (the extra ``plot``)."""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
