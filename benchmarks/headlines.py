"""The jobs that the README and the head of the page speak of, and where each was measured."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CLAIMS", "FURTHER", "Claim"]


class Claim(NamedTuple):
    """A job that is put beside a peer and an earlier commit, on the page and in the README.

    Attributes
    ----------
    text : the job.
    group, title, contestant : where it was measured.
    peer : the contestant to compare with, if any, and `name` what the README calls it.
    """

    text: str
    group: str
    title: str
    contestant: str
    peer: str = ""
    name: str = ""


_PRINTED = "explicit rows, highspy", "the printed rows, bare HiGHS"
_RANDOM = "random, 5 successors, S = "
_SWEEPS = "plain iteration", "plain iteration, no bound"

# In the README, and first on the page.
CLAIMS = (
    Claim(
        "Algorithm 1, 30 episodes of Maze-Maker (392 states, 6×4 actions)",
        *("algorithm1", "Maze-Maker, 30 episodes", "InteractiveIRL"),
    ),
    Claim(
        "the active learner, 30 episodes of 200 states, 4×4 actions",
        *("active", "paper's random game, 30 episodes", "ActiveIRL"),
    ),
    Claim(
        "the joint optimum of 100,000 states, 16 joint actions, its error bounded",
        *("planning", _RANDOM + "100,000", "values"),
        *("QuantEcon", "QuantEcon, no bound"),
    ),
    Claim(
        "values of a policy with their error bounded, 4,000 states without structure",
        *("evaluation", "evaluate, S = 4,000, γ = 0.9", "evaluate", *_SWEEPS),
    ),
    Claim(
        "whether a reward explains an answer, 4,000 states",
        *("evaluation", "contains, S = 4,000, γ = 0.9", "contains", *_SWEEPS),
    ),
    Claim(
        "a feasible reward after 10 episodes of Maze-Maker",
        *("feasible", "Maze-Maker, t = 10", "maximise", *_PRINTED),
    ),
    Claim(
        "the same on a random game of 200 states",
        *("feasible", "paper's random game, t = 10", "maximise", *_PRINTED),
    ),
    Claim(
        "the occupancy program of 1,000 states, 16 joint actions",
        *("occupancy", "random, S = 1,000", "maximise"),
        *("highspy, interior point", "bare HiGHS, its fastest method"),
    ),
    Claim(
        "an occupancy program again for a reward nearby, 200 states",
        *("live", "paper's random game, occupancy", "hot", "highspy, hot", "bare HiGHS"),
    ),
    Claim(
        "a best deterministic commitment, proved, 14 states, A = B = 3, a Boltzmann follower",
        *("search", "S = 14, A = B = 3", "BranchAndBound"),
    ),
    Claim(
        "a proposal of the posterior after 10 commitments in Maze-Maker",
        *("sampling", "Maze-Maker, t = 10", "compiled", "NumPy", "the same in NumPy"),
    ),
    Claim(
        "`import iirl_opt`",
        *("startup", "processes", "import iirl_opt", "import cvxpy", "`import cvxpy`"),
    ),
)

# Further ones, on the page alone.
FURTHER = (
    Claim(
        "the joint optimum of 1,000 states",
        *("planning", _RANDOM + "1,000", "values", "QuantEcon"),
    ),
    Claim(
        "the same with all ties decided",
        *("planning", _RANDOM + "1,000", "values and all ties", "QuantEcon"),
    ),
    Claim(
        "a policy, without certificate",
        *("planning", _RANDOM + "1,000", "policy, no certificate", "QuantEcon"),
    ),
    Claim(
        "a policy of 100,000 states, without certificate",
        *("planning", _RANDOM + "100,000", "policy, no certificate", "QuantEcon"),
    ),
    Claim(
        "evaluate, a grid of 90,000 states",
        *("evaluation", "evaluate, grid 300×300, γ = 0.9", "evaluate", "sparse LU"),
    ),
    Claim(
        "evaluate, 100,000 states, γ = 0.999",
        *("evaluation", "evaluate, S = 100,000, γ = 0.999", "evaluate", "plain iteration"),
    ),
    Claim(
        "violations, 4,000 states",
        *("evaluation", "violations, S = 4,000, γ = 0.9", "violations", "sparse LU"),
    ),
    Claim(
        "an answer, 4,000 states",
        *("evaluation", "respond, S = 4,000, γ = 0.9", "respond", "value iteration"),
    ),
    Claim(
        "the occupancy program of 1,000 states with a budget",
        *("occupancy", "random, S = 1,000, budget", "maximise", "highspy, simplex"),
    ),
    Claim(
        "the active learner, 30 episodes of Maze-Maker",
        *("active", "Maze-Maker, 30 episodes", "ActiveIRL"),
    ),
    Claim(
        "a best deterministic commitment, 20 states",
        *("search", "S = 20, A = B = 3", "BranchAndBound"),
    ),
    Claim(
        "the regret certificate, 30 states, 3×3 actions",
        *("regret", "30 states, 3×3 actions", "regret_bound"),
    ),
    Claim(
        "the regret certificate, 200 states, 4×4 actions",
        *("regret", "200 states, 4×4 actions", "regret_bound"),
    ),
    Claim(
        "a random game of 100,000 states",
        *("loading", "random game, S = 100,000", "random_game", "NumPy, unchecked"),
    ),
    Claim(
        "a .dpomdp file of 81 states, 25 joint actions",
        *("loading", ".dpomdp file", "read_dpomdp"),
    ),
    Claim(
        "iirl-opt show maze-maker",
        *("startup", "processes", "iirl-opt show maze-maker", "import cvxpy"),
    ),
    Claim(
        "iirl-opt --version",
        *("startup", "processes", "iirl-opt --version", "import cvxpy"),
    ),
    Claim(
        "iirl-opt --help",
        *("startup", "processes", "iirl-opt --help", "import cvxpy"),
    ),
    Claim(
        "a Tab behind iirl-opt learn maze-m",
        *("startup", "completion", "a model, learn maze-m", "import cvxpy"),
    ),
)
