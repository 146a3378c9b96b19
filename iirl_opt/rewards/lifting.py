"""The lifted form of episodes: their rows with variables for values, as cvxpy constraints.

What each kind of episode says stands in a file of its own (`iirl_opt.rewards.lifted_rows`,
`iirl_opt.rewards.trajectories`, `iirl_opt.rewards.suboptimal`, `iirl_opt.rewards.preferences`);
here their rows become one program, labelled by the episode that they come from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike

from iirl_opt.checks import NOT_NEGATIVE, array_of_floats, checked, optional
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.observation import Trajectory
from iirl_opt.rewards.domains import DOMAIN, RewardDomain, RewardRows, least_reward
from iirl_opt.rewards.episodes import Episodes
from iirl_opt.rewards.lifted_rows import Lifted, WholeResponse, gaps_of
from iirl_opt.rewards.most_compatible import MostCompatible, most_compatible
from iirl_opt.rewards.preferences import Preference, Preferred
from iirl_opt.rewards.price import LabelledRows, exactly, in_words
from iirl_opt.rewards.sets import RewardSet
from iirl_opt.rewards.suboptimal import SuboptimalResponse, best_rows
from iirl_opt.rewards.trajectories import Watched
from iirl_opt.solver import Solver
from iirl_opt.solver.records import SOLVER
from iirl_opt.solver.rules import EXPRESSION

__all__ = ["LiftedEpisodes"]


@dataclass(frozen=True, eq=False)
class LiftedEpisodes(Episodes, RewardSet):
    """The rewards that explain episodes, as rows of programs."""

    @checked(r=EXPRESSION)
    def lifted(self, r: cp.Expression) -> Lifted:
        """Return the set as ``values[t]`` and ``tied[t]`` (equalities) and ``optimal[t]`` (≥ 0).

        Episodes that repeat an earlier one have none. Trajectories are ``seen[t]`` and ``idle[t]``
        (equalities) and ``unseen[t]`` (≥ 0), once a commitment. Responses that may lose something
        are ``values[t]`` (equalities), ``loss[t]`` and, once a commitment, ``best[t]`` (≥ 0); a
        preference is ``preferred[t]`` (≥ 0).

        Parameters
        ----------
        r : affine expression of shape (S,), or (S, A·B) for a joint reward.
        """
        rows = self._lifted_rows(r)
        equalities = [exactly(part) for part in rows if part.kind != "least"]
        nonnegative = [(part.label, part.value) for part in rows if part.kind == "least"]
        return Lifted(equalities, nonnegative)

    @checked(r=EXPRESSION)
    def constraints(
        self,
        r: cp.Expression,
        *,
        suboptimality: float | cp.Expression | Mapping[int, Any] | None = None,
    ) -> list[cp.Constraint]:
        """Return cvxpy constraints that hold r in the set, to use in a program of your own.

        Parameters
        ----------
        r : affine expression of shape (S,), or (S, A·B) for a joint reward.
        suboptimality : what responses may lose, in place of what was declared: an expression that
            is affine in variables of your own, of one number, for all of them; or one, or a number,
            by episode from 1.

        Returns
        -------
        list of constraints
            Labelled; each call brings value variables ``V[t]`` of its own.

        Raises
        ------
        InvalidReward, InvalidArgument
            A loss is no such expression, or is said of an episode that is no response.

        Examples
        --------
        >>> import iirl_opt as iirl
        >>> stay, go = [1, 0], [0, 1]
        >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
        >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[1, 0], [1, 0]])
        >>> r, loss = cp.Variable(2), cp.Variable()
        >>> own = [r[1] - r[0] == 1]
        >>> program = cp.Problem(cp.Minimize(loss), known.constraints(r, suboptimality=loss) + own)
        >>> round(iirl.solve(program).value, 6)
        1.0
        """
        if suboptimality is None:
            return self._limits(r)
        rows = self._lifted_rows(r, losses=self._losses_by_episode(suboptimality))
        rows.sort(key=lambda part: part.kind == "least")
        return [exactly(part) for part in rows]

    @checked(contrast=optional(array_of_floats(1, 3)), domain=DOMAIN, solver=SOLVER)
    def most_compatible(
        self,
        contrast: ArrayLike | None = None,
        *,
        domain: RewardDomain | None = None,
        solver: Solver | str | None = None,
    ) -> MostCompatible:
        """Return the non-constant reward under which responses lose least for its span.

        That loss, per unit of span, is a lower bound on what the partner loses under its own
        reward, whatever that is, and no estimate of it: the truth mostly loses more. It counts for
        every response, whatever was declared. Preferences without a margin are kept, and so are the
        rows of a domain: of its rewards the loss is per unit of the span of each.

        Parameters
        ----------
        contrast : w with ``Σ w = 0``, (S,) or (S, A, B): only rewards of ``w · r = 1`` are looked
            at, and the loss is per unit of that. By default all ordered pairs of states are tried,
            the best of which is 1 and the worst 0.
        domain : of affine rows, where to look; by default everywhere. What is found is a multiple
            of a reward in it.

        Raises
        ------
        InvalidArgument
            There is a trajectory among the episodes, or a preference with a margin, which has a
            unit of its own; the contrast does not sum to zero, or is zero; the domain has a row
            that is not affine.
        Infeasible
            The domain holds no such reward.

        **Source** Lazzati, Mutti & Metelli 2024 (arXiv 2406.03812), made free of scale. **Cost**
        one LP with a contrast, S (S − 1) without.

        Examples
        --------
        >>> import iirl_opt as iirl
        >>> stay, go = [1, 0], [0, 1]
        >>> game = iirl.TwoAgentMDP([[[stay, go]], [[stay, go]]], discount=0.5)
        >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
        >>> found = known.most_compatible()  # who goes from either state to the other errs
        >>> round(found.loss, 6), found.best, found.worst
        (0.666667, 0, 1)
        """
        return most_compatible(self.game, self._loss_rows, contrast, domain, solver)

    def _loss_rows(self, r: cp.Variable, loss: cp.Variable) -> list[cp.Constraint]:
        """Return the rows by which no response loses more than a variable."""
        for kind, said in ((Watched, "trajectories"), (Preferred, "preferences with a margin")):
            found = (e for _, e in self._of_kind(kind))
            if any(e.observation.by if isinstance(e, Preferred) else True for e in found):
                allowed = "responses, and preferences without a margin"
                raise InvalidArgument("feasible", f"holds {said}", allowed, self)
        losses = self._losses_by_episode(loss)
        return [exactly(part) for part in self._lifted_rows(r, losses=losses)]

    def _losses_by_episode(self, given: Any) -> dict[int, Any]:
        """Return what responses may lose, by episode."""
        numbers = [
            t
            for t, episode in enumerate(self.seen, start=1)
            if not isinstance(episode, Trajectory | Preference)
        ]
        found = dict(given) if isinstance(given, Mapping) else dict.fromkeys(numbers, given)
        for t, loss in found.items():
            place = f"suboptimality[{t}]" if isinstance(given, Mapping) else "suboptimality"
            if t not in numbers:
                allowed = f"an episode that is a response, of {numbers}"
                raise InvalidArgument(place, "is no response", allowed, t)
            if isinstance(loss, cp.Expression):
                if loss.size != 1 or not loss.is_affine() or loss.is_complex():
                    said = f"is {loss} of shape {loss.shape}"
                    allowed = "an affine expression of one real number"
                    raise InvalidArgument(place, said, allowed, loss)
                if loss.is_constant() and not loss.parameters():
                    NOT_NEGATIVE(place, np.asarray(loss.value).item())
                found[t] = cp.reshape(loss, (), order="C")
            else:
                found[t] = NOT_NEGATIVE(place, loss)
        return found

    def _limits(self, r: cp.Expression) -> list[cp.Constraint]:
        rows = sorted(self._lifted_rows(r), key=lambda part: part.kind == "least")
        return [exactly(part) for part in rows]

    def _lifted_rows(
        self,
        r: cp.Expression,
        floor: float | None = None,
        losses: Mapping[int, Any] | None = None,
    ) -> list[LabelledRows]:
        """Return the rows of the set, within a domain of state rewards of at least `floor`.

        Responses of which something stands in `losses`, by episode, may lose that.
        """
        losses = losses or {}
        joint = self._is_joint(r)
        flat = cp.vec(r, order="C") if joint else r
        n_states = self.game.n_states
        rows: list[LabelledRows] = []
        repeats = Counter(map(id, self.episodes))
        for t, episode, (free, tied) in self._rows(joint):
            # A row stands once for all episodes that repeat it, while one of them is optimal.
            if all(i in losses for i, e in enumerate(self.episodes, start=1) if e is episode):
                continue
            v = cp.Variable(n_states, name=f"V[{t}]")
            mean = episode.mean_reward @ flat if joint else flat
            rows.append(
                LabelledRows(
                    f"values[{t}]",
                    episode.flow.tocsr() @ v - mean,
                    "equal",
                    None,
                    in_words(self.game),
                )
            )
            often = repeats[id(episode)]
            if tied.on_v.shape[0]:
                value = gaps_of(tied, flat, v)
                weight, say = often * tied.size, in_words(self.game, tied.at)
                rows.append(LabelledRows(f"tied[{t}]", value, "equal", weight, say))
            if free.on_v.shape[0]:
                value = gaps_of(free, flat, v)
                weight, say = often * free.size, in_words(self.game, free.at)
                rows.append(LabelledRows(f"optimal[{t}]", value, "least", weight, say))
        for t, pool in self._pools():
            v = cp.Variable(n_states, name=f"V[{t}]")
            rows += pool.rows(t, flat, v, joint=joint, floor=floor)
        rows += self._suboptimal_rows(flat, losses, joint=joint)
        for t, preference in self._of_kind(Preferred):
            rows += preference.rows(t, flat, joint=joint)
        return rows

    def _suboptimal_rows(
        self, flat: cp.Expression, losses: Mapping[int, Any], *, joint: bool
    ) -> list[LabelledRows]:
        """Return the rows of responses that may lose something; W stands once a commitment."""
        rows: list[LabelledRows] = []
        best: dict[bytes, cp.Variable] = {}
        for t, episode in enumerate(self.episodes, start=1):
            if isinstance(episode, WholeResponse) and t in losses:
                episode = SuboptimalResponse.of(episode)
            if isinstance(episode, SuboptimalResponse):
                environment = episode.environment
                key = np.asarray(environment.pi1).tobytes()
                if key not in best:
                    best[key] = cp.Variable(self.game.n_states, name=f"W[{t}]")
                    rows.append(best_rows(environment, t, flat, best[key], joint=joint))
                rows += episode.rows(t, flat, best[key], losses.get(t), joint=joint)
        return rows

    def _searched(
        self, domain: RewardDomain | None, subject_to: RewardRows | None = None
    ) -> RewardDomain:
        """Return where to look: where a share was declared, nowhere below zero."""
        where = super()._searched(domain, subject_to)
        shares = (e.declared.share is not None for _, e in self._of_kind(SuboptimalResponse))
        least = least_reward(where)
        if any(shares) and (least is None or least < 0):
            allowed = "RewardSimplex(), or rows on it: a share has a meaning for rewards ≥ 0 alone"
            raise InvalidArgument("domain", f"is {where}, beside a share", allowed, where)
        return where

    def _is_joint(self, r: cp.Expression) -> bool:
        shapes = {(self.game.n_states,): False, (self.game.n_states, self.game.n_choices): True}
        if r.shape not in shapes:
            raise InvalidReward("r", f"has shape {r.shape}", " or ".join(map(str, shapes)), r.shape)
        return shapes[r.shape]
