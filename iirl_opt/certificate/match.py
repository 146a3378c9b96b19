"""Whether a certificate speaks of one's own game, reward, observations and policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from iirl_opt.brief import in_brief
from iirl_opt.certificate.given import joint_weights, read_reward, stacked
from iirl_opt.certificate.instance import Instance
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.observation import Observation
from iirl_opt.printing.records import with_html

if TYPE_CHECKING:
    from iirl_opt.certificate.record import Certificate

__all__ = ["Match", "differences"]


@dataclass(frozen=True)
class Match:
    """Whether a certificate speaks of what it was compared with: true when nothing differs.

    Attributes
    ----------
    differences : in words.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, reward = iirl.random_game(3, 2, 2, rng=0)
    >>> certificate = iirl.certify(iirl.commit(game, reward))
    >>> bool(certificate.matches(game, reward=reward))
    True
    >>> certificate.matches(game, reward=2 * reward).differences
    ('the reward is another',)
    """

    differences: tuple[str, ...]

    __repr__ = in_brief

    _repr_html_ = with_html

    def __bool__(self) -> bool:
        return not self.differences


def differences(
    certificate: Certificate,
    game: TwoAgentMDP,
    reward: ArrayLike | None,
    observations: Sequence[Observation] | None,
    policy: tuple[ArrayLike, ArrayLike] | None,
) -> Iterator[str]:
    """Yield in words what a certificate speaks of otherwise than it was asked."""
    inside, own = certificate.instance, Instance.of(game)
    if inside.shape != own.shape or inside.fingerprint != own.fingerprint:
        yield "the game is another"
        return
    if inside.residuals()["the fingerprint is that of the instance"]:
        yield "the game is not the one of its fingerprint"
        return
    for name in ("states", "leader_actions", "follower_actions"):
        if getattr(inside, name) != getattr(own, name):
            yield f"the labels of the {name.replace('_', ' ')} are others"
    if reward is not None:
        yield from _reward(certificate, read_reward(game, reward))
    if observations is not None:
        yield from _observations(certificate, observations)
    if policy is not None:
        found: Any = getattr(certificate, "policy", None)
        if found is None:
            yield "it holds no joint policy"
        elif not np.array_equal(certificate.shares("policy"), joint_weights(game, policy)):
            yield "the policy is another"


def _reward(certificate: Certificate, wanted: Any) -> Iterator[str]:
    found: Any = getattr(certificate, "reward", None)
    spread = certificate.instance.over_choices
    if found is None:
        yield "it holds no reward"
    elif not np.array_equal(spread(found), spread(wanted)):
        yield "the reward is another"


def _observations(certificate: Certificate, wanted: Sequence[Observation]) -> Iterator[str]:
    """Compare episodes; a response that plays fewer of the optimal actions may stand for more."""
    if not hasattr(certificate, "pi1"):
        yield "it holds no episodes"
        return
    instance = certificate.instance
    pi1, pi2 = (certificate.shares(name) for name in ("pi1", "pi2"))
    n_states, n_a, n_b = instance.shape
    pi1, pi2 = pi1.reshape(-1, n_states, n_a), pi2.reshape(-1, n_states, n_b)
    if len(pi1) != len(wanted):
        yield f"the episodes are {len(pi1)}, not {len(wanted)}"
        return
    for t, (commitment, response) in enumerate(zip(*stacked(instance, wanted), strict=True)):
        if wanted[t].suboptimality is not None:
            yield f"the response of episode {t + 1} is declared suboptimal: no proof speaks of it"
        if not np.array_equal(pi1[t], commitment):
            yield f"the commitment of episode {t + 1} is another"
        same = np.array_equal(pi2[t], response)
        weaker = getattr(certificate, "weaker_answer", False)
        if not same and not (weaker and not (pi2[t][~wanted[t].played] > 0).any()):
            yield f"the response of episode {t + 1} is another"
