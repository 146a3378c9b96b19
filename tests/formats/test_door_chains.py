"""Chains of doors: what goes out by one and comes in by the next is the same problem at the end."""

from itertools import permutations
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from iirl_opt import random_game
from iirl_opt.formats import (
    ImportedGame,
    from_arrays,
    from_frame,
    from_gymnasium,
    from_quantecon,
    read_dpomdp,
    read_file,
    read_prism,
    to_frame,
    to_gymnasium,
    to_quantecon,
    write_file,
)

pytestmark = pytest.mark.oracle
SHARED = Path(__file__).parents[3] / "shared" / "problems"


def through_a_file(suffix):
    def door(problem, folder):
        path = folder / f"{len(list(folder.iterdir()))}{suffix}"
        write_file(problem, path)
        return read_file(path, discount=problem.game.exact_discount)

    return door


def labels_of(problem):
    game = problem.game
    names = zip(("leader_actions", "follower_actions"), game.action_labels, strict=True)
    return {"start": np.array(game.exact_start), "states": game.states, **dict(names)}


def through_quantecon(problem, folder):
    ddp = to_quantecon(problem, form="pairs")
    game = from_quantecon(ddp, problem.game.exact_discount, **labels_of(problem))
    return ImportedGame(game.game, game.rewards, problem.labels, game.available)


def through_pandas(problem, folder):
    return from_frame(to_frame(problem, exact=True))


def through_arrays(problem, folder):
    game = problem.game
    more = {"available": problem.available, **labels_of(problem)}
    return from_arrays(game.kernel, game.exact_discount, problem.reward(), **more)


def through_gymnasium(problem, folder):
    """One agent's problem alone: a game of two has no environment without a policy of one."""
    if problem.game.n_leader_actions > 1 or problem.available is not None:
        return problem
    game = problem.game
    env = to_gymnasium(problem)
    found = from_gymnasium(env, game.exact_discount, states=game.states, actions=env.actions)
    return found if found.game.shape == game.shape else problem


FILES = (".drn", ".tra", ".csv", ".parquet", ".json", ".npz", ".dpomdp")
DOORS = {
    **{suffix: through_a_file(suffix) for suffix in FILES},
    "quantecon": through_quantecon,
    "pandas": through_pandas,
    "arrays": through_arrays,
    "gymnasium": through_gymnasium,
}


def lake():
    return from_gymnasium(gymnasium.make("FrozenLake-v1"), "9/10")


def two_agents():
    game, reward = random_game(3, 2, 2, rng=4, discount="9/10")
    return ImportedGame(game, {"reward": reward}, {"odd": np.array([False, True, False])})


def small_grid():
    if not (SHARED / "GridSmall.dpomdp").exists():
        pytest.skip("../shared/problems is not here")
    return read_dpomdp(SHARED / "GridSmall.dpomdp")


def coin2():
    pytest.importorskip("stormpy")
    if not (SHARED / "prism" / "coin2.nm").exists():
        pytest.skip("../shared/problems is not here")
    found = read_prism(SHARED / "prism" / "coin2.nm", "9/10", constants={"K": 1})
    return ImportedGame(found.game, {"reward": found.reward("steps")}, found.labels)


def choices(problem):
    """Kernel and reward by state and choice, the pairs of actions in their order."""
    game = problem.game
    reward = problem.reward().reshape(game.n_states, -1)
    rewards = np.broadcast_to(reward, (game.n_states, game.n_choices))
    return game.matrix, rewards, np.array(game.exact_start)


CHAINS = list(permutations(DOORS, 4))
SOME = np.random.default_rng(0).permutation(len(CHAINS))[:4].tolist()


@pytest.mark.parametrize("make", [lake, two_agents, small_grid, coin2])
@pytest.mark.parametrize("chain", [CHAINS[i] for i in SOME], ids="-".join)
def test_four_doors_give_back_what_the_first_was_given(tmp_path, make, chain):
    problem = make()
    found = problem
    for door in chain:
        found = DOORS[door](found, tmp_path)
    kernel, reward, start = choices(problem)
    after, earned, began = choices(found)
    assert abs(kernel - after).max() <= 1e-15
    np.testing.assert_allclose(earned, reward, rtol=1e-15, atol=0)
    np.testing.assert_allclose(began.astype(float), start.astype(float), rtol=1e-15)
