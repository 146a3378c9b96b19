"""Search trees: honest ones, what is true of them, and forgeries of their own kind.

What commitments earn is found by enumeration in rationals. Boltzmann play is no rational; it is
taken to 60 digits, far beyond the slack of any claim here.
"""

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
from truth import kernel_of, optimum, spread, values_of

import iirl_opt as iirl
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.commitment.tree_proof import commitment_bound
from iirl_opt.follower.proportional import Affine, Power

__all__ = ["FOLLOWERS", "a_search_tree", "forgeries", "truth"]

ONE, ZERO = Fraction(1), Fraction(0)
DIGITS = 60

# By name: the follower, the rule in place of its own, whether its values must not be negative.
FOLLOWERS = {
    "optimal, first": (iirl.OptimalFollower(), None, False),
    "optimal, last": (iirl.OptimalFollower("last"), None, False),
    "optimal, mix": (iirl.OptimalFollower("mix"), None, False),
    "optimal, optimistic": (iirl.OptimalFollower(), "optimistic", False),
    "optimal, pessimistic": (iirl.OptimalFollower(), "pessimistic", False),
    "greedy, first": (iirl.EpsilonGreedyFollower(0.3), None, False),
    "greedy, mix": (iirl.EpsilonGreedyFollower(0.3, "mix"), None, False),
    "greedy, pessimistic": (iirl.EpsilonGreedyFollower(0.25), "pessimistic", False),
    "uniform": (iirl.EpsilonGreedyFollower(1.0), None, False),
    "Boltzmann": (iirl.BoltzmannFollower(2.0), None, False),
    "Boltzmann, cold": (iirl.BoltzmannFollower(1e6), None, False),
    "affine": (iirl.ProportionalFollower(Affine(1, 2)), None, True),
    "power": (iirl.ProportionalFollower(Power(3)), None, True),
}


def a_search_tree(rng, scale, discount, floats, kind=None):
    """Return the proof of the best commitment of a small game."""
    kind = kind or str(rng.choice([*FOLLOWERS]))
    follower, ties, positive = FOLLOWERS[kind]
    n, n_a, n_b = (int(rng.integers(1, most + 1)) for most in (3, 2, 3))
    shape = (n, n_a, n_b)
    if floats:
        kernel = rng.dirichlet(np.full(n, 0.5), shape)
    else:
        kernel = rng.integers(0, 3, (*shape, n))
        kernel[..., 0] += kernel.sum(axis=-1) == 0
    game = iirl.TwoAgentMDP(kernel, discount)
    own, theirs = (_reward(rng, shape, floats) for _ in range(2))
    if positive:
        own, theirs = np.abs(own), np.abs(theirs) + 1
    if rng.random() < 0.3 and not positive:
        theirs[0, 0, 0] = -1e12
    allowed = rng.random((n, n_a)) < 0.8
    allowed[np.arange(n), rng.integers(n_a, size=n)] = True
    problem = CommitmentProblem(
        game,
        scale * own,
        follower,
        follower_reward=theirs if rng.random() < 0.8 else scale * own,
        ties=ties,
        allowed=allowed,
    )
    return commitment_bound(problem)


def _reward(rng, shape, floats):
    return rng.normal(size=shape) if floats else rng.integers(-2, 3, shape).astype(float)


def truth(c):
    """Return the most that any allowed commitment earns, and the least that the stated one does."""
    start = c.instance.start
    every = {a: [start @ values_of(c, c.reward, joint) for joint in _joints(c, a)]
             for a in product(*c.allowed)}  # fmt: skip
    most = max if c.ties in ("any", "optimistic") else min
    stated = max if c.ties == "optimistic" else min
    return max(map(most, every.values())), stated(every[c.actions])


def _joints(c, actions):
    """Yield the joint policies (S, A, B) that may follow a commitment, exactly."""
    n_states, n_a, n_b = c.instance.shape
    pi1 = np.array([[ONE * (a == x) for x in range(n_a)] for a in actions], dtype=object)
    h = optimum(c, c.follower_reward, pi1)
    at = np.arange(n_states), list(actions)
    theirs = spread(c, c.follower_reward)[at]
    q = theirs + c.instance.discount * (kernel_of(c)[at] @ h)
    for play in _plays(c, q):
        yield pi1[:, :, None] * np.array(play, dtype=object).reshape(n_states, 1, n_b)


def _plays(c, q):
    """Yield the plays (S, B) at action values (S, B)."""
    numbers = c.numbers.tolist()
    if c.model != "greedy":
        weigh = {
            "boltzmann": lambda row: [_exp(numbers[0] * (x - max(row))) for x in row],
            "affine": lambda row: [numbers[0] + numbers[1] * x for x in row],
            "power": lambda row: [x ** int(numbers[0]) for x in row],
        }[c.model]
        weights = [weigh(row) for row in q.tolist()]
        yield [[x / sum(row) for x in row] for row in weights]
        return
    optimal = [[b for b, x in enumerate(row) if x == max(row)] for row in q.tolist()]
    each = {
        "first": [[row[:1]] for row in optimal],
        "last": [[row[-1:]] for row in optimal],
        "mix": [[row] for row in optimal],
    }.get(c.ties, [[[b] for b in row] for row in optimal])
    epsilon, n_b = numbers[0], q.shape[1]
    for chosen in product(*each):
        yield [
            [(1 - epsilon) * Fraction(b in row, len(row)) + epsilon / n_b for b in range(n_b)]
            for row in chosen
        ]


def _exp(x):
    if x < -400:  # so little that no digit of any claim shows it
        return ZERO
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def forgeries(c, rng):
    """Yield documents, unsealed, that say or prove something else than an honest tree."""
    body = json.loads(c.to_json())
    best, stated = truth(c)

    def with_(**changes):
        return json.loads(json.dumps(body)) | {name: _plain(x) for name, x in changes.items()}

    slack = max(c.upper - best, Fraction(1, 2**70))
    factor = Fraction(10 ** float(rng.uniform(np.log10(1.001), 6)))
    yield with_(upper=c.upper - factor * slack)
    slack = max(stated - c.lower, Fraction(1, 2**70))
    yield with_(lower=c.lower + factor * slack)
    nodes, leaves = body["nodes"], body["leaves"]
    yield with_(nodes=nodes[:-1], leaves=leaves[:-1])
    yield with_(nodes=[*nodes, []], leaves=[*leaves, leaves[-1]])
    yield with_(leaves=leaves[::-1])
    if len(nodes) > 1:
        yield with_(nodes=[[nodes[0][0], nodes[0][1]], *nodes[1:]])
        yield with_(nodes=[[]], leaves=leaves[:1])
        low = min(leaves, key=lambda leaf: sum(map(int, leaf["worth"])))
        yield with_(leaves=[low] * len(leaves))
    n_states, n_a, _ = c.instance.shape
    yield with_(allowed=[list(range(n_a))] * n_states)
    yield with_(actions=[(a + 1) % n_a for a in c.actions])
    numbers = [x + Fraction(int(rng.integers(1, 9)), 16) for x in c.numbers]
    yield with_(numbers=numbers)
    if c.ties:
        for rule in ("first", "last", "mix", "any", "optimistic", "pessimistic"):
            yield with_(ties=rule)
    yield with_(reward=(c.follower_reward if c.reward is not c.follower_reward else -c.reward))
    for name in ("low", "high", "worth"):
        at = int(rng.integers(len(leaves)))
        state = int(rng.integers(n_states))
        numbers = [int(x, 0) if isinstance(x, str) else x for x in leaves[at][name]]
        numbers[state] += int(rng.choice([-1, 1])) * 2 ** int(rng.integers(0, 90))
        changed = {**leaves[at], name: list(map(str, numbers))}
        yield with_(leaves=[*leaves[:at], changed, *leaves[at + 1 :]])


def _plain(x):
    if isinstance(x, Fraction):
        return f"{x.numerator}/{x.denominator}"
    if isinstance(x, np.ndarray | list | tuple):
        return [_plain(y) for y in x]
    return x
