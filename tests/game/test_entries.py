"""Kernels are read a few rows at a time: what is read, what is kept, in how much memory."""

import gc
import pickle
import tracemalloc
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from iirl_opt.game import entries, generate, moves
from iirl_opt.game.grid import grid_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.store import load_game, save_game


def exact_rows(game, rows=None):
    """Rows of a game, by default all, in exact numbers."""
    rows = game.rational.rows if rows is None else game.exact_rows(rows)
    return [rows.row(i) for i in range(len(rows.denominators))]


@st.composite
def weights(draw):
    """Draw positive-total integer weights (S, A, B, S), many of them zero."""
    shape = n, _, _ = draw(st.tuples(st.integers(1, 6), st.integers(1, 2), st.integers(1, 2)))
    entries = st.one_of(st.just(0), st.integers(0, 9))
    drawn = draw(arrays(np.int64, (*shape, n), elements=entries))
    drawn[..., 0] += drawn.sum(axis=-1) == 0
    return drawn


def with_kernel(kind, form, weights):
    """Return a game of rows of some kind, given in some form."""
    kernel, n_leader = weights.reshape(-1, len(weights)).copy(), weights.shape[1]
    if kind == "some large":
        kernel[::3] *= 2**50 + 1
        kernel[::3, 0] += 1  # else such a row in lowest terms is small again
    elif kind != "weights":
        kernel = kernel / kernel.sum(axis=1, keepdims=True)
        kernel[::2] *= 1 + {"floats": 0, "floats that are divided": 1e-10}[kind]
    return TwoAgentMDP(form(kernel), 0.9, leader_actions=n_leader)


@pytest.mark.parametrize("kind", ["weights", "some large", "floats", "floats that are divided"])
@pytest.mark.parametrize("form", [np.array, sp.csr_array, sp.csc_array])
@given(weights=weights())
def test_rows_read_a_few_at_a_time_are_those_read_at_once(kind, form, weights):
    whole = with_kernel(kind, form, weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entries, "BLOCK", 4)
        parts = with_kernel(kind, form, weights)
    assert parts.kernel.tobytes() == whole.kernel.tobytes()
    assert type(parts.matrix) is type(whole.matrix)
    assert parts.is_rational == whole.is_rational == (kind != "floats")
    assert exact_rows(parts) == exact_rows(whole)
    backwards = np.arange(len(weights))[::-1]
    fresh = pickle.loads(pickle.dumps(parts.starting_at(None)))
    assert exact_rows(fresh, backwards) == exact_rows(whole)[len(weights) - 1 :: -1]


@pytest.mark.parametrize("largest", [2**46, 2**48, 2**50, 2**52])
@given(data=st.data())
def test_numerators_are_read_off_their_floats_up_to_the_last_bit(largest, data):
    row = data.draw(st.lists(st.integers(largest // 2, largest), min_size=1, max_size=4))
    game = TwoAgentMDP([[[row + [0] * (4 - len(row))]]] * 4, 0)
    assert exact_rows(game)[0] == {j: Fraction(n, sum(row)) for j, n in enumerate(row)}


def weights_in_a_sparse_matrix(states):
    rng = np.random.default_rng(0)
    columns = rng.integers(states // 8, size=(16 * states, 8)) + np.arange(8) * (states // 8)
    parts = (rng.integers(1, 99, columns.size), columns.ravel(), np.arange(16 * states + 1) * 8)
    return sp.csr_array(parts, shape=(16 * states, states))


@pytest.mark.parametrize("kind", ["drawn", "mixed", "full", "grid", "weights", "floats", "file"])
def test_a_game_takes_no_more_than_twice_its_matrix_while_it_is_made(kind, tmp_path, monkeypatch):
    for module in (entries, generate, moves):
        monkeypatch.setattr(module, "BLOCK", 2**10)  # so that blocks are small beside this matrix
    draw = partial(generate.random_game, 800, 4, 4, 0, successors=8)
    given = weights_in_a_sparse_matrix(800)
    rounded = sp.csr_array(given / given.sum(axis=1)[:, None] * (1 + 1e-12))
    save_game(draw()[0], tmp_path / "game.npz")
    make = {
        "drawn": lambda: draw()[0],
        "mixed": lambda: generate.random_game(200, 4, 4, 0, successors=8, leader_influence=1)[0],
        "full": lambda: generate.random_game(200, 4, 4, 0, concentration=1)[0],
        "grid": lambda: grid_game(["." * 30] * 30, discount=0.9, slip="1/5").game,
        "weights": lambda: TwoAgentMDP(given, 0.9, leader_actions=4),
        "floats": lambda: TwoAgentMDP(rounded, 0.9, leader_actions=4),
        "file": lambda: load_game(tmp_path / "game.npz"),
    }[kind]
    rare = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # as in a process of a user's
    tracemalloc.start()
    matrix = make().matrix
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    gc.set_threshold(*rare)
    parts = [matrix.data, matrix.indices, matrix.indptr] if kind != "full" else [matrix]
    assert peak <= 2 * sum(part.nbytes for part in parts)
