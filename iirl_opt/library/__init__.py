"""Model files: reading them, asking them, and holding their answers against what they expect.

`families` has a file for each family of questions; `schema` lists the tables that they share.
"""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
