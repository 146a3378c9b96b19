"""Exceptions: each says what its fields say, and crosses processes with all of them."""

import copy
import pickle
import traceback
from dataclasses import fields, replace
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

from iirl_opt import errors
from iirl_opt.errors import (
    FileProblem,
    IIRLError,
    Infeasible,
    Interrupted,
    InvalidGame,
    InvalidPolicy,
    InvalidValue,
    LimitReached,
    MissingExtra,
    NotAProduct,
    NotCertified,
    NotExact,
    OnlyConstantRewards,
    SolverFailed,
    SolverProblem,
    Unbounded,
    UnknownLabel,
    WorkersLost,
)
from iirl_opt.game.labels import Labels
from iirl_opt.solver import Status, solve

X = cp.Variable(name="x")
SOLVED = solve(cp.Problem(cp.Minimize(X), [X >= 1, X <= 0]), throw=False)

INVALID = [
    kind("reward[s='hall']", "is nan", "finite numbers", float("nan"))
    for kind in map(errors.__dict__.get, errors.__all__)
    if issubclass(kind, InvalidValue)
]
FAILURES = {
    Infeasible: Status.INFEASIBLE,
    Unbounded: Status.UNBOUNDED,
    LimitReached: Status.LIMIT,
    SolverFailed: Status.FAILED,
    SolverProblem: Status.FAILED,
}
EVERY = [
    IIRLError(),
    *INVALID,
    InvalidPolicy("policy", "has shape (2,)", "(2, 2)", np.zeros(2)),
    UnknownLabel("state", "hal", Labels(["hall", ("yard", 1)], "state")),
    UnknownLabel("leader action", ["unhashable"], ()),
    FileProblem(Path("game.toml"), "is no list", "game.states", 3, 7),
    FileProblem(Path("game.npz"), "is damaged"),
    *(kind(replace(SOLVED, status=status)) for kind, status in FAILURES.items()),
    Interrupted(replace(SOLVED, status=Status.INTERRUPTED), "what was found"),
    OnlyConstantRewards(10, 1e-12),
    NotCertified("a number", "it is none"),
    NotExact("the kernel"),
    MissingExtra("plotting", "plot"),
    WorkersLost(("small 3, active",), 2, "a worker ended"),
]


def facts(error):
    return {f.name: getattr(error, f.name) for f in fields(error)}


def test_no_exception_is_left_out():
    assert {type(error).__name__ for error in EVERY} == set(errors.__all__)
    public = {name for name, value in vars(errors).items() if isinstance(value, type)}
    made_here = {name for name in public if vars(errors)[name].__module__ == errors.__name__}
    assert made_here == set(errors.__all__)


@pytest.mark.parametrize("error", EVERY, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "again", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy]
)
def test_an_exception_keeps_its_fields_on_its_way(error, again):
    other = again(error)
    assert type(other) is type(error)
    assert str(other) == str(error)
    assert repr(other) == repr(error)
    assert facts(other).keys() == facts(error).keys()
    for name, value in facts(error).items():
        assert repr(facts(other)[name]) == repr(value)


@pytest.mark.parametrize("error", EVERY, ids=lambda error: type(error).__name__)
def test_an_exception_prints_its_message_and_is_caught_by_the_common_ancestor(error):
    # Ctrl-C alone is caught by none but those who catch Ctrl-C.
    ancestor = KeyboardInterrupt if isinstance(error, Interrupted) else IIRLError
    assert not issubclass(Interrupted, Exception)
    with pytest.raises(ancestor) as caught:
        raise error
    assert caught.value is error
    last = traceback.format_exception_only(error)[-1].strip()
    assert last == f"iirl_opt.errors.{type(error).__name__}" + (f": {error}" if str(error) else "")
    assert type(error).__name__ in repr(error)
    assert (str(error) == "") == (type(error) is IIRLError)
    assert hash(error) is not None


@pytest.mark.parametrize("error", INVALID, ids=lambda error: type(error).__name__)
def test_a_bad_value_is_a_value_error_that_names_place_problem_and_what_is_allowed(error):
    assert isinstance(error, ValueError)
    assert str(error) == "reward[s='hall'] is nan; allowed finite numbers"
    assert np.isnan(error.value)
    assert type(error)("P", "is bad", "good").value is None


def test_who_is_caught_as_what():
    assert issubclass(NotAProduct, InvalidPolicy)
    assert issubclass(FileProblem, ValueError)
    assert issubclass(UnknownLabel, KeyError)
    assert issubclass(MissingExtra, ImportError)
    assert all(issubclass(kind, SolverProblem) for kind in FAILURES)
    assert not issubclass(InvalidGame, InvalidPolicy)


def test_an_unknown_label_names_what_is_near_and_what_is_known():
    known = Labels(["hall", "yard", ("cell", 1)], "state")
    assert str(UnknownLabel("state", "hal", known)) == (
        "no state is called 'hal'; did you mean 'hall'? (known: 'hall', 'yard', ('cell', 1))"
    )
    assert "did you mean" not in str(UnknownLabel("state", "zzz", known))
    assert "did you mean ('cell', 1)?" in str(UnknownLabel("state", ("cell", 2), known))
    many = UnknownLabel("state", "x", Labels(range(100), "state"))
    assert str(many) == "no state is called 'x' (known: 0, 1, 2, 3, 4, 5, … (100 in all))"
    assert len(repr(many)) < 100


def test_a_problem_of_a_file_names_its_place():
    path = Path("game.toml")
    assert (
        str(FileProblem(path, "is no list", "game.states")) == "game.toml: game.states: is no list"
    )
    assert str(FileProblem(path, "is no list", line=3)) == "game.toml:3: is no list"
    assert str(FileProblem(path, "is no list", None, 3, 7)) == "game.toml:3:7: is no list"


def test_a_solver_problem_brings_its_record_and_advice():
    with pytest.raises(Infeasible) as caught:
        solve(cp.Problem(cp.Minimize(X), [X >= 1, X <= 0]))
    assert caught.value.solved.status is Status.INFEASIBLE
    assert str(caught.value).startswith("HIGHS: INFEASIBLE. No point meets all constraints.")


def test_the_rest_says_what_to_do():
    assert "pip install 'iirl-opt[plot]'" in str(MissingExtra("plotting", "plot"))
    assert "the kernel has no exact numbers: give" in str(NotExact("the kernel"))
    assert "10 objectives" in str(OnlyConstantRewards(10, 1e-12))
    assert "at most 1e-12" in str(OnlyConstantRewards(10, 1e-12))


def test_a_word_as_long_as_its_file_does_not_fill_the_message():
    said = str(errors.FileProblem(Path("f"), f"found '{'1' * 10**6}' here", line=3))
    assert said.startswith("f:3: found '111")
    assert said.endswith("1' here")
    assert len(said) < 200
