"""Learners by name: what ``--learner``, ``compare`` and a model file's ``learner`` may say.

``algorithm-1``, the paper's, is the default everywhere. The next names are its variants, the active
learner and the committee, which learns for elsewhere; then other choices of a reward for it, and
last the Bayesian learner of Algorithm 4, which takes its partner for a Boltzmann follower. Each
name with ``-fixed`` behind it is the same learner in one environment, as in standard IRL.

A learner is imported when it is made: names alone load no solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from iirl_opt.checks import FLAG, SEED, TEXT, checked
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.spelling import allowed_names

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from iirl_opt.learn.learner import Learner

__all__ = ["ALGORITHM_1", "LEARNERS", "check_learner", "make_learner"]

ALGORITHM_1 = "algorithm-1"

# Behind a name: the learner watches the answers to its first commitment alone.
FIXED = "-fixed"


def _printed(game: TwoAgentMDP, **facts: Any) -> Learner:
    from iirl_opt.learn.algorithm_1 import InteractiveIRL

    return InteractiveIRL(game, **facts)


def _with_random_ties(game: TwoAgentMDP, **facts: Any) -> Learner:
    from iirl_opt.learn.algorithm_1 import InteractiveIRL

    return InteractiveIRL(game, leader_ties="random", **facts)


def _choosing(choice: str, game: TwoAgentMDP, **facts: Any) -> Learner:
    from iirl_opt.learn import baselines, choices
    from iirl_opt.learn.algorithm_1 import InteractiveIRL

    room = choices if hasattr(choices, choice) else baselines
    return InteractiveIRL(game, choice=getattr(room, choice)(), **facts)


def _active(game: TwoAgentMDP, **facts: Any) -> Learner:
    from iirl_opt.learn.active import ActiveIRL

    return ActiveIRL(game, **facts)


def _bayesian(game: TwoAgentMDP, **facts: Any) -> Learner:
    from iirl_opt.bayesian.algorithm_4 import BayesianInteractiveIRL

    return BayesianInteractiveIRL(game, **facts)


def _committee(game: TwoAgentMDP, **facts: Any) -> Learner:
    from iirl_opt.learn.committee import CommitteeIRL

    return CommitteeIRL(game, **facts)


# How each learner is made: from the game, its seed and its first commitment.
LEARNERS: Mapping[str, Callable[..., Learner]] = {
    ALGORITHM_1: _printed,
    "algorithm-1-random-ties": _with_random_ties,
    "active": _active,
    "committee": _committee,
    "mean-of-vertices": partial(_choosing, "MeanOfVertices"),
    "chebyshev-centre": partial(_choosing, "ChebyshevCentre"),
    "analytic-centre": partial(_choosing, "AnalyticCentre"),
    "hit-and-run-mean": partial(_choosing, "HitAndRunMean"),
    "max-margin": partial(_choosing, "MaxMargin"),
    "max-entropy": partial(_choosing, "MaximumEntropy"),
    "random-reward": partial(_choosing, "RandomReward"),
    "algorithm-4": _bayesian,
}

# Those that can learn a joint reward (S, A, B).
JOINT = (ALGORITHM_1, "algorithm-1-random-ties")


def check_learner(name: str) -> str:
    """Return the name of a learner.

    Raises
    ------
    InvalidArgument
        There is no such learner: names those that are.

    Examples
    --------
    >>> check_learner("active-fixed")
    'active-fixed'
    """
    if name.removesuffix(FIXED) not in LEARNERS:
        known = allowed_names(name.removesuffix(FIXED), LEARNERS)
        raise InvalidArgument(
            "learner", f"is {name!r}", f"{known}, each also with {FIXED} behind it", name
        )
    return name


@checked(name=TEXT, game=GAME, seed=SEED, joint=FLAG)
def make_learner(
    name: str,
    game: TwoAgentMDP,
    *,
    seed: int = 0,
    first: ArrayLike | None = None,
    joint: bool = False,
) -> Learner:
    """Return a learner by its name, with the settings that it has by default.

    Parameters
    ----------
    name : one of `LEARNERS`, or one with ``-fixed`` behind it.
    seed : of all its randomness.
    first : the first commitment (S, A); by default deterministic and uniformly random.
    joint : whether it learns a joint reward (S, A, B).

    Raises
    ------
    InvalidArgument
        There is no such learner, or it learns rewards by state only.

    **Cost** arithmetic: nothing is planned before the learner is asked.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(5, 2, 2, rng=1)
    >>> make_learner("active", game, seed=3).seed
    3
    """
    within = check_learner(name).removesuffix(FIXED)
    facts: dict[str, Any] = {"seed": seed, "first": first}
    if joint:
        if within not in JOINT:
            raise InvalidArgument(
                "learner", f"is {name!r}, which learns rewards by state", ", ".join(JOINT), name
            )
        facts["joint"] = True
    if within == name:
        return LEARNERS[name](game, **facts)
    if within == "algorithm-4":  # it learns from all answers in its one environment
        return LEARNERS[within](game, fixed=True, **facts)
    from iirl_opt.learn.baselines import FixedEnvironment

    return FixedEnvironment(LEARNERS[within](game, **facts))
