"""Values of a policy, and whether a reward explains an answer: one linear system with S unknowns.

On unstructured sparse kernels (five successors drawn at random) the factors of I − γP fill in; on
grids they hardly do. The peers are SciPy's sparse LU factorisation, and plain iteration from
r/(1 − γ) until the change bounds the error by 1e-12 of the largest value: there the slow mode of a
chain that mixes is right from the start. For membership each of them is followed by one product
with the kernel. *contains* and *violations* take a new set with one observation, as after an
episode; *violations* are asked of a reward that explains nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from cases import Case, Contestant, ours, peer
from peers import sparse, value_iteration
from scipy.sparse.linalg import splu

import iirl_opt as iirl

TITLE = "Evaluation and membership"
GROWTH = "S"

# Beyond so many states the factors of an unstructured kernel take minutes, or do not fit.
FILLS_IN = 4000


def cases(quick: bool) -> list[Case]:
    """Return the sizes and discounts."""
    if quick:
        return [*(_evaluate(n, "9/10") for n in (200, 400, 800)), _contains(400), _grid(20)]
    sizes = (1000, 2000, 4000, 20_000, 100_000)
    return [
        *(_evaluate(n, "9/10") for n in sizes),
        _evaluate(4000, "99/100"),
        _evaluate(4000, "999/1000"),
        _evaluate(100_000, "99/100"),
        _evaluate(100_000, "999/1000"),
        _grid(100),
        _grid(300),
        *(_contains(n) for n in sizes[1:]),
        _violations(4000),
        _respond(4000),
    ]


def by_iteration(chain: Any, reward: np.ndarray, gamma: float) -> np.ndarray:
    """Return the values of a chain by plain iteration, within 1e-12 of the largest."""
    values = reward / (1 - gamma)
    while True:
        new = reward + gamma * (chain @ values)
        if gamma * np.abs(new - values).max() <= 1e-12 * (1 - gamma) * np.abs(new).max():
            return new
        values = new


def by_factors(chain: Any, reward: np.ndarray, gamma: float) -> np.ndarray:
    """Return the values of a chain by SciPy's sparse LU factorisation."""
    return np.asarray(splu(sp.eye_array(reward.size, format="csc") - gamma * chain).solve(reward))


def _policies(game: iirl.TwoAgentMDP) -> tuple[np.ndarray, np.ndarray, sp.csc_array]:
    """Return a deterministic pair of policies drawn with seed 1, and their chain."""
    rng = np.random.default_rng(1)
    n, n_a, n_b = game.shape
    pi1 = iirl.random_deterministic_policy(n, n_a, rng)
    pi2 = iirl.random_deterministic_policy(n, n_b, rng)
    rows = np.arange(n) * n_a * n_b + pi1.argmax(axis=1) * n_b + pi2.argmax(axis=1)
    return pi1, pi2, sp.csc_array(sp.csr_array(game.matrix)[rows])


def _evaluate(n: int, discount: str) -> Case:
    def prepare() -> dict[str, Contestant]:
        game, reward = sparse(n, discount)
        pi1, pi2, chain = _policies(game)
        found = {"evaluate": ours(lambda _: iirl.evaluate(game, reward, (pi1, pi2)))}
        return found | _solvers(chain, reward, game.discount, n <= FILLS_IN)

    gamma = float(iirl.TwoAgentMDP([[[[1]]]], discount).discount)
    return Case(
        f"evaluate, S = {n:,}, γ = {gamma:g}",
        {"S": n, "γ": gamma, "seed": 0},
        prepare,
        runs=5,
        memory=True,
        before=n <= FILLS_IN,
        family="evaluate, γ = 0.9" if discount == "9/10" else "",
    )


def _solvers(chain: Any, reward: np.ndarray, gamma: float, factors: bool) -> dict[str, Contestant]:
    rows = sp.csr_array(chain)
    found = {"plain iteration": peer(lambda _: by_iteration(rows, reward, gamma))}
    if factors:
        found["sparse LU"] = peer(lambda _: by_factors(chain, reward, gamma))
    return found


def _grid(side: int) -> Case:
    """Return the evaluation of a random walk of four slippery actions on a grid."""

    def prepare() -> dict[str, Contestant]:
        game = grid(side)
        reward = np.random.default_rng(0).random(game.n_states)
        pi1, pi2, chain = _policies(game)
        found = {"evaluate": ours(lambda _: iirl.evaluate(game, reward, (pi1, pi2)))}
        return found | _solvers(chain, reward, game.discount, factors=True)

    title = f"evaluate, grid {side}×{side}, γ = 0.9"
    return Case(title, {"S": side**2, "γ": 0.9}, prepare, runs=5, memory=True)


def grid(side: int) -> iirl.TwoAgentMDP:
    """Return a grid whose follower moves in four directions, and slips in a fifth of its steps."""
    n = side**2
    y, x = np.divmod(np.arange(n), side)
    moves = ((-1, 0), (0, 1), (1, 0), (0, -1))
    to = np.stack(
        [np.clip(y + dy, 0, side - 1) * side + np.clip(x + dx, 0, side - 1) for dy, dx in moves],
        axis=1,
    )
    share = np.full((4, 4), 1) + 16 * np.eye(4, dtype=np.int64)
    rows = np.repeat(np.arange(4 * n), 4)
    entries = np.tile(share.ravel(), n), (rows, np.repeat(to, 4, axis=0).ravel())
    kernel = sp.csr_array(entries, shape=(4 * n, n))
    return iirl.TwoAgentMDP(kernel, "9/10", leader_actions=1, follower_actions=4)


def _seen(n: int) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return a game, its reward, a commitment and an optimal answer to it."""
    game, reward = sparse(n)
    pi1 = _policies(game)[0]
    mdp = game.follower_mdp(pi1)
    values = value_iteration(mdp.matrix, reward, game.discount, 1e-12)
    q = (mdp.matrix @ values).reshape(n, -1)
    return game, reward, pi1, iirl.deterministic_policy(q.argmax(axis=1), q.shape[1])


def _least_gap(solve: Callable[..., np.ndarray], game: Any, pi1: Any, pi2: Any, r: Any) -> float:
    """Return by how much the best other action is worse than the answer, at least."""
    mdp = game.follower_mdp(pi1)
    n = game.n_states
    rows = np.arange(n) * mdp.n_choices + pi2.argmax(axis=1)
    values = solve(sp.csr_array(mdp.matrix[rows]), r, game.discount)
    q = r[:, None] + game.discount * (mdp.matrix @ values).reshape(n, -1)
    return float((values[:, None] - q).min())


def _contains(n: int) -> Case:
    def prepare() -> dict[str, Contestant]:
        game, truth, pi1, pi2 = _seen(n)

        def membership(_: int) -> float:
            return float(iirl.FeasibleRewards(game).observe(pi1, pi2).contains(truth))

        def by(solve: Callable[..., np.ndarray]) -> Callable[[int], float]:
            return lambda _: float(_least_gap(solve, game, pi1, pi2, truth) >= -1e-9)

        found = {"contains": ours(membership), "plain iteration": peer(by(by_iteration))}
        if n <= FILLS_IN:
            found["sparse LU"] = peer(by(by_factors))
        return found

    return Case(
        f"contains, S = {n:,}, γ = 0.9",
        {"S": n, "seed": 0},
        prepare,
        runs=5,
        before=n <= FILLS_IN,
        family="contains, γ = 0.9",
    )


def _violations(n: int) -> Case:
    def prepare() -> dict[str, Contestant]:
        game, truth, pi1, pi2 = _seen(n)

        def worst(_: int) -> float:
            seen = iirl.FeasibleRewards(game).observe(pi1, pi2)
            return -max(row.slack for row in seen.violations(-truth))

        return {
            "violations": ours(worst),
            "plain iteration": peer(lambda _: _least_gap(by_iteration, game, pi1, pi2, -truth)),
            "sparse LU": peer(lambda _: _least_gap(by_factors, game, pi1, pi2, -truth)),
        }

    return Case(f"violations, S = {n:,}, γ = 0.9", {"S": n, "seed": 0}, prepare, runs=5)


def _respond(n: int) -> Case:
    def prepare() -> dict[str, Contestant]:
        game, truth, pi1, _ = _seen(n)

        def answered(_: int) -> np.ndarray:
            return iirl.OptimalFollower().respond(game, truth, pi1).argmax(axis=1)

        def iterated(_: int) -> np.ndarray:
            mdp = game.follower_mdp(pi1)
            values = value_iteration(mdp.matrix, truth, game.discount, 1e-12)
            return (mdp.matrix @ values).reshape(n, -1).argmax(axis=1)

        return {"respond": ours(answered), "value iteration": peer(iterated)}

    return Case(f"respond, S = {n:,}, γ = 0.9", {"S": n, "seed": 0}, prepare, runs=5)
