"""The commitment problem: Algorithms 2 and 3, exact searches, programs, dominance.

A `CommitmentProblem` is the question. `commit`, or a method's ``plan(problem)``, answers it by a
`Commitment`: a policy, its value, and what is known of all others. Where is ...?

=============================  ==================================================================
the commitment problem         ``problem``: `CommitmentProblem`; its answers: ``plans``
Lemma 2                        ``lemma_2``: `JointOptimum`; as a program: ``stackelberg``
Algorithms 2 and 3             ``algorithms_2_and_3``: `ValueIteration`
branch and bound               ``branch_and_bound``; its bounds: ``relaxation``, ``compatible``
every commitment tried         ``enumeration``
stochastic commitments         ``local_search``, along ``gradient`` and ``edges``;
                               of one state: ``normal_form``
constraints of the leader      ``bilevel`` (rows), ``admissible`` (a state at a time)
a choice among methods         ``methods``: `commit`
dominance                      ``dominating``
the wrong follower             ``misspecification``
safe whatever the reward       ``minimax``; its programs ``minimax_program``, ``minimax_mixed``
ties, decided exactly          ``answers``, ``exact``
proofs                         ``tree_proof`` (of a search), ``proof`` (of any commitment)
=============================  ==================================================================
"""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
