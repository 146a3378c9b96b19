"""The family ``regret``: how much commitments lose at worst, at home or in another game.

Over all rewards that explain the observations of the file (`iirl_opt.rewards.elsewhere`,
`iirl_opt.commitment.minimax`). The commitment is made in the game of the file, or in that of
``[question.elsewhere]``, a table like ``[game]`` with the same states.
"""

from __future__ import annotations

from typing import Literal

from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.library.answers import ModelAnswer, by_name, solver_record
from iirl_opt.library.document import refuse_sources
from iirl_opt.library.entries import read_policy
from iirl_opt.library.games import Reading, read_game
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import ProgramQuestion
from iirl_opt.library.schema import GameTable, PolicyTable

__all__ = ["RegretQuestion"]

ELSEWHERE = "question.elsewhere"


class RegretQuestion(ProgramQuestion, tag="regret"):
    """How much a commitment loses under the worst reward, or which one loses least."""

    ask: Literal["worst", "minimax"] = "minimax"
    leader: PolicyTable | None = None
    elsewhere: GameTable | None = None
    time_limit: float | None = None

    def check(self, problem: ModelProblem) -> None:
        """Refuse what is not asked here: rows, another follower, a commitment too many or few."""
        if problem.rows:
            raise FileProblem(problem.path, "has no meaning in this family", key="constraint")
        if not isinstance(problem.follower, OptimalFollower):
            said = f"is {problem.follower!r}; allowed an optimal one, who shares the reward"
            raise FileProblem(problem.path, said, key="follower")
        if (self.leader is None) != (self.ask == "minimax"):
            said = "is missing" if self.leader is None else "has no meaning beside ask = 'minimax'"
            raise FileProblem(problem.path, said, key="question.leader")
        if problem.horizon is not None and self.elsewhere is not None:
            raise FileProblem(problem.path, "has no meaning beside a horizon", key=ELSEWHERE)
        where = self.where(problem)
        if self.leader is not None:
            read_policy(problem.path, where, self.leader, "question.leader")

    def where(self, problem: ModelProblem) -> TwoAgentMDP:
        """Return the game in which the commitment is made."""
        if self.elsewhere is None:
            return problem.game
        refuse_sources(problem.path, self.elsewhere, ELSEWHERE)
        try:
            game = read_game(problem.path, self.elsewhere, Reading()).game
        except FileProblem as error:
            place = ELSEWHERE + str(error.key or "").removeprefix("game")
            raise FileProblem(error.path, error.problem, key=place) from error
        if game.states != problem.game.states:
            said = f"are {', '.join(map(str, game.states))}; allowed those of [game], in its order"
            raise FileProblem(problem.path, said, key=f"{ELSEWHERE}.states")
        return game

    def find(self, problem: ModelProblem) -> ModelAnswer:
        """Return both bounds, and what attains them."""
        try:
            return self._worst(problem) if self.ask == "worst" else self._minimax(problem)
        except InvalidArgument as error:
            raise FileProblem(problem.path, str(error), key="question") from error

    def _worst(self, problem: ModelProblem) -> ModelAnswer:
        from iirl_opt.rewards import regret_elsewhere

        where = self.where(problem)
        assert self.leader is not None
        pi1 = read_policy(problem.path, where, self.leader, "question.leader")
        found = regret_elsewhere(problem.feasible_rewards(), where, pi1, time_limit=self.time_limit)
        quantities = {
            "lower": found.lower,
            "upper": found.upper,
            "by_arithmetic": found.proved.upper,
            "exact": float(found.exact),
            **by_name("reward", where.states, found.reward),
        }
        evidence = {"reward": found.reward.tolist(), "policy": pi1.tolist()}
        if found.solved is not None:
            evidence["solved"] = solver_record(found.solved)
        return ModelAnswer(quantities, evidence, found)

    def _minimax(self, problem: ModelProblem) -> ModelAnswer:
        from iirl_opt.commitment import minimax_regret

        where = self.where(problem)
        found = minimax_regret(problem.feasible_rewards(), where, time_limit=self.time_limit)
        quantities = {
            "lower": found.lower,
            "upper": found.upper,
            "exact": float(found.exact),
            "mixed": found.mixed.upper,
            "floor": found.floor.value,
        }
        evidence = {
            "policy": found.policy.tolist(),
            "mixed_policy": found.mixed_policy.tolist(),
            "reward": found.worst.reward.tolist(),
            "rewards": found.rewards.tolist(),
        }
        return ModelAnswer(quantities, evidence, found)
