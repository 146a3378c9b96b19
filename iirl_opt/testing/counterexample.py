"""Keeping the counterexample of a failing property test, as a model file.

hypothesis shrinks what fails, and at the end runs the smallest that it found once more. That run
alone is written, so the file holds what the test reports; the runs before leave nothing. A test
that fails in several ways is run at the end once for each of them. Where the block passes in such a
run, because what fails lies outside of it (the deadline, say), the file stays: a failure reported
before may have announced it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis.control import current_build_context
from hypothesis.errors import HypothesisException

from iirl_opt.checks import PATH, array_of_floats, checked, kept
from iirl_opt.errors import FileProblem, IIRLError, InvalidArgument, InvalidPolicy
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.library import ModelProblem, make_model, write_model
from iirl_opt.library.making import called

__all__ = ["save_counterexample"]

POLICY = kept(array_of_floats(2, error=InvalidPolicy))

# Files that a failure in this process named, which a report in the same run may not take away.
ANNOUNCED: set[Path] = set()

COMMENT = "The counterexample of a property test, which removes this file when it passes."


@checked(path=PATH, pi1=POLICY, pi2=POLICY)
def save_counterexample(
    path: str | Path,
    game: TwoAgentMDP | MDP,
    reward: Any = None,
    *,
    pi1: Any = None,
    pi2: Any = None,
    **stated: Any,
) -> AbstractContextManager[ModelProblem]:
    """Write what a test drew to a model file if the block of a ``with`` fails.

    Parameters
    ----------
    path : the file, whose name ends in ``.toml``; its folder is made if need be. Tests that run at
        the same time need files of their own, also the cases of a parametrised one.
    game, reward : as for `library.make_model`; an MDP will do.
    pi1, pi2 : a commitment and its response are an observation more; a commitment alone is
        evaluated, where no question is given.
    stated : ``question``, ``observations``, ``follower``, ``expect`` and all else that `make_model`
        takes. What the lemma says goes into ``expect``: then ``iirl-opt solve`` says that it is
        not met.

    Raises
    ------
    InvalidArgument, FileProblem
        The name is none of a model file.
    IIRLError
        From `make_model`: what was drawn makes no problem. Whether or not the block would fail.

    Returns
    -------
    AbstractContextManager
        Its block has what would be written, a `ModelProblem`.

    Notes
    -----
    Where hypothesis runs the test, the last run alone is written, that of the shrunk
    counterexample; elsewhere every failing one. The exception gets a note that says where. A file
    that this wrote goes when the block passes, unless hypothesis is already reporting failures, one
    of which announced it; one that it did not write is left as it is.

    **Cost** arithmetic: the problem is made at each run, to say at once what is wrong with it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "1/2")
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "lemma.toml")
    ...     try:
    ...         with save_counterexample(file, game, [0, 1], expect={"value": 1}):
    ...             assert iirl.commit(game, [0, 1]).value == 1
    ...     except AssertionError as failure:
    ...         print(failure.__notes__[0].replace(folder, "…"))
    ...     iirl.read_model(file).expect[0].value
    counterexample: iirl-opt solve …/lemma.toml
    1.0
    """

    file = Path(path)
    if file.suffix.lower() != ".toml":
        raise InvalidArgument("path", f"is {str(path)!r}", "a name that ends in .toml", path)
    if pi2 is not None:
        stated["observations"] = [*stated.get("observations", ()), (pi1, pi2)]
    elif pi1 is not None and stated.get("question") is None:
        stated["question"] = {"family": "commitment", "ask": "evaluate", "leader": pi1}
    stated.setdefault("title", file.stem.replace("-", " ").replace("_", " "))
    stated.setdefault("source", "a property test that fails")
    with called("save_counterexample"):
        return _kept(make_model(game, reward, **stated), file)


@contextmanager
def _kept(problem: ModelProblem, file: Path) -> Iterator[ModelProblem]:
    """Write a problem if the block fails; remove what was written before if it does not."""
    try:
        yield problem
    except BaseException as failure:
        if _fails(failure) and _is_last():
            failure.add_note(_save(problem, file))
        raise
    if not (_is_reporting() and file.absolute() in ANNOUNCED) and _is_own(file):
        file.unlink(missing_ok=True)
        file.with_suffix(".npz").unlink(missing_ok=True)


def _save(problem: ModelProblem, file: Path) -> str:
    """Write the file, and return what there is to say of it."""
    try:
        if file.exists() and not _is_own(file):
            raise FileProblem(file, "is there already, and is no counterexample")
        file.parent.mkdir(parents=True, exist_ok=True)
        write_model(problem, file, comment=COMMENT)
    except (IIRLError, OSError) as fault:
        return f"counterexample not written: {fault}"
    ANNOUNCED.add(file.absolute())
    return f"counterexample: iirl-opt solve {file}"


def _is_own(file: Path) -> bool:
    """Return whether there is a file that was written here."""
    if not file.is_file():
        return False
    with file.open("rb") as content:
        return content.readline().decode(errors="replace").strip() == f"# {COMMENT}"


def _fails(failure: BaseException) -> bool:
    """Return whether an exception is a failure, and no assumption, skip or interruption."""
    pytest = sys.modules.get("pytest")
    failed = () if pytest is None else pytest.fail.Exception
    stops = isinstance(failure, HypothesisException)
    return isinstance(failure, failed) or (isinstance(failure, Exception) and not stops)


def _is_last() -> bool:
    """Return whether hypothesis does not run the test, or does so for the last time."""
    return _is_reporting() or not hypothesis.currently_in_test_context()


def _is_reporting() -> bool:
    """Return whether hypothesis runs the test to report a failure, or on an explicit example."""
    if not hypothesis.currently_in_test_context():
        return False
    return bool(getattr(current_build_context(), "is_final", True))
