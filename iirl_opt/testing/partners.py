"""Hypothesis strategies for partners: followers, and what is observed of them in a game."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import each, one_of, optional, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import (
    EpsilonGreedyFollower,
    OptimalFollower,
    TieBreaker,
    best_responses,
)
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.follower.protocols import FOLLOWER, Follower
from iirl_opt.follower.ties import Ties
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.reward import check_reward
from iirl_opt.observation import Observation, Trajectory, observe, record_trajectory
from iirl_opt.testing.arrays import policies, rewards
from iirl_opt.testing.distributions import st
from iirl_opt.testing.models import check_game, sizes_between

__all__ = ["followers", "observations", "trajectories"]

Array = NDArray[np.float64]

Kind: TypeAlias = Literal["optimal", "epsilon_greedy", "boltzmann", "proportional"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TIES: tuple[Ties, ...] = get_args(Ties)


def followers(
    *, kinds: Iterable[Kind] = KINDS, ties: Iterable[Ties] = TIES, max_beta: int = 10
) -> st.SearchStrategy[Follower]:
    """Return a strategy for followers.

    Shrinks towards the first kind with the first tie rule, and towards ε = 0 and β = 0.

    Parameters
    ----------
    kinds : some of ``"optimal"``, ``"epsilon_greedy"``, ``"boltzmann"`` and ``"proportional"``
        (with increasing, positive, bounded functions: Theorem 3).
    ties : tie rules of the first two kinds; ``"all"``, with which an optimal follower returns a
        mask, is left out for ε-greedy ones.
    max_beta : largest β, a whole number.

    Raises
    ------
    InvalidArgument

    **Cost** a draw is a kind and its parameter.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(followers(), lambda follower: True)
    OptimalFollower(ties='first', seed=None)
    """
    wanted = list(each(one_of(*KINDS), 1)("kinds", kinds))
    rules = list(each(one_of(*TIES), 1)("ties", ties))
    playing = [rule for rule in rules if rule != "all"]
    if "epsilon_greedy" in wanted and not playing:
        problem = f"are {', '.join(rules)}, under which no ε-greedy follower plays"
        raise InvalidArgument("ties", problem, ", ".join(TIES[:-1]), rules)
    largest = whole(0)("max_beta", max_beta)
    models: dict[Kind, st.SearchStrategy[Follower]] = {
        "optimal": _tie_rules(rules).map(lambda rule: OptimalFollower(*rule)),
        "epsilon_greedy": st.builds(
            lambda tenths, rule: EpsilonGreedyFollower(tenths / 10, *rule),
            st.integers(0, 10),
            _tie_rules(playing),
        ),
        "boltzmann": st.integers(0, largest).map(BoltzmannFollower),
        "proportional": st.sampled_from([_increasing_ratio, _arc]).map(ProportionalFollower),
    }
    return st.one_of(*(models[kind] for kind in wanted))


def observations(
    game: TwoAgentMDP,
    *,
    reward: ArrayLike | None = None,
    follower: Follower | None = None,
    ties: Iterable[Ties] = TIES,
    deterministic: bool | None = None,
) -> st.SearchStrategy[Observation]:
    """Return a strategy for observations: a commitment, and what a follower may answer to it.

    By default the follower is optimal for some reward, which so lies in the feasible set. Shrinks
    towards the first action of both agents in every state.

    Parameters
    ----------
    reward : the follower's, (S,) or (S, A, B); by default any of ``rewards(game)``, which the
        observation does not tell.
    follower : whose answers they are: any with the method ``respond``. One that breaks ties at
        random has every answer that it could give: drawn, whatever its seed.
    ties : where no follower is given, the tie rules to choose from; ``"all"`` observes the whole
        optimal set.
    deterministic : of the commitment, as in `policies`.

    Raises
    ------
    InvalidArgument, InvalidReward

    **Cost** a draw is a commitment and a reward, and planning by the follower.

    Examples
    --------
    >>> from hypothesis import find
    >>> from iirl_opt import TwoAgentMDP
    >>> stay, go = [1, 0], [0, 1]
    >>> game = TwoAgentMDP([[[stay, go]], [[go, go]]], discount="1/2")
    >>> seen = find(observations(game, reward=[0, 1], ties=["all"]), lambda seen: True)
    >>> seen.whole, seen.played.tolist()
    (True, [[False, True], [True, True]])
    """
    check_game(game)
    commitments = policies(game, deterministic=deterministic)
    rules = _tie_rules(list(each(one_of(*TIES), 1)("ties", ties)))
    optional(FOLLOWER)("follower", follower)
    truths = rewards(game) if reward is None else st.just(check_reward(game, reward))

    @st.composite  # and so reported as the record that it is, not as a call of this function
    def observed(draw: st.DrawFn) -> Observation:
        pi1, truth = draw(commitments), draw(truths)
        partner = OptimalFollower(*draw(rules)) if follower is None else follower
        if isinstance(partner, TieBreaker) and getattr(partner, "ties", None) == "random":
            chosen = draw(_one_a_row(best_responses(game, truth, pi1).optimal))
            return observe(game, pi1, partner.among(chosen).astype(float))
        return observe(game, pi1, partner.respond(game, truth, pi1))

    return observed()


@st.composite
def _one_a_row(draw: st.DrawFn, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Draw a mask with one of the actions that each row of a mask (S, B) has."""
    chosen = [draw(st.sampled_from(np.flatnonzero(row).tolist())) for row in mask]
    return np.asarray(np.eye(mask.shape[1], dtype=bool)[chosen])


def trajectories(
    game: TwoAgentMDP,
    *,
    pi1: ArrayLike | None = None,
    pi2: ArrayLike | None = None,
    min_length: int = 2,
    max_length: int = 8,
) -> st.SearchStrategy[Trajectory]:
    """Return a strategy for trajectories of positive probability.

    Every step is drawn from what may happen, not with the probability with which it does (for that
    see `sample_trajectory`). Shrinks towards few steps, and at each towards the first state or
    action of positive probability.

    Parameters
    ----------
    pi1, pi2 : the commitment (S, A) and the response (S, B); by default any of ``policies(game)``.
    min_length, max_length : bounds on the number of steps, H + 1.

    Raises
    ------
    InvalidArgument, InvalidPolicy

    **Cost** a draw is three choices a step, and the policies where they are not given.

    Examples
    --------
    >>> from hypothesis import find
    >>> from iirl_opt import TwoAgentMDP
    >>> stay, go = [1, 0], [0, 1]
    >>> game = TwoAgentMDP([[[stay, go]], [[go, go]]], discount="1/2")
    >>> walks = trajectories(game, pi1=[[1], [1]], pi2=[[0, 1], [1, 0]], min_length=3)
    >>> find(walks, lambda seen: True).states.tolist()
    [0, 1, 1]
    """
    check_game(game)
    leader = policies(game) if pi1 is None else st.just(game.check_leader_policy(pi1))
    follower = (
        policies(game, agent="follower")
        if pi2 is None
        else st.just(game.check_follower_policy(pi2))
    )
    return _trajectories(game, leader, follower, sizes_between("length", min_length, max_length))


@st.composite
def _trajectories(
    draw: st.DrawFn,
    game: TwoAgentMDP,
    leader: st.SearchStrategy[Array],
    follower: st.SearchStrategy[Array],
    lengths: st.SearchStrategy[int],
) -> Trajectory:
    def possible(chances: Array) -> int:
        return draw(st.sampled_from(np.flatnonzero(chances).tolist()))

    pi1, pi2, kernel = draw(leader), draw(follower), game.kernel
    state, steps = possible(game.start), []
    for _ in range(draw(lengths)):
        a, b = possible(pi1[state]), possible(pi2[state])
        steps.append((game.states[state], game.leader_actions[a], game.follower_actions[b]))
        state = possible(kernel[state, a, b])
    return record_trajectory(game, pi1, steps)


def _tie_rules(rules: Sequence[Ties]) -> st.SearchStrategy[tuple[Ties, int | None]]:
    """Return a strategy for tie rules with their seeds."""
    drawn = [rule for rule in rules if rule != "random"]
    strategies: list[st.SearchStrategy[tuple[Ties, int | None]]] = []
    if drawn:
        strategies.append(st.tuples(st.sampled_from(drawn), st.none()))
    if len(drawn) < len(rules):
        strategies.append(st.tuples(st.just("random"), st.integers(0, 99)))
    return st.one_of(strategies)


def _increasing_ratio(q: Array) -> Array:
    """Return ``1 + q / (1 + |q|)``: increasing, positive, rational."""
    return np.asarray(1 + q / (1 + np.abs(q)))


def _arc(q: Array) -> Array:
    """Return ``π/2 + arctan q``: increasing and positive."""
    return np.asarray(np.pi / 2 + np.arctan(q))
