"""Gymnasium environments with a transition table, in and out.

The toy-text environments (FrozenLake, CliffWalking, Taxi), and whatever else follows them, hold
their whole dynamics as a table: ``env.unwrapped.P[s][action]`` lists *outcomes* ``(probability,
next state, reward, terminated)``. In the table

* one successor may come several times, by slipping against a wall, with several rewards;
* ``terminated`` belongs to the outcome and not to the state: play is over after it, whatever the
  table says of the state that it reached. CliffWalking's goal has moves of its own there, which
  nobody ever plays; Taxi's four goals can be entered without delivering anybody.

So state s of the table is state s of the game and keeps its rows, and an outcome that ends play
leads to an absorbing state that earns nothing: to its successor where that one is such a state by
its own rows, as holes and the goal of FrozenLake are, and else to a copy of the successor that
stands behind the table's states and is called ``end at …``. Values of all the table's states are
therefore those of value iteration on the table, ``V(s) = max Σ p (r + γ V(s') [not terminated])``.

**Numbers.** Outcomes of one successor are summed exactly. A probability in floats is read as the
fraction within 2⁻⁵² of it whose denominator is at most a million, if such fractions add up to one
exactly for every action of every state: then the game is rational, with thirds where the table has
.3333333333333333 and .33333333333333337. Else all floats of the table are what they are, and rows,
which must sum to one within 1e-9, are divided by their sums as in every game.

**Time limits.** `gymnasium.make` wraps an environment in a limit of steps. The game has none: its
values are discounted sums without end, ``Σ γ^t r_t`` from the first reward on; play
``env.unwrapped`` to see them.

Source: Gymnasium 1.4, ``gymnasium/envs/toy_text``.
"""
