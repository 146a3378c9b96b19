"""Honest certificates of every kind, over scales and discounts, and the same made looser.

What a maker returns is often exact. `loosened` rounds the numbers of a proof to floats and states
what they still prove, as a user without exact arithmetic would.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog
from trees import a_search_tree
from truth import gaps_of

import iirl_opt as iirl
from iirl_opt.certificate import (
    AngleBound,
    ClassInclusion,
    CommitmentBound,
    Inclusion,
    Infeasibility,
    Optimality,
    PolicyImprovement,
    RewardRank,
    SparseRows,
    Violation,
    Witness,
)
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import as_fractions, as_reals
from iirl_opt.game.exact import exact_optimum
from iirl_opt.occupancy import policy_improvement
from iirl_opt.occupancy.proof import Side, infeasibility, optimality
from iirl_opt.rewards import violation, witness
from iirl_opt.rewards.inclusion_proof import class_inclusion, inclusion, least_tangent
from iirl_opt.verification import angle_bound, identifiability

__all__ = ["DISCOUNTS", "KINDS", "SCALES", "honest", "loosened"]

SCALES = (*(2.0**k for k in (-40, -21, 0, 13, 40)), 1e-9, 1e-3, 0.3, 7e5, 1e12)
DISCOUNTS = ("1/2", 0.9, 1 - 1e-3, "999999/1000000", 1 - 1e-9)


def a_game(rng, discount, *, floats, n=3, n_a=2, n_b=2):
    """Return a random game of floats or of integer weights."""
    shape = (n, n_a, n_b, n)
    if floats:
        return iirl.TwoAgentMDP(rng.dirichlet(np.full(n, 0.5), shape[:3]), discount)
    weights = rng.integers(0, 4, shape)
    weights[..., 0] += weights.sum(axis=-1) == 0
    return iirl.TwoAgentMDP(weights, discount)


def a_reward(rng, scale, n=3, *, floats=False):
    """Return a reward that is not constant."""
    if floats:
        return scale * rng.normal(size=n)
    r = rng.integers(-5, 6, n).astype(float)
    r[0] = r[1:].max() + 1
    return scale * r


def best_policy(game, reward):
    """Return an optimal pair of policies."""
    n_b = game.n_follower_actions
    best = exact_optimum(game, reward).optimal.reshape(game.n_states, -1).argmax(axis=1)
    leader, follower = np.divmod(best, n_b)
    return np.eye(game.n_leader_actions)[leader], np.eye(n_b)[follower]


def observed(game, reward, rng):
    """Return what an optimal follower answers to a random commitment."""
    pi1 = iirl.random_deterministic_policy(game.n_states, game.n_leader_actions, rng)
    best = exact_optimum(game, reward, pi1).optimal.argmax(axis=1)
    return iirl.observe(game, pi1, np.eye(game.n_follower_actions)[best])


def an_optimality(rng, scale, discount, floats):
    game, reward = a_game(rng, discount, floats=floats), a_reward(rng, scale, floats=floats)
    policy = best_policy(game, reward)
    if rng.random() < 0.2:
        policy = rng.dirichlet(np.ones(4), 3).reshape(3, 2, 2)
    return optimality(game, reward, policy)


def a_constrained_optimality(rng, scale, discount, floats):
    game, reward = a_game(rng, discount, floats=floats), a_reward(rng, scale, floats=floats)
    visits = np.repeat(np.eye(3)[0], 4)
    share = 1 - float(game.exact_discount)
    kernel = game.kernel.reshape(-1, 3)
    flow = (np.repeat(np.eye(3), 4, axis=0) - game.discount * kernel).T
    most = linprog(-visits, None, None, flow, share * game.start)
    if most.status:
        return None
    limit = float(rng.uniform(0.5, 0.9)) * -most.fun
    goal = -np.repeat(reward / scale, 4)
    found = linprog(goal, [visits], [limit], flow, share * game.start)
    if found.status:
        return None
    prices = -scale * found.ineqlin.marginals
    measure = np.maximum(found.x, 0).reshape(3, 2, 2) + 1e-300
    return optimality(
        game,
        reward,
        measure / measure.sum(axis=(1, 2), keepdims=True),
        Side([visits], [Fraction(limit) / (1 - game.exact_discount)], prices=prices),
    )


def an_infeasibility(rng, scale, discount, floats):
    game = a_game(rng, discount, floats=floats)
    cost = np.abs(a_reward(rng, scale, floats=floats)) + scale
    cheapest = iirl.game.modified_policy_iteration(game, -cost / scale).values
    limit = -float(rng.choice([0.5, 0.9, 0.999])) * scale * float(game.start @ cheapest)
    return infeasibility(game, Side([np.repeat(cost, 4)], [limit], prices=[rng.uniform(0.5, 2)]))


def a_violation(rng, scale, discount, floats):
    game, reward = a_game(rng, discount, floats=floats), a_reward(rng, scale, floats=floats)
    seen = observed(game, reward, rng)
    places = rng.permutation(6).tolist()
    for s, b in (divmod(place, 2) for place in places):
        try:
            return violation(game, -reward, seen, s, b)
        except InvalidArgument:
            continue  # no better than what was played
    return None


def a_witness(rng, scale, discount, floats):
    game, reward = a_game(rng, discount, floats=floats), a_reward(rng, scale, floats=floats)
    seen = [observed(game, reward, rng) for _ in range(int(rng.integers(1, 3)))]
    return witness(game, reward, seen, (reward.mean() - reward) / scale)


def an_inclusion(rng, scale, discount, floats):
    game, reward = a_game(rng, discount, floats=floats), a_reward(rng, scale, floats=floats)
    seen = [observed(game, reward, rng) for _ in range(2)]
    blank = witness(game, reward, seen, (reward.mean() - reward) / scale)
    rows = []
    for pi1, pi2 in zip(blank.pi1, blank.pi2, strict=True):
        units = [as_fractions(e) for e in np.eye(3)]
        rows.append(np.array([gaps_of(blank, pi1, pi2, e) for e in units]))
    y = rng.integers(0, 3, (2, 3, 2)).astype(float)
    h = sum(np.tensordot(rows[t], as_fractions(y[t]), axes=2) for t in range(2))
    if not any(h):
        return None
    if floats:
        h = as_fractions(as_reals(h / max(abs(h))))
    return inclusion(
        game, seen, scale * as_fractions(h) if scale == 1 else h * Fraction(scale), [y]
    )


def environment(kind, rng, scale, discount, floats, **options):
    """Return an environment as a game, its reward, and the answer b1 everywhere."""
    reward = a_reward(rng, scale, 4, floats=floats)
    made = getattr(iirl, f"{kind}_environment")(reward, discount, **options)
    game = made.game
    if floats:
        game = iirl.TwoAgentMDP(game.kernel, discount, leader_actions=1)
    first = np.eye(2)[np.zeros(4, dtype=int)]
    return game, reward, iirl.observe(game, np.ones((4, 1)), first)


def a_class_inclusion(rng, scale, discount, floats):
    game, reward, seen = environment("ideal", rng, scale, discount, floats)
    return class_inclusion(game, reward, [seen])


def a_cone_inclusion(rng, scale, discount, floats):
    tan = float(rng.choice([1e-3, 0.1, 1.0]))
    game, reward, seen = environment("strict", rng, scale, discount, floats, epsilon=tan / 30)
    return class_inclusion(game, reward, [seen], tan=tan)


def an_angle_bound(rng, scale, discount, floats):
    epsilon = float(rng.choice([1e-4, 1e-2, 0.3]))
    game, reward, seen = environment(
        "strict", rng, scale, discount, floats, epsilon=epsilon, rational=not floats
    )
    return angle_bound(game, reward, seen)


def an_improvement(rng, scale, discount, floats):
    game, reward = a_game(rng, discount, floats=floats), a_reward(rng, scale, floats=floats)
    old = (rng.dirichlet(np.ones(2), 3), rng.dirichlet(np.ones(2), 3))
    return policy_improvement(game, reward, old, best_policy(game, reward))


def a_reward_rank(rng, scale, discount, floats):
    game, kind = a_game(rng, discount, floats=floats), rng.choice(["state", "follower", "joint"])
    times = int(rng.integers(1, 3))
    return identifiability(game, rng.dirichlet(np.ones(2), (times, 3)), str(kind)).certificate


KINDS = {
    "optimality": an_optimality,
    "optimality within constraints": a_constrained_optimality,
    "infeasibility": an_infeasibility,
    "violation": a_violation,
    "witness": a_witness,
    "inclusion": an_inclusion,
    "class inclusion": a_class_inclusion,
    "inclusion in a cone": a_cone_inclusion,
    "angle bound": an_angle_bound,
    "policy improvement": an_improvement,
    "reward rank": a_reward_rank,
    "search tree": a_search_tree,
}


def honest(kind, seed, scale=1.0, discount="4/5", *, floats=False):
    """Return a certificate of a true claim, or None where the instance has none of this kind."""
    return KINDS[kind](np.random.default_rng([seed, *kind.encode()]), scale, discount, floats)


def rounded(numbers):
    """Return numbers as the floats nearest to them."""
    if isinstance(numbers, SparseRows):
        return SparseRows(numbers.indptr, numbers.indices, rounded(numbers.data), numbers.width)
    return as_fractions(as_reals(numbers))


def loosened(c):
    """Return a certificate with floats in its proof, and the claim that they still prove.

    None where they prove none.
    """
    names = {
        Optimality: ("values", "mass", "prices", "equal_prices"),
        Infeasibility: ("values", "prices", "equal_prices"),
        PolicyImprovement: ("old_values", "new_values"),
        Violation: ("values",),
        Witness: ("values",),
        Inclusion: ("on_gaps", "on_values"),
        ClassInclusion: ("on_gaps", "on_values"),
        AngleBound: ("rays",),
        CommitmentBound: (),
        RewardRank: (),
    }[type(c)]
    c = replace(c, claim="", **{name: rounded(getattr(c, name)) for name in names})
    if isinstance(c, Optimality):
        lower, upper, excess = c.proved()
        return replace(c, lower=lower, upper=upper, excess=excess, claim="")
    if isinstance(c, PolicyImprovement):
        return replace(c, gain=c.proved(), claim="") if c.proved() > 0 else None
    if isinstance(c, Violation):
        least, most = c.proved()
        found = least if least > 0 else most if most < 0 else None
        return None if found is None else replace(c, advantage=found, claim="")
    if isinstance(c, Witness):
        margin, loss = c.proved()
        return None if loss is None else replace(c, margin=margin, loss=loss, claim="")
    if isinstance(c, CommitmentBound):
        ends = np.nextafter([float(c.lower), float(c.upper)], [-np.inf, np.inf])
        return replace(c, lower=ends[0], upper=ends[1], claim="")
    if isinstance(c, Inclusion):
        return replace(c, slack=c.proved(), claim="")
    if isinstance(c, ClassInclusion):
        tan = least_tangent(c.reward, c.inner, c.missed())
        return None if tan is None else replace(c, tan=tan, claim="")
    if isinstance(c, AngleBound):
        rays = c.rays.copy()
        rays[:, -1] = -rays[:, :-1].sum(axis=1)
        c = replace(c, rays=rays, claim="")
        bound, near, ahead = c.proved()
        return replace(c, tan_squared=bound, claim="") if near > 0 and ahead > 0 else None
    return c
