"""Response models: how the follower answers a commitment (paper, Section 3.1).

A follower is a small frozen object with a method ``respond``. All models here but the last are
*local*: what they play in a state depends on its optimal action values alone.

* `OptimalFollower`: an optimal response; its tie rule is part of the model;
* `EpsilonGreedyFollower`: optimal with probability 1 − ε, else uniform;
* `BoltzmannFollower`: ``π2(b | s) ∝ exp(β Q*(s, b))``;
* `ProportionalFollower`: ``π2(b | s) ∝ f(Q*(s, b))`` for a function f ≥ 0 (Theorem 3);
* `SoftOptimalFollower`: maximises reward plus λ times entropy, and plans for playing so.
"""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
