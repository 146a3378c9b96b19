"""Games on disk: what comes back is what was saved, and a damaged file says so."""

from enum import Enum
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.store import load_game, save_game

LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.binary()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda part: st.tuples(part, part),
    max_leaves=4,
)


@st.composite
def saved_games(draw):
    """Draw games with numbers and labels of every kind."""
    n, _, _ = shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 2), st.integers(1, 2)))
    kind = draw(st.sampled_from(["weights", "large weights", "floats"]))
    largest = 2**70 if kind == "large weights" else 9
    entries = st.one_of(st.just(0), st.integers(0, largest))
    kernel = draw(arrays(object, (*shape, n), elements=entries))
    kernel[..., 0] += kernel.sum(axis=-1) == 0
    start = draw(arrays(np.int64, n, elements=st.integers(0, 9)))
    start[0] += not start.any()
    if kind == "floats":
        kernel = kernel / kernel.sum(axis=-1, keepdims=True).astype(float)
    if kind == "floats" or draw(st.booleans()):
        start = start / start.sum()
    names = [draw(st.lists(LITERALS, min_size=size, max_size=size, unique=True)) for size in shape]
    return TwoAgentMDP(
        kernel.astype(float) if kind == "floats" else kernel,
        draw(st.sampled_from([0, 0.9, "1/3", 0.99999])),
        draw(st.sampled_from([None, start])),
        states=names[0],
        leader_actions=names[1],
        follower_actions=names[2],
    )


def exact_of(game):
    rows = game.rational.rows
    entries = [rows.row(i) for i in range(game.n_states * game.n_choices)]
    return entries, game.rational.discount, game.rational.start


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("games") / "game.npz"


@given(game=saved_games())
def test_a_game_comes_back_as_it_was(path, game):
    save_game(game, path)
    again = load_game(path)
    assert again == game
    assert repr((again.states, again.leader_actions, again.follower_actions)) == repr(
        (game.states, game.leader_actions, game.follower_actions)
    )
    assert type(again.matrix) is type(game.matrix)
    assert again.kernel.tobytes() == game.kernel.tobytes()
    assert again.start.tobytes() == game.start.tobytes()
    assert again.discount == game.discount
    assert again.is_rational == game.is_rational
    if game.is_rational:
        assert exact_of(again) == exact_of(game)


def test_exact_numbers_beyond_53_and_64_bits_survive(path):
    for scale in (2**55, 2**61, 2**62, 2**64, 10**100):
        row = [Fraction(1, scale + 1), Fraction(scale, scale + 1)]
        game = TwoAgentMDP(np.array([[[row]]] * 2, dtype=object), "1/3", {0: row[0], 1: row[1]})
        save_game(game, path)
        assert load_game(path) == game
        assert exact_of(load_game(path)) == exact_of(game)


def simple():
    return TwoAgentMDP([[[[1, 2]]], [[[0, 1]]]], "9/10", states=["hall", ("yard", 1)])


def test_any_name_of_the_file_will_do(tmp_path):
    for name in ("game", "game.npz", "a game.of.mine"):
        save_game(simple(), str(tmp_path / name))
        assert load_game(str(tmp_path / name)) == simple()
    assert len(list(tmp_path.iterdir())) == 3


class Colour(Enum):
    RED = 1


class Shy:
    def __repr__(self):
        return "'hall'"


@pytest.mark.parametrize(
    "label", [Fraction(1, 2), Colour.RED, frozenset({1}), float("nan"), Shy(), (1, Shy()), object]
)
@pytest.mark.parametrize("which", ["states", "leader_actions", "follower_actions"])
def test_a_label_that_could_not_be_read_back_is_refused_and_no_file_is_touched(
    tmp_path, label, which
):
    game = TwoAgentMDP(np.ones((2, 2, 2, 2), int), 0.9, **{which: ["fine", label]})
    with pytest.raises(InvalidArgument, match=f"{which} contain .*; allowed text, numbers") as told:
        save_game(game, tmp_path / "new.npz")
    assert told.value.value in (label,)  # equal or, as NaN, the same
    assert list(tmp_path.iterdir()) == []
    save_game(simple(), tmp_path / "old.npz")
    with pytest.raises(InvalidArgument):
        save_game(game, tmp_path / "old.npz")
    assert load_game(tmp_path / "old.npz") == simple()


# Files that are no game


@pytest.fixture
def damaged(tmp_path):
    """Write a saved game with some arrays replaced, or left out (None); return its path."""

    def write(**changes):
        path = tmp_path / "damaged.npz"
        save_game(simple(), path)
        with np.load(path) as file:
            parts = dict(file) | changes
        np.savez(path, **{name: part for name, part in parts.items() if part is not None})
        return path

    return write


def test_what_is_not_damaged_is_read(damaged):
    assert load_game(damaged()) == simple()
    assert load_game(damaged(note=np.array("of no importance"))) == simple()


def test_another_version_is_named(damaged):
    path = damaged(format=np.array(2))
    with pytest.raises(FileProblem, match="format: is 2; allowed 1") as told:
        load_game(path)
    assert (told.value.path, told.value.key) == (path, "format")


NEEDED = ("format", "shape", "states", "leader_actions", "follower_actions", "exact_indices")
NEEDED += ("exact_numerators", "exact_denominators", "exact_discount", "exact_start")


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_array_is_named(damaged, name):
    with pytest.raises(FileProblem, match=name):
        load_game(damaged(**{name: None}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": np.array("one")}, "invalid literal"),
        ({"format": np.array([1, 1])}, "damaged"),
        ({"shape": np.array([3, 1, 1])}, "damaged"),
        ({"shape": np.array([])}, "damaged"),
        ({"exact_discount": np.array("3/2")}, "discount is 3/2"),
        ({"exact_discount": np.array("1/0")}, "damaged"),
        ({"exact_start": np.array(["1/2", "1/3"])}, "start sums to"),
        ({"exact_start": np.array(["1/2", "half"])}, "half"),
        ({"exact_numerators": np.array(["-1", "2", "1"])}, "weights ≥ 0"),
        ({"exact_numerators": np.array(["1", "2"])}, "damaged"),
        ({"exact_indices": np.array([0, 9, 1])}, "P is no sparse array"),
        ({"exact_indices": np.array([0, -9, 1])}, "P is no sparse array"),
        ({"exact_indptr": np.array([0, 3, 2])}, "P is no sparse array"),
        ({"exact_indptr": np.array([0, 2, 99])}, "damaged"),
        ({"states": np.array(["'hall'", "'hall'"])}, "'hall' is named twice"),
        ({"states": np.array(["'hall'"])}, "state labels are 1; allowed 2"),
        ({"states": np.array(["'hall'", "yard"])}, "malformed"),
        ({"states": np.array(["'hall'", "[1]"])}, "unhashable"),
        ({"states": np.array(["'hall'", "open('x', 'w')"])}, "malformed"),
        ({"states": np.array(["'hall'", "("])}, "damaged"),
        ({"states": np.array([1, 2])}, "damaged"),
    ],
)
def test_an_array_that_makes_no_game_is_a_problem_of_the_file(damaged, changes, message):
    with pytest.raises(FileProblem, match=message) as told:
        load_game(damaged(**changes))
    assert told.value.path.name == "damaged.npz"


@pytest.mark.parametrize("weight", [2, 2**70])
@pytest.mark.parametrize("columns", [[0, 0, 1], [1, 0, 1]])
def test_columns_that_do_not_ascend_are_a_problem_of_the_file(tmp_path, weight, columns):
    whole = tmp_path / "whole.npz"
    save_game(TwoAgentMDP(np.array([[[[weight, 1]]], [[[0, 1]]]], dtype=object), 0.5), whole)
    with np.load(whole) as file:
        parts = dict(file)
    assert parts["exact_indices"].tolist() == [0, 1, 1]
    np.savez(tmp_path / "damaged.npz", **parts | {"exact_indices": np.array(columns)})
    with pytest.raises(FileProblem, match="columns do not ascend"):
        load_game(tmp_path / "damaged.npz")


def test_pickled_labels_are_not_opened(damaged):
    with pytest.raises(FileProblem, match="pickle"):
        load_game(damaged(states=np.array([{"hall": 1}, None], dtype=object)))


@pytest.mark.parametrize(
    "content", [b"", b"P", b"not a game", b"PK\x03\x04", b"\x93NUMPY", b"\x00" * 100]
)
def test_what_is_no_archive_is_no_game(path, content):
    path.write_bytes(content)
    with pytest.raises(FileProblem, match="is no file that save_game wrote, or damaged"):
        load_game(path)


def test_a_single_array_is_no_game(path):
    with path.open("wb") as file:
        np.save(file, np.eye(2))
    with pytest.raises(FileProblem, match="is no file that save_game wrote"):
        load_game(path)


@given(data=st.data())
def test_a_damaged_file_is_told_or_harmless(path, data):
    save_game(simple(), path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        again = load_game(path)
    except FileProblem:
        return
    assert again == simple()


def test_a_file_cut_anywhere_is_no_game(path):
    save_game(simple(), path)
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(FileProblem):
            load_game(path)


def test_no_file_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_game(tmp_path / "nowhere.npz")
    with pytest.raises(IsADirectoryError):
        load_game(tmp_path)
