"""Declared suboptimality and preferences, against brute force over all deterministic policies.

    python -m tests.campaigns.suboptimality --instances 500 --runs 100 --seed 0

Some four minutes. *Membership*: a random game, commitment, response (half of them stochastic) and
reward, of states or joint, with the loss that a brute force over every deterministic policy finds:
in every state, from the start, or as a share. With a little more than that declared the reward is
explained, with a little less it is not; and so say the rows, by the distance of the reward to the
set. *Preferences*: the same for the difference of two policies or trajectories. *Runs*: episodes in
each of which a partner makes a mistake; the truth is kept if what it loses is declared, and refused
at half of it, whose least loss per unit of span is no more than the truth's. The last table has
what is left: widths and worst regret of the sets of those runs.
"""

from __future__ import annotations

import argparse
import itertools
import sys

import cvxpy as cp
import numpy as np

import iirl_opt as iirl
from iirl_opt.observation import Suboptimality, record_trajectory
from iirl_opt.rewards import worst_regret

SLIGHT = 1e-4


def kernel(game):
    """The kernel, (S, A, B, S)."""
    return np.asarray(game.matrix).reshape(*game.shape, game.n_states)


def values_of(game, reward, pi1, pi2):
    """The values of two policies, by the definition."""
    full = reward if reward.ndim == 3 else np.broadcast_to(reward[:, None, None], game.shape)
    joint = pi1[:, :, None] * pi2[:, None, :]
    chain = np.einsum("sab,sabt->st", joint, kernel(game))
    return np.linalg.solve(np.eye(len(chain)) - game.discount * chain, (joint * full).sum((1, 2)))


def optimal_values(game, reward, pi1):
    """The best values in each state, over every deterministic response."""
    n_states, _, n_b = game.shape
    every = itertools.product(np.eye(n_b), repeat=n_states)
    return np.max([values_of(game, reward, pi1, np.array(c)) for c in every], axis=0)


def policy(rng, n_states, n_actions):
    """A policy, stochastic half the time."""
    if rng.random() < 0.5:
        return rng.dirichlet(np.ones(n_actions), n_states)
    return np.eye(n_actions)[rng.integers(n_actions, size=n_states)]


def play(seed):
    """A random game, reward, commitment and response, some of whose losses are not zero."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(rng.integers(low, high)) for low, high in ((1, 5), (1, 3), (2, 4)))
    discount = float(rng.choice([0, 0.5, 0.9]))
    game, _ = iirl.random_game(*shape, rng=seed, discount=discount)
    joint = rng.random() < 0.4 or discount == 0 or shape[0] == 1
    reward = rng.normal(size=shape if joint else shape[0])
    return rng, game, reward, policy(rng, *shape[:2]), policy(rng, shape[0], shape[2])


def declared(rng, game, reward, pi1, pi2):
    """The reward, and from an amount to a suboptimality, with the least amount that is true."""
    kind, start = rng.choice(["loss", "share"]), bool(rng.integers(2))
    if kind == "share":
        reward = reward - reward.min()
    best = optimal_values(game, reward, pi1)
    lost = best - values_of(game, reward, pi1, pi2)
    if start:
        best, lost = np.array([game.start @ best]), np.array([game.start @ lost])
    if kind == "share":
        lost = lost / np.maximum(best, 1e-300)
    return reward, lambda x: Suboptimality(**{kind: x, "start": start}), float(max(lost.max(), 0))


def distance(known, reward):
    """How far a reward is from the set, by one linear program over its rows."""
    joint = reward.ndim == 3
    r = cp.Variable((len(reward), reward[0].size) if joint else len(reward))
    away = cp.norm1(cp.vec(r, order="C") - reward.ravel())
    return iirl.solve(cp.Problem(cp.Minimize(away), known.constraints(r))).value


def membership(seed, *, by_rows=True):
    """Return the faults of one instance, and how often the reward was in and out."""
    rng, game, reward, pi1, pi2 = play(seed)
    reward, say, true = declared(rng, game, reward, pi1, pi2)
    faults, counts = [], [0, 0]
    for inside, amount in ((True, true * (1 + SLIGHT) + 1e-9), (False, true * (1 - SLIGHT))):
        said = say(min(amount, 1.0) if say(0.5).share else amount)
        if not inside and true < 1e-6:
            continue
        known = iirl.FeasibleRewards(game).observe(pi1, pi2, suboptimality=said)
        counts[not inside] += 1
        found = {"contains": known.contains(reward), "exact": known.contains(reward, exact=True)}
        if by_rows:
            found["rows"] = bool(distance(known, reward) < 1e-9 * max(1.0, np.abs(reward).max()))
        faults += [(seed, said, name) for name, x in found.items() if x is not inside]
    return faults, counts


def steps_of(rng, game, pi1, length):
    """A trajectory of so many steps, of actions at random."""
    s, steps = int(rng.integers(game.n_states)), []
    for _ in range(length):
        a, b = int(rng.choice(len(pi1[s]), p=pi1[s])), int(rng.integers(game.n_follower_actions))
        steps.append((s, a, b))
        s = int(rng.choice(game.n_states, p=kernel(game)[s, a, b]))
    return record_trajectory(game, pi1, steps)


def preference(seed):
    """Return the faults of one preference, its difference computed by the definition."""
    rng, game, reward, pi1, pi2 = play(seed)
    full = reward if reward.ndim == 3 else np.broadcast_to(reward[:, None, None], game.shape)
    if rng.integers(2):
        first, second = (pi1, pi2), (pi1, policy(rng, *pi2.shape))
        worth = [game.start @ values_of(game, reward, *each) for each in (first, second)]
    else:
        first, second = (steps_of(rng, game, pi1, 4) for _ in range(2))
        worth = [
            sum(
                game.discount**h * full[at]
                for h, at in enumerate(
                    zip(x.states, x.leader_actions, x.follower_actions, strict=True)
                )
            )
            for x in (first, second)
        ]
    if worth[0] < worth[1]:
        first, second, worth = second, first, worth[::-1]
    true, faults = float(worth[0] - worth[1]), []
    for inside, by in ((True, true * (1 - SLIGHT)), (False, true * (1 + SLIGHT) + 1e-6)):
        known = iirl.FeasibleRewards(game).prefer(first, second, by=max(by, 0.0))
        found = {
            "contains": known.contains(reward),
            "exact": known.contains(reward, exact=True),
            "shifted": known.contains(reward + 3.0),
        }
        faults += [(seed, by, name) for name, x in found.items() if x is not inside]
    return faults


def mistaken(seed, *, states=3, episodes=4):
    """A game with a reward of the simplex, and answers of which each has one wrong action."""
    rng = np.random.default_rng(seed)
    game, truth = iirl.random_game(states, 2, 2, rng=seed, discount=0.8)
    truth = truth - truth.min()
    truth /= truth.sum()
    answers = []
    for _ in range(episodes):
        pi1 = iirl.random_deterministic_policy(states, 2, rng)
        pi2 = iirl.OptimalFollower().respond(game, truth, pi1).copy()
        s = int(rng.integers(states))
        pi2[s] = pi2[s][::-1]
        one = iirl.FeasibleRewards(game).observe(pi1, pi2)
        answers.append((pi1, pi2, float(one.losses(truth).max())))
    return game, truth, answers


def known_at(game, answers, factor):
    """The set of rewards when so many times what each answer loses is declared."""
    known = iirl.FeasibleRewards(game)
    for pi1, pi2, lost in answers:
        known = known.observe(pi1, pi2, suboptimality=factor * lost)
    return known


def run(seed):
    """Return whether the truth is kept with ε and refused at half of it, and the least ε a span."""
    game, truth, answers = mistaken(seed)
    exact, half = (known_at(game, answers, x) for x in (1 + 1e-9, 0.5))
    least = half.most_compatible().loss
    return exact.contains(truth), half.contains(truth), least, half.compatibility(truth)


class OneStep:
    """The simplex, and one-step gaps of answers of at most as much: today's rows with slack."""

    def __init__(self, game, answers, allowed):
        self.game, self.answers, self.allowed = game, answers, allowed

    def constraints(self, r):
        """The rows."""
        rows = [r >= 0, cp.sum(r) == 1]
        for (pi1, pi2, _), allowed in zip(self.answers, self.allowed, strict=True):
            p = np.einsum("sa,sabt->sbt", pi1, kernel(self.game))
            v = cp.Variable(len(p))
            rows.append(v == r + self.game.discount * np.einsum("sb,sbt->st", pi2, p) @ v)
            rows += [v >= r + self.game.discount * p[:, b] @ v - allowed for b in range(p.shape[1])]
        return rows


def table(seeds):
    """Print what is left of the simplex, on average, and what the last answer may lose there."""
    sums = {}
    for seed in seeds:
        game, truth, answers = mistaken(seed)
        pi1, pi2 = answers[-1][:2]
        gaps = [
            float(iirl.FeasibleRewards(game).observe(a, b).slack(truth).max())
            for a, b, _ in answers
        ]
        free = iirl.FeasibleRewards(game)
        found = {
            "nothing is known": (free, None),
            "optimal (ε = 0)": (known_at(game, answers, 0.0), None),
            "loss ≤ ε": (known_at(game, answers, 1 + 1e-9), None),
            "loss ≤ 2ε": (known_at(game, answers, 2.0), None),
            "one-step gaps ≤ the truth's": (free, OneStep(game, answers, gaps)),
        }
        for name, (known, domain) in found.items():
            width = known.widths(domain=domain).mean()
            worst = np.nan if domain is not None else worst_regret(known, pi1, pi2).value
            kept = known.contains(truth)
            if domain is not None:
                worst, kept = by_enumeration(game, (pi1, pi2), domain), True
            row = sums.setdefault(name, [0, 0.0, 0.0])
            sums[name] = [x + y for x, y in zip(row, (kept, width, worst), strict=True)]
    n = len(seeds)
    print(f"{'set':<30}{'truth kept':>12}{'mean width':>12}{'worst regret':>14}")
    for name, (kept, width, worst) in sums.items():
        print(f"{name:<30}{f'{kept}/{n}':>12}{width / n:>12.3f}{worst / n:>14.3f}")


def by_enumeration(game, answer, domain):
    """The worst regret of an answer within a domain: a linear program a joint policy."""
    r, free = cp.Variable(game.n_states), iirl.FeasibleRewards(game)
    goal = cp.Parameter(game.n_states)
    program = cp.Problem(cp.Maximize(goal @ r), free.constraints(r) + domain.constraints(r))

    def visits(joint):
        chain = np.einsum("sab,sabt->st", joint, kernel(game))
        return np.linalg.solve((np.eye(len(chain)) - game.discount * chain).T, game.start)

    worst, own = 0.0, visits(answer[0][:, :, None] * answer[1][:, None, :])
    for choice in itertools.product(np.eye(game.n_choices), repeat=game.n_states):
        goal.value = visits(np.array(choice).reshape(game.shape)) - own
        worst = max(worst, iirl.solve(program).value)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=500)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    seeds = range(asked.seed, asked.seed + asked.instances)
    found = [membership(seed) for seed in seeds]
    faults = [fault for some, _ in found for fault in some]
    inside, outside = np.sum([counts for _, counts in found], axis=0)
    print(f"membership: {len(faults)} faults; {inside} inside, {outside} outside")
    wrong = [fault for seed in seeds for fault in preference(seed)]
    print(f"preferences: {len(wrong)} faults in {len(seeds)} instances, from both sides")
    runs = [run(seed) for seed in range(asked.seed, asked.seed + asked.runs)]
    kept, halved = sum(x[0] for x in runs), sum(x[1] for x in runs)
    sound = sum(least <= own + 1e-7 for _, _, least, own in runs)
    print(f"the truth: kept in {kept} of {len(runs)}, at half its loss in {halved}")
    told = [(least, own) for _, _, least, own in runs if least > 1e-7]
    print(
        f"the least loss per span is no more than the truth's in {sound}, above 0 in {len(told)}"
        f"; there {np.median([x for x, _ in told]):.2f}, the truth's own "
        f"{np.median([y for _, y in told]):.2f} (medians)"
    )
    table(range(asked.seed, asked.seed + asked.sets))
    sys.exit(bool(faults or wrong or kept < len(runs) or halved or sound < len(runs)))


if __name__ == "__main__":
    main()
