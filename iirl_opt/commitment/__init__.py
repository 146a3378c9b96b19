"""The commitment problem: Algorithms 2 and 3, exact searches, programs, dominance."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
