"""Certificates of commitments: what they earn at least, and others at most.

A commitment to an optimal follower with the leader's reward is proved by `Optimality`: no joint
policy earns more, and the follower, who could play the stated response, earns at least what that
earns (paper, Lemma 2). Every other deterministic commitment gets a `CommitmentBound`, the tree of
a branch and bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from iirl_opt.certificate import Certificate, CommitmentBound, Optimality
from iirl_opt.commitment.tree_proof import commitment_bound
from iirl_opt.errors import NotCertified
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.occupancy.proof import Side, optimality

if TYPE_CHECKING:
    from iirl_opt.commitment.plans import Commitment

__all__ = ["certificate_of_commitment"]

# A bound that is worse than the commitment's own by more than this share speaks of other rows.
LOOSE = 1e-6


def certificate_of_commitment(found: Commitment) -> Certificate:
    """Return the certificate of a commitment: what it earns at least, and others at most.

    Actions that the leader may not commit to are a side constraint of the claim.

    Raises
    ------
    NotCertified
        The commitment is stochastic and the follower another than an optimal one with the leader's
        reward; or it respects constraints that it does not hold.
    InvalidArgument
        As `commitment_bound`, where that is needed.

    **Source** paper, Lemma 2. **Cost** arithmetic: policy iteration in exact numbers; for other
    followers a branch and bound: see `commitment_bound`.
    """
    problem = found.problem
    proof: Optimality | CommitmentBound
    if problem.cooperative and isinstance(problem.follower, OptimalFollower):
        proof = _of_joint_optimum(found)
    elif np.isin(found.policy, (0, 1)).all():
        proof = commitment_bound(problem, found.policy.argmax(axis=1))
    else:
        raise NotCertified("a stochastic commitment", "a tree bounds deterministic ones alone")
    if found.bound is not None:
        scale = float(np.abs(problem.reward).max()) / (1 - problem.game.discount)
        if proof.upper > found.bound + LOOSE * scale:
            reason = "it respects constraints that it does not hold: certify its occupancy solution"
            raise NotCertified("a commitment", reason)
    return proof


def _of_joint_optimum(found: Commitment) -> Optimality:
    """Return the proof that a commitment and its response are a joint optimum."""
    problem, side = found.problem, None
    game = problem.game
    forbidden = np.repeat(~problem.allowed.ravel(), game.n_follower_actions)
    if forbidden.any():
        # Dear enough that no policy would ever pay it.
        price = 4 * float(np.ptp(problem.reward)) / (1 - game.discount)
        side = Side([forbidden.astype(float)], [0.0], prices=[price])
    return optimality(game, problem.reward, (found.policy, found.response), side)
