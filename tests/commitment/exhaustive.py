"""Small commitment problems of every kind, and their best commitments by a plain loop.

The loop knows nothing of the package's searches: a commitment at a time, the follower's action
values by policy iteration, its answer, the values of the pair. Ties that are broken for or against
the leader are an MDP of its own over the tied answers.
"""

from functools import cache
from itertools import product

import numpy as np

from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.reward import follower_reward
from iirl_opt.game.values import evaluate

__all__ = ["FOLLOWERS", "all_values", "every_commitment", "random_problem"]


def logistic(q):
    """An increasing positive function without overflow."""
    return 1 / (1 + np.exp(-q / 4))


FOLLOWERS = {
    "optimal, first": (OptimalFollower(), None),
    "optimal, last": (OptimalFollower("last"), None),
    "optimal, mix": (OptimalFollower("mix"), None),
    "optimal, optimistic": (OptimalFollower(), "optimistic"),
    "optimal, pessimistic": (OptimalFollower(), "pessimistic"),
    "greedy, first": (EpsilonGreedyFollower(0.3), None),
    "greedy, mix": (EpsilonGreedyFollower(0.3, "mix"), None),
    "greedy, optimistic": (EpsilonGreedyFollower(0.3), "optimistic"),
    "greedy, pessimistic": (EpsilonGreedyFollower(0.3), "pessimistic"),
    "uniform": (EpsilonGreedyFollower(1.0), None),
    "Boltzmann 0": (BoltzmannFollower(0.0), None),
    "Boltzmann 1": (BoltzmannFollower(1.0), None),
    "Boltzmann 10": (BoltzmannFollower(10.0), None),
    "Boltzmann 1e6": (BoltzmannFollower(1e6), None),
    "proportional, logistic": (ProportionalFollower(logistic), None),
}


@cache
def random_problem(seed, kind, *, states=5, actions=3):
    """Draw a problem: deterministic or random kernel, integer or real rewards, one or two of them,
    as (S,) or (S, A, B), some actions forbidden. The same one again is the same object."""
    rng = np.random.default_rng(seed)
    n, n_leader, n_follower = (
        int(rng.integers(1, most + 1)) for most in (states, actions, actions)
    )
    shape = (n, n_leader, n_follower)
    if rng.random() < 0.4:
        kernel = np.eye(n)[rng.integers(n, size=shape)]
    else:
        kernel = rng.dirichlet(np.full(n, 0.4), size=shape)
    start = rng.dirichlet(np.ones(n)) if rng.random() < 0.5 else np.eye(n)[0]
    game = TwoAgentMDP(kernel, float(rng.choice([0.0, 0.5, 0.9, 0.95])), start)

    def reward():
        size = (n,) if rng.random() < 0.5 else shape
        return rng.integers(-2, 3, size) * 1.0 if rng.random() < 0.5 else rng.normal(size=size)

    allowed = rng.random(shape[:2]) < 0.8
    allowed[np.arange(n), rng.integers(n_leader, size=n)] = True
    follower, ties = FOLLOWERS[kind]
    theirs = reward() if rng.random() < 0.5 else None
    return CommitmentProblem(
        game, reward(), follower, follower_reward=theirs, ties=ties, allowed=allowed
    )


def every_commitment(problem):
    """Return every allowed deterministic commitment as actions (K, S), the last state fastest."""
    return list(product(*(np.flatnonzero(row).tolist() for row in problem.allowed)))


def all_values(problem):
    """Return the leader's values (K, S) of every allowed deterministic commitment."""
    return _all_values(problem).copy()


@cache
def _all_values(problem):
    return np.array([_values(problem, actions) for actions in every_commitment(problem)])


def _answer(follower, best):
    return follower.among(best.optimal) if hasattr(follower, "among") else follower.answer(best.q)


def _values(problem, actions):
    game, follower = problem.game, problem.follower
    pi1 = deterministic_policy(actions, game.n_leader_actions)
    mdp = game.follower_mdp(pi1)
    best = policy_iteration(mdp, follower_reward(game, problem.follower_reward, pi1))
    if problem.ties is None:
        return evaluate(game, problem.reward, (pi1, _answer(follower, best)))
    own = follower_reward(game, problem.reward, pi1)
    own = np.broadcast_to(own.reshape(game.n_states, -1), best.q.shape)
    kernel = np.asarray(mdp.kernel)
    mixed = (1 - problem.epsilon) * kernel + problem.epsilon * kernel.mean(axis=1, keepdims=True)
    mean = (1 - problem.epsilon) * own + problem.epsilon * own.mean(axis=1, keepdims=True)
    tied = best.optimal
    first = tied.argmax(axis=1)[:, None]
    choice = np.where(tied, np.arange(tied.shape[1]), first)  # what is not tied copies what is
    rows = np.arange(len(choice))[:, None]
    sign = 1 if problem.ties == "optimistic" else -1
    chosen = policy_iteration(
        MDP(mixed[rows, choice], game.discount), sign * mean[rows, choice]
    ).values
    return sign * chosen
