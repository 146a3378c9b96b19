"""Posteriors over the reward and the follower's parameter (paper, Section 5.1).

* `evidence`: what was seen, as counts; `families`: followers with one unknown number
* `priors`; `posterior`: the density; `starts`: points where it is positive
* `sampler`: Markov chains; `proposals`: their moves; `sampling_defaults`: what is done unasked
* `chains`: the draws, R-hat, the ridge; `summary`: what there is to report of them
* `engine`: optimal action values for many rewards, and Metropolis–Hastings with the Hastings ratio
* `algorithm_4`: the paper's Bayesian learner
"""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
