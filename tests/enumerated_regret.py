"""The worst regret of a commitment by enumeration: one linear program for each joint policy."""

import itertools

import numpy as np
from scipy.optimize import linprog

import iirl_opt as iirl


def instance(seed, n_states=3, actions=(2, 2), away_actions=(2, 2), episodes=1):
    """Return rewards that explain answers of a random game, and another game with a commitment."""
    rng = np.random.default_rng(seed)
    home, truth = iirl.random_game(n_states, *actions, rng=rng)
    away, _ = iirl.random_game(
        n_states, *away_actions, rng=rng, discount=rng.choice([0.0, 0.5, 0.9])
    )
    feasible = iirl.FeasibleRewards(home)
    for _ in range(episodes):
        pi1 = np.eye(actions[0])[rng.integers(actions[0], size=n_states)]
        feasible = feasible.observe(pi1, iirl.OptimalFollower().respond(home, truth, pi1))
    pi1 = np.eye(away_actions[0])[rng.integers(away_actions[0], size=n_states)]
    if rng.random() < 0.5:
        pi1 = rng.dirichlet(np.ones(away_actions[0]), n_states)
    return feasible, away, pi1, truth


def worst_by_enumeration(feasible, game, pi1):
    """Return the worst regret: of every joint policy, by how much it can earn more than pi1."""
    n, gamma = game.n_states, game.discount
    kernel = game.kernel.reshape(n, -1, n)
    theirs = np.einsum("sa,sabt->sbt", pi1, game.kernel)
    free, tied = feasible.explicit_rows()
    # Variables r and W, and W(s) ≥ r(s) + γ P_cb W.
    answers = [
        np.hstack([np.eye(n), gamma * theirs[:, b] - np.eye(n)]) for b in range(theirs.shape[1])
    ]
    least = np.vstack([*answers, np.hstack([-free, np.zeros((len(free), n))])])
    equal = np.vstack(
        [np.hstack([np.ones(n), np.zeros(n)]), np.hstack([tied, np.zeros((len(tied), n))])]
    )
    right = np.zeros(len(equal))
    right[0] = 1.0
    worst = 0.0
    for choices in itertools.product(range(kernel.shape[1]), repeat=n):
        chain = kernel[np.arange(n), choices]
        visits = np.linalg.solve(np.eye(n) - gamma * chain.T, game.start)
        found = linprog(
            np.concatenate([-visits, game.start]),
            least,
            np.zeros(len(least)),
            equal,
            right,
            bounds=[(0, None)] * n + [(None, None)] * n,
        )
        worst = max(worst, -found.fun)
    return worst
