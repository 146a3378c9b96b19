"""
Build a game: from arrays, from a graph, from a drawing
=======================================================

For whoever has a two-agent problem on paper and wants it in the library. A game is a kernel
``P[s, a, b, s']``, a discount and a start. It holds no reward: a reward is always an argument, so
one game serves the truth, a hypothesis and a guess.
"""

import networkx as nx
import numpy as np

import iirl_opt as iirl

# %%
# Arrays
# ------
# In a hall a door opens to a stair only while the leader holds it; the stair is slippery unless she
# puts the light on. Integer rows are weights: ``[1, 3]`` is a quarter and three quarters, exactly.

hall, stair, goal = np.eye(3, dtype=int).tolist()
slippery = [1, 3, 0]
kernel = [
    [[hall, stair], [hall, hall]],  # in the hall: she holds the door or lights; he waits or goes
    [[stair, slippery], [stair, goal]],  # on the stair: only the light helps
    [[goal, goal], [goal, goal]],
]
game = iirl.TwoAgentMDP(
    kernel,
    discount="9/10",
    start=hall,
    states=["hall", "stair", "goal"],
    leader_actions=["door", "light"],
    follower_actions=["wait", "go"],
)
print(game)

# %%
# A graph
# -------
# Edges carry the pair of actions and its probability; texts are exact, too. What `to_networkx`
# gives is the same game again, and networkx's own algorithms run on it.

graph = nx.MultiDiGraph()
for follower in ("up", "down"):
    graph.add_edge("cellar", "attic", leader="lift", follower=follower, probability="1/3")
    graph.add_edge("cellar", "cellar", leader="lift", follower=follower, probability="2/3")
graph.add_edge("attic", "cellar", leader="lift", follower="down", probability=1)
graph.add_edge("attic", "attic", leader="lift", follower="up", probability=1)
print(iirl.from_networkx(graph, discount="1/2", start=[1, 0]))
assert iirl.from_networkx(iirl.to_networkx(game)) == game

# %%
# A drawing
# ---------
# Digits are prizes, ``#`` is a wall, ``S`` the start. The leader opens two doors of a cell, the
# follower moves and sometimes slips.

maze, truth = iirl.grid_game(["1..", ".#.", "S.2"], discount="9/10", slip="1/5", prize_rule="stay")
print(maze)

# %%
# The first game as a picture: an arrow says which pairs of actions lead where, ``*`` is every
# action. And the best that both can do together when only the goal pays.

reward = [0, 0, 1]
plan = iirl.commit(game, reward)
for state, row in zip(game.states, plan.policy, strict=True):
    print(f"{state:>5}: {game.leader_actions[row.argmax()]}")
print(f"worth {plan.value:.2f} of at most {1 / (1 - game.discount):.0f}")
iirl.plot.save(iirl.plot.plot_game(game, reward), "the-graph-of-the-game.png")
