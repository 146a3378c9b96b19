"""Model files: reading them, asking them, and holding their answers against what they expect.

`families` has a file for each family of questions; `schema` lists the tables that they share.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
