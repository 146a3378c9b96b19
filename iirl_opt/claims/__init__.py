"""The paper's statements as code: each with a status, a search and a counterexample.

`PAPER` holds every statement of the paper, and what is true in place of those that are not; the
command ``iirl-opt claims`` prints it. A claim of your own is a `Claim` with a hypothesis strategy
for its instances and a predicate on one instance; ``iirl-opt claims FILE`` tries the list
``claims`` of a Python file. hypothesis (the extra ``testing``) is loaded when claims are tried.
"""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
