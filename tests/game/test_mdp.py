"""Games and MDPs: what makes one, in which forms it may be given, and what follows from it."""

import copy
import pickle
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from instances import games, kernel_of

from iirl_opt.errors import InvalidArgument, InvalidGame, InvalidPolicy, UnknownLabel
from iirl_opt.exact.numbers import as_fraction
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.labels import Labels
from iirl_opt.game.mdp import MDP, TwoAgentMDP

FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
ROOMS, DOORS, MOVES = ("hall", "yard"), ("open", "shut"), ("go", "stay")
HALVES = np.full((2, 2, 2, 2), 0.5)


def house(kernel=HALVES, discount=0.9, start=None, **labels):
    """Two rooms, two doors, two moves."""
    names = {"states": ROOMS, "leader_actions": DOORS, "follower_actions": MOVES}
    return TwoAgentMDP(kernel, discount, start, **(names | labels))


def changed(row, kernel=HALVES):
    """The kernel with another row for yard, open, stay."""
    kernel = np.array(kernel, dtype=np.asarray(row).dtype)
    kernel[1, 0, 1] = row
    return kernel


def fractions(weights):
    """Integer weights as an array of Fractions."""
    totals = weights.sum(axis=-1, keepdims=True)
    return np.vectorize(Fraction, otypes=[object])(weights, totals)


@st.composite
def weights(draw, largest=9, sizes=(4, 3, 3)):
    """Draw positive-total integer weights (S, A, B, S), many of them zero."""
    n, n_a, n_b = (draw(st.integers(1, most)) for most in sizes)
    shape = (n, n_a, n_b, n)
    entries = st.one_of(st.just(0), st.integers(0, largest))
    drawn = draw(arrays(object if largest >= 2**63 else np.int64, shape, elements=entries))
    drawn[..., 0] += drawn.sum(axis=-1) == 0
    return drawn


def exact_rows(model):
    return [model.rational.rows.row(i) for i in range(model.n_states * model.n_choices)]


# Bad kernels: the place and the reason

ROW = r"P\[s='yard', a='open', b='stay'\]"
ENTRY = r"P\[s='yard', a='open', b='stay', s'='yard'\]"


@pytest.mark.parametrize("form", ["dense", "flat", "csr", "coo"])
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5, np.nan], f"{ENTRY} is nan; allowed 0 ≤ p ≤ 1"),
        ([0.5, np.inf], f"{ENTRY} is inf; allowed 0 ≤ p ≤ 1"),
        ([0.5, -np.inf], f"{ENTRY} is -inf"),
        ([1.5, -0.5], f"{ENTRY} is -0.5"),
        ([0.5, 0.47], f"{ROW} sums to 0.97; allowed 1 ± 1e-09"),
        ([0.5, 0.5 + 2e-9], f"{ROW} sums to 1.000000002"),
        ([1e308, 1e308], f"{ROW} sums to inf"),
        ([0.0, 0.0], f"{ROW} sums to 0; allowed 1"),
        ([2, -1], f"{ENTRY} is -1; allowed weights ≥ 0"),
        ([0, 0], f"{ROW} sums to 0; allowed a positive total weight"),
    ],
)
def test_a_bad_row_is_named(row, message, form):
    kernel = changed(row, np.ones_like(HALVES) if isinstance(row[0], int) else HALVES)
    if form != "dense":
        kernel = kernel.reshape(8, 2)
    if form in FORMATS:
        kernel = sp.coo_array(kernel).asformat(form)
    with pytest.raises(InvalidGame, match=message):
        house(kernel)


HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([HALF, Fraction(47, 100)], f"{ROW} sums to 97/100; allowed 1 exactly, for Fractions"),
        ([HALF, HALF + Fraction(1, 10**30)], f"{ROW} sums to 10+1/10+; allowed 1 exactly"),
        ([1 + HALF, -HALF], f"{ENTRY} is -1/2; allowed 0 ≤ p ≤ 1"),
        ([Fraction(0), Fraction(0)], f"{ROW} sums to 0; allowed 1 exactly"),
        ([HALF, None], f"{ENTRY} is None; allowed"),
        ([HALF, ""], f"{ENTRY} is ; allowed"),
        ([HALF, "half"], f"{ENTRY} is half; allowed"),
        ([HALF, np.nan], f"{ENTRY} is nan; allowed"),
        ([HALF, Decimal("nan")], f"{ENTRY} is NaN; allowed"),
        ([0.5, "half"], f"{ENTRY} is half; allowed"),
    ],
)
def test_a_bad_exact_row_is_named(row, message):
    row = np.array(row, dtype=object)
    with pytest.raises(InvalidGame, match=message):
        house(changed(row, fractions(np.ones((2, 2, 2, 2), dtype=int))))


@pytest.mark.parametrize("precision", [np.float16, np.float32])
@pytest.mark.parametrize("form", [np.asarray, lambda k: sp.csr_array(k.astype(np.float32))])
def test_rows_of_low_precision_are_refused_with_advice_and_normalised_if_asked(precision, form):
    exact = np.array([[1, 2, 4], [3, 3, 3], [1, 0, 9]]) / np.array([[7], [9], [10]])
    kernel = form(exact.astype(precision))
    with pytest.raises(
        InvalidGame, match=r"P\[s=0, b=0\] sums to .*; allowed 1 ± 1e-09 \(normalise"
    ):
        MDP(kernel, 0.9)
    mdp = MDP(kernel, 0.9, normalise=True)
    assert abs(mdp.kernel[:, 0] - exact).max() <= np.finfo(precision).eps
    for s in range(3):
        given = [Fraction(float(p)) for p in exact.astype(precision)[s]]
        row = {j: p / sum(given) for j, p in enumerate(given) if p}
        assert mdp.rational.rows.row(s) == row


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5, 0.47], r"sums to 0\.97; allowed 1 ± 0\.002$"),
        ([0.5, -1e-6], "is -1e-06; allowed 0 ≤ p ≤ 1"),
        ([Fraction(1, 2), Fraction(1, 4)], r"sums to 3/4; allowed 1 ± 0\.002$"),
        ([0, 0], "sums to 0; allowed a positive total weight"),
    ],
)
def test_to_normalise_excuses_rounding_alone(row, message):
    with pytest.raises(InvalidGame, match=message):
        MDP(np.array([[row], [row]]), 0.9, normalise=True)


def test_to_normalise_leaves_what_needs_none_and_divides_fractions_and_starts():
    weights = [[[1, 3]], [[0, 2]]]
    assert MDP(weights, "1/2", normalise=True) == MDP(weights, "1/2")
    thirds = np.array([[[Fraction(333, 1000)] * 3]] * 3)
    start = np.float32([0.2, 0.7, 0.1])
    with pytest.raises(InvalidGame, match=r"start sums to .* \(normalise=True"):
        MDP(np.full((3, 1, 3), 1 / 3), 0.9, start)
    mdp = MDP(thirds, "1/2", start, normalise=True)
    assert set(mdp.rational.rows.row(0).values()) == {Fraction(1, 3)}
    assert sum(mdp.exact_start) == 1
    with pytest.raises(InvalidArgument, match="normalise is 1; allowed True or False"):
        MDP(weights, "1/2", normalise=1)


def test_masked_entries_are_no_numbers():
    kernel = np.ma.array(np.full((2, 1, 2), 0.5), mask=np.eye(2, dtype=bool)[:, None])
    with pytest.raises(InvalidGame, match="P has masked entries"):
        MDP(kernel, 0.9)
    with pytest.raises(InvalidGame, match="start has masked entries"):
        MDP(kernel.data, 0.9, kernel[0, 0])


def test_a_bad_row_of_an_mdp_is_named():
    with pytest.raises(InvalidGame, match=r"P\[s=1, b='go'\] sums to 0\.5") as caught:
        MDP([[[0, 1.0]], [[0.5, 0]]], 0.9, actions=["go"])
    assert caught.value.value == 0.5


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (np.zeros((2, 2, 2, 3)), r"P has shape \(2, 2, 2, 3\); allowed \(S, A, B, S\) or"),
        (np.zeros((3, 2, 2, 2)), r"P has shape \(3, 2, 2, 2\)"),
        (np.zeros((2, 2, 2)), r"P has shape \(2, 2, 2\)"),
        (np.zeros((7, 2)), r"P has shape \(7, 2\)"),
        (np.zeros((4, 0)), r"P has shape \(4, 0\)"),
        (np.zeros(4), r"P has shape \(4,\)"),
        (1.0, r"P has shape \(\)"),
        ([], r"P has shape \(0,\)"),
        ([[[[1, 0]]], [[[1]]]], "P is ragged; allowed rows of one length"),
        ([[1, 0], [1]], "P is ragged"),
        ([[["a"]]], "P has type <U1; allowed floats, integers or Fractions"),
        (np.ones((1, 1, 1, 1), dtype=complex), "P has type complex128"),
        (sp.csr_array(np.ones((1, 1), dtype=complex)), "P has type complex128"),
        (np.zeros((0, 1, 1, 0)), "states are empty; allowed at least one"),
        (np.zeros((2, 0, 1, 2)), "leader actions are empty"),
        (np.zeros((2, 1, 0, 2)), "follower actions are empty"),
        (sp.csr_array((7, 2)), r"P has shape \(7, 2\)"),
    ],
)
def test_what_is_no_kernel_is_refused(kernel, message):
    with pytest.raises(InvalidGame, match=message):
        TwoAgentMDP(kernel, 0.9)


def test_a_sparse_kernel_that_points_outside_is_refused():
    for indices in ([0, 9], [0, -1]):
        kernel = sp.csr_array(np.eye(2))
        kernel.indices[:] = indices
        with pytest.raises(InvalidGame, match="P is no sparse array"):
            MDP(kernel, 0.9)


def test_a_flat_kernel_must_tell_leader_from_follower():
    flat = np.ones((12, 2), dtype=int)
    with pytest.raises(InvalidGame, match="does not tell A from B"):
        TwoAgentMDP(flat, 0.9)
    with pytest.raises(InvalidGame, match="6 rows a state; allowed a multiple of 4 leader"):
        TwoAgentMDP(flat, 0.9, leader_actions=4)
    for known in [{"leader_actions": 2}, {"follower_actions": "xyz"}]:
        assert TwoAgentMDP(flat, 0.9, **known).shape == (2, 2, 3)
    assert MDP(flat, 0.9).shape == (2, 6)


# Discounts


@pytest.mark.parametrize(
    ("discount", "message"),
    [
        (1, r"discount is 1; allowed 0 ≤ γ < 1 \(undiscounted values need not exist\)"),
        (1.0, "undiscounted"),
        ("1", "undiscounted"),
        (Fraction(1), "undiscounted"),
        (-0.1, r"discount is -0\.1; allowed 0 ≤ γ < 1"),
        (1.5, r"discount is 1\.5"),
        ("3/2", "discount is 3/2"),
        (10**400, "discount is 1000"),
        (1 - Fraction(1, 10**20), "discount is 1 as a float"),
        (float("nan"), "discount is nan; allowed a number"),
        (float("inf"), "discount is inf; allowed a number"),
        ("nan", "discount is 'nan'; allowed a number"),
        ("1/0", "discount is '1/0'; allowed a number"),
        ("much", "discount is 'much'; allowed a number"),
        (None, "discount is None; allowed a number"),
        (0.5j, "discount is 0.5j; allowed a number"),
        ([0.5], r"discount is \[0\.5\]; allowed a number"),
    ],
)
def test_a_bad_discount_is_refused(discount, message):
    with pytest.raises(InvalidGame, match=message):
        house(discount=discount)


@pytest.mark.parametrize(
    ("discount", "exact"),
    [
        (0, Fraction(0)),
        (0.9, Fraction(0.9)),
        ("9/10", Fraction(9, 10)),
        ("0.9", Fraction(9, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.25"), Fraction(1, 4)),
        (np.float64(0.9), Fraction(0.9)),
        (np.float32(0.5), Fraction(1, 2)),
        (np.int64(0), Fraction(0)),
        (0.999999, Fraction(0.999999)),
    ],
)
def test_a_discount_is_kept_exactly(discount, exact):
    game = house(HALVES.astype(bool), discount)
    assert game.discount == float(exact)
    assert game.rational.discount == exact
    assert type(game.discount) is float


# Start distributions


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([0.5, 0.47], r"start sums to 0\.97; allowed 1 ± 1e-09"),
        ([0, 0], "start sums to 0"),
        ([1.5, -0.5], r"start\[s='yard'\] is -0\.5; allowed 0 ≤ p ≤ 1"),
        ([-1, 2], r"start\[s='hall'\] is -1"),
        ([np.nan, 1], r"start\[s='hall'\] is nan"),
        ([0, np.inf], r"start\[s='yard'\] is inf"),
        ([1.0], r"start has shape \(1,\); allowed \(2,\)"),
        ([[1.0], [0.0]], r"start has shape \(2, 1\)"),
        ([[1.0], [0.0, 1]], "start is ragged"),
        (["a", "b"], r"start\[s='hall'\] is a"),
        ("anywhere", r"start has shape \(\)"),
        ([Fraction(1, 3), Fraction(1, 3)], "start sums to 0.666666666667"),
        ({"hall": 0.5}, r"start sums to 0\.5"),
        ({"hall": 2, "yard": -1}, r"start\[s='yard'\] is -1"),
        ({"hall": None}, r"start\[s='hall'\] is None"),
        ({}, "start sums to 0"),
    ],
)
def test_a_bad_start_is_refused(start, message):
    with pytest.raises(InvalidGame, match=message):
        house(start=start)


@pytest.mark.parametrize(
    ("start", "exact"),
    [
        (None, ("1/2", "1/2")),
        ("uniform", ("1/2", "1/2")),
        ([1, 3], ("1/4", "3/4")),
        ([2**70, 3 * 2**70], ("1/4", "3/4")),
        (np.array([1, 3], dtype=np.int8), ("1/4", "3/4")),
        ([0.125, 0.875], ("1/8", "7/8")),
        ([Fraction(1, 3), Fraction(2, 3)], ("1/3", "2/3")),
        ({"hall": 1, "yard": 3}, ("1/4", "3/4")),
        ({"yard": 1.0}, ("0", "1")),
        ({"yard": np.int64(7)}, ("0", "1")),
        ({"hall": "1/3", "yard": "2/3"}, ("1/3", "2/3")),
        ({"hall": 0.125, "yard": Fraction(7, 8)}, ("1/8", "7/8")),
    ],
)
def test_a_start_is_kept_exactly(start, exact):
    game = house(HALVES.astype(int) + 1, start=start)
    assert game.rational.start == tuple(map(Fraction, exact))
    assert game.start.tolist() == [float(Fraction(p)) for p in exact]
    assert house(start=start).start == pytest.approx(game.start, abs=1e-16)


@pytest.mark.parametrize("weights", [np.ones((2, 2, 1, 2), dtype=int), np.full((2, 2, 1, 2), 0.5)])
def test_another_start_is_that_of_a_game_made_with_it(weights):
    game = TwoAgentMDP(weights, "1/2", states=["a", "b"])
    _ = game.rational  # what was worked out of the old start does not stay
    other, made = game.starting_at({"b": 3, "a": 1}), TwoAgentMDP(weights, "1/2", [1, 3])
    assert other.start.tolist() == made.start.tolist() == [0.25, 0.75]
    assert other.rational.start == other.exact_start == made.exact_start
    assert other.fingerprint == made.fingerprint != game.fingerprint
    assert game.start.tolist() == [0.5, 0.5]
    assert other.matrix is game.matrix
    mdp = game.follower_mdp(np.full((2, 2), 0.5))
    assert type(mdp.starting_at([1, 0])) is type(mdp)
    assert (
        mdp.starting_at([1, 0]).rational.rows.dense().tolist() == mdp.rational.rows.dense().tolist()
    )


@pytest.mark.parametrize("start", [[1, 0, 0], [-1, 2], [np.nan, 1], [0, 0], "ab", {"c": 1}])
def test_another_start_that_is_none_is_refused(start):
    game = TwoAgentMDP(np.ones((2, 2, 1, 2), dtype=int), "1/2", states=["a", "b"])
    with pytest.raises((InvalidGame, UnknownLabel)):
        game.starting_at(start)


def test_a_start_within_the_tolerance_is_renormalised():
    game = house(start=[0.5, 0.5 + 5e-10])
    assert game.start.sum() == pytest.approx(1, abs=1e-15)


# Labels


@pytest.mark.parametrize("which", ["states", "leader_actions", "follower_actions"])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("a", "a"), "'a' is named twice; allowed distinct labels"),
        ((1, True), "(1|True) is named twice"),
        (("a", "b", "c"), "labels are 3; allowed 2, as in P"),
        (("a",), "labels are 1; allowed 2, as in P"),
        ((), "labels are 0; allowed 2, as in P"),
        (3, "labels are 3; allowed 2, as in P"),
        (-1, "labels are 0; allowed 2, as in P"),
        (([1], [2]), "labels hold an unhashable type: 'list'"),
    ],
)
def test_bad_labels_are_refused(which, labels, message):
    kind = {"states": "state"}.get(which, which.replace("_", " ")[:-1])
    with pytest.raises(InvalidGame, match=f"{kind} .*{message}|{kind} {message}"):
        house(**{which: labels})


def test_numbers_given_for_both_agents_must_multiply_to_the_rows():
    with pytest.raises(InvalidGame, match="follower action labels are 4; allowed 3"):
        TwoAgentMDP(np.ones((12, 2), int), 0.9, leader_actions=2, follower_actions=4)
    with pytest.raises(InvalidGame, match="action labels are 3; allowed 2"):
        MDP(np.ones((2, 2, 2), int), 0.9, actions=3)


@pytest.mark.parametrize(
    "labels",
    [
        lambda: ROOMS,
        lambda: list(ROOMS),
        lambda: iter(ROOMS),
        lambda: dict.fromkeys(ROOMS),
        lambda: np.array(ROOMS),
        lambda: Labels(ROOMS, "room"),
    ],
)
def test_labels_come_from_any_iterable(labels):
    names = {name: labels() for name in ("states", "leader_actions", "follower_actions")}
    for kernel in (HALVES, HALVES.reshape(8, 2)):
        game = house(kernel, **(names | {"leader_actions": labels()}))
        assert game.states == game.leader_actions == game.follower_actions == ROOMS
        names = {name: labels() for name in names}


@pytest.mark.parametrize("labels", [None, 2, np.int64(2), range(2), np.arange(2)])
def test_labels_are_integers_by_default(labels):
    game = house(states=labels, leader_actions=labels, follower_actions=labels)
    assert game.states == game.leader_actions == game.follower_actions == (0, 1)
    assert all(type(name) is int for name in game.states)


def test_numpy_scalars_become_plain_labels_in_tuples_too():
    cells = [(np.int64(0), "x"), (np.int64(1), (np.str_("y"), np.bool_(True)))]
    game = house(states=cells, leader_actions=np.array([1.5, 2.5]))
    assert repr(game.states) == "((0, 'x'), (1, ('y', True)))"
    assert game.states.index((1, ("y", True))) == 1
    assert type(game.leader_actions[0]) is float


def test_looking_up_a_label():
    labels = Labels(["hall", (0, 1)], "room")
    assert labels.index("hall") == 0
    assert labels.index((np.int64(0), 1)) == 1
    for unknown in ["hal", ["unhashable"], None]:
        with pytest.raises(UnknownLabel, match="no room is called") as caught:
            labels.index(unknown)
        assert caught.value.known == ("hall", (0, 1))
    again = pickle.loads(pickle.dumps(labels))
    assert (again, again.kind, again.index((0, 1))) == (labels, "room", 1)


def test_unknown_labels_are_refused_where_they_stand():
    with pytest.raises(UnknownLabel, match="no state is called 'hal'; did you mean 'hall'"):
        house(start={"hal": 1})
    with pytest.raises(UnknownLabel, match="no leader action is called 'opne'"):
        house(leader_fallback="opne")
    with pytest.raises(UnknownLabel, match="no follower action is called 0"):
        house(follower_fallback=0)
    with pytest.raises(UnknownLabel, match="no action is called 'go'"):
        MDP(np.ones((1, 1, 1)), 0.9, fallback="go")


# One kernel in all its forms


@given(weights=weights(), scale=st.integers(1, 10**6))
def test_all_forms_of_a_kernel_are_one_game(weights, scale):
    game = TwoAgentMDP(weights, 0.9)
    n, n_a, n_b, _ = weights.shape
    sizes = {"leader_actions": n_a, "follower_actions": n_b}
    flat = weights.reshape(-1, n)
    exact = [fractions(weights), weights * scale, weights.astype(object), flat, weights.tolist()]
    exact += [getattr(sp, f"{form}_array")(flat) for form in FORMATS]
    exact += [getattr(sp, f"{form}_matrix")(flat) for form in FORMATS]
    exact += [sp.coo_array(weights), np.asfortranarray(weights), weights.astype(np.uint8)]
    floats = [game.kernel, game.matrix, game.kernel.tolist(), game.kernel.astype(object)]
    floats += [sp.csr_array(game.matrix).asformat(form) for form in FORMATS]
    for kernel in exact:
        other = TwoAgentMDP(kernel, 0.9, **sizes)
        assert other == game
        assert other.fingerprint == game.fingerprint
        assert type(other.matrix) is type(game.matrix)
        assert exact_rows(other) == exact_rows(game)
    image = TwoAgentMDP(game.kernel, 0.9)
    for kernel in floats:
        read = TwoAgentMDP(kernel, 0.9, **sizes)
        assert read == image  # equal to the game itself only where floats hold its numbers
        assert read.kernel.tobytes() == game.kernel.tobytes()
        for near, row in zip(exact_rows(read), exact_rows(game), strict=True):
            assert sum(near.values()) == 1
            assert all(abs(near[to] - p) < Fraction(1, 2**50) for to, p in row.items() if p)


@given(data=st.data())
def test_reading_a_float_kernel_again_changes_no_bit(data):
    n = data.draw(st.integers(1, 6))
    numbers = st.floats(0, 1).filter(lambda x: x == 0 or x > 1e-9)
    raw = data.draw(arrays(float, (n, 2, n), elements=numbers))
    raw[..., 0] += raw.sum(axis=-1) == 0
    off = data.draw(st.sampled_from([0, 3e-16, 9e-10]))
    start = raw[:, 0, 0] + 0.5
    rows = raw / raw.sum(axis=-1, keepdims=True) * (1 + off)
    once = MDP(rows, 0.9, start / start.sum() * (1 + off))
    assert once.kernel == pytest.approx(rows, abs=1e-9)
    assert once.kernel.sum(axis=-1) == pytest.approx(1, abs=1e-14)
    for matrix in (once.matrix, sp.csr_array(once.matrix)):
        assert MDP(matrix, 0.9, once.start).kernel.tobytes() == once.kernel.tobytes()


def test_probabilities_within_the_tolerance_below_zero_are_zero():
    game = house(changed([1.0, -5e-10]))
    assert game.kernel[1, 0, 1].tolist() == [1, 0]
    assert game.n_transitions == 15


def test_doubled_entries_of_a_sparse_kernel_are_summed_and_zeros_dropped():
    data = np.array([100, 100, 0, 1, 1], dtype=np.int8)
    kernel = sp.coo_array((data, ([0, 0, 0, 0, 1], [0, 0, 1, 1, 1])), shape=(2, 2))
    mdp = MDP(kernel, 0.9)
    assert exact_rows(mdp) == [{0: Fraction(200, 201), 1: Fraction(1, 201)}, {1: Fraction(1)}]
    assert kernel.nnz == 5
    unsorted = sp.csr_array((np.array([0.75, 0.25, 1.0]), [1, 0, 0], [0, 2, 3]), shape=(2, 2))
    assert MDP(unsorted, 0.9) == MDP([[[0.25, 0.75]], [[1.0, 0]]], 0.9)
    assert unsorted.indices.tolist() == [1, 0, 0]


# Exact numbers


@given(weights=weights(largest=10**30, sizes=(3, 2, 2)))
def test_rational_rows_are_the_numbers_given(weights):
    game = TwoAgentMDP(weights, "1/3", start=weights[:, 0, 0, 0] + 1)
    assert (kernel_of(game) == fractions(weights)).all()
    assert game.rational.discount == Fraction(1, 3)
    whole = sum(weights[:, 0, 0, 0] + 1)
    assert game.rational.start == tuple(Fraction(w + 1, whole) for w in weights[:, 0, 0, 0])
    images = np.vectorize(float, otypes=[float])(fractions(weights))
    assert game.kernel.tobytes() == images.tobytes()
    assert game.start.tolist() == [float(p) for p in game.rational.start]
    again = TwoAgentMDP(
        RowBlocks.of(game.rational.rows), "1/3", leader_actions=game.n_leader_actions
    )
    assert exact_rows(again) == exact_rows(game)
    assert again.kernel.tobytes() == game.kernel.tobytes()


def test_rational_rows_are_in_lowest_terms_in_the_layout_of_csr():
    rows = MDP([[[2, 4]], [[0, 7]]], 0.9).rational.rows
    assert rows.indptr.tolist() == [0, 2, 3]
    assert rows.indices.tolist() == [0, 1, 1]
    assert rows.numerators.tolist() == [1, 2, 1]
    assert rows.denominators.tolist() == [3, 1]
    assert rows.numerators.dtype == rows.denominators.dtype == np.int64


@pytest.mark.parametrize(
    ("row", "first"),
    [
        ([2**62, 2**62, 2**62], Fraction(1, 3)),  # the total is beyond int64
        (np.array([2**63, 2**63, 0], dtype=np.uint64), Fraction(1, 2)),  # the weights are
        ([2**64, 1, 0], Fraction(2**64, 2**64 + 1)),
        ([10**400, 10**400, 1], Fraction(10**400, 2 * 10**400 + 1)),
        ([2**53 + 1, 2**53, 0], Fraction(2**53 + 1, 2**54 + 1)),
        ([Fraction(1, 10**400), 1 - Fraction(1, 10**400), 0], Fraction(1, 10**400)),
    ],
)
def test_numbers_of_any_size_are_exact(row, first):
    kernel = np.array([row] * 3)
    given = [kernel] if kernel.dtype == object else [kernel, sp.csr_array(kernel)]
    for mdp in (MDP(form, 0.9) for form in given):
        assert [mdp.rational.rows.row(i).get(0) for i in range(3)] == [first] * 3
        assert mdp.kernel[:, 0, 0].tolist() == [float(first)] * 3


def test_rows_of_a_float_kernel_are_divided_by_their_exact_sums():
    assert exact_rows(house())[0] == {0: HALF, 1: HALF}
    for kind in (float, object):
        given = [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [1e-300, 0.5, 0.5]]
        mdp = MDP(np.array(given, dtype=kind)[:, None], 0.9)
        for row, numbers in zip(exact_rows(mdp), given, strict=True):
            total = sum(map(Fraction, numbers))
            assert row == {to: Fraction(p) / total for to, p in enumerate(numbers)}
    # Rows that are off one by more than rounding are read as they were given, not as rounded.
    given = [0.1 + 1e-11, 0.9]
    total = sum(map(Fraction, given))
    assert exact_rows(MDP([[given]] * 2, 0.9))[1] == {
        0: Fraction(given[0]) / total,
        1: Fraction(0.9) / total,
    }
    mixed = np.array([[[0.5, HALF]], [[np.float32(0.5), HALF]]], dtype=object)
    assert exact_rows(MDP(mixed, 0.9)) == [{0: HALF, 1: HALF}] * 2


def test_a_follower_has_the_exact_mixture_of_the_rows():
    game = house(HALVES.astype(int) + 1)
    thirds = np.full((2, 2), 1 / 3) * [1, 2]
    row = game.follower_mdp(thirds).rational.rows.row(0)
    own = exact_rows(game)
    assert row == {to: (own[0][to] + 2 * own[2][to]) / 3 for to in range(2)}
    assert exact_rows(game.joint_mdp()) == own


def test_a_float_is_the_dyadic_rational_that_it_is():
    assert as_fraction(0.1) == as_fraction(np.float64(0.1)) == Fraction(3602879701896397, 2**55)
    assert as_fraction("0.1") == as_fraction(Decimal("0.1")) == Fraction(1, 10)
    assert as_fraction(2.0**-1074) == Fraction(1, 2**1074)
    assert type(as_fraction(np.int64(3)).numerator) is int


# Storage


def test_the_matrix_is_kept_in_the_smaller_form():
    assert sp.issparse(MDP(np.eye(50).reshape(50, 1, 50), 0.9).matrix)
    assert isinstance(MDP(sp.csr_array(np.full((50, 50), 0.02)), 0.9).matrix, np.ndarray)


@given(weights=weights(sizes=(6, 2, 2)))
def test_no_form_of_the_matrix_would_be_smaller(weights):
    matrix = TwoAgentMDP(weights, 0.9).matrix
    csr = sp.csr_array(matrix)
    sparse = csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes
    dense = csr.toarray().nbytes
    assert sp.issparse(matrix) == (sparse < dense)


# Read-only


def arrays_of(model):
    matrix = model.matrix
    parts = [matrix.data, matrix.indices, matrix.indptr] if sp.issparse(matrix) else [matrix]
    rows = model.rational.rows
    exact = [rows.indptr, rows.indices, rows.numerators, rows.denominators]
    return [*parts, model.start, *exact]


@pytest.mark.parametrize("kernel", [np.eye(9, dtype=int).reshape(9, 1, 1, 9), np.full((9, 9), 1)])
@pytest.mark.parametrize("kind", [int, float])
def test_nothing_of_a_model_can_be_changed(kernel, kind):
    kernel = (kernel / (1 if kernel.ndim == 4 else 9)).astype(kind) if kind is float else kernel
    game = TwoAgentMDP(kernel, 0.9, leader_actions=1)
    mdp = game.follower_mdp(np.ones((9, 1)))
    copies = [copy.copy(game), copy.deepcopy(game), pickle.loads(pickle.dumps(game))]
    for model in (game, mdp, game.joint_mdp(), *copies):
        for array in arrays_of(model):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 1
        for name in ("matrix", "discount", "start", "states", "n_states", "new"):
            with pytest.raises(AttributeError, match=f"read-only: '{name}' cannot be set"):
                setattr(model, name, 1)


def test_a_model_does_not_hold_on_to_what_it_was_given():
    for kernel in (HALVES.copy(), sp.csr_array(HALVES.reshape(8, 2)), np.ones((2, 2, 2, 2), int)):
        start = np.array([0.5, 0.5])
        game = house(kernel, start=start)
        before = game.fingerprint, game.kernel
        (kernel.data if sp.issparse(kernel) else kernel)[...] = 7
        start[...] = 7
        assert game.start.tolist() == [0.5, 0.5]
        assert (game.kernel == before[1]).all()
        assert copy.deepcopy(game).fingerprint == before[0]


# Equality


def test_equal_is_what_has_the_same_numbers_and_labels():
    game = house()
    assert game == house(HALVES.astype(int) + 1)  # exact numbers or not
    assert hash(game) == hash(house())
    assert len({game, house()}) == 1
    others = [
        house(changed([1.0, 0.0])),
        house(discount=0.8),
        house(start=[1, 0]),
        house(states=("hall", "garden")),
        house(leader_actions=("open", "locked")),
        house(follower_actions=("go", "sit")),
    ]
    assert all(other != game for other in others)
    assert len({*others, game}) == 7
    assert [other.fingerprint == game.fingerprint for other in others] == [False] * 3 + [True] * 3


def test_an_mdp_and_a_game_are_never_equal():
    kernel = np.ones((1, 1, 1))
    assert MDP(kernel, 0.9) != TwoAgentMDP(kernel[None], 0.9)
    assert MDP(kernel, 0.9) != "MDP"
    assert MDP(kernel, 0.9, start=[-0.0 + 1]) == MDP(kernel, 0.9)


def test_a_shape_is_part_of_the_fingerprint():
    flat = np.ones((12, 2), int)
    two, three = (TwoAgentMDP(flat, 0.9, leader_actions=n) for n in (2, 3))
    assert two.fingerprint != three.fingerprint


def test_the_fingerprint_sees_numbers_and_not_their_storage():
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 5, (30, 2, 2, 30)) * (rng.random((30, 2, 2, 30)) < 0.1)
    weights[..., 0] += weights.sum(axis=-1) == 0
    game = TwoAgentMDP(weights, 0.9)
    mdp = game.follower_mdp(np.full((30, 2), 0.5))  # a sparse product, whose columns are unsorted
    assert MDP(sp.csr_array(mdp.matrix), 0.9) == MDP(mdp.kernel, 0.9)
    assert MDP(RowBlocks.of(mdp.rational.rows), 0.9) == mdp
    pure = np.eye(2)[rng.integers(2, size=30)]
    first = np.einsum("sa,sabt->sbt", pure.astype(int), weights)
    assert game.follower_mdp(pure) == MDP(first, 0.9)


@given(game=games())
def test_a_pickled_model_is_the_same(game):
    for model in (game, game.joint_mdp()):
        again = pickle.loads(pickle.dumps(model))
        assert again == model
        assert hash(again) == hash(model)
        assert again.states.index(model.states[-1]) == model.n_states - 1
        assert repr(again) == repr(model)
    assert exact_rows(pickle.loads(pickle.dumps(game))) == exact_rows(game)


# Shapes at the edge


@pytest.mark.parametrize("shape", list(product([1, 2], repeat=3)))
def test_one_state_or_action_is_enough(shape):
    game = TwoAgentMDP(np.ones((*shape, shape[0]), int), 0)
    assert game.shape == shape
    assert (game.n_states, game.n_leader_actions, game.n_follower_actions) == shape
    assert game.n_choices == shape[1] * shape[2]
    assert game.kernel.shape == (*shape, shape[0])
    assert game.influence() == (0, 0)
    mdp = game.follower_mdp(np.full(shape[:2], 1 / shape[1]))
    assert (mdp.n_states, mdp.n_actions, mdp.n_choices) == (shape[0], shape[2], shape[2])


def test_the_size_is_in_the_name():
    assert (
        repr(house()) == "TwoAgentMDP(2 states, 2×2 actions, discount=0.9, 16 transitions, float)"
    )
    mdp = MDP(np.eye(3, dtype=int), "1/2")
    assert repr(mdp) == "MDP(3 states, 1 actions, discount=0.5, 3 transitions, rational)"
    assert mdp.n_transitions == 3


def test_a_single_agent_is_a_leader_without_a_choice():
    for kernel in ([[[1, 3]], [[0, 1]]], [[[0.25, 0.75]], [[0.0, 1.0]]]):
        mdp = MDP(kernel, "1/3", [1, 2], states=ROOMS, actions=["go"])
        game = TwoAgentMDP.single_agent(mdp)
        assert game.shape == (2, 1, 1)
        assert game.influence()[0] == 0
        assert (game.states, game.follower_actions) == (mdp.states, mdp.actions)
        assert game.follower_mdp([[1], [1]]) == mdp
        assert game.is_rational == mdp.is_rational
    exact = TwoAgentMDP.single_agent(MDP([[[1, 3]], [[0, 1]]], "1/3", [1, 2])).rational
    assert exact.discount == Fraction(1, 3)
    assert exact.start == (Fraction(1, 3), Fraction(2, 3))
    assert exact.rows.row(0) == {0: Fraction(1, 4), 1: Fraction(3, 4)}


# Fallbacks


def with_gaps(kind):
    """Yard lacks `open` altogether, and `go` behind a shut door; hall lacks open, go."""
    kernel = np.zeros((2, 2, 2, 2), dtype=int)
    kernel[0, 0, 1] = [1, 1]
    kernel[0, 1, 0] = [1, 2]
    kernel[0, 1, 1] = [1, 3]
    kernel[1, 1, 1] = [1, 4]
    if kind == "Fractions":
        totals = np.maximum(kernel.sum(axis=-1, keepdims=True), 1)
        return np.vectorize(Fraction, otypes=[object])(kernel, totals)
    if kind == "floats":
        return kernel / np.maximum(kernel.sum(axis=-1, keepdims=True), 1)
    return kernel if kind == "integers" else sp.lil_array(kernel.reshape(8, 2))


@pytest.mark.parametrize("kind", ["integers", "floats", "Fractions", "sparse"])
def test_fallbacks_stand_in_for_missing_actions(kind):
    # The leader's fallback comes first; the follower's fills what is still missing.
    game = house(with_gaps(kind), leader_fallback="shut", follower_fallback="stay")
    third = [[[1, 2], [1, 1]], [[1, 2], [1, 3]]], [[[1, 4], [1, 4]], [[1, 4], [1, 4]]]
    expected = np.array(third) / np.sum(third, axis=-1, keepdims=True)
    assert game.kernel == pytest.approx(expected, abs=1e-16)
    assert game.is_rational == (kind != "floats")
    game = house(changed([1, 1], with_gaps("integers")), follower_fallback="stay")
    assert game.kernel[0, 0, 0].tolist() == [0.5, 0.5]
    assert game.kernel[1, 0, 0].tolist() == [0.5, 0.5]


def test_a_missing_action_without_a_stand_in_is_an_error():
    with pytest.raises(InvalidGame, match=r"P\[s='hall', a='open', b='go'\] sums to 0"):
        house(with_gaps("integers"))
    with pytest.raises(InvalidGame, match=r"P\[s='yard', a='open', b='go'\] sums to 0"):
        house(with_gaps("integers"), leader_fallback="shut")
    with pytest.raises(InvalidGame, match=r"P\[s='yard', a='open', b='go'\] sums to 0"):
        house(with_gaps("integers"), follower_fallback="stay")


def test_an_mdp_has_a_fallback_too():
    mdp = MDP([[[0, 1], [0, 0]], [[1, 0], [1, 1]]], 0.9, actions=MOVES, fallback="go")
    assert mdp.kernel.tolist() == [[[0, 1], [0, 1]], [[1, 0], [0.5, 0.5]]]


def test_a_row_that_holds_something_bad_is_not_missing():
    kernel = with_gaps("floats")
    kernel[0, 0, 0] = np.nan
    with pytest.raises(InvalidGame, match=r"P\[s='hall', a='open', b='go', s'='hall'\] is nan"):
        house(kernel, leader_fallback="shut", follower_fallback="stay")


# What the agents make of it


def mixed(data, *shape):
    """Draw a policy with some actions that are never played."""
    entries = st.one_of(st.just(0.0), st.floats(0.01, 1))
    weights = data.draw(arrays(float, shape, elements=entries))
    weights[:, -1] += weights.sum(axis=1) == 0
    return weights / weights.sum(axis=1, keepdims=True)


@given(data=st.data(), game=games(states=(1, 4), leader=(1, 3)))
def test_chains_and_mdps_are_mixtures_of_rows(data, game):
    n, n_a, n_b = game.shape
    pi1, pi2 = mixed(data, n, n_a), mixed(data, n, n_b)
    kernel = np.array(kernel_of(game), dtype=float)
    mdp = game.follower_mdp(pi1)
    assert mdp.kernel == pytest.approx(np.einsum("sa,sabt->sbt", pi1, kernel), abs=1e-14)
    assert (mdp.states, mdp.actions) == (game.states, game.follower_actions)
    assert (mdp.discount, mdp.start.tolist()) == (game.discount, game.start.tolist())
    chain = np.einsum("sa,sb,sabt->st", pi1, pi2, kernel)
    assert sp.csr_array(game.joint_chain(pi1, pi2)).toarray() == pytest.approx(chain, abs=1e-14)
    assert sp.csr_array(mdp.chain(pi2)).toarray() == pytest.approx(chain, abs=1e-14)
    joint = game.joint_mdp()
    assert joint.actions == tuple(product(game.leader_actions, game.follower_actions))
    assert (joint.kernel == kernel.reshape(n, n_a * n_b, n)).all()
    product_policy = np.einsum("sa,sb->sab", pi1, pi2).reshape(n, -1)
    assert sp.csr_array(joint.chain(product_policy)).toarray() == pytest.approx(chain, abs=1e-14)


def test_large_sparse_games_agree_with_small_dense_arithmetic():
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 5, (60, 3, 2, 60)) * (rng.random((60, 3, 2, 60)) < 0.05)
    weights[..., 0] += weights.sum(axis=-1) == 0
    game = TwoAgentMDP(weights, 0.9)
    assert sp.issparse(game.matrix)
    pi1, pi2 = rng.dirichlet(np.ones(3), 60), rng.dirichlet(np.ones(2), 60)
    expected = np.einsum("sa,sabt->sbt", pi1, game.kernel)
    assert game.follower_mdp(pi1).kernel == pytest.approx(expected, abs=1e-14)
    chain = np.einsum("sb,sbt->st", pi2, expected)
    assert game.joint_chain(pi1, pi2).toarray() == pytest.approx(chain, abs=1e-14)
    assert game.influence() == pytest.approx(influence(game.kernel), abs=1e-14)


def influence(kernel):
    """Both influences by the definition."""
    n, n_a, n_b, _ = kernel.shape
    leader = (
        abs(kernel[s, a, b] - kernel[s, c, b]).sum()
        for s, b in product(range(n), range(n_b))
        for a, c in combinations(range(n_a), 2)
    )
    follower = (
        abs(kernel[s, a, b] - kernel[s, a, c]).sum()
        for s, a in product(range(n), range(n_a))
        for b, c in combinations(range(n_b), 2)
    )
    return max(leader, default=0), max(follower, default=0)


@given(game=games(states=(1, 4), leader=(1, 3)))
def test_influence_is_the_largest_distance_of_two_rows(game):
    assert game.influence() == pytest.approx(influence(kernel_of(game)), abs=1e-14)


def test_influence_by_hand():
    kernel = np.zeros((2, 2, 2, 2))
    kernel[0, 0] = [1, 0]
    kernel[0, 1] = [0.25, 0.75]
    kernel[1, :, 0] = [0.5, 0.5]
    kernel[1, :, 1] = [0, 1]
    assert house(kernel).influence() == (1.5, 1.0)
    assert house(np.eye(2)[[[[0, 1], [1, 0]]] * 2]).influence() == (2, 2)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda game: game.follower_mdp([[1, 0], [0.5, 0]]), r"leader policy\[s='yard'\] sums to"),
        (lambda game: game.follower_mdp(np.eye(3)), r"leader policy has shape \(3, 3\)"),
        (
            lambda game: game.joint_chain(np.eye(2), [[1, 0], [2, 0]]),
            r"follower policy\[s='yard'\]",
        ),
        (lambda game: game.joint_chain(np.eye(2), [1, 0]), r"follower policy has shape \(2,\)"),
        (lambda game: game.joint_mdp().chain(np.eye(2)), r"policy has shape \(2, 2\)"),
    ],
)
def test_a_policy_that_does_not_fit_is_refused(ask, message):
    with pytest.raises(InvalidPolicy, match=message):
        ask(house())


def test_policies_are_written_in_the_labels_of_the_game():
    game = house()
    assert game.leader_policy({"hall": "shut", "*": "open"}).tolist() == [[0, 1], [1, 0]]
    assert game.follower_policy({"hall": {"go": 0.5, "stay": 0.5}, "yard": "stay"}).tolist() == [
        [0.5, 0.5],
        [0, 1],
    ]
    with pytest.raises(UnknownLabel, match="no action is called 'go'"):
        game.leader_policy({"*": "go"})
