"""Learning an unknown reward from a partner's responses.

* `learner`: the interface of all learners, ask and tell; `feasible_learner`: those that keep the
  feasible set
* `episodes`: runs against a response model; `episode_regret`: V* and what is lost of it
* `algorithm_1`: the paper's learner; `choices`: which reward to plan for
* `active`: the active learner; `indifference`: mixtures that cut; `information`: their worth
* `baselines`: maximum margin, maximum entropy, a fixed environment
* `proposition_1`: when regret vanishes; `limits` and `same_answer`: what nobody can learn
"""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
