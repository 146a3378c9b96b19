"""What users need to test theorems of their own: strategies for hypothesis, assertions, and suites.

The strategies need the extra ``testing``; the assertions do not. Opening this room loads a solver
and what else the first example of a test would wait for (`iirl_opt.testing.first_example`).
"""

import lazy_loader

from iirl_opt.testing import first_example as first_example

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
