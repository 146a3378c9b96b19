"""The model library: finds model files and answers their questions.

A model file states one whole problem (see `models/README.md`). A name without a path means a file
that ships with the package. An `Answer` holds quantities by the names that ``[[expect]]`` tables
use, so that every expectation of a file can be derived again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import iirl_opt
from iirl_opt.certificate import Certificate, Match
from iirl_opt.commitment.bilevel import DeterministicCommitment
from iirl_opt.commitment.dominating import DominanceVerdict, dominance
from iirl_opt.commitment.plans import Commitment, StackelbergCommitment, commit
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import (
    FileProblem,
    IIRLError,
    Infeasible,
    Interrupted,
    InvalidArgument,
    NotAProduct,
)
from iirl_opt.follower import OptimalFollower
from iirl_opt.learn.episodes import Episode, interact
from iirl_opt.learn.feasible_learner import FeasibleLearner
from iirl_opt.learn.learner import Learner
from iirl_opt.learn.regrets import loss
from iirl_opt.library import bayesian
from iirl_opt.library import schema as model
from iirl_opt.library.learners import ALGORITHM_1, make_learner
from iirl_opt.library.problem import Problem, Row, read_problem
from iirl_opt.occupancy.measure import OccupancyMeasure
from iirl_opt.rewards.affine import AffineClass
from iirl_opt.rewards.domains import RewardBox, RewardDomain, RewardSimplex
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.solver import Solved
from iirl_opt.verification.verdict import Verdict, VerificationReport, verify_affine

__all__ = [
    "Answer",
    "Finding",
    "answer",
    "check",
    "find_model",
    "learn",
    "learning_answer",
    "match",
    "program",
    "read_model",
    "shipped_models",
    "verification",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a question got for an answer.

    Attributes
    ----------
    quantities : by the names that ``[[expect]]`` tables use.
    evidence : what supports the answer (solver record, reward, policy), ready for JSON.
    """

    quantities: Mapping[str, float]
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """An expectation held against what was found."""

    quantity: str
    expected: str
    found: float
    met: bool
    source: str


def shipped_models() -> Path:
    """Return the folder of the shipped model files: the checkout's own, or the installed copy."""
    package = Path(iirl_opt.__file__).parent
    checkout = package.parent / "models"
    return checkout if (checkout / "README.md").is_file() else package / "models"


def find_model(name: str | Path) -> Path:
    """Return the path of a model file: a path as it is, a bare name from the shipped ones.

    Raises
    ------
    FileProblem
        There is no such file.
    """
    path = Path(name)
    if path.is_file():
        return path
    if path.name == str(name) and not path.suffix:
        folder = shipped_models()
        matches = sorted(folder.glob(f"**/{path.name}.toml"))
        if matches:
            return matches[0]
        known = ", ".join(sorted(file.stem for file in folder.glob("**/*.toml")))
        raise FileProblem(path, f"is neither a file nor a shipped model (shipped: {known})")
    raise FileProblem(path, "is a folder" if path.is_dir() else "no such file")


def read_model(name: str | Path, *, discount: Any = None, game_seed: int | None = None) -> Problem:
    """Read a model file, a ``.dpomdp`` file, or a shipped model by its name.

    Parameters
    ----------
    discount, game_seed : in place of the file's own discount, and of the seed of its random game.

    Raises
    ------
    FileProblem
        Names the file and the key or line.
    """
    return read_problem(find_model(name), discount=discount, game_seed=game_seed)


def answer(problem: Problem, *, seed: int | None = None) -> Answer:
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
        Ctrl-C in a program; of a commitment its `found` is the `Answer` so far, if there is one.

    **Cost** that of the question: arithmetic, or one program, or a whole run of a learner.
    """
    if isinstance(problem.question, model.Learning):
        return learning_answer(problem, list(learn(problem, seed=seed)))
    if isinstance(problem.question, model.Bayesian):
        return Answer(*bayesian.answer(problem, seed=seed))
    try:
        found = ANSWERS[type(problem.question)](problem, problem.question)
    except Interrupted as stop:
        if isinstance(stop.found, Commitment):
            stop.found = _committed(problem, stop.found)
        raise
    except Infeasible as nothing:
        return Answer({"infeasible": 1.0}, {"solved": _solved(nothing.solved)})
    facts = {"states": float(problem.game.n_states), "infeasible": 0.0}
    return Answer({**facts, **found.quantities}, found.evidence)


def learn(
    problem: Problem,
    *,
    episodes: int | None = None,
    seed: int | None = None,
    learner: str | None = None,
) -> Iterator[Episode[Learner]]:
    """Play a learner against the file's follower, an episode at a time.

    Parameters
    ----------
    episodes, seed, learner : in place of the file's own; Algorithm 1 where neither says more.

    Raises
    ------
    FileProblem
        The file has no reward, so nobody could answer, or its question is another.
    """
    question, truth = problem.question, problem.need_truth()
    if not isinstance(question, model.Learning):
        raise FileProblem(problem.path, "is not learning", key="question.family")
    joint = question.rewards == "joint" or (question.rewards is None and truth.ndim == 3)
    made = make_learner(
        ALGORITHM_1 if learner is None else learner,
        problem.game,
        seed=question.seed if seed is None else seed,
        first=problem.policy,
        joint=joint,
    )
    total = question.episodes if episodes is None else episodes
    return interact(made, truth, total, follower=problem.follower)


def learning_answer(problem: Problem, episodes: Sequence[Episode[Learner]]) -> Answer:
    """Return what a run of a learner found so far."""
    game, truth = problem.game, problem.need_truth()
    influence = game.influence()
    best = float(game.start @ problem.reported(commit(game, truth).values))
    regrets = [loss(best, float(game.start @ problem.reported(e.values))) for e in episodes]
    quantities = {
        "states": float(game.n_states),
        "leader_influence": influence[0],
        "follower_influence": influence[1],
        "optimal_value": best,
        "episodes": float(len(episodes)),
    }
    if episodes:
        learner = episodes[-1].learner
        quantities |= {
            "first_regret": regrets[0],
            "final_regret": regrets[-1],
            "least_regret": min(regrets),
            "total_regret": sum(regrets),
            **learner.facts(),
        }
        if isinstance(learner, FeasibleLearner):
            quantities["truth_feasible"] = float(learner.known.contains(truth))
    return Answer(quantities, {"regrets": regrets})


def check(
    expect: Sequence[model.Expect], quantities: Mapping[str, float], path: Path
) -> tuple[Finding, ...]:
    """Hold the expectations of a file against what was found.

    Raises
    ------
    FileProblem
        A quantity that this question does not have.
    """
    findings = []
    for i, expected in enumerate(expect):
        if expected.quantity not in quantities:
            known = ", ".join(quantities)
            raise FileProblem(
                path,
                f"{expected.quantity!r} is no quantity of this question (known: {known})",
                key=f"expect[{i}].quantity",
            )
        found = quantities[expected.quantity]
        met = bool(np.isfinite(found))
        words = []
        if expected.value is not None:
            met = met and abs(found - expected.value) <= expected.tolerance
            words.append(f"{expected.value:.12g} ± {expected.tolerance:g}")
        if expected.at_most is not None:
            met = met and found <= expected.at_most
            words.append(f"≤ {expected.at_most:.12g}")
        if expected.at_least is not None:
            met = met and found >= expected.at_least
            words.append(f"≥ {expected.at_least:.12g}")
        findings.append(Finding(expected.quantity, ", ".join(words), found, met, expected.source))
    return tuple(findings)


def program(problem: Problem) -> Any:
    """Return the cvxpy program behind a question, for export.

    Raises
    ------
    FileProblem
        The question is not one linear or mixed-integer program.
    """
    question, game = problem.question, problem.game
    if isinstance(question, model.FeasibleRewardsQuestion) and question.ask == "maximise":
        objective = problem.vector(question.objective, "question.objective")
        return _feasible(problem).problem(objective, domain=_domain(problem, question))
    if isinstance(question, model.OccupancyQuestion):
        measure = OccupancyMeasure(game)
        return measure.problem(problem.need_truth(), subject_to=_measure_rows(problem, measure))
    if isinstance(question, model.CommitmentQuestion) and question.ask == "optimal":
        return _commitment_program(problem, question)
    raise FileProblem(problem.path, "is not one linear program", key="question")


def _feasible(problem: Problem) -> FeasibleRewards:
    feasible = FeasibleRewards(problem.game)
    for seen in problem.observations:
        feasible = feasible.add(seen)
    return feasible


@dataclass(frozen=True, eq=False)
class _WithRows:
    """A domain cut by the user's own rows."""

    base: RewardDomain
    rows: Sequence[Row]

    def constraints(self, r: Any) -> list[Any]:
        """Return the base constraints and a labelled one for each row."""
        out = self.base.constraints(r)
        for row in self.rows:
            out += _bounded(row, row.coefficients @ r)
        return out


def _bounded(row: Row, expression: Any) -> list[Any]:
    """Return the constraints of a row on an expression, labelled by its name."""
    if row.low == row.high:
        return [(expression == row.low).set_label(row.name)]
    below = [(expression >= row.low).set_label(row.name)] if np.isfinite(row.low) else []
    above = [(expression <= row.high).set_label(row.name)] if np.isfinite(row.high) else []
    return below + above


def _domain(problem: Problem, question: model.FeasibleRewardsQuestion) -> RewardDomain:
    base = RewardSimplex() if question.domain == "simplex" else RewardBox(question.bound)
    rows = [row for row in problem.rows if row.target == "reward"]
    for i, row in enumerate(problem.rows):
        if row.target != "reward" or row.coefficients.ndim != 1:
            place = f"constraint[{i}]"
            raise FileProblem(problem.path, "must be on the reward, by state", key=place)
    return _WithRows(base, rows)


def _measure_rows(problem: Problem, measure: Any) -> list[Any]:
    """Return the rows on the measure of a program that has `expected`."""
    out: list[Any] = []
    for i, row in enumerate(problem.rows):
        if row.target != "measure":
            raise FileProblem(problem.path, "must be on the measure", key=f"constraint[{i}].on")
        out += _bounded(row, measure.expected(row.coefficients))
    return out


def _feasible_rewards(problem: Problem, question: model.FeasibleRewardsQuestion) -> Answer:
    feasible, domain = _feasible(problem), _domain(problem, question)
    counts = {
        "episodes": float(len(feasible.episodes)),
        "rows": float(feasible.count_rows()),
    }
    target = problem.vector(question.target, "question.target")
    if question.ask == "contains":
        wrong = feasible.violations(target)
        worst = wrong[0].slack if wrong else 0.0
        return Answer(
            {
                **counts,
                "contains": float(not wrong),
                "violations": float(len(wrong)),
                "slack": worst,
            },
            {"violations": [violation._asdict() for violation in wrong]},
        )
    if question.ask == "dimension":
        return Answer({**counts, "dimension": float(feasible.dimension())})
    if question.ask == "centre":
        ball = feasible.chebyshev_centre(domain=domain)
        entries = _by_name("reward", problem.game.states, ball.centre)
        evidence = {"centre": ball.centre.tolist(), "solved": _solved(ball.solved)}
        return Answer({**counts, "radius": ball.radius, **entries}, evidence)
    if question.ask == "maximise":
        objective = problem.vector(question.objective, "question.objective")
        found = feasible.maximise(objective, domain=domain)
    elif question.ask == "nearest":
        found = feasible.nearest(target, norm=question.norm, domain=domain)
    else:
        found = feasible.max_margin(penalty=question.penalty, bound=question.bound)
    prices = {f"price[{k}]": v for k, v in _scalars(found.solved.duals, problem.rows).items()}
    entries = _by_name("reward", problem.game.states, found.reward)
    return Answer(
        {
            **counts,
            "value": found.value,
            "spread": found.spread,
            "contains": float(feasible.contains(found.reward, tolerance=1e-7)),
            **prices,
            **entries,
        },
        {"reward": found.reward.tolist(), "solved": _solved(found.solved)},
    )


def _occupancy(problem: Problem, question: model.OccupancyQuestion) -> Answer:
    measure = OccupancyMeasure(problem.game)
    best = measure.maximise(problem.need_truth(), subject_to=_measure_rows(problem, measure))
    try:
        best.split()
        product = 1.0
    except NotAProduct:
        product = 0.0
    prices = {f"price[{k}]": v for k, v in _scalars(best.price, problem.rows).items()}
    return Answer(
        {
            "value": best.value,
            "product": product,
            "total": float(best.measure.sum()),
            **prices,
            **_by_name("state_price", problem.game.states, best.state_prices),
        },
        {"measure": best.measure.tolist(), "solved": _solved(best.solved)},
    )


def _commitment(problem: Problem, question: model.CommitmentQuestion) -> Answer:
    if question.ask == "dominance":
        return _dominance(_commitment_problem(problem, question))
    if question.ask == "evaluate":
        if problem.policy is None:
            raise FileProblem(problem.path, "is missing", key="question.leader")
        reply = _commitment_problem(problem, question).reply(problem.policy)
        values = problem.reported(reply.values)
        evidence = {"policy": problem.policy.tolist(), "response": reply.response.tolist()}
        return Answer(_values(problem, values), evidence)
    shared = any(row.whose == "both" for row in problem.rows)
    try:
        plan = _plan(problem, question)
    except NotAProduct as error:
        return Answer({"product": 0.0}, {"correlated": str(error)})
    found = _committed(problem, plan)
    return Answer({**found.quantities, "product": 1.0}, found.evidence) if shared else found


def _committed(problem: Problem, plan: Commitment) -> Answer:
    """Return what there is to say of a commitment."""
    quantities = _values(problem, problem.reported(plan.values))
    if plan.bound is not None and problem.decpomdp is None:
        quantities |= {"bound": plan.bound, "gap": plan.bound - plan.value}
    evidence = {
        "policy": plan.policy.tolist(),
        "response": plan.response.tolist(),
        "guarantee": plan.guarantee.value,
        "among": plan.among,
        "method": plan.method,
    }
    if plan.solved is not None:
        evidence["solved"] = _solved(plan.solved)
    return Answer(quantities, evidence)


def _plan(problem: Problem, question: model.CommitmentQuestion) -> Commitment:
    """Return the commitment that a question asks for."""
    game, rows = problem.game, problem.rows
    kinds = {row.whose for row in rows}
    if len(kinds) > 1:
        raise FileProblem(
            problem.path, "is of the leader in one row, of both in another", key="constraint"
        )

    def subject_to(program: Any) -> list[Any]:
        return _measure_rows(problem, program)

    try:
        return commit(
            game,
            problem.need_truth(),
            follower_reward=problem.follower_reward,
            follower=problem.follower,
            exact=question.exact,
            stochastic=question.stochastic,
            method=question.method,
            ties=question.ties,
            allowed=problem.allowed,
            subject_to=subject_to if rows else None,
            whose="leader" if "leader" in kinds else "both",
        )
    except InvalidArgument as error:
        raise FileProblem(problem.path, str(error), key="question") from error


def _commitment_problem(problem: Problem, question: model.CommitmentQuestion) -> CommitmentProblem:
    follower = problem.follower
    if isinstance(follower, OptimalFollower) and follower.ties == "all":
        follower = replace(follower, ties="mix")  # who reports all of them plays any
    try:
        return CommitmentProblem(
            problem.game,
            problem.need_truth(),
            follower,
            follower_reward=problem.follower_reward,
            ties=question.ties,
            allowed=problem.allowed,
        )
    except InvalidArgument as error:
        raise FileProblem(problem.path, str(error), key="question") from error


def _commitment_program(problem: Problem, question: model.CommitmentQuestion) -> Any:
    """Return the joint optimum's program where that answers the question, else the bilevel one."""
    asked = _commitment_problem(problem, question)
    alone = any(row.whose == "leader" for row in problem.rows)
    if asked.cooperative and asked.epsilon == 0 and not alone and problem.allowed is None:
        joint = StackelbergCommitment(problem.game, problem.need_truth())
        return joint.problem(_measure_rows(problem, joint))
    try:
        bilevel = DeterministicCommitment(asked)
    except InvalidArgument as error:
        raise FileProblem(problem.path, str(error), key="follower") from error
    return bilevel.program(_measure_rows(problem, bilevel))


def _dominance(asked: CommitmentProblem) -> Answer:
    """Return whether a commitment is best from every state, or states that rule it out."""
    found = dominance(asked)
    states = asked.game.states
    quantities = {
        "dominating": float(found.verdict is DominanceVerdict.DOMINATING),
        "ruled_out": float(found.verdict is DominanceVerdict.RULED_OUT),
        **_by_name("value", states, found.values),
        **_by_name("bound", states, found.bounds),
    }
    evidence = {
        "verdict": found.verdict.value,
        "policy": None if found.actions is None else found.actions.tolist(),
        "states": [str(states[s]) for s in found.states],
        "best_actions": found.best_actions.tolist(),
        "best_values": found.best_values.tolist(),
    }
    return Answer(quantities, evidence)


def _values(problem: Problem, values: Array) -> dict[str, float]:
    """Return the value from the start distribution, and from every state."""
    start = float(problem.game.start @ values)
    return {"value": start, **_by_name("value", problem.game.states, values)}


def _affine(problem: Problem, question: model.AffineQuestion) -> Answer:
    if question.ask == "verify":
        return _verify(problem, question)
    feasible = _feasible(problem)
    hypothesis = problem.vector(question.hypothesis or {}, "question.hypothesis")
    wrong = feasible.violations(hypothesis)
    quantities = {
        "explains": float(not wrong),
        "violations": float(len(wrong)),
        "dimension": float(feasible.dimension()),
    }
    if problem.truth is not None and problem.truth.ndim == 1:
        quantities["equivalent"] = float(
            AffineClass(problem.truth).contains(hypothesis, strict=True)
        )
        quantities["truth_feasible"] = float(feasible.contains(problem.truth))
    return Answer(quantities, {"violations": [violation._asdict() for violation in wrong]})


def verification(problem: Problem) -> VerificationReport:
    """Return the report on the hypothesis of a verification problem.

    Raises
    ------
    FileProblem
        The question is another, or the game is no environment, or nothing was answered.
    """
    question = problem.question
    if not isinstance(question, model.AffineQuestion) or question.ask != "verify":
        raise FileProblem(problem.path, "does not ask to verify", key="question.ask")
    if problem.environment is None:
        raise FileProblem(problem.path, "needs [game.environment]", key="game")
    if len(problem.observations) != 1:
        raise FileProblem(problem.path, "needs exactly one answer", key="observation")
    stated = question.hypothesis
    hypothesis = (
        problem.environment.exact.numbers
        if stated is None
        else problem.exact_vector(stated, "question.hypothesis")
    )
    seen = problem.observations[0]
    response = seen.played if seen.whole else seen.pi2
    try:
        return verify_affine(hypothesis, problem.environment, response)
    except IIRLError as error:
        raise FileProblem(problem.path, str(error), key="question.hypothesis") from error


def match(certificate: Certificate, problem: Problem) -> Match:
    """Compare what a certificate speaks of with a problem: its game, reward and observations.

    **Cost** arithmetic.
    """
    reward = problem.truth
    if problem.environment is not None and isinstance(problem.question, model.AffineQuestion):
        stated = problem.question.hypothesis
        reward = problem.environment.exact.numbers
        if stated is not None:
            reward = problem.exact_vector(stated, "question.hypothesis")
    has_episodes = hasattr(certificate, "pi1")
    return certificate.matches(
        problem.game,
        reward=reward if hasattr(certificate, "reward") and _is_claimed(certificate) else None,
        observations=problem.observations if has_episodes else None,
    )


def _is_claimed(certificate: Certificate) -> bool:
    """Return whether the reward of a certificate is one that was asked about, not found."""
    return certificate.kind != "witness"


def _verify(problem: Problem, question: model.AffineQuestion) -> Answer:
    report = verification(problem)
    quantities = {verdict.name.lower(): float(verdict is report.verdict) for verdict in Verdict}
    if report.angle is not None:
        quantities["angle"] = report.angle
    evidence = {"report": str(report), "assumptions": list(report.assumptions)}
    return Answer(quantities, evidence)


ANSWERS: Mapping[type, Callable[[Problem, Any], Answer]] = {
    model.FeasibleRewardsQuestion: _feasible_rewards,
    model.OccupancyQuestion: _occupancy,
    model.CommitmentQuestion: _commitment,
    model.AffineQuestion: _affine,
}


def _by_name(name: str, labels: Sequence[Any], values: Array) -> dict[str, float]:
    return {f"{name}[{label}]": float(v) for label, v in zip(labels, values, strict=True)}


def _scalars(duals: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, float]:
    names = {row.name for row in rows}
    return {name: float(dual) for name, dual in duals.items() if name in names}


def _solved(solved: Solved) -> dict[str, Any]:
    """Return a solver's record ready for JSON."""
    residuals = solved.residuals
    return {
        "status": solved.status.name,
        "value": solved.value,
        "solver": solved.solver,
        "version": solved.version,
        "seconds": solved.seconds,
        "iterations": solved.iterations,
        "residual": None if residuals is None else residuals.largest(),
        "farkas": None
        if solved.farkas is None
        else {name: np.asarray(ray).tolist() for name, ray in solved.farkas.items() if np.any(ray)},
    }
