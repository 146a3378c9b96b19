"""Dynamic programs of QuantEcon: ``DiscreteDP`` in and out.

A ``DiscreteDP`` is a problem of one agent, in one of two forms. The *product* form has rewards R
(n, m) and a kernel Q (n, m, n) over all actions; a reward of −∞ marks an action that a state lacks,
whose row in Q means nothing. The form of *pairs* has one row of R (L,) and Q (L, n), often sparse,
for each state and action that there is.

A game of two agents goes out as the problem of one who chooses for both: action ``a·B + b``. Its
optimal value is the most that leader and follower can earn together.

**Source** J. Stachurski and T. J. Sargent, QuantEcon.py, ``quantecon.markov.ddp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from iirl_opt.checks import checked, has, one_of
from iirl_opt.errors import InvalidGame, MissingExtra
from iirl_opt.formats.arrays import from_arrays
from iirl_opt.formats.choices import AGENT, UNAVAILABLE, Agent, Names, Unavailable, named_reward
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from quantecon.markov import DiscreteDP

__all__ = ["from_quantecon", "to_quantecon"]

MOST_CHOICES = 2**27

Form: TypeAlias = Literal["product", "pairs"]


@checked(
    ddp=has("R", "Q", "beta", "s_indices", "a_indices", what="a DiscreteDP of quantecon"),
    agent=AGENT,
    unavailable=UNAVAILABLE,
)
def from_quantecon(
    ddp: DiscreteDP,
    discount: Any = None,
    *,
    start: Any = None,
    states: Names = None,
    leader_actions: Names = None,
    follower_actions: Names = None,
    agent: Agent = "follower",
    unavailable: Unavailable = "repeat",
    normalise: bool = False,
) -> ImportedGame:
    """Return the game of a ``DiscreteDP`` of QuantEcon, in either of its forms.

    Parameters
    ----------
    ddp : n states, m actions. A reward of −∞ marks a choice that is not available; so does a pair
        that is not there.
    discount : used in place of ``ddp.beta``; needed where this is one.
    start, states, normalise : as in `TwoAgentMDP`.
    leader_actions, follower_actions, agent : whose the m actions are, see `from_arrays`. A game
        that `to_quantecon` wrote is itself again if one of the two is said.
    unavailable : whether a choice that a state lacks repeats one that it has, or is refused.

    Raises
    ------
    InvalidArgument
        It is no ``DiscreteDP``.
    InvalidGame
        Q has a row that is no distribution, which QuantEcon does not check.
    InvalidReward
        A reward is +∞ or NaN.

    **Cost** arithmetic.

    Examples
    --------
    >>> from quantecon.markov import DiscreteDP
    >>> q = [[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]]
    >>> from_quantecon(DiscreteDP([[5, 10], [-1, -np.inf]], q, 0.95)).available[1, 0]
    array([ True, False])
    """
    reward, kernel = np.asarray(ddp.R, dtype=float), ddp.Q
    if kernel.dtype.kind in "iub":  # probabilities, and no weights
        kernel = kernel.astype(float)
    axes: str | None = "state action next"
    if reward.ndim == 1:
        state, action = (np.asarray(at, dtype=np.int64) for at in (ddp.s_indices, ddp.a_indices))
        n_states, n = kernel.shape[1], int(action.max()) + 1
        if n_states * n > MOST_CHOICES:
            problem = f"reach {n - 1}: {n_states} states of {n} actions"
            raise InvalidGame("a_indices", problem, f"up to {MOST_CHOICES:g} choices in all", n)
        pairs = sp.coo_array(kernel)
        row = (state * n + action)[pairs.coords[0]]
        places, shape = (row, pairs.coords[1]), (n_states * n, n_states)
        kernel, axes = sp.csr_array((pairs.data, places), shape=shape), None
        reward, given = np.full((n_states, n), -np.inf), reward
        reward[state, action] = given
    found = from_arrays(
        kernel,
        ddp.beta if discount is None else discount,
        reward,
        axes=axes,
        start=start,
        states=states,
        leader_actions=leader_actions,
        follower_actions=follower_actions,
        agent=agent,
        available=reward != -np.inf,
        unavailable=unavailable,
        normalise=normalise,
    )
    return ImportedGame(found.game, found.rewards, {}, found.available, "QuantEcon")


@checked(form=one_of("product", "pairs"))
def to_quantecon(
    problem: ImportedGame | TwoAgentMDP, reward: Any = None, *, form: Form = "product"
) -> DiscreteDP:
    """Return a game with a reward as a ``DiscreteDP`` of QuantEcon.

    Leader and follower choose as one: action ``a·B + b``, so optimal values are those of
    `iirl_opt.game.joint_mdp`. Start and labels have no place there.

    Parameters
    ----------
    reward : (S,) or (S, A, B), or the name of one of the problem's; by default the only one.
    form : ``"product"``, dense (S, A·B, S), or ``"pairs"``, sparse. Choices that the problem's
        source lacks have the reward −∞ in the one and no row in the other.

    Raises
    ------
    InvalidArgument
        No reward is given, and the problem has none, or several.
    MissingExtra
        quantecon is not installed.

    **Cost** arithmetic.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 1], [0, 1]]], [[[0, 1], [0, 1]]]], "9/10")
    >>> to_quantecon(game, [1.0, 0.0]).solve().v.round(6).tolist()
    [1.818182, 0.0]
    """
    try:
        from quantecon.markov import DiscreteDP
    except ImportError:
        raise MissingExtra("QuantEcon's DiscreteDP", "quantecon") from None
    given = ImportedGame.of(problem)
    game, r = given.game, named_reward(given, reward)
    n_states, n = game.n_states, game.n_choices
    available = np.ones(game.shape, bool) if given.available is None else given.available
    worth = np.broadcast_to(r.reshape(n_states, -1), (n_states, n))
    offered = available.reshape(n_states, n)
    if form == "product":
        every = np.where(offered, worth, -np.inf)
        return DiscreteDP(every, game.kernel.reshape(n_states, n, n_states), game.discount)
    state, action = np.nonzero(offered)
    rows = sp.csr_matrix(game.matrix)[state * n + action]
    return DiscreteDP(worth[state, action], rows, game.discount, state, action)
