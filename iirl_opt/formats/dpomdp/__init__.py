"""Two-agent problems in the `.dpomdp` format of the MADP toolbox.

A file declares, once each and in this order, ``agents``, ``discount``, ``values``, ``states``,
``start``, ``actions`` and ``observations``; *statements* follow, of which later ones override
earlier ones:

* ``T: joint action : state : next state : probability``; with fewer places before the last colon
  a row, a whole matrix, ``uniform``, ``identity`` or ``reset``, which is a row that leads to the
  start, follows on the same line or below;
* ``R: joint action : state : next state : joint observation : value``, or below
  ``R: joint action : state : next state :`` a row over the joint observations, or below
  ``R: joint action : state :`` a matrix of next states by joint observations; 0 if never written;
* ``O: …``, which is skipped: this library needs the fully observable part.

A state is its name, its index from 0 or ``*``; a joint action is ``*``, one index (the last agent
runs fastest, so it is ``a·B + b``), or a name, index or ``*`` for each of the two agents. Agent 1
is the leader, agent 2 the follower. A line of a row or matrix holds whole rows.

**Probabilities** and the discount are read as the decimals that are written. Rows must sum to one
within 1e-9, and are divided by their exact sum.

**Rewards** come in the least form that carries them. Those of the state are ``(S,)``, those of
state and actions ``(S, A, B)``. A reward r' for *entering* a state becomes the state reward
``r = r'``: its values are ``V_state = r' + γ V_file`` for every policy, so the optimal policies
are the same and `DecPOMDP.file_values` turns values back; at γ = 0 that fails, and the reward is
the expectation of r' over the next state, ``(S, A, B)``, as it is for rewards of state, actions
and next state together.

Source: the comments in ``example.dpomdp`` of the MADP toolbox (Oliehoek, Spaan, Terwijn, Robbel &
Messias, JMLR 2017).
"""
