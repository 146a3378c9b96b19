"""The family ``learning``: a leader learns the reward by asking and telling, Algorithm 1 or other.

The follower of the file answers for its true reward, which the learner never sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.library.learners import ALGORITHM_1, check_learner, make_learner
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import RunQuestion
from iirl_opt.library.run import EpisodesRun, numbers_given
from iirl_opt.library.schema import PolicyTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from iirl_opt.commitment import Commitment
    from iirl_opt.learn import Learner

__all__ = ["LearningQuestion", "LearningRun"]


# Of games that an estimate is tried in.
MOST_UNSEEN = 1000


class LearningQuestion(RunQuestion, tag="learning"):
    """A leader learns the reward."""

    policy_key: ClassVar[str | None] = "first"

    learner: str = ALGORITHM_1
    episodes: int = 30
    seed: int = 0
    rewards: Literal["state", "joint"] | None = None
    unseen: int = 0
    first: PolicyTable | None = None

    def check(self, problem: ModelProblem) -> None:
        """Refuse a learner that there is not."""
        try:
            check_learner(self.learner)
        except InvalidArgument as error:
            raise FileProblem(problem.path, str(error), key="question.learner") from None
        if not 0 <= self.unseen <= MOST_UNSEEN:
            what = f"is {self.unseen}; allowed 0 … {MOST_UNSEEN}"
            raise FileProblem(problem.path, what, key="question.unseen")

    def learn(self, problem: ModelProblem, **given: Any) -> LearningRun:
        """Return the run; `episodes`, `seed` and `learner` may replace the file's own."""
        stated = numbers_given(problem, given, "episodes", "seed", "learner")
        try:
            return LearningRun(problem, self, stated)
        except InvalidArgument as error:
            key = "question.seed" if error.place == "seed" else "question.learner"
            raise FileProblem(problem.path, str(error), key=key) from error


class LearningRun(EpisodesRun):
    """A learner plays the episodes of a file, from before the first one on."""

    main_picture: ClassVar[str] = "regret.png"

    truth: NDArray[np.float64]
    seed: int
    settings_asked: dict[str, Any]

    def __init__(
        self, problem: ModelProblem, question: LearningQuestion, given: Mapping[str, Any]
    ) -> None:
        super().__init__(problem, given)
        self.question = question
        self.truth = problem.need_truth()
        self.seed = given.get("seed", question.seed)
        stated = question.rewards
        joint = stated == "joint" or (stated is None and self.truth.ndim == 3)
        name = str(given.get("learner", question.learner))
        first = problem.policy
        self.settings_asked = {"learner": name, "seed": self.seed, "joint": joint}
        self._learner = make_learner(name, problem.game, seed=self.seed, first=first, joint=joint)

    @property
    def learner(self) -> Learner:
        """The learner, as it is before the first episode."""
        return self._learner

    @property
    def total(self) -> int:
        """The number of episodes."""
        return int(self.given.get("episodes", self.question.episodes))

    @cached_property
    def optimum(self) -> Commitment:
        """The best commitment for the true reward, found once."""
        from iirl_opt.commitment import commit

        return commit(self.problem.game, self.truth)

    @property
    def best(self) -> float:
        """The value of the best commitment, as it is reported."""
        return float(self.problem.game.start @ self.problem.reported(self.optimum.values))

    @property
    def against(self) -> float:
        """The same in the unit of the game, where a file has another."""
        return self.optimum.value

    def play(self, learner: Learner) -> Iterator[Any]:
        """Play the episodes against the file's follower."""
        from iirl_opt.learn import interact

        follower = self.problem.follower
        yield from interact(learner, self.truth, self.total, follower=follower, best=self.against)

    def value(self, episode: Any) -> float:
        """Return what an episode earned, as it is reported."""
        return float(self.problem.game.start @ self.problem.reported(episode.values))

    def facts(self, episode: Any) -> dict[str, float]:
        """Return what the learner tells of itself, such as the rows of its feasible set."""
        return dict(episode.learner.facts())

    @property
    def quantities(self) -> dict[str, float]:
        """The numbers so far, by the names of ``[[expect]]`` tables."""
        from iirl_opt.learn.feasible_learner import FeasibleLearner

        game = self.problem.game
        influence = game.influence()
        found = {
            "states": float(game.n_states),
            "leader_influence": influence[0],
            "follower_influence": influence[1],
            "optimal_value": self.best,
            "episodes": float(len(self.episodes)),
            **self.regret_quantities,
        }
        if self.episodes:
            learner = self.episodes[-1].learner
            found |= learner.facts()
            found |= self._loss_elsewhere(learner)
            if isinstance(learner, FeasibleLearner):
                found["truth_feasible"] = float(learner.known.contains(self.truth))
        return found

    def _loss_elsewhere(self, learner: Learner) -> dict[str, float]:
        """Return what the estimate loses in random games of one agent, in the mean, if asked."""
        import numpy as np

        from iirl_opt.game.generate import random_game
        from iirl_opt.learn.elsewhere import loss_elsewhere

        estimate = learner.estimate()
        if not self.question.unseen or estimate is None or estimate.ndim > 1:
            return {}
        n_states, _, n_b = self.problem.game.shape
        luck = (np.random.default_rng([self.seed, k, 1]) for k in range(self.question.unseen))
        games = [random_game(n_states, 1, n_b, rng)[0] for rng in luck]
        return {"loss_elsewhere": float(loss_elsewhere(games, self.truth, estimate).mean())}

    @property
    def evidence(self) -> dict[str, Any]:
        """The regret of each episode."""
        return {"regrets": self.regrets}

    def document(self) -> dict[str, Any]:
        """Return the result so far, ready for JSON."""
        last = self.episodes[-1].learner if self.episodes else None
        estimate = last.estimate() if last is not None and self.complete else None
        return {
            "seed": self.seed,
            "complete": self.complete,
            "quantities": self.quantities,
            "episodes": self.records,
            "reward": None if estimate is None else estimate.tolist(),
        }

    def draw(self, folder: Path) -> Iterator[Path]:
        """Draw the regret, and in a maze what was played last."""
        from iirl_opt import plot

        yield from super().draw(folder)
        if self.episodes and self.problem.grid is not None:
            last = self.episodes[-1]
            axes = plot.plot_maze(self.problem.grid, last.pi1, last.pi2)
            axes.set_title(f"doors and moves of episode {last.number}", fontsize=10)
            yield plot.save(axes, folder / "maze.png")

    def draw_main(self, path: Path) -> Iterator[Path]:
        """Draw the regret of each episode."""
        from iirl_opt import plot

        if self.episodes:
            axes = plot.plot_regret(self.regrets)
            axes.set_title(self.problem.title, fontsize=10)
            yield plot.save(axes, path)
