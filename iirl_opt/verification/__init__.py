"""Is the reward this one? Ideal and strict environments, realising and verifying them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
