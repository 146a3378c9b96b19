"""What each extra enables, in one call an extra.

    python tests/campaigns/extras.py NAME

It runs where the package is installed and nothing of the checkout is; `packages.py` runs it without
an extra and with it. Without it, the call ends in an error of ours, which names the line that
installs the extra: that is printed, and the exit code is 3.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import iirl_opt as iirl
from iirl_opt.errors import IIRLError

MISSING = 3
"""The exit code where an extra is missing."""

GAME, REWARD = iirl.random_game(4, 2, 2, rng=1)


def chains(**options: object) -> iirl.bayesian.Chains:
    """Draw from a posterior after one answer."""
    pi1 = np.full((4, 2), 0.5)
    evidence = iirl.bayesian.Evidence(GAME)
    answer = iirl.BoltzmannFollower(5.0).respond(GAME, REWARD, pi1)
    return iirl.bayesian.sample(
        iirl.Posterior(evidence.respond(pi1, answer)), 200, chains=2, rng=0, **options
    )


def bayes() -> None:
    """Judge chains, and hand them to ArviZ."""
    drawn = chains(fast=False)
    assert drawn.diagnostics.r_hat > 0
    assert drawn.to_arviz()["posterior"]["reward"].shape == (2, 200, 4)


def exact() -> None:
    """Solve 60 equations of states that lead to each other in rational numbers."""
    ring = np.roll(np.eye(60, dtype=int), 1, axis=1)[:, None, :]
    values = iirl.game.exact_values(iirl.MDP(ring, "9/10"), [1] * 60, np.ones((60, 1), int))
    assert set(values) == {10}


def fast() -> None:
    """Draw by compiled code: the same draws."""
    np.testing.assert_allclose(chains(fast=True).rewards, chains(fast=False).rewards)


def gym() -> None:
    """Play a game as an environment, and read one of Gymnasium's own."""
    environment = iirl.formats.to_gymnasium(GAME, REWARD, leader=np.full((4, 2), 0.5), max_steps=3)
    environment.reset(seed=0)
    assert len(environment.step(0)) == 5
    import gymnasium

    lake = iirl.formats.from_gymnasium(gymnasium.make("FrozenLake-v1"), "9/10")
    assert lake.game.n_follower_actions == 4


def play() -> None:
    """Play in a terminal without a screen; the command itself wants a real one."""
    command = [sys.executable, "-m", "iirl_opt", "play", "maze"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if "no terminal" not in done.stderr:
        print(done.stderr)
        sys.exit(MISSING)
    import asyncio

    from iirl_opt.play import Session
    from iirl_opt.play.terminal import PlayApp

    async def press() -> None:
        app = PlayApp(Session())
        async with app.run_test(size=(60, 24)) as pilot:
            await pilot.press("right")

    asyncio.run(press())


def plot() -> None:
    """Draw a game's graph into a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "game.png"
        iirl.plot.save(iirl.plot.plot_game(GAME), path)
        assert path.read_bytes().startswith(b"\x89PNG")


def prism() -> None:
    """Read a program of PRISM's."""
    program = (
        "mdp\nmodule m\n s : [0..1] init 0;\n [go] true -> 1/3:(s'=0) + 2/3:(s'=1);\nendmodule"
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "two.nm"
        path.write_text(program)
        assert iirl.formats.read_prism(path, "9/10").game.n_states == 2


def quantecon() -> None:
    """Hand a game to QuantEcon, whose optimum is ours."""
    other = iirl.formats.to_quantecon(GAME, REWARD).solve(method="policy_iteration")
    assert np.isclose(GAME.start @ other.v, iirl.commit(GAME, REWARD).value)


def sweep() -> None:
    """Work on a Dask cluster of one worker."""
    try:
        from distributed import LocalCluster
    except ImportError:
        with iirl.experiments.dask_executor("127.0.0.1:1"):
            return
    quiet = {"dashboard_address": None, "host": "127.0.0.1", "silence_logs": 50}
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, **quiet) as cluster,
        iirl.experiments.dask_executor(cluster.scheduler_address) as executor,
    ):
        assert executor.submit(abs, -1).result() == 1


def tables() -> None:
    """Return a record as a data frame, and a game through a table and a file of one."""
    plan = iirl.commit(GAME, REWARD)
    assert len(plan.to_frame()) > 0
    assert iirl.formats.from_frame(iirl.formats.to_frame(GAME)).game.n_states == 4
    with TemporaryDirectory() as folder:
        for name in ("game.csv", "game.parquet"):
            iirl.formats.write_file(GAME, Path(folder) / name)
            assert iirl.formats.read_file(Path(folder) / name).game.n_states == 4


def testing() -> None:
    """Find a small game, by the strategies and under the profile of the library."""
    games = iirl.testing.games
    import hypothesis

    assert hypothesis.find(games(), lambda game: game.n_states > 1).n_states == 2
    assert hypothesis.settings.get_profile("iirl_opt").deadline is None


CALLS: dict[str, Callable[[], None]] = {
    call.__name__: call
    for call in (
        bayes, exact, fast, gym, play, plot, prism, quantecon, sweep, tables, testing
    )
}  # fmt: skip

if __name__ == "__main__":
    try:
        CALLS[sys.argv[1]]()
    except IIRLError as problem:
        print(f"{type(problem).__name__}: {problem}")
        sys.exit(MISSING)
