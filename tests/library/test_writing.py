"""Model files are written as they are read: what comes back is what went out."""

import tomllib
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import iirl_opt as iirl
from iirl_opt import library
from iirl_opt.errors import FileProblem, InvalidArgument, InvalidGame, InvalidValue
from iirl_opt.follower import Affine, Exponential, Power, ProportionalFollower
from iirl_opt.library.toml import document_text, number_text
from iirl_opt.testing import (
    followers,
    games,
    observations,
    policies,
    rewards,
    save_counterexample,
    trajectories,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "models"
FILES = [
    *sorted(library.shipped_models().glob("**/*.toml")),
    *sorted(library.shipped_models().glob("**/*.dpomdp")),
    *sorted(GOLDEN.glob("*.toml")),
]

# Parts of a problem whose records compare by identity.
RECORDS = ("rows",)
# From arrays a game is written as it is, and no longer as what it was made from.
MADE_FROM = ("grid", "imported", "environment", "horizon")
PLAIN = [
    name
    for name in (f.name for f in fields(library.ModelProblem))
    if name not in (*RECORDS, *MADE_FROM, "path", "follower", "stated")
]


def same(one: object, two: object) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(two, np.ndarray) and np.array_equal(one, two)
    return one == two


def assert_same(one: library.ModelProblem, two: library.ModelProblem) -> None:
    """Assert that two problems state the same, wherever they come from."""
    assert not [name for name in PLAIN if not same(getattr(one, name), getattr(two, name))]
    for name in RECORDS:
        pairs = list(zip(getattr(one, name), getattr(two, name), strict=True))
        for mine, theirs in pairs:
            parts = (f.name for f in fields(mine))
            assert all(same(getattr(mine, part), getattr(theirs, part)) for part in parts)
    if type(one.follower).__module__.startswith("iirl_opt.follower"):
        assert one.follower == two.follower
    assert (one.environment is None) == (two.environment is None)


def again(problem: library.ModelProblem, folder: Path) -> library.ModelProblem:
    return library.read_model(library.write_model(problem, folder / "again.toml"))


# What was read


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_file_that_is_read_and_written_reads_the_same(path: Path, tmp_path: Path) -> None:
    problem = library.read_model(path)
    as_stated, from_arrays = tmp_path / "stated", tmp_path / "arrays"
    for folder, given_ in ((as_stated, problem), (from_arrays, replace(problem, stated={}))):
        folder.mkdir()
        assert_same(problem, again(given_, folder))
    assert library.read_model(as_stated / "again.toml").horizon == problem.horizon
    # A second time nothing changes any more.
    text = (as_stated / "again.toml").read_text()
    assert library.write_model(library.read_model(as_stated / "again.toml"), tmp_path / "b.toml")
    assert (tmp_path / "b.toml").read_text() == text


def test_what_is_written_solves_to_the_same_answers(tmp_path: Path) -> None:
    for name in ("hazard-ignored", "goal-twice-the-start", "strict-4", "theorem-3-dominance"):
        problem = library.read_model(name)
        found = library.answer(problem).quantities
        for given_ in (problem, replace(problem, stated={})):
            assert library.answer(again(given_, tmp_path)).quantities == found


def test_a_maze_stays_a_maze_and_a_generator_its_seed(tmp_path: Path) -> None:
    for name, key in (
        ("small-maze", "grid"),
        ("maze-maker", "generator"),
        ("ideal-5", "environment"),
    ):
        problem = library.read_model(name, discount="3/4")
        written = library.write_model(problem, tmp_path / "m.toml")
        game = tomllib.loads(written.read_text())["game"]
        assert key in game
        assert game["discount"] == 0.75
        assert library.read_model(written).game == problem.game
    seeded = library.read_model("random-50", game_seed=3)
    assert again(seeded, tmp_path).game == seeded.game


def test_what_is_replaced_is_written_and_the_rest_stays_as_stated(tmp_path: Path) -> None:
    problem = library.read_model("small-maze")
    truth = problem.truth + 1
    other = again(replace(problem, truth=truth), tmp_path)
    assert np.array_equal(other.truth, truth)
    assert other.grid is not None
    none = again(replace(problem, truth=None), tmp_path)
    assert none.truth is None
    assert none.game == problem.game
    assert none.grid is None
    answered = library.read_model("tie-break")
    scaled = replace(answered, truth=-answered.truth)  # the answers seen stay those that were seen
    assert np.array_equal(again(scaled, tmp_path).observations[0].pi2, answered.observations[0].pi2)


def test_a_game_in_a_file_of_its_own_comes_along(tmp_path: Path) -> None:
    problem = library.read_model("bridge")
    assert again(problem, tmp_path).counts_otherwise
    assert (tmp_path / "bridge.dpomdp").is_file()
    (tmp_path / "bridge.dpomdp").write_text("agents: 2\n")
    with pytest.raises(FileProblem, match="is there already"):
        library.write_model(problem, tmp_path / "b.toml")
    assert not (tmp_path / "b.toml").exists()


# What was made


LABELS = st.one_of(
    st.text(max_size=4), st.integers(-3, 300), st.tuples(st.integers(0, 9), st.text(max_size=2))
)


@st.composite
def problems(draw: st.DrawFn) -> library.ModelProblem:
    drawn = draw(games(max_states=3))
    labels = [
        draw(
            st.lists(LABELS.filter(lambda x: str(x) != "*"), min_size=n, max_size=n, unique_by=str)
        )
        for n in drawn.shape
    ]
    exact = draw(st.booleans())
    start = np.array(drawn.exact_start, dtype=object)
    game = iirl.TwoAgentMDP(
        drawn.rational.rows.dense().reshape(*drawn.shape, -1) if exact else drawn.kernel,
        draw(st.sampled_from([0.9, Fraction(1, 3), "0.99", 0])),
        start if draw(st.booleans()) else drawn.start,
        states=labels[0],
        leader_actions=labels[1],
        follower_actions=labels[2],
    )
    truth = draw(rewards(game, shape=draw(st.sampled_from(["state", "joint"])), decimals=2))
    seen = draw(st.lists(observations(game), max_size=2))
    played = draw(followers(kinds=["optimal", "epsilon_greedy", "boltzmann"]))
    row = library.UserRow("mine", "measure", draw(rewards(game, shape="joint")), -np.inf, 0.5)
    return library.make_model(
        game,
        truth,
        question=library.make_question(
            game, "commitment", ask="evaluate", leader=draw(policies(game))
        ),
        observations=seen,
        follower=played,
        rows=[row],
        expect={"value": 1.5, "states": game.n_states},
        title=draw(st.text(max_size=5)),
    )


@given(problem=problems())
def test_a_problem_made_in_python_reads_the_same(problem, tmp_path_factory) -> None:
    assert_same(problem, again(problem, tmp_path_factory.mktemp("written")))


@given(data=st.data())
def test_trajectories_and_priors_read_the_same(data, tmp_path_factory) -> None:
    game = data.draw(games())
    problem = library.make_model(
        game,
        trajectories=[data.draw(trajectories(game))],
        follower={"model": "boltzmann", "beta": "unknown"},
        prior={"reward": {game.states[0]: 0.5}, "parameter": {"name": "exponential", "mean": 20}},
    )
    assert_same(problem, again(problem, tmp_path_factory.mktemp("written")))


@given(
    tables=st.dictionaries(
        st.text(max_size=5),
        st.one_of(
            st.text(),
            st.booleans(),
            st.integers(-(2**62), 2**62),
            st.floats(allow_nan=False, allow_infinity=False),
            st.lists(st.text(max_size=30), max_size=8),
            st.dictionaries(st.text(max_size=5), st.text(max_size=60), max_size=4),
            st.lists(
                st.dictionaries(st.text(max_size=3), st.integers(0, 9)), min_size=1, max_size=2
            ),
        ),
        max_size=4,
    )
)
def test_any_text_and_number_is_read_back_by_another_reader(tables) -> None:
    assert tomllib.loads(document_text(tables)) == tables


@given(st.one_of(st.fractions(), st.decimals(-(10**9), 10**9, allow_nan=False).map(Fraction)))
def test_a_number_is_written_exactly(number) -> None:
    read = tomllib.loads(f"x = {number_text(number)}", parse_float=Fraction)["x"]
    assert Fraction(read) == number


def test_a_number_that_nobody_could_read_back_is_refused() -> None:
    for number in (Fraction(10**5000), Fraction(1, 3**9000), Fraction(1, 2**20000)):
        with pytest.raises(InvalidArgument, match="4000 digits"):
            number_text(number)


@pytest.mark.parametrize(
    "follower",
    [
        iirl.OptimalFollower("random", seed=7),
        iirl.EpsilonGreedyFollower(0.1, "random", 3),
        ProportionalFollower(np.exp),
        ProportionalFollower(Affine(0.5, 2)),
        ProportionalFollower(Power(3)),
        ProportionalFollower(Exponential(0.25)),
    ],
    ids=repr,
)
def test_a_follower_reads_the_same(follower, tmp_path: Path) -> None:
    problem = library.make_model(iirl.TwoAgentMDP([[[[1]]]], "1/2"), [1.0], follower=follower)
    assert again(problem, tmp_path).follower == follower


def test_floats_stay_the_floats_that_they_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kernel = rng.dirichlet(np.ones(4), size=(4, 2, 2))
    for given_ in (kernel, np.round(kernel, 10) * (1 + 1e-10)):
        game = iirl.TwoAgentMDP(given_, 0.9, start=[0.3, 0.7, 0, 0])
        read = again(library.make_model(game, rng.normal(size=4)), tmp_path).game
        assert read == game
        assert np.array_equal(read.kernel, game.kernel)
        assert (read.start == game.start).all()
        assert "floats = true" in (tmp_path / "again.toml").read_text()
    assert not (tmp_path / "again.npz").exists()


def test_a_large_game_stands_beside_its_file(tmp_path: Path) -> None:
    game, truth = iirl.random_game(40, 3, 3, rng=0)
    problem = library.make_model(game, truth, question="commitment")
    assert_same(problem, again(problem, tmp_path))
    assert (tmp_path / "again.npz").is_file()
    moved = tmp_path / "other"
    moved.mkdir()
    assert again(library.read_model(tmp_path / "again.toml"), moved).game == game
    (tmp_path / "mine.npz").write_bytes(b"mine")
    with pytest.raises(FileProblem, match="is there already"):
        library.write_model(problem, tmp_path / "mine.toml")
    assert (tmp_path / "mine.npz").read_bytes() == b"mine"
    assert not (tmp_path / "mine.toml").exists()


def test_the_test_of_a_hypothesis_stays_one(tmp_path: Path) -> None:
    hypothesis = [0, 1, Fraction(1, 3), 2]
    for test in (
        iirl.ideal_environment(hypothesis, "9/10"),
        iirl.strict_environment(hypothesis, "9/10", epsilon="1/1000", rational=True),
        iirl.strict_environment([0.0, 1.0, 1.0, 2.0], 0.9),
    ):
        seen = [(np.ones((4, 1)), np.eye(2)[[0, 0, 0, 0]])]
        asked = library.make_question(test.game, "affine_equivalence", ask="verify")
        problem = library.make_model(test, question=asked, observations=seen)
        read = again(problem, tmp_path)
        assert read.environment.mdp == problem.environment.mdp
        assert library.answer(read).quantities == library.answer(problem).quantities


# What cannot be written


def game_with(labels: list) -> iirl.TwoAgentMDP:
    return iirl.TwoAgentMDP([[[[1, 0]]], [[[0, 1]]]], "1/2", states=labels)


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        ([1, "1"], "written as"),
        ([(0, "a"), "(0, 'a')"], "written as"),
        (["*", "a"], r"'\*'"),
        ([None, 1], "is None"),
        ([frozenset({1}), "a"], "frozenset"),
        ([float("inf"), 1], "inf"),
        ([10**30, 1], "below"),
    ],
    ids=str,
)
def test_a_label_that_no_file_can_tell_is_named(labels, match: str) -> None:
    with pytest.raises(InvalidGame, match=match):
        library.make_model(game_with(labels))


def test_what_files_cannot_state_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    class Mine:
        def respond(self, game, reward, pi1, rng=None):
            return np.ones((2, 1))

    game = game_with(["a", "b"])
    for make, match in (
        (lambda: library.make_model(game, [0, 1], follower=Mine()), "follower is"),
        (lambda: library.make_model(game, [0, 1], follower=ProportionalFollower(abs)), "abs"),
        (lambda: library.make_model(game, [0, 1], title="\ud800"), "title"),
        (lambda: library.make_model(game, [0, 1], expect={"value": float("nan")}), "value"),
        (lambda: library.make_model(game, [0, 1, 2]), "shape"),
        (lambda: library.make_model(game, [0, 1], question="comitment"), "'commitment'"),
        (
            lambda: library.make_model(game, [0, 1], question={"family": "commitment", "ask": 1}),
            "ask",
        ),
        (lambda: library.make_question(game, "feasible_rewards", ask="minimise"), "'maximise'"),
        (
            lambda: library.make_question(game, "feasible_rewards", aks="centre"),
            "did you mean 'ask'",
        ),
        (
            lambda: library.make_question(game, "feasible_rewards", ask="contains", target=[1]),
            "shape",
        ),
        (lambda: library.make_question(game, "commitment", leader={"a": {"0": "x"}}), "no number"),
        (
            lambda: library.make_model(
                game, rows=[library.UserRow("r", "reward", np.ones(2), -np.inf, np.inf)]
            ),
            "no bound",
        ),
        (
            lambda: library.make_model(
                game, rows=[library.UserRow("r", "reward", np.ones(2), np.nan, 1)]
            ),
            "bounds",
        ),
        (
            lambda: library.make_model(game, rows=[library.UserRow(3, "reward", np.ones(2), 0, 1)]),
            r"constraint\[0\].name",
        ),
        (lambda: replace(library.make_model(game), title=3), "title"),
        (lambda: library.make_model(game, prior={"reward": 1}), "bayesian alone"),
        (lambda: library.make_model(game, observations=[3]), r"observations\[0\]"),
    ):
        with pytest.raises((InvalidValue, FileProblem), match=match):
            library.write_model(make(), tmp_path / "x.toml")
    for name in ("x.json", "x"):
        with pytest.raises(FileProblem, match=r"\.toml"):
            library.write_model(library.make_model(game, [0, 1]), tmp_path / name)
    with pytest.raises(FileProblem, match=r"x\.toml: cannot be written: its folder is missing"):
        library.write_model(library.make_model(game, [0, 1]), tmp_path / "nowhere" / "x.toml")
    assert not list(tmp_path.iterdir())


# A vector of quantities


def test_values_of_many_states_are_held_against_what_was_found(tmp_path: Path) -> None:
    game = game_with(["a", "b"])
    right, wrong = {"a": 0, "b": 2}, [0, 3]
    for values, met in ((right, True), ([0, 2], True), (wrong, False), ({"b": 2}, True)):
        table = {"quantity": "value", "values": values, "tolerance": 1e-9, "source": "by hand"}
        problem = again(
            library.make_model(game, [0, 1], question="commitment", expect=[table]), tmp_path
        )
        (finding,) = library.check(problem.expect, library.answer(problem).quantities, problem.path)
        assert finding.met is met
        if not met:
            assert finding.quantity == "value[b]"
            assert finding.expected.startswith("3 ± 1e-09")
            assert finding.found == 2


@pytest.mark.parametrize(
    ("table", "match"),
    [
        ({"quantity": "value", "values": [0]}, r"expect\[0\].values: are 1; allowed 2"),
        ({"quantity": "valve", "values": [0, 2]}, r"allowed 0"),
        ({"quantity": "value", "values": {"c": 2}}, r"'value\[c\]' is no quantity"),
        ({"quantity": "value", "values": {}}, "are 0; allowed 2"),
        ({"quantity": "value", "values": [0, 2], "value": 1}, "stands alone"),
        ({"quantity": "value"}, "needs one of value, values"),
    ],
)
def test_values_that_are_none_are_named(table, match: str) -> None:
    def checked() -> None:
        tables = [{**table, "source": "s"}]
        game = game_with(["a", "b"])
        problem = library.make_model(game, [0, 1], question="commitment", expect=tables)
        library.check(problem.expect, library.answer(problem).quantities, problem.path)

    with pytest.raises(FileProblem, match=match):
        checked()


# What is read of it


@pytest.mark.parametrize(
    ("states", "game", "match"),
    [
        ("[0, 1]", "floats = true\nkernel = [[[[1e400, 0]]], [[[0, 1]]]]", "is inf"),
        ("[0, 1]", "floats = true\nkernel = [[[[0.3, 0.7]]], [[[0]]]]", "ragged"),
        ("[0, 1]", "floats = true\nkernel = [[[[0.3, 0.6]]], [[[0, 1]]]]", "sums to 0.9"),
        ("[0, 1]", "kernel = [[[[1, 0]]], [[[0, 1]]]]\nstart = { 2 = 1 }", "called '2'"),
        ("[nan, 1]", "kernel = [[[[1, 0]]], [[[0, 1]]]]", "finite number"),
        ('[1, "1"]', "kernel = [[[[1, 0]]], [[[0, 1]]]]", "'1' as text twice"),
        ("[[{ a = 1 }], 1]", "kernel = [[[[1, 0]]], [[[0, 1]]]]", "unhashable"),
        ("[2020-01-01, 1]", "kernel = [[[[1, 0]]], [[[0, 1]]]]", "date"),
    ],
)
def test_labels_and_floats_that_are_none_are_named(
    tmp_path: Path, states: str, game: str, match: str
) -> None:
    head = 'version = 1\ntitle = "t"\nsource = "s"\n[question]\nfamily = "learning"\n[game]\n'
    file = tmp_path / "m.toml"
    file.write_text(f"{head}discount = 0.5\nstates = {states}\n{game}\n")
    with pytest.raises(FileProblem, match=match):
        library.read_model(file)


# Policies, expectations and files as they were given

THIRDS = np.array([[Fraction(1, 3), Fraction(2, 3)], [Fraction(1), Fraction(0)]], dtype=object)
TWO = iirl.TwoAgentMDP([[[[1, 1]], [[0, 1]]], [[[0, 1]], [[1, 0]]]], "1/2")


def test_policies_in_fractions_are_written_exactly(tmp_path):
    question = library.make_question(TWO, "commitment", ask="evaluate", leader=THIRDS)
    seen = [(THIRDS, [[1], [1]]), (THIRDS.tolist(), np.ones((2, 1), dtype=bool))]
    problem = library.make_model(TWO, [0, 1], observations=seen, question=question)
    path = library.write_model(problem, tmp_path / "thirds.toml")
    assert path.read_text().count('{ 0 = "1/3", 1 = "2/3" }') == 3
    again = library.read_model(path)
    assert again.observations == problem.observations
    assert np.array_equal(again.policy, problem.policy)


def test_a_model_that_replaces_a_larger_one_leaves_no_game_behind(tmp_path):
    small, (game, reward) = library.make_model(TWO, [0, 1]), iirl.random_game(60, 3, 3, rng=1)
    path, foreign = tmp_path / "x.toml", tmp_path / "y.npz"
    iirl.game.save_game(TWO, foreign)
    library.write_model(library.make_model(game, reward), path)
    assert path.with_suffix(".npz").exists()
    library.write_model(small, path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x.toml", "y.npz"]
    library.write_model(small, foreign.with_suffix(".toml"))
    library.write_model(small, foreign.with_suffix(".toml"))  # the game there was never its own
    assert foreign.exists()


@pytest.mark.parametrize("bound", ["value", "at_most", "at_least", "tolerance"])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_expected_is_a_finite_number(bound, number):
    tables = [{"quantity": "value", "value": 1, bound: number}]
    with pytest.raises(InvalidArgument, match=f"expect.*{bound} is {number}; allowed finite"):
        library.make_model(TWO, [0, 1], expect=tables)


def test_an_expectation_needs_no_source_and_a_fault_names_what_was_called(tmp_path):
    table = {"quantity": "value", "value": 1}
    assert library.make_model(TWO, [0, 1], expect=[table]).expect[0].source
    with pytest.raises(FileProblem, match=r"^save_counterexample: expect\[0\]"):
        save_counterexample(tmp_path / "x.toml", TWO, [0, 1], expect=[table | {"value": "one"}])
    with pytest.raises(FileProblem, match=r"^make_question: question"):
        library.make_question(TWO, "commitment", leder=THIRDS)
