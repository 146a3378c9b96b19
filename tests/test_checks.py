"""Rules for arguments: what passes is what was stated, and errors say which, what and why."""

import inspect
import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from iirl_opt import checks
from iirl_opt.cli.app import run
from iirl_opt.errors import InvalidArgument

ENDS = st.sampled_from(["[]", "(]", "[)", "()"])
REALS = st.one_of(
    st.integers(-5, 5),
    st.floats(),
    st.fractions(-5, 5),
    st.decimals(),
    st.floats(width=32).map(np.float32),
    st.integers(-5, 5).map(np.int8),
)


@given(value=REALS, ends=ENDS, low=st.integers(-3, 3), size=st.integers(1, 3))
def test_a_number_passes_where_it_lies_inside_and_keeps_its_value(value, ends, low, size):
    high = low + size
    number = float("nan") if isinstance(value, Decimal) and value.is_nan() else float(value)
    above = number >= low if ends[0] == "[" else number > low
    below = number <= high if ends[1] == "]" else number < high
    rule = checks.between(low, high, ends)
    if above and below:
        assert rule("x", value) == number
    else:
        with pytest.raises(InvalidArgument, match=r"^x is "):
            rule("x", value)


@given(value=st.one_of(st.integers(), st.booleans(), st.floats(), st.integers(0, 9).map(np.uint8)))
def test_a_count_is_an_integer_and_comes_back_as_one(value):
    fits = not isinstance(value, bool | float) and 1 <= value <= 7
    if fits:
        found = checks.whole(1, 7)("n", value)
        assert type(found) is int
        assert found == value
    else:
        with pytest.raises(InvalidArgument, match=r"n is .*; allowed a whole number ≥ 1 and ≤ 7"):
            checks.whole(1, 7)("n", value)


@given(array=arrays(float, array_shapes(max_dims=3), elements=st.floats(width=32)))
def test_an_array_passes_where_all_of_it_is_finite_and_is_a_copy(array):
    rule = checks.array_of_floats()
    if np.isfinite(array).all():
        assert (rule("q", array) == array).all()
        assert not np.shares_memory(rule("q", array), array)
    else:
        at = ", ".join(map(str, np.argwhere(~np.isfinite(array))[0]))
        with pytest.raises(InvalidArgument) as caught:
            rule("q", array)
        assert caught.value.place == f"q[{at}]"


@pytest.mark.parametrize(
    "junk",
    [
        np.ma.array([1.0, 2.0], mask=[True, False]),
        [1j],
        ["1"],
        [[1.0], [1.0, 2.0]],
        [None],
        [10**400],
        np.ones(2).copy,
        object(),
        {},
    ],
)
def test_what_is_no_array_of_numbers_is_refused_by_name(junk):
    with pytest.raises(InvalidArgument, match=r"^q is no array of numbers"):
        checks.array_of_floats()("q", junk)


def test_exact_numbers_are_numbers():
    assert checks.array_of_floats(1)("q", [Fraction(1, 2), Decimal(2)]).tolist() == [0.5, 2.0]
    given_array = np.array([Fraction(1, 3)])
    assert checks.kept(checks.array_of_floats())("q", given_array) is given_array


def test_a_generator_stays_itself_and_a_seed_makes_one():
    rng = np.random.default_rng(1)
    assert checks.RNG("rng", rng) is rng
    assert checks.RNG("rng", np.int64(1)).random() == np.random.default_rng(1).random()
    for junk in (True, -1, 1.0, "1", math.nan):
        with pytest.raises(InvalidArgument, match=r"^rng is "):
            checks.RNG("rng", junk)
    assert checks.RNG("rng", None).random() != checks.RNG("rng", None).random()


@checks.checked(n=checks.whole(1), tolerance=checks.POSITIVE)
def draw(n, *, tolerance=None, free=0):
    """Draw."""
    return n, tolerance, free


@checks.checked(width=checks.POSITIVE)
@dataclass(frozen=True)
class Box:
    """A box."""

    width: float = -1.0


def test_rules_hold_however_an_argument_is_given_and_leave_defaults_alone():
    assert draw(np.int64(2)) == draw(n=2) == (2, None, 0)
    assert draw(1, tolerance=0.5, free="x") == (1, 0.5, "x")
    assert Box().width == -1.0
    for call in (
        lambda: draw(0),
        lambda: draw(n=0),
        lambda: draw(1, tolerance=math.nan),
        lambda: Box(0),
        lambda: Box(width=math.inf),
        lambda: replace(Box(), width=0.0),
    ):
        with pytest.raises(InvalidArgument):
            call()


def test_a_checked_function_looks_like_itself():
    assert draw.__doc__ == "Draw."
    assert list(inspect.signature(draw).parameters) == ["n", "tolerance", "free"]
    assert list(inspect.signature(Box).parameters) == ["width"]


# The command


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["learn", "maze-maker", "--episodes", "-1"], "--episodes"),
        (["learn", "maze-maker", "--episodes", "2.5"], "--episodes"),
        (["learn", "maze-maker", "--seed", "-3"], "--seed"),
        (["learn", "maze-maker", "--chains", "0"], "--chains"),
        (["learn", "maze-maker", "--proposals", "nan"], "--proposals"),
        (["solve", "ideal-5", "--seed", "-1"], "--seed"),
        (["claims", "--examples", "0"], "--examples"),
        (["claims", "--seed", "-1"], "--seed"),
        (["figure", "3", "--jobs", "0"], "--jobs"),
        (["compare", "maze-maker", "--runs", "1e3"], "--runs"),
        (["solve", "ideal-5", "--discount", "nan"], "discount"),
        (["solve", "ideal-5", "--discount", "1"], "discount"),
    ],
)
def test_a_wrong_number_on_the_command_line_ends_in_code_2_and_names_the_option(
    arguments, option, capsys
):
    assert run(arguments) == 2
    assert option in capsys.readouterr().err
