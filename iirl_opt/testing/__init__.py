"""What users need to test theorems of their own: strategies for hypothesis, and assertions.

The strategies need the extra ``testing``; the assertions do not. Both are loaded when they are
first used, so that hypothesis finds the registered types without loading the rest.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
