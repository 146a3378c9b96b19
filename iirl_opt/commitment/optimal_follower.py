"""The best joint policy, the leader's part of which is best against an optimal follower (Lemma 2).

A follower with the leader's reward that answers optimally makes every commitment worth at most what
the best joint policy is worth, and the leader's part of a joint policy that is optimal from every
state is worth that, whatever the ties. So the commitment problem is one planning problem. It is
solved in floats, and then proved: up to 40 states in rational arithmetic; beyond, by the error
bounds of `iirl_opt.commitment.stacked`; where these leave a gap, in rational arithmetic again, up
to some hundred states.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from iirl_opt.checks import checked
from iirl_opt.commitment.exact import DENSE, LARGEST, ExactProblem
from iirl_opt.commitment.incumbent import proves, upwards
from iirl_opt.commitment.problem import PROBLEM, Array, CommitmentProblem, Integers, Reply
from iirl_opt.commitment.stacked import Stack, best, policy_values, upper_values
from iirl_opt.errors import NotExact
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.values import local_scale, modified_policy_iteration, policy_iteration

__all__ = ["JointOptimum", "ProvedJoint", "joint_leader_policy", "joint_optimum", "proved_joint"]

# Entries of a dense kernel that the bounds in floats are computed with.
DENSE_ENTRIES = 20_000_000


class JointOptimum(NamedTuple):
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


def joint_optimum(problem: CommitmentProblem, start: ArrayLike | None = None) -> JointOptimum:
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
    return JointOptimum(real[np.arange(n_states), leader], follower, error)


@checked(problem=PROBLEM)
def joint_leader_policy(problem: CommitmentProblem) -> Array:
    """Return the leader's part (S, A) of a joint policy that is optimal for the leader's reward.

    Of several optimal choices the first is taken; forbidden actions are left out. **Source** paper,
    Lemma 2: against an optimal follower with the same reward no commitment is better, whatever the
    ties. **Cost** arithmetic: one planning problem.
    """
    return deterministic_policy(joint_optimum(problem).leader, problem.game.n_leader_actions)


def proved_joint(problem: CommitmentProblem, near: JointOptimum) -> ProvedJoint:
    """Return the commitment of Lemma 2 with its proof, starting from an optimum in floats.

    **Cost** arithmetic: one or two linear systems; in Fractions for small games.
    """
    game = problem.game
    if game.n_states <= DENSE:
        return _exactly(problem, near)
    found = None
    if game.n_states * int(np.prod(game.shape)) <= DENSE_ENTRIES:
        found = _bounded(problem, near)
        if found.proved:
            return found
    if game.n_states <= LARGEST:
        try:
            return _exactly(problem, near)
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


def _exactly(problem: CommitmentProblem, near: JointOptimum) -> ProvedJoint:
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


def _bounded(problem: CommitmentProblem, near: JointOptimum) -> ProvedJoint:
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
