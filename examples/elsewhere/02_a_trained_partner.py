"""
A partner who was trained
=========================

For whoever's partner is a reinforcement learner. Nobody computes its answer: `to_gymnasium` hands
the follower's side of a game to whatever learns in Gymnasium, here a few lines of tabular
Q-learning, and Algorithm 1 is told the policy that came out (extra ``gym``).
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
    return iirl.deterministic_policy(q.argmax(axis=1), shape[1])


def loss(pi1, pi2):
    """Return how much less an answer is worth than the best one, where it loses most."""
    mdp = game.follower_mdp(pi1)
    best = iirl.policy_iteration(mdp, truth).values
    return max(0.0, (best - iirl.evaluate(mdp, truth, pi2)).max())


# %%
# Trained well, it answers optimally, and the truth stays in the set.

learner = iirl.InteractiveIRL(game, seed=0)
for episode in range(1, 4):
    pi1 = learner.ask()
    trained = train(to_gymnasium(game, truth, leader=pi1), game.discount, 10_000, episode)
    learner = learner.tell(trained)
    gap, known = loss(pi1, trained), learner.feasible.contains(truth)
    print(f"episode {episode}: the trained answer loses {gap:.4f}; truth in the set: {known}")
    assert known == (gap <= 1e-9)

# %%
# Trained too little, its answer rules the truth out. How long is long enough? The mean of eight
# trainings, each of which loses something or nothing.

env = to_gymnasium(game, truth, leader=pi1)
hasty = train(env, game.discount, steps=20, seed=1)
known = learner.feasible.observe(pi1, hasty).contains(truth)
print(f"after 20 steps it would lose {loss(pi1, hasty):.4f}; truth in the set: {known}")
assert not known

steps = [10, 20, 40, 80, 160, 320, 640]
lost = [[loss(pi1, train(env, game.discount, n, seed)) for seed in range(8)] for n in steps]
band = np.mean(lost, axis=1), np.min(lost, axis=1), np.max(lost, axis=1)
axes = iirl.plot.plot_curves(
    {"loss": band}, steps, xlabel="steps of training", ylabel="loss", band="mean; least to most"
)
axes.set_xscale("log")
axes.legend(frameon=False)
iirl.plot.save(axes, "what-a-partner-loses-who-was-trained-too-little.png")
