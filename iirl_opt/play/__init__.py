"""The follower as a person: a maze whose doors a learner opens, and a terminal to walk it in."""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
