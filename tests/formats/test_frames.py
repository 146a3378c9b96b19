"""Tables of pandas and polars, and their files, against the games that they are of."""

import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

import iirl_opt as iirl
from iirl_opt.errors import (
    FileProblem,
    InvalidArgument,
    InvalidGame,
    MissingExtra,
    UnknownLabel,
)
from iirl_opt.formats import (
    ImportedGame,
    from_arrays,
    from_frame,
    read_file,
    read_table,
    to_frame,
    write_file,
    write_table,
)
from iirl_opt.printing import frames
from iirl_opt.testing import games

pytestmark = pytest.mark.oracle

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
libraries = pytest.mark.parametrize("library", LIBRARIES)
HALL = {
    "state": ["hall", "hall", "goal"],
    "follower": ["go", "go", "go"],
    "next_state": ["hall", "goal", "goal"],
    "probability": ["1/3", "2/3", "1"],
    "reward": [0, 1, 0],
}


def hall(library, **changes):
    return LIBRARIES[library](HALL | changes)


@st.composite
def problems(draw, labels=("int", "str")):
    """Small games with rewards, sets of states, and some choices that are stand-ins."""
    game = draw(games(min_states=1, min_leader_actions=1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(labels))
    names = {
        "int": lambda n: n,
        "str": lambda n: [f'n {i},\n"' for i in range(n)],
        "tuple": lambda n: [(i, "x") for i in range(n)],
    }[kind]
    states, leaders, followers = map(names, game.shape)
    kernel = game.rational.rows.dense().reshape(*game.shape, -1)
    if draw(st.booleans()):
        kernel = rng.dirichlet(np.ones(game.n_states), game.shape)
    there = rng.random(game.shape) < 0.7
    # The first state has all actions, so that their order can be seen.
    there[0] = True
    there[~there.any(axis=(1, 2)), -1, -1] = True
    found = from_arrays(
        kernel,
        game.exact_discount,
        rewards={
            "reward": rng.normal(size=game.n_states),
            "of choices": rng.normal(size=game.shape),
        },
        start=np.array(game.exact_start),
        states=states,
        leader_actions=leaders,
        follower_actions=followers,
        available=there if draw(st.booleans()) else None,
    )
    return ImportedGame(
        found.game, found.rewards, {"x": rng.random(game.n_states) < 0.5}, found.available
    )


def assert_same(found, problem, equal=True):
    assert found.game == problem.game or not equal
    assert found.game.action_labels == problem.game.action_labels
    assert found.game.states == problem.game.states
    assert (found.game.kernel == problem.game.kernel).all()
    assert (found.game.start == problem.game.start).all()
    for name, reward in problem.rewards.items():
        whole = np.broadcast_to(reward.T, problem.game.shape[::-1]).T
        mine = np.broadcast_to(found.rewards[name].T, problem.game.shape[::-1]).T
        assert (mine == whole).all()
    assert found.labels.keys() == problem.labels.keys()
    assert all((found.labels[name] == marks).all() for name, marks in problem.labels.items())
    assert (found.available is None) == (problem.available is None)
    if problem.available is not None:
        assert (found.available == problem.available).all()


# Out and in again


@libraries
@given(problem=problems())
def test_a_game_is_itself_again_after_a_table(library, problem):
    assert_same(from_frame(to_frame(problem, library, exact=True)), problem)
    in_floats = from_frame(to_frame(problem, library))
    assert not in_floats.game.is_rational
    assert abs(in_floats.game.kernel - problem.game.kernel).max() <= 2e-16


@given(problem=problems(labels=["tuple"]))
def test_pandas_holds_labels_of_any_kind(problem):
    assert_same(from_frame(to_frame(problem, "pandas", exact=True)), problem)


@pytest.mark.parametrize("suffix", [".CSV.gz", ".parquet"])
@given(problem=problems())
def test_a_game_is_itself_again_after_a_file(suffix, problem, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"game{suffix}"
    write_file(problem, path)
    # What a CSV holds of floats are decimals, which say no more than that they are the nearest.
    exact = problem.game.is_rational or suffix == ".parquet"
    assert_same(read_file(path), problem, equal=exact)


def test_a_file_is_the_same_whichever_library_reads_and_writes_it(tmp_path, monkeypatch):
    game, reward = iirl.random_game(4, 2, 3, rng=0)
    problem = ImportedGame(game, {"reward": reward}, {"x": np.array([True, False, True, True])})
    write_table(problem, tmp_path / "polars.csv")
    monkeypatch.setattr("iirl_opt.formats.frames.files.find_spec", lambda name: name == "pandas")
    assert_same(read_table(tmp_path / "polars.csv"), problem)
    write_table(problem, tmp_path / "pandas.csv")
    monkeypatch.undo()
    assert_same(read_table(tmp_path / "pandas.csv"), problem)


# What is read


@libraries
@pytest.mark.parametrize(
    "numbers",
    [
        ["1/3", "2/3", "1"],
        [1, 2, 5],
        [Fraction(1, 3), Fraction(2, 3), Fraction(1)],
        ["0.33333333333", "0.66666666667", "1.0"],
    ],
    ids=["text", "weights", "Fractions", "decimals"],
)
def test_exact_numbers_stay_exact(library, numbers):
    if library == "polars" and isinstance(numbers[0], Fraction):
        numbers = pl.Series(numbers, dtype=pl.Object)
    row = from_frame(hall(library, probability=numbers), "9/10").game.rational.rows.row(0)
    third = Fraction("0.33333333333") if numbers[0] == "0.33333333333" else Fraction(1, 3)
    assert row == {0: third, 1: 1 - third}


@libraries
def test_decimals_are_exact_and_floats_what_they_are(library):
    quarters = [Decimal("0.25"), Decimal("0.75"), Decimal(1)]
    game = from_frame(hall(library, probability=quarters), "9/10").game
    assert game.is_rational
    assert game.rational.rows.row(0) == {0: Fraction(1, 4), 1: Fraction(3, 4)}
    single = hall(library, probability=np.float32([0.1, 0.9, 1]))
    with pytest.raises(InvalidGame, match=r"sums to .* \(normalise=True"):
        from_frame(single, "9/10")
    assert from_frame(single, "9/10", normalise=True).game.kernel[0, 0, 0].sum() == 1
    rounded = hall(library, probability=["0.333", "0.666", "1"])
    with pytest.raises(InvalidGame, match=r"P\[s='hall', a='-', b='go'\] sums to 0\.999"):
        from_frame(rounded, "9/10")
    third = from_frame(rounded, "9/10", normalise=True).game.rational.rows.row(0)
    assert third == {0: Fraction(1, 3), 1: Fraction(2, 3)}


def test_denominators_of_any_size_are_read():
    primes = (2**61 - 1, 2**89 - 1)
    chances = [f"1/{p}" for p in primes], [f"{p - 1}/{p}" for p in primes]
    frame = pd.DataFrame(
        {
            "state": [0, 0, 1, 1],
            "next_state": [0, 1, 0, 1],
            "probability": [chances[0][0], chances[1][0], chances[0][1], chances[1][1]],
        }
    )
    rows = from_frame(frame, "1/2").game.rational.rows
    assert rows.row(0)[0] == Fraction(1, primes[0])
    assert rows.row(1)[0] == Fraction(1, primes[1])


@libraries
def test_rewards_are_averaged_over_next_states_and_as_few_as_they_can_be(library):
    found = from_frame(hall(library, **{"reward:cost": [1.1, 1.1, 2.5]}), "9/10")
    assert found.reward("reward").tolist() == [2 / 3, 0]
    assert found.reward("cost").tolist() == [1.1, 2.5]
    assert from_frame(hall(library), "9/10", reward=[]).rewards == {}
    assert list(
        from_frame(hall(library, cost=["1/2", "2", "-3e1"]), "9/10", reward="cost").rewards
    ) == ["cost"]


@libraries
def test_columns_labels_and_their_order_are_as_said(library):
    frame = LIBRARIES[library](
        {"from": [7, 7, 3], "do": ["go", "go", "go"], "to": [7, 3, 3], "p": ["1/3", "2/3", "1"]}
    )
    columns = {"state": "from", "successor": "to", "probability": "p", "leader": "do"}
    game = from_frame(frame, "9/10", **columns).game
    assert (game.states, *game.action_labels) == ((7, 3), ("go",), ("-",))
    other = from_frame(frame, "9/10", **columns, states=[3, 7], start={7: 1}).game
    assert other.kernel[1, 0, 0].tolist() == [2 / 3, 1 / 3]
    assert other.start.tolist() == [0, 1]
    wider = from_frame(frame, "9/10", **columns, states=[3, 7, 9], absorbing=True)
    assert wider.game.kernel[2, 0, 0].tolist() == [0, 0, 1]


def test_categories_keep_type_and_their_order_if_they_have_one():
    ordered = pd.Categorical(HALL["state"], categories=["goal", "hall", "attic"], ordered=True)
    assert from_frame(hall("pandas", state=ordered), 0.9).game.states == ("goal", "hall")
    enum = pl.col("state").cast(pl.Enum(["goal", "hall", "attic"]))
    assert from_frame(hall("polars").with_columns(enum), 0.9).game.states == ("goal", "hall")
    loose = pl.col("state", "next_state").cast(pl.Categorical)
    assert from_frame(hall("polars").with_columns(loose), 0.9).game.states == ("hall", "goal")
    numbers = hall("pandas", state=pd.Categorical([5, 5, 3]), next_state=np.int8([5, 3, 3]))
    assert from_frame(numbers, 0.9).game.states == (5, 3)
    assert type(from_frame(numbers, 0.9).game.states[0]) is int


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(
    "categories",
    [
        (3, 2, 1),
        (3.5, 2.0, 1.0),
        (True, False),
        ("b", "a"),
        ("1", 1),
        pd.date_range("2020", "2021"),
    ],
)
def test_categories_of_any_kind_are_labels_and_their_order_counts_if_they_have_one(
    categories, ordered
):
    labels = pd.Categorical(list(categories)[1::-1], categories=categories, ordered=ordered)
    frame = pd.DataFrame({"state": labels, "next_state": labels, "probability": 1})
    found = from_frame(frame, 0.9).game.states
    expected = list(categories)[:2] if ordered else list(categories)[1::-1]
    assert [*map(repr, found)] == [*map(repr, expected)]


@libraries
@pytest.mark.parametrize("most", [200, 2**31, 2**62, "4611686018427387904", 2**63])
def test_doubled_weights_are_added_whatever_their_type_holds(library, most):
    one = type(most)(1)
    frame = LIBRARIES[library](
        {"state": [0, 0, 0, 1], "next_state": [0, 0, 1, 1], "probability": [most, most, one, one]}
    )
    if most == 200:
        kind = {"pandas": "uint8"}.get(library)
        frame = frame.astype({"probability": kind}) if kind else frame
    row = from_frame(frame, "1/2", duplicates="sum").game.rational.rows.row(0)
    assert row[1] == Fraction(1, 2 * int(most) + 1)


@libraries
def test_what_a_state_lacks_repeats_what_it_has_or_is_refused(library):
    frame = hall(library, follower=["go", "go", "stay"])
    found = from_frame(frame, 0.9)
    assert found.available[:, 0].tolist() == [[True, False], [False, True]]
    assert (found.game.kernel[:, :, 0] == found.game.kernel[:, :, 1]).all()
    with pytest.raises(InvalidGame, match=r"P\[s='hall', a='-', b='stay'\] is not available"):
        from_frame(frame, 0.9, unavailable="refuse")
    ends = hall(library, next_state=["hall", "goal", "end"])
    with pytest.raises(InvalidGame, match=r"state 'end' has no choice; allowed .*absorbing"):
        from_frame(ends, 0.9)
    assert from_frame(ends, 0.9, absorbing=True).reward().tolist() == [2 / 3, 0, 0]


@libraries
def test_doubled_rows_are_named_or_added(library):
    frame = hall(library, next_state=["hall", "hall", "goal"])
    named = "row 1 is the transition 'hall' → 'hall' of row 0 again"
    with pytest.raises(InvalidGame, match=named):
        from_frame(frame, "9/10")
    found = from_frame(frame, "9/10", duplicates="sum")
    assert found.game.rational.rows.row(0) == {0: 1}
    assert found.reward().tolist() == [2 / 3, 0]


# What is refused, with its row and column


@libraries
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state": ["hall", None, "goal"]}, "row 1, column 'state' is empty"),
        ({"follower": [None, "go", "go"]}, "row 0, column 'follower' is empty"),
        ({"probability": ["1/3", "x", "1"]}, "row 1, column 'probability' is 'x'"),
        ({"probability": ["1/3", "1/0", "1"]}, "row 1, column 'probability' is '1/0'"),
        ({"probability": ["1/3", "1e-400000000", "1"]}, "row 1, .* is '1e-400000000'"),
        ({"probability": [0.5, float("nan"), 1.0]}, "row 1, column 'probability' is (nan|empty)"),
        ({"probability": [0.5, float("inf"), 1.0]}, "row 1, column 'probability' is inf"),
        ({"probability": ["4/3", "-1/3", "1"]}, "row 1, .* is '-1/3'; allowed a number ≥ 0"),
        ({"probability": [0.5, -0.5, 1.0]}, "row 1, .* is -0.5; allowed a number ≥ 0"),
        ({"probability": [True, True, True]}, "row 0, column 'probability' is True"),
        ({"reward": [0.0, None, 1.0]}, "row 1, column 'reward' is empty"),
        ({"reward": ["0", "1", "much"]}, "row 2, column 'reward' is 'much'"),
        ({"discount": [0.5, 0.5, 0.4]}, "row 2, column 'discount' is 0.4; allowed the same"),
        ({"start": [1.0, 0.5, 0.0]}, "row 1, column 'start' is 0.5; allowed the same"),
        ({"label:x": [True, False, True]}, "row 1, column 'label:x' is False; allowed the same"),
        ({"label:x": [1, 1, 0]}, "column 'label:x' is of type Int64; allowed true or false"),
        ({"probability": ["1/3", "1/3", "1"]}, r"P\[s='hall', .*\] sums to 0\.6666"),
    ],
)
def test_what_is_wrong_is_named_by_row_and_column(library, changes, message):
    with pytest.raises(InvalidGame, match=message):
        from_frame(hall(library, **changes), None if "discount" in changes else 0.9)


@pytest.mark.parametrize(
    ("frame", "more", "error", "message"),
    [
        (hall("pandas"), {}, InvalidArgument, "discount is not given, and the table has no"),
        (hall("pandas"), {"state": "from"}, UnknownLabel, "no state column is called 'from'"),
        (hall("pandas"), {"leader": "boss"}, UnknownLabel, "no leader column is called 'boss'"),
        (hall("pandas"), {"reward": "cost"}, UnknownLabel, "no reward column is called 'cost'"),
        (hall("pandas"), {"states": ["hall"]}, UnknownLabel, "no state is called 'goal'"),
        (hall("pandas"), {"states": 10**9}, InvalidGame, "state labels are 1000000000; allowed 2"),
        (
            hall("pandas", x=[1] * 3).rename(columns={"reward": "reward:x"}),
            {"reward": ["x", "reward:x"]},
            InvalidArgument,
            "rewards are in columns 'x' and 'reward:x' as 'x'",
        ),
        (
            hall("polars", **{"reward:reward": [1] * 3}),
            {"states": 2},
            InvalidArgument,
            "in columns 'reward' and 'reward:reward' as 'reward'",
        ),
        (hall("polars").lazy(), {}, InvalidArgument, "frame is a LazyFrame; allowed .*not lazy"),
        (HALL, {}, InvalidArgument, "frame is a dict"),
        (pd.DataFrame(), {}, InvalidArgument, "frame has no rows"),
        (hall("pandas").iloc[:, [0, 0, 1]], {}, InvalidArgument, "frame is no table"),
        (hall("pandas", state=[[0], [0], [1]]), {}, InvalidGame, "'state' holds an unhashable"),
        (hall("polars", state=[[0], [0], [1]]), {}, InvalidGame, "'state' is of type List"),
        (hall("polars", reward=[{"a": 1}] * 3), {}, InvalidGame, "'reward' is of type Struct"),
    ],
)
def test_what_is_no_table_of_transitions_is_named(frame, more, error, message):
    with pytest.raises(error, match=message):
        from_frame(frame, 0.9 if more else None, **more)


def test_what_is_not_installed_is_named(monkeypatch, tmp_path):
    game, _ = iirl.random_game(2, 1, 1, rng=0)
    with monkeypatch.context() as patch:
        patch.setattr(frames, "find_spec", lambda name: "here" if name == "polars" else None)
        assert type(to_frame(game)).__module__.startswith("polars")
        with pytest.raises(InvalidArgument, match=r"pandas, which is not.* one that is: polars"):
            to_frame(game, "pandas")
        patch.setattr(frames, "find_spec", lambda name: None)
        for backend in (None, "polars"):
            with pytest.raises(MissingExtra, match=r"pandas, polars or pyarrow.*\[tables\]"):
                to_frame(game, backend)
        patch.setattr("iirl_opt.formats.frames.files.find_spec", lambda name: None)
        with pytest.raises(MissingExtra, match=r"polars or pandas.*iirl-opt\[tables\]"):
            write_table(game, tmp_path / "game.csv")
    monkeypatch.setitem(sys.modules, "narwhals", None)
    for door in (to_frame, from_frame):
        with pytest.raises(MissingExtra, match=r"iirl-opt\[tables\]"):
            door(game)
    assert list(tmp_path.iterdir()) == []


def test_labels_that_a_backend_or_a_file_cannot_hold_are_refused(tmp_path):
    kernel = np.full((2, 1, 1, 2), 0.5)
    with pytest.raises(InvalidArgument, match="backend is polars, which holds no such labels"):
        to_frame(iirl.TwoAgentMDP(kernel, 0.5, states=[(0, 1), "x"]), "polars")
    for names in (
        [(0, 1), "x"],
        ["a", 1],
        ["a", ""],
        ["a", "\r"],
        ["a", "\ud800"],
        [None, "a"],
        [True, False],
        [0, 2**70],
        [1.5, 2.5],
    ):
        for name in ("game.csv", "game.parquet"):
            with pytest.raises(InvalidArgument, match="states contain"):
                write_table(iirl.TwoAgentMDP(kernel, 0.5, states=names), tmp_path / name)
    digits = iirl.TwoAgentMDP(kernel, 0.5, states=["0", "1"])
    with pytest.raises(InvalidArgument, match="states are texts such as '0', which would be read"):
        write_table(digits, tmp_path / "game.csv")
    assert list(tmp_path.iterdir()) == []
    write_table(digits, tmp_path / "game.parquet")
    assert read_table(tmp_path / "game.parquet").game == digits


TEXT = "state,follower,next_state,probability,reward\nh,go,h,1/3,0\nh,go,g,2/3,1\ng,go,g,1,0\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is no table of comma-separated values"),
        (
            "t.csv",
            TEXT.replace(",", ";").encode(),
            "no state column is called 'state'; did you mean .* .known: 'state;",
        ),
        ("t.csv", TEXT.replace("2/3", "two").encode(), "row 1, column 'probability' is 'two'"),
        ("t.csv", TEXT.replace("2/3", "").encode(), "row 1, column 'probability' is empty"),
        ("t.csv", (TEXT + "a,b\n").encode(), "row 3, column 'next_state' is empty"),
        ("t.csv", (TEXT + "a,b,c,d,e,f\n").encode(), "is no table of comma-separated values"),
        ("t.csv", TEXT.encode("utf-16"), "UTF-16"),
        ("t.csv", TEXT.replace("go", "à").encode("latin-1"), "is no table .*decode"),
        ("t.csv", TEXT[:45].encode(), "frame has no rows"),
        ("t.csv.gz", TEXT.encode(), "is not compressed by gzip"),
        ("t.parquet", TEXT.encode(), "is no parquet file, or damaged"),
        ("t.xlsx", TEXT.encode(), r"is of no kind of tables; allowed \.csv"),
    ],
)
def test_a_file_that_is_no_table_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileProblem, match=message) as caught:
        read_table(tmp_path / name, 0.9)
    assert caught.value.path == tmp_path / name


def test_a_file_may_begin_with_a_mark_and_lack_what_is_given(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    found = read_table(path, "9/10", states=["g", "h"])
    assert found.game.rational.rows.row(1) == {1: Fraction(1, 3), 0: Fraction(2, 3)}
    with pytest.raises(InvalidArgument, match="discount is not given"):
        read_table(path)
    with pytest.raises(InvalidGame, match="discount is 2"):
        read_table(path, 2)
    path.write_text(TEXT.replace("1/3", "0.3333333333333333").replace("2/3", "0.6666666666666667"))
    assert not read_table(path, "9/10").game.is_rational
