"""Tables of transitions: pandas, polars, pyarrow, or whatever else narwhals reads.

A table has a row for each transition, in columns that are named: the state, both agents' actions,
the next state, its probability, and what the transition is worth. An agent without a column has the
one action "-". Columns by other names are passed over.

=================================  ===============================================================
``reward``, ``reward:NAME``        of transitions, averaged over the next state; the rewards' names
``label:NAME``                     of bool, the same in all rows of a state: a set of states
``discount``                       the same in all rows
``start``                          the same in all rows of a state: the probability to start there
=================================  ===============================================================

Labels keep their types. They stand in the order of ordered categories, or else of their first
appearance, states in the column of states and then in that of next states. Probabilities are
floats; integers, which are weights of a choice; or exact: text such as "1/3" or "0.25", Decimals,
Fractions. Exact ones are divided by their sum where this is one within 1e-9, as floats are.
"""
