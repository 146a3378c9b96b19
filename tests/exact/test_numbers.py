"""Numbers are what they are, texts what they say, and nothing that is short fills the memory."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from iirl_opt.exact.numbers import DIGITS, UNREADABLE, as_fraction, as_fractions


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_rational_that_it_is(x):
    assert as_fraction(x) == as_fraction(np.float64(x)) == Fraction(*x.as_integer_ratio())
    assert float(as_fraction(x)) == x


@given(st.fractions(), st.integers(-300, 300))
def test_texts_integers_and_decimals_are_exact(x, power):
    assert as_fraction(str(x)) == as_fraction(x) == x
    assert as_fraction(f"{x.numerator}e{power}") == x.numerator * Fraction(10) ** power
    assert as_fraction(Decimal(f"{x.numerator}e{power}")) == x.numerator * Fraction(10) ** power


@pytest.mark.parametrize(
    "hostile",
    [
        "1e400000000",
        "1E-400000000",
        "1e" + "9" * 300,
        "1e" + "9" * 5000,
        "9" * (DIGITS + 1),
        "0." + "1" * DIGITS,
        "1/" + "3" * DIGITS,
        Decimal("1e400000000"),
        Decimal("1e-400000000"),
        Decimal("1" * (DIGITS + 1)),
        Decimal("nan"),
        Decimal("inf"),
        "nan",
        "inf",
        "1/0",
        "",
        float("nan"),
        float("inf"),
        1j,
        None,
        [1],
    ],
)
def test_what_is_no_number_or_would_fill_the_memory_is_unreadable(hostile):
    with pytest.raises(UNREADABLE):
        as_fraction(hostile)


def test_the_longest_numbers_are_read():
    assert as_fraction("1e308") == 10**308
    assert as_fraction(f"1e-{DIGITS}") == Fraction(1, 10**DIGITS)
    assert as_fractions(["0.1", "2/3"]).tolist() == [Fraction(1, 10), Fraction(2, 3)]
