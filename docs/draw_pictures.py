"""Draw the pictures of the documentation and the README into docs/images.

Run it from the root of a checkout with the extras ``plot`` and ``play``:
``python docs/draw_pictures.py``. Two are pictures of the command and take longer: ``learning.png``
of ``iirl-opt figure 3 --scale paper``, half an hour on one core, and ``figure-6.png`` of
``iirl-opt figure 6``.
"""

import asyncio
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

import iirl_opt as iirl
from iirl_opt import library, plot
from iirl_opt.commitment import CommitmentProblem, MixedCommitment, dominance
from iirl_opt.files import write_text
from iirl_opt.game.mazes import maze_maker
from iirl_opt.learn.active import ActiveIRL
from iirl_opt.play import Session, walk_for
from iirl_opt.play.terminal import PlayApp

FOLDER = Path(__file__).parent / "images"
SAVE = partial(plot.save, dpi=110)


def learning() -> Iterator[Path]:
    """Thirty episodes of Algorithm 1 on Maze-Maker, and what the active learner believes then."""
    maze = maze_maker()
    learner = iirl.InteractiveIRL(maze.game, seed=0)
    episodes = list(iirl.interact(learner, maze.reward, 30))
    last = episodes[-1]
    yield plot.animate_maze(maze, episodes, FOLDER / "learning.gif")
    yield SAVE(plot.plot_maze(maze, last.pi1, last.pi2), FOLDER / "maze.png")
    axes = plot.plot_regret([episode.regret for episode in episodes])
    axes.set_title("Algorithm 1 on Maze-Maker", fontsize=10)
    yield SAVE(axes, FOLDER / "regret.png")
    asking = iirl.interact(ActiveIRL(maze.game, seed=0), maze.reward, 30)
    *_, last_asked = asking
    axes = plot.plot_rewards(maze, last_asked.learner.estimate(), truth=maze.reward)
    yield SAVE(axes, FOLDER / "estimate.png")


def answered(n: int, episodes: int, seed: int) -> Iterator[Path]:
    """The rewards of a game of n states that explain an optimal follower's answers."""
    game, truth = iirl.random_game(n, 4, 3, rng=seed)
    feasible, rng = iirl.FeasibleRewards(game), np.random.default_rng(1)
    for _ in range(episodes):
        pi1 = iirl.deterministic_policy(rng.integers(4, size=n), 4)
        feasible = feasible.observe(pi1, iirl.OptimalFollower().respond(game, truth, pi1))
    axes = plot.plot_feasible(feasible, truth=truth, rng=0)
    yield SAVE(axes, FOLDER / ("triangle.png" if n == 3 else "plane.png"))


def commitments() -> Iterator[Path]:
    """A game as a graph, a mixed commitment, and two states that rule dominance out."""
    hall, stair, goal = np.eye(3, dtype=int).tolist()
    game = iirl.TwoAgentMDP(
        [[[hall, stair], [stair, goal]], [[[1, 1, 0], goal]] * 2, [[goal] * 2] * 2],
        "1/2",
        hall,
        states=["hall", "stair", "goal"],
        leader_actions=["open", "shut"],
        follower_actions=["wait", "go"],
    )
    yield SAVE(plot.plot_game(game, [0, 0, 1]), FOLDER / "graph.png")
    single = iirl.TwoAgentMDP(
        np.ones((1, 2, 2, 1), dtype=int),
        0,
        states=["market"],
        leader_actions=["high price", "low price"],
        follower_actions=["buy", "wait"],
    )
    asked = CommitmentProblem(
        single, [[[2, 4], [1, 3]]], follower_reward=[[[1, 0], [0, 1]]], ties="optimistic"
    )
    yield SAVE(plot.plot_commitment(MixedCommitment(asked).solve()), FOLDER / "commitment.png")
    game, reward = iirl.random_game(4, 3, 3, rng=0)
    found = dominance(CommitmentProblem(game, reward, iirl.BoltzmannFollower(5.0)))
    yield SAVE(plot.plot_dominance(found), FOLDER / "dominance.png")


def posterior() -> Iterator[Path]:
    """Traces, posteriors and the ridge of a partner in two rooms who errs, of 600 steps."""
    problem = library.read_model("erring-partner")
    game, truth, rng = problem.game, [0.0, 1.0, 0.0], np.random.default_rng(0)
    evidence = iirl.bayesian.Evidence(game)
    for a in (0, 1):
        pi1 = game.leader_policy({"*": game.leader_actions[a]})
        pi2 = iirl.BoltzmannFollower(5.0).respond(game, truth, pi1)
        steps = iirl.observation.sample_trajectory(game, pi1, pi2, rng, min_length=300)
        evidence = evidence.observe(steps)
    asked = iirl.Posterior(evidence, parameter_prior=iirl.bayesian.exponential_prior(20.0))
    chains = iirl.bayesian.sample(asked, 2000, chains=4, move=iirl.bayesian.Hamiltonian(), rng=0)
    axes = plot.plot_chains(chains, states=game.states, truth=(truth, 5.0), most=2)
    yield SAVE(axes[0], FOLDER / "posterior.png")


def playing() -> Iterator[Path]:
    """The terminal of ``iirl-opt play``, at the end of a walk; without a font from elsewhere."""
    app = PlayApp(played := Session())
    keys = dict(zip("NESW", ("up", "right", "down", "left"), strict=True))

    async def play() -> str:
        async with app.run_test(size=(62, 22)) as pilot:
            await pilot.press("enter", *map(keys.get, walk_for(played.stay(), prizes)))
            await pilot.pause()
            return app.export_screenshot(title="iirl-opt play maze")

    prizes = played.maze.reward("FC")
    drawn = re.sub(r"@font-face \{.*?\}", "", asyncio.run(play()), flags=re.DOTALL)
    yield write_text(FOLDER / "play.svg", drawn.replace("Fira Code", "monospace"))


if __name__ == "__main__":
    drawn = (
        learning(),
        answered(3, 4, 3),
        answered(8, 20, 4),
        commitments(),
        posterior(),
        playing(),
    )
    for pictures in drawn:
        for path in pictures:
            print("wrote", path)
