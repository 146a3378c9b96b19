"""The follower as a person: a maze whose doors a learner opens, and a terminal to walk it in."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
