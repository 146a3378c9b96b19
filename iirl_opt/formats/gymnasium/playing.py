"""A game as a Gymnasium environment: one agent acts in it, the other's policy is part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FLAG, checked, is_a, one_of, optional, whole
from iirl_opt.errors import InvalidArgument, InvalidGame, MissingExtra
from iirl_opt.formats.choices import AGENT, Agent
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.reward import check_reward

if TYPE_CHECKING:
    from iirl_opt.formats.gymnasium.environment import GameEnvironment

__all__ = ["to_gymnasium"]

Array = NDArray[np.float64]


@checked(
    game=is_a(TwoAgentMDP, ImportedGame, error=InvalidGame),
    side=AGENT,
    max_steps=optional(whole(1)),
    geometric_end=FLAG,
    render_mode=optional(one_of("ansi")),
)
def to_gymnasium(
    game: TwoAgentMDP | ImportedGame,
    reward: ArrayLike | str | None = None,
    *,
    side: Agent = "follower",
    leader: ArrayLike | None = None,
    follower: ArrayLike | None = None,
    max_steps: int | None = None,
    geometric_end: bool = False,
    render_mode: Literal["ansi"] | None = None,
) -> GameEnvironment:
    """Return the environment that one agent faces while the other keeps to a policy.

    Parameters
    ----------
    game : a game, or what a door brought in.
    reward : (S,) or (S, A, B); of an `ImportedGame` also the name of one of its rewards, or None
        for its only one. A state reward is earned by acting in the state.
    side : who acts: the follower, in the MDP that the leader's commitment leaves, or the leader,
        against a follower's policy that does not change.
    leader, follower : the policy of the other agent, (S, A) or (S, B); None where that agent has
        one action. A follower who answers the leader's commitment is no environment of hers: the
        commitment is one choice for all states, and not a step. Compute his answer first.
    max_steps : truncate an episode after so many steps; otherwise nothing truncates it.
    geometric_end : end play after every step with probability 1 − γ. The mean *sum* of an
        episode's rewards is then the discounted value.
    render_mode : ``"ansi"`` for a line of text a step.

    Returns
    -------
    GameEnvironment
        Its table ``P`` is of the toy-text form. Probabilities are those of the other agent's
        action and the successor together; ``info`` says which action that was, and the label of
        the state reached. States that are left by none of the choices, and earn nothing, end play
        (``terminated``) when they are entered. Of an `ImportedGame` whose states lack choices,
        ``info["action_mask"]`` marks what a state has, as Taxi's does; the others do what the
        first of them does.

    Raises
    ------
    MissingExtra
        Gymnasium is not installed.
    InvalidArgument
        The other agent's policy is missing, or one is given for the agent who acts.
    InvalidPolicy, InvalidReward, UnknownLabel

    **Cost** arithmetic, linear in the transitions.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, reward = iirl.random_game(3, 2, 2, rng=0)
    >>> pi1 = iirl.uniform_policy(3, 2)
    >>> env = to_gymnasium(game, reward, leader=pi1)  # doctest: +SKIP
    >>> observation, info = env.reset(seed=0)  # doctest: +SKIP
    >>> observation, earned, terminated, truncated, info = env.step(1)  # doctest: +SKIP
    """
    try:
        from iirl_opt.formats.gymnasium.environment import GameEnvironment
    except ImportError:
        raise MissingExtra("to_gymnasium", "gym") from None
    found = ImportedGame.of(game)
    game, available = found.game, found.available
    if found.rewards and (reward is None or isinstance(reward, str)):
        reward = found.reward(reward)
    if reward is None or isinstance(reward, str):
        problem = "is not given" if reward is None else f"is the name {reward!r}"
        raise InvalidArgument("reward", problem, "an array, for a game without rewards of its own")
    partner = _partner(game, side, {"leader": leader, "follower": follower})
    own, theirs = game.follower_actions, game.leader_actions
    if side == "leader":
        own, theirs = theirs, own
    rows = _rows(game, check_reward(game, reward), partner, side)
    if geometric_end:
        rows = _ending(rows, game.discount)
    mask = None
    if available is not None:
        by_own = available if side == "follower" else available.swapaxes(1, 2)
        mask = np.asarray((by_own & (partner > 0)[:, :, None]).any(axis=1))
    return GameEnvironment(
        rows,
        (game.states, own, theirs),
        game.start,
        "leader" if side == "follower" else "follower",
        mask=mask,
        max_steps=max_steps,
        render_mode=render_mode,
    )


def _partner(game: TwoAgentMDP, side: str, given: dict[str, Any]) -> Array:
    """Return the policy of the agent who does not act."""
    other = "leader" if side == "follower" else "follower"
    if given[side] is not None:
        raise InvalidArgument(side, "has a policy", f'None where side="{side}"', given[side])
    if hasattr(given[other], "respond"):
        allowed = f"a policy, such as {other}.respond(game, reward, pi1)"
        raise InvalidArgument(other, "answers a commitment, which is no step", allowed)
    n = game.n_leader_actions if other == "leader" else game.n_follower_actions
    if given[other] is None:
        if n > 1:
            problem = f"is not given, and has {n} actions"
            raise InvalidArgument(other, problem, f"the policy that the {other} keeps to")
        return np.ones((game.n_states, 1))
    check = game.check_leader_policy if other == "leader" else game.check_follower_policy
    return check(given[other])


def _rows(game: TwoAgentMDP, reward: Array, partner: Array, side: str) -> dict[str, NDArray[Any]]:
    """Return the outcomes as columns, sorted by state and own action."""
    coo = sp.coo_array(game.matrix)
    state, leader, follower = np.unravel_index(coo.row, game.shape)
    own, other = (follower, leader) if side == "follower" else (leader, follower)
    earned = reward[state] if reward.ndim == 1 else reward[state, leader, follower]
    chance = coo.data * partner[state, other]
    kept = np.flatnonzero(chance > 0)
    order = kept[np.lexsort((coo.col[kept], other[kept], own[kept], state[kept]))]
    goes_on = (coo.col != state) | (earned != 0)
    over = np.bincount(state[kept], goes_on[kept], game.n_states) == 0
    columns = {
        "state": state,
        "own": own,
        "other": other,
        "chance": chance,
        "successor": coo.col,
        "reward": earned,
        "ended": over[coo.col],
    }
    return {name: column[order] for name, column in columns.items()}


def _ending(rows: dict[str, NDArray[Any]], discount: float) -> dict[str, NDArray[Any]]:
    """Return outcomes after which play ends with probability 1 − γ, where it does not anyway."""
    again = np.flatnonzero(~rows["ended"])
    both = {name: np.append(column, column[again]) for name, column in rows.items()}
    n = rows["state"].size
    both["chance"][again] *= discount
    both["chance"][n:] *= 1 - discount
    both["ended"][n:] = True
    kept = np.flatnonzero(both["chance"] > 0)
    order = kept[np.lexsort((both["own"][kept], both["state"][kept]))]
    return {name: column[order] for name, column in both.items()}
