"""Lemma 2: the leader's part of the best joint policy is best against an optimal follower.

A follower with the leader's reward that answers optimally makes every commitment worth at most what
the best joint policy is worth, and the leader's part of a joint policy that is optimal from every
state is worth that, whatever the ties. So the commitment problem is one planning problem. It is
solved in floats, and then proved: up to 40 states in rational arithmetic; beyond, by the error
bounds of `iirl_opt.commitment.stacked`; where these leave a gap, in rational arithmetic again, up
to some hundred states.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from iirl_opt.checks import checked
from iirl_opt.commitment.exact import DENSE, LARGEST, ExactProblem
from iirl_opt.commitment.incumbent import proves, upwards
from iirl_opt.commitment.plans import Commitment
from iirl_opt.commitment.problem import PROBLEM, Array, CommitmentProblem, Integers, Reply
from iirl_opt.commitment.stacked import Stack, best, policy_values, upper_values
from iirl_opt.errors import InvalidArgument, NotExact
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration, policy_iteration
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.values import local_scale
from iirl_opt.solver.records import Solved

__all__ = [
    "JointActions",
    "JointOptimum",
    "ProvedJoint",
    "joint_commitment",
    "joint_leader_policy",
    "joint_optimum",
    "need_lemma_2",
    "proved_joint",
]

# Entries of a dense kernel that the bounds in floats are computed with.
DENSE_ENTRIES = 20_000_000


class JointActions(NamedTuple):
    """An optimal joint policy as far as floats can tell.

    Attributes
    ----------
    leader, follower : its actions, (S,).
    error : a bound on the error of its value from the start.
    """

    leader: Integers
    follower: Integers
    error: float


class ProvedJoint(NamedTuple):
    """The leader's part of an optimal joint policy, as a commitment.

    Attributes
    ----------
    policy : the commitment, (S, A).
    reply : the follower's answer and the values.
    value, bound, gap : what it earns from the start, what no commitment exceeds, the difference.
    proved : whether the gap is none.
    """

    policy: Array
    reply: Reply
    value: float
    bound: float
    gap: float
    proved: bool


@dataclass(frozen=True)
class JointOptimum:
    """Take the leader's part of an optimal joint policy, by policy iteration.

    For an optimal follower with the leader's reward no commitment is better, whatever the ties.

    Examples
    --------
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(6, 2, 2, rng=0)
    >>> JointOptimum().plan(CommitmentProblem(game, reward))
    Commitment(value 6.45415602, bound 6.45415602, EXACT among all, policy-iteration)
    """

    @checked(problem=PROBLEM)
    def plan(self, problem: CommitmentProblem) -> Commitment:
        """Return an optimal commitment, proved.

        Raises
        ------
        InvalidArgument
            The follower is not optimal, or has a reward of its own.

        **Source** paper, Lemma 2. **Cost** arithmetic: one planning problem, and its proof in
        Fractions where the game is small.
        """
        need_lemma_2(problem, self)
        return joint_commitment(problem, joint_optimum(problem))


def need_lemma_2(problem: CommitmentProblem, wanting: object) -> None:
    """Refuse a problem that Lemma 2 does not speak of."""
    if not problem.lemma_2:
        reward = "the leader's reward" if problem.cooperative else "a reward of its own"
        raise InvalidArgument(
            "follower",
            f"is {problem.follower!r} with {reward}, for {wanting}",
            "an OptimalFollower with the leader's reward",
            problem.follower,
        )


def joint_commitment(
    problem: CommitmentProblem, near: JointActions, solved: Solved | None = None
) -> Commitment:
    """Return the leader's part of an optimal joint policy, with what is known of it."""
    best = proved_joint(problem, near)
    return Commitment.of(
        problem,
        best.policy,
        best.reply,
        method="policy-iteration" if solved is None else "program",
        value=best.value,
        bound=best.bound,
        gap=best.gap,
        proved=best.proved,
        solved=solved,
    )


def joint_optimum(problem: CommitmentProblem, start: ArrayLike | None = None) -> JointActions:
    """Return an optimal joint policy for the leader's reward; forbidden actions are left out.

    Parameters
    ----------
    start : choices ``a·B + b`` (S,) to begin with, where all actions are allowed.

    **Cost** arithmetic: one planning problem.
    """
    game, reward, allowed = problem.game, problem.reward, problem.allowed
    n_states, n_leader, n_answers = game.shape
    # A forbidden action does what the state's first allowed one does.
    real = np.where(allowed, np.arange(n_leader), allowed.argmax(axis=1)[:, None])
    if not allowed.all():
        rows = (np.arange(n_states)[:, None] * n_leader + real)[:, :, None] * n_answers
        matrix = game.matrix[(rows + np.arange(n_answers)).ravel()]
        if reward.ndim == 3:
            reward = reward[np.arange(n_states)[:, None], real]
        game = TwoAgentMDP(
            matrix, game.discount, leader_actions=n_leader, follower_actions=n_answers
        )
    found = (
        modified_policy_iteration(game, reward)
        if start is None
        else policy_iteration(game, reward, initial=start)
    )
    leader, follower = np.divmod(found.actions, n_answers)
    error = float(game.start @ found.error)
    return JointActions(real[np.arange(n_states), leader], follower, error)


@checked(problem=PROBLEM)
def joint_leader_policy(problem: CommitmentProblem) -> Array:
    """Return the leader's part (S, A) of a joint policy that is optimal for the leader's reward.

    Of several optimal choices the first is taken; forbidden actions are left out. **Source** paper,
    Lemma 2: against an optimal follower with the same reward no commitment is better, whatever the
    ties. **Cost** arithmetic: one planning problem.

    Examples
    --------
    >>> from iirl_opt.game.generate import random_game
    >>> joint_leader_policy(CommitmentProblem(*random_game(3, 2, 2, rng=6)))
    array([[1., 0.],
           [0., 1.],
           [0., 1.]])
    """
    return deterministic_policy(joint_optimum(problem).leader, problem.game.n_leader_actions)


def proved_joint(problem: CommitmentProblem, near: JointActions) -> ProvedJoint:
    """Return the commitment of Lemma 2 with its proof, starting from an optimum in floats.

    **Cost** arithmetic: one or two linear systems; in Fractions for small games.
    """
    game = problem.game
    if game.n_states <= DENSE:
        return _in_fractions(problem, near)
    found = None
    if game.n_states * int(np.prod(game.shape)) <= DENSE_ENTRIES:
        found = _in_floats(problem, near)
        if found.proved:
            return found
    if game.n_states <= LARGEST:
        try:
            return _in_fractions(problem, near)
        except NotExact:
            pass
    if found is not None:
        return found
    policy = deterministic_policy(near.leader, game.n_leader_actions)
    reply = problem.reply(policy)
    value = float(game.start @ reply.values)
    # The follower does no worse than its part of the joint policy, whose error is known.
    gap = 2 * near.error
    scale = float(game.start @ local_scale(game, problem.reward, (policy, reply.response)))
    bound = upwards(Fraction(value) + Fraction(gap))
    return ProvedJoint(policy, reply, value, bound, gap, proves(gap, scale, value))


def _in_fractions(problem: CommitmentProblem, near: JointActions) -> ProvedJoint:
    """Return the commitment that rational arithmetic finds."""
    exact, game = ExactProblem(problem), problem.game
    choices = near.leader * game.n_follower_actions + near.follower
    leader, joint = exact.joint_optimum(choices)
    reply = exact.reply(leader, near.follower)
    values = exact.values(leader, reply.played)
    worth = Fraction((exact.start * values).sum())
    most = Fraction((exact.start * joint).sum())
    return ProvedJoint(
        deterministic_policy(leader, game.n_leader_actions),
        Reply(reply.played, np.array([float(v) for v in values])),
        float(worth),
        upwards(max(most, worth)),
        upwards(max(most - worth, Fraction(0))),
        worth >= most or bool(np.equal(reply.values, joint).all()),
    )


def _in_floats(problem: CommitmentProblem, near: JointActions) -> ProvedJoint:
    """Return the commitment of a joint policy, with error bounds in floats."""
    game, arithmetic = problem.game, problem.arithmetic
    n_states, _, n_answers = game.shape
    own = problem.centred_reward.reshape(1, n_states, -1)
    kernel = problem.kernel.reshape(1, n_states, -1, n_states)
    stack = Stack(kernel, own, abs(own))
    allowed = np.repeat(problem.allowed, n_answers, axis=1)[None]
    choices = (near.leader * n_answers + near.follower)[None]
    found = best(stack, arithmetic, allowed, start=choices)
    played = (np.zeros((1, 1), dtype=np.int64), np.arange(n_states), found.actions)
    values, error = policy_values(kernel[played], own[played], abs(own[played]), arithmetic)
    upper = upper_values(stack, arithmetic, allowed, near=found)[0]
    policy = deterministic_policy(found.actions[0] // n_answers, game.n_leader_actions)
    reply = problem.reply(policy)
    # Any optimal answer is worth what the joint policy's own is worth, or more.
    least, most = float(game.start @ (values - error)[0]), float(game.start @ upper)
    gap = (most - least) * (1 + 2.0**-50)
    scale = float(game.start @ local_scale(game, problem.reward, (policy, reply.response)))
    value = float(game.start @ reply.values)
    bound = upwards(Fraction(most) + problem.offset)
    return ProvedJoint(policy, reply, value, max(bound, value), gap, proves(gap, scale, value))
