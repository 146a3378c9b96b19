"""The paper's experiments: cells, sweeps with checkpoints, figures whose statements are checked."""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
