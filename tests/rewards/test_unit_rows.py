"""Unit rows: what counts as one row, and rows that grow without disturbing the shorter ones."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from iirl_opt.rewards.unit_rows import UnitRows, unit_rows

ROWS = arrays(np.int64, st.tuples(st.integers(0, 5), st.just(3)), elements=st.integers(-2, 2))


@given(parts=st.lists(ROWS, min_size=1, max_size=5))
def test_rows_that_join_one_after_another_are_those_that_come_at_once(parts):
    grown = UnitRows.of(unit_rows(parts[0]))
    for part in parts[1:]:
        grown = grown.joined(unit_rows(part))
    assert grown.array == pytest.approx(unit_rows(np.concatenate(parts)), abs=1e-15)


@given(first=ROWS, others=st.lists(ROWS, min_size=2, max_size=4))
def test_no_extension_disturbs_another_or_what_it_extends(first, others):
    begun = UnitRows.of(unit_rows(first))
    expected = [begun.joined(unit_rows(other)).array[len(begun) :].copy() for other in others]
    # A row that no other repeats makes room for more, so that all would write to the same place.
    roomy = begun.joined(unit_rows([[1.0, 7.0, -8.0]]))
    before = roomy.array.copy()
    together = [roomy.joined(unit_rows(other)) for other in others]
    assert np.array_equal(roomy.array, before)
    for one, new in zip(together, expected, strict=True):
        assert np.array_equal(one.array, np.concatenate([before, new]))


def test_rows_that_are_known_leave_the_very_same_object():
    rows = unit_rows(np.random.default_rng(0).standard_normal((4, 5)))
    known = UnitRows.of(rows)
    assert known.joined(rows[1:3]) is known
    assert len(known.joined(-rows)) == 8


class Interrupted(np.ndarray):
    """Rows during whose reading another thread has its turn."""

    def __getitem__(self, key):
        while self.turns:
            self.turns.pop()()
        return super().__getitem__(key)


@pytest.mark.parametrize("turns", [1, 2])
def test_an_extension_that_begins_while_another_is_under_way_does_not_disturb_it(turns):
    rng = np.random.default_rng(0)
    first, row, *others = (unit_rows(rng.standard_normal((m, 5))) for m in (4, 1, 2, 2, 2))
    roomy, grown = UnitRows.of(first).joined(row), []
    slow = others[0].view(Interrupted)
    slow.turns = [lambda new=new: grown.append(roomy.joined(new)) for new in others[1 : turns + 1]]
    grown.append(roomy.joined(slow))
    assert len(grown) == turns + 1
    for one, new in zip(grown, [*others[turns:0:-1], others[0]], strict=True):
        assert np.array_equal(one.array, np.concatenate([roomy.array, new]))


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_holds_its_rows_alone_and_grows_by_itself(again):
    rng = np.random.default_rng(0)
    first, *parts = (unit_rows(rng.standard_normal((m, 5))) for m in (4, 40, 1, 1))
    known = UnitRows.of(first).joined(parts[0])
    other = again(known)
    assert np.array_equal(other.array, known.array)
    assert other.joined(known.array) is other
    assert len(pickle.dumps(known)) < 2 * known.array.nbytes
    grown = [rows.joined(part) for rows, part in zip((known, other), parts[1:], strict=True)]
    for one, part in zip(grown, parts[1:], strict=True):
        assert np.array_equal(one.array, np.concatenate([known.array, part]))
