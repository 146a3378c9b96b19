"""A partner who was trained: Q-learning in the environment that a commitment leaves.

Nobody computes the partner's answer here. `to_gymnasium` hands the follower's side of the game to
whatever learns in Gymnasium, here twelve lines of tabular Q-learning, and Algorithm 1 is told the
policy that came out. A trained policy is an optimal answer only if training went far enough: what
it loses is printed beside it, and the answer of one who was trained too little rules out the truth.
"""

import numpy as np

import iirl_opt as iirl
from iirl_opt.formats import to_gymnasium

game, truth = iirl.random_game(4, 2, 2, rng=5, concentration=0.3)


def train(env, discount, steps, seed):
    """Return the greedy policy after Q-learning under uniform exploration."""
    rng = np.random.default_rng(seed)
    shape = env.observation_space.n, env.action_space.n
    q, visits = np.zeros(shape), np.zeros(shape)
    s, _ = env.reset(seed=seed)
    for b in rng.integers(shape[1], size=steps).tolist():
        after, reward, terminated, _, _ = env.step(b)
        visits[s, b] += 1
        target = reward + discount * q[after].max() * (not terminated)
        q[s, b] += (target - q[s, b]) / visits[s, b] ** 0.7
        s = env.reset()[0] if terminated else after
    return iirl.game.deterministic_policy(q.argmax(axis=1), shape[1])


def loss(pi1, pi2):
    """Return how much less an answer is worth than the best one, where it loses most."""
    mdp = game.follower_mdp(pi1)
    best = iirl.policy_iteration(mdp, truth).values
    return max(0.0, (best - iirl.evaluate(mdp, truth, pi2)).max())


learner = iirl.InteractiveIRL(game, seed=0)
for episode in range(1, 4):
    pi1 = learner.ask()
    env = to_gymnasium(game, truth, leader=pi1)
    trained = train(env, game.discount, steps=20_000, seed=episode)
    learner = learner.tell(trained)
    gap, known = loss(pi1, trained), learner.feasible.contains(truth)
    print(f"episode {episode}: the trained answer loses {gap:.4f}; truth in the set: {known}")
    assert known == (gap <= 1e-9)

hasty = train(to_gymnasium(game, truth, leader=pi1), game.discount, steps=20, seed=1)
misled = learner.feasible.observe(pi1, hasty).contains(truth)
print(f"after 20 steps he would lose {loss(pi1, hasty):.4f}; truth in the set: {misled}")

assert not misled
