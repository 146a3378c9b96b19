"""Asking a model file: its question answered, its program, its run, its proof."""

from __future__ import annotations

from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from iirl_opt.checkpoint import Beginning
from iirl_opt.checks import PATH, SEED, checked, has, is_a, one_of, optional
from iirl_opt.library.answers import ModelAnswer
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.run import Run

if TYPE_CHECKING:
    from iirl_opt.certificate import Certificate, Match

__all__ = ["answer", "learn", "match", "program", "verify"]

PROBLEM = is_a(ModelProblem)


@checked(problem=PROBLEM, seed=SEED)
def answer(problem: ModelProblem, *, seed: int | None = None) -> ModelAnswer:
    """Answer the question of a model file.

    Parameters
    ----------
    seed : of a learner or sampler, in place of the file's own.

    Raises
    ------
    FileProblem
        The question needs a table that the file lacks.
    SolverProblem
        No answer; an infeasible program *is* one (the quantity ``infeasible`` is 1).
    Interrupted
        Ctrl-C in a program; of a commitment its ``found`` is the `ModelAnswer` so far, if there is
        one.

    **Cost** that of the question: arithmetic, or one program, or a whole run of a learner.

    Examples
    --------
    >>> from iirl_opt import library
    >>> library.answer(library.read_model("puterman-3-1-1")).quantities["product"]
    1.0
    """
    return problem.question.answer(problem, seed=seed)


@checked(
    problem=PROBLEM,
    checkpoint=PATH,
    begin=one_of(*get_args(Beginning)),
    until=optional(is_a(ExitStack)),
)
def learn(
    problem: ModelProblem,
    *,
    checkpoint: str | PathLike[str] | None = None,
    begin: Beginning = "new",
    until: ExitStack | None = None,
    **given: Any,
) -> Run:
    """Return the run of a learner or sampler that a file asks for, before its first step.

    Iterate it: it yields a line for each step, and whenever it is stopped it knows what there is
    so far.

    Parameters
    ----------
    checkpoint : a file that keeps each step as it is done, opened when the run is iterated.
    begin : ``"resume"`` goes on from the steps that the checkpoint holds, if it holds any, and a
        run that came to its end gives its result again; more episodes than before may be asked for.
        ``"restart"`` drops them; ``"new"`` does so if that run came to its end, and refuses to
        otherwise.
    until : the checkpoint stays open until this stack is closed, and says that the run came to its
        end only then, if no error closes it: for a result that is still to be written down.
    given : in place of the file's own numbers, None for those that stand: ``episodes``, ``seed``,
        in the family bayesian also ``proposals``, ``chains``, in the family learning ``learner``.

    Raises
    ------
    FileProblem
        The file has no reward, so nobody could answer; its question is another; or a number has
        no meaning in its family. When iterated: the checkpoint is another process's, unfinished, of
        something else or damaged.

    **Cost** nothing is played yet: that of the run, as `iirl_opt.interact` says, as it is iterated.

    Examples
    --------
    What is left at any time is taken up again, to the same result:

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iirl_opt import library
    >>> problem = library.read_model("two-rooms")
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "learn.jsonl")
    ...     for line in library.learn(problem, episodes=3, checkpoint=file):
    ...         break
    ...     run = library.learn(problem, episodes=3, checkpoint=file, begin="resume")
    ...     len(list(run)), len(run.episodes)
    (2, 3)
    """
    run = problem.question.learn(problem, **given)
    run.checkpoint, run.begin = None if checkpoint is None else Path(checkpoint), begin
    run.until = until
    return run


@checked(problem=PROBLEM)
def verify(problem: ModelProblem) -> ModelAnswer:
    """Judge the hypothesis of a file; the answer's ``found`` is the `VerificationReport`.

    Raises
    ------
    FileProblem
        The question is another, or the game is no environment, or nothing was answered.

    **Cost** that of `iirl_opt.verify_affine`.

    Examples
    --------
    >>> from iirl_opt import library
    >>> found = library.verify(library.read_model("strict-4"))
    >>> found.found.verdict.name, round(found.quantities["angle"], 6)
    ('CONFIRMED', 0.019997)
    """
    return problem.question.verify(problem)


@checked(problem=PROBLEM)
def program(problem: ModelProblem) -> Any:
    """Return the cvxpy problem behind a question, for export.

    Raises
    ------
    FileProblem
        The question is not one linear or mixed-integer program.

    **Cost** that of writing the program down; nothing is solved.

    Examples
    --------
    >>> from iirl_opt import library
    >>> linear = library.program(library.read_model("correlated-budget"))
    >>> linear.is_dcp(), round(float(linear.solve()), 6)
    (True, 1.5)
    """
    return problem.question.program(problem)


@checked(certificate=has("matches", what="a certificate"), problem=PROBLEM)
def match(certificate: Certificate, problem: ModelProblem) -> Match:
    """Compare what a certificate speaks of with a problem: its game, reward and observations.

    **Cost** arithmetic.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> from iirl_opt import library
    >>> problem = library.read_model("strict-4")
    >>> certificate = iirl.certify(library.verify(problem).found)
    >>> bool(match(certificate, problem))
    True
    >>> match(certificate, library.read_model("two-rooms")).differences[0]
    'the game is another'
    """
    reward = problem.question.claimed_reward(problem)
    # The reward of a witness was found, not asked about.
    asked = hasattr(certificate, "reward") and certificate.kind != "witness"
    return certificate.matches(
        problem.game,
        reward=reward if asked else None,
        observations=problem.observations if hasattr(certificate, "pi1") else None,
    )
