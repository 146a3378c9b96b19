# ruff: noqa: C408 (calls are written as calls are)
"""One valid call of every public callable, on games of two states: what the walk starts from.

`CALLS` maps ``name`` of a function or class, or ``Class.method``, to a function that returns the
keyword arguments of the call, for a method after the object that it belongs to. What has no
arguments of its own to try stands in `NOT_WALKED`, with the reason.
"""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

import cvxpy as cp
import numpy as np

import iirl_opt as iirl
from iirl_opt import certificate, claims, library

NAMES = """game follower observation certificate solver occupancy rewards commitment verification
learn bayesian plot formats library testing claims play printing"""
ROOMS = {"": iirl} | {name: getattr(iirl, name) for name in NAMES.split()}

WEIGHTS = [[[[1, 1], [0, 1]], [[1, 0], [1, 2]]], [[[1, 0], [1, 1]], [[0, 1], [2, 1]]]]
GAME = iirl.TwoAgentMDP(WEIGHTS, "1/2")
MODELS = Path(__file__).parents[1] / "models"
ONE_STATE = iirl.TwoAgentMDP([[[[1], [1]], [[1], [1]]]], "1/2")
PI1, PI2 = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
JOINT = np.einsum("sa,sb->sab", PI1, PI2)
R, OTHER, WIDE = np.array([0.0, 1.0]), np.array([2.0, 1.0]), np.arange(8.0).reshape(2, 2, 2)
Q = np.array([[0.25, 1.0], [0.5, 0.25]])
ROWS = np.array([[1.0, -2.0], [-1.0, 3.0]])
UNIT = np.array([0.25, 0.75])
CLAIM = claims.Claim("n", "p", "s", lambda: None, lambda at: True)
STEPS = [(0, 0, 1), (1, 0, 0)]


@functools.cache
def made(what):
    """Return an object that several calls share; made when the first of them is walked."""
    return {
        "model": lambda: iirl.read_model("puterman-3-1-1"),
        "learning model": lambda: iirl.read_model("two-rooms"),
        "decpomdp": lambda: iirl.formats.read_dpomdp(MODELS / "learning" / "bridge.dpomdp"),
        "environment": lambda: iirl.formats.to_gymnasium(GAME, R, leader=PI1),
        "one agent": lambda: iirl.formats.ImportedGame(
            iirl.TwoAgentMDP.single_agent(made("mdp")), {"r": R}
        ),
        "imported": lambda: iirl.formats.ImportedGame(GAME, {"r": R}),
        "asked": lambda: iirl.formats.counterpart(made("imported"), "Rmax=? [ C ]"),
        "mdp": lambda: GAME.follower_mdp(PI1),
        "problem": lambda: iirl.CommitmentProblem(GAME, R),
        "greedy": lambda: iirl.CommitmentProblem(GAME, R, iirl.EpsilonGreedyFollower(0.2)),
        "one state": lambda: iirl.CommitmentProblem(
            ONE_STATE, [[[1.0, 0.0], [0.0, 1.0]]], iirl.OptimalFollower("first")
        ),
        "response": lambda: iirl.OptimalFollower().respond(GAME, R, PI1),
        "feasible": lambda: iirl.FeasibleRewards(GAME).observe(PI1, made("response")),
        "soft": lambda: iirl.rewards.SoftRewards(GAME, 1.0, 1e-9).observe(
            PI1, SOFT.respond(GAME, R, PI1)
        ),
        "observation": lambda: iirl.observe(GAME, PI1, made("response")),
        "preference": lambda: iirl.rewards.prefer(GAME, (PI1, PI2), (PI1, PI2)),
        "trajectory": lambda: iirl.observation.record_trajectory(GAME, PI1, STEPS),
        "centre": lambda: iirl.rewards.analytic_centre(ROWS),
        "play": lambda: iirl.game.finite_horizon(GAME, 2, discount=1),
        "grid": lambda: iirl.grid_game("S.\n.1", discount="1/2", prizes={"1": 1}),
        "learner": lambda: iirl.InteractiveIRL(GAME),
        "active": lambda: iirl.ActiveIRL(GAME),
        "episode": lambda: next(iirl.interact(made("learner"), R, 1)),
        "episode record": lambda: iirl.learn.record_of(made("episode")),
        "drawn": drawn,
        "protocol": lambda: iirl.VerificationProtocol(GAME, R),
        "fixed": lambda: iirl.learn.FixedEnvironment(made("learner")),
        "strict": lambda: iirl.strict_environment([0, 1, 1, 2], "1/2", "1/8", rational=True),
        "mazelike": lambda: made("strict").game,
        "report": lambda: iirl.verify_affine(
            [0, 1, 1, 2],
            made("strict"),
            iirl.policy_iteration(made("strict").mdp, [0, 1, 1, 2]).policy,
        ),
        "evidence": lambda: iirl.bayesian.Evidence(GAME).observe(made("trajectory")),
        "posterior": lambda: iirl.Posterior(made("evidence")),
        "chains": lambda: iirl.bayesian.sample(made("posterior"), 20, chains=2, thin=2, fast=False),
        "bayesian": lambda: iirl.BayesianInteractiveIRL(GAME, proposals=20, thin=2, fast=False),
        "measure": lambda: iirl.OccupancyMeasure(GAME),
        "best": lambda: made("measure").maximise(R),
        "pruned": lambda: iirl.game.prune(GAME),
        "search": lambda: iirl.commitment.Enumeration().search(made("problem")),
        "bound": lambda: iirl.rewards.regret_bound(made("feasible"), PI1),
        "minimax": lambda: iirl.commitment.minimax_regret(made("feasible"), rounds=0),
        "elsewhere": lambda: iirl.rewards.regret_elsewhere(made("feasible"), GAME, PI1),
        "condition": lambda: iirl.learn.convergence_condition(GAME, R),
        "proof": lambda: iirl.occupancy.policy_improvement(GAME, R, JOINT, best_joint()),
        "folder": folder,
        "walk": lambda: list(
            iirl.interact(iirl.InteractiveIRL(made("grid").game), made("grid").reward, 1)
        ),
        "three": lambda: iirl.FeasibleRewards(iirl.random_game(3, 2, 2, rng=0)[0]),
        "table": lambda: iirl.printing.FactTable([{"a": 1}]),
        "side": lambda: iirl.occupancy.Side(rows=np.ones((1, 8)), bounds=[0.0], prices=[1.0]),
    }[what]()


def best_joint():
    return iirl.policy_iteration(GAME, R).policy.reshape(GAME.shape)


def folder():
    """Return a new folder with one saved game, one proof and a file of claims."""
    path = Path(tempfile.mkdtemp(prefix="arguments"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    iirl.save_game(GAME, path / "game.npz")
    iirl.formats.write_pomdp(made("one agent"), path / "game.pomdp")
    made("proof").save(path / "proof.json")
    (path / "claims.py").write_text("claims = []\n")
    iirl.formats.write_drn(GAME, path / "game.drn")
    iirl.formats.write_explicit(GAME, path / "game.tra")
    for name in ("game.csv", "game.json"):
        iirl.formats.write_file(iirl.formats.ImportedGame(GAME, {"r": R}), path / name)
    return path


def choices():
    """How choices of a file become actions of a game."""
    return dict(agent="follower", leader=(), unavailable="repeat", absorbing=False)


def solved_program():
    problem = small_program()
    iirl.solve(problem)
    return problem


def small_program():
    x = cp.Variable(2, name="x")
    return cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])


def rule(ties="first"):
    return iirl.OptimalFollower(ties)


def rng():
    return np.random.default_rng(0)


def environment(**more):
    return lambda: dict(reward=[0, 1, 1, 2], discount="1/2", **more)


def on(what, **arguments):
    """Return the baseline of a method of an object that is made when it is needed."""
    return lambda: (made(what), {k: v() if callable(v) else v for k, v in arguments.items()})


def sampler():
    return iirl.bayesian.PosteriorSampler(made("posterior"), 4, chains=1, fast=False)


def drawn():
    """Return the record of a sampler that has drawn all."""
    chains = sampler()
    list(chains)
    return chains.record()


def problem_and(**arguments):
    return lambda: dict(problem=made("problem"), **arguments)


def rows_of(program):
    return dict(constraints=program.constraints, variable=program.variables()[0])


def contradictory_program():
    x = cp.Variable(2, name="x")
    return cp.Problem(cp.Minimize(0), [(x >= 1).set_label("low"), (x <= 0).set_label("high")])


def parametric_program():
    x, limit = cp.Variable(2, name="x"), cp.Parameter(name="limit", value=1.0)
    return cp.Problem(cp.Minimize(cp.sum(x)), [x >= limit])


def live(**arguments):
    """Return the baseline of a method that changes its program: a new one each time."""
    numbers = [1.0, 2.0], np.eye(2), [1.0, 1.0], [np.inf, np.inf]
    return lambda: (iirl.solver.LiveProgram(*numbers), dict(arguments))


def respond(follower):
    return lambda: (follower, dict(game=GAME, pi1=PI1, reward=R, rng=rng()))


def answer(follower):
    return lambda: (follower, dict(q=Q, tolerance=1e-9, rng=rng()))


def choose(choice):
    return lambda: (choice, dict(feasible=made("feasible"), rng=rng(), solver=iirl.HiGHS()))


def expression():
    return cp.Variable(2)


PROPORTIONAL = iirl.ProportionalFollower(np.exp)
SOFT = iirl.follower.SoftOptimalFollower(1.0)
FOLLOWERS = {
    "OptimalFollower": iirl.OptimalFollower(),
    "EpsilonGreedyFollower": iirl.EpsilonGreedyFollower(0.2),
    "BoltzmannFollower": iirl.BoltzmannFollower(1.0),
    "ProportionalFollower": PROPORTIONAL,
}
CHOICES = {
    "AnalyticCentre": iirl.learn.AnalyticCentre(),
    "ChebyshevCentre": iirl.learn.ChebyshevCentre(),
    "HitAndRunMean": iirl.learn.HitAndRunMean(n=2),
    "MeanOfVertices": iirl.learn.MeanOfVertices(n=1),
    "RandomVertex": iirl.learn.RandomVertex(),
    "MaxMargin": iirl.learn.MaxMargin(),
    "MaximumEntropy": iirl.learn.MaximumEntropy(),
    "RandomReward": iirl.learn.RandomReward(),
}

GAMES = {
    "MDP": lambda: dict(kernel=np.ones((2, 2, 2), int), discount="1/2", start=[1, 1]),
    "MDP.chain": on("mdp", policy=PI2),
    "TwoAgentMDP": lambda: dict(kernel=np.array(WEIGHTS), discount="1/2", start=[1, 1]),
    "TwoAgentMDP.check_follower_policy": lambda: (GAME, dict(pi2=PI2)),
    "TwoAgentMDP.check_leader_policy": lambda: (GAME, dict(pi1=PI1)),
    "TwoAgentMDP.follower_mdp": lambda: (GAME, dict(pi1=PI1)),
    "TwoAgentMDP.follower_policy": lambda: (GAME, dict(choices={"*": 0})),
    "TwoAgentMDP.leader_policy": lambda: (GAME, dict(choices={"*": 0})),
    "TwoAgentMDP.joint_chain": lambda: (GAME, dict(pi1=PI1, pi2=PI2)),
    "TwoAgentMDP.single_agent": lambda: (GAME, dict(mdp=made("mdp"))),
    "absorbing_states": lambda: dict(game=GAME),
    "check_policy": lambda: dict(policy=PI1, shape=(2, 2)),
    "communicating_classes": lambda: dict(game=GAME),
    "dead_ends": lambda: dict(game=GAME, reward=R),
    "deterministic_policy": lambda: dict(actions=[0, 1], n_actions=2),
    "MDP.discounted": lambda: (made("mdp"), dict(discount="3/4")),
    "MDP.starting_at": lambda: (made("mdp"), dict(start=[1, 1])),
    "error_bound": lambda: dict(model=GAME, reward=R, policy=JOINT, values=R),
    "evaluate": lambda: dict(model=GAME, reward=R, policy=JOINT),
    "exact_gaps": lambda: dict(game=GAME, reward=R, pi1=PI1, pi2=PI2),
    "exact_values": lambda: dict(model=GAME, reward=R, policy=JOINT),
    "follower_gaps": lambda: dict(game=GAME, reward=R, pi1=PI1, pi2=PI2),
    "local_scale": lambda: dict(model=GAME, reward=R, policy=JOINT),
    "exact_optimum": lambda: dict(game=GAME, reward=R, pi1=PI1),
    "from_networkx": lambda: dict(graph=iirl.to_networkx(GAME), discount="1/2"),
    "grid_game": lambda: dict(text="S.\n.1", discount="1/2", prizes={"1": 1}),
    "GridGame.render": lambda: (
        made("grid"),
        dict(leader=iirl.uniform_policy(8, 6), follower=iirl.uniform_policy(8, 4)),
    ),
    "joint_policy": lambda: dict(pi1=PI1, pi2=PI2),
    "load_game": lambda: dict(path=made("folder") / "game.npz"),
    "maze_maker": lambda: dict(size=2, prizes={1: 1}),
    "mix": lambda: dict(policies=[PI1, PI2], weights=[0.5, 0.5]),
    "modified_policy_iteration": lambda: dict(model=GAME, reward=R),
    "policy_iteration": lambda: dict(model=GAME, reward=R, initial=[0, 1]),
    "prune": lambda: dict(game=GAME),
    "Pruned.extend": on("pruned", array=R, fill=0.0),
    "Pruned.restrict": on("pruned", array=R),
    "finite_horizon": lambda: dict(game=GAME, steps=2, discount="1/2", expanded_discount="1/2"),
    "FiniteHorizon.expand_policy": on("play", policy=PI1),
    "FiniteHorizon.expand_reward": on("play", reward=R),
    "FiniteHorizon.fold": on("play", array=np.zeros((5, 2))),
    "FiniteHorizon.fold_values": on("play", values=np.zeros(5)),
    "random_deterministic_policy": lambda: dict(n_states=2, n_actions=2, rng=rng()),
    "random_game": lambda: dict(n_states=3, n_leader_actions=2, n_follower_actions=2, rng=0),
    "random_policy": lambda: dict(n_states=2, n_actions=2, rng=rng()),
    "reachable": lambda: dict(game=GAME, pi1=PI1, pi2=PI2),
    "save_game": lambda: dict(game=GAME, path=made("folder") / "new.npz"),
    "split": lambda: dict(joint=JOINT),
    "tie_tolerance": lambda: dict(reward=R, discount=0.5),
    "to_networkx": lambda: dict(game=GAME),
    "uniform_policy": lambda: dict(n_states=2, n_actions=2),
}

SEEN = {
    "check_steps": lambda: dict(play=made("play"), follower=iirl.EpsilonGreedyFollower(0.1)),
    # An optimal follower responds and answers by what it shares with an ε-greedy one.
    **{
        f"{name}.respond": respond(FOLLOWERS[name])
        for name in FOLLOWERS
        if name != "OptimalFollower"
    },
    **{
        f"{name}.answer": answer(FOLLOWERS[name]) for name in FOLLOWERS if name != "OptimalFollower"
    },
    "BoltzmannFollower": lambda: dict(beta=1.0),
    "BoltzmannFollower.log_answer": lambda: (FOLLOWERS["BoltzmannFollower"], dict(q=Q)),
    "BoltzmannFollower.log_respond": lambda: (
        FOLLOWERS["BoltzmannFollower"],
        dict(game=GAME, reward=R, pi1=PI1),
    ),
    "EpsilonGreedyFollower": lambda: dict(epsilon=0.2),
    "OptimalFollower": dict,
    "OptimalFollower.among": lambda: (rule(), dict(optimal=Q > 0.3, rng=rng())),
    "EpsilonGreedyFollower.among": lambda: (
        FOLLOWERS["EpsilonGreedyFollower"],
        dict(optimal=Q > 0.3, rng=rng()),
    ),
    "ProportionalFollower": lambda: dict(f=np.exp),
    "ProportionalFollower.weights": lambda: (PROPORTIONAL, dict(q=Q)),
    "Affine": lambda: dict(constant=1.0, slope=2.0),
    "Exponential": lambda: dict(rate=2.0),
    "Power": lambda: dict(exponent=2),
    "best_responses": lambda: dict(game=GAME, reward=R, pi1=PI1),
    "soft_optimum": lambda: dict(game=GAME, reward=R, pi1=PI1, temperature=1.0),
    "SoftOptimalFollower": lambda: dict(temperature=1.0),
    **{
        f"SoftOptimalFollower.{name}": lambda: (SOFT, dict(game=GAME, reward=R, pi1=PI1))
        for name in ("log_respond", "values")
    },
    "SoftOptimalFollower.respond": respond(SOFT),
    "check_trajectory": lambda: dict(game=GAME, trajectory=made("trajectory")),
    "observe": lambda: dict(game=GAME, pi1=PI1, response=made("response")),
    "Suboptimality": lambda: dict(loss=0.5),
    "record_trajectory": lambda: dict(game=GAME, pi1=PI1, steps=STEPS),
    "sample_trajectory": lambda: dict(game=GAME, pi1=PI1, pi2=PI2, rng=rng()),
}

PLANNING = {
    "CommitmentProblem": lambda: dict(game=GAME, reward=R),
    "CommitmentProblem.answer": on("problem", q=Q, own=Q),
    "CommitmentProblem.replies": on("problem", policies=PI1[None]),
    "CommitmentProblem.reply": on("problem", pi1=PI1),
    "CommitmentProblem.assess": on("problem", actions=[[0, 1]]),
    "CommitmentProblem.assess_policies": on("problem", policies=PI1[None]),
    "CommitmentProblem.values_of": on("problem", actions=[[0, 1]]),
    "Search.policy": on("search", n_actions=2),
    "dominance": problem_and(),
    "grid_check": problem_and(resolution=2),
    "joint_leader_policy": problem_and(),
    "misspecification_loss": problem_and(assumed=iirl.BoltzmannFollower(1.0)),
    "start_gradient": lambda: dict(
        problem=iirl.CommitmentProblem(GAME, R, iirl.BoltzmannFollower(1.0)), pi1=PI1
    ),
    "value_bounds": problem_and(),
    "value_of_information": problem_and(followers=[rule(), rule("last")], weights=[0.5, 0.5]),
    "AdmissibleCommitment.by_row": lambda: (
        iirl.commitment.AdmissibleCommitment(GAME, R, {}),
        dict(answer={"flow": R}),
    ),
    "AdmissibleCommitment": lambda: dict(game=GAME, reward=R, restrictions={}),
    "AdmissibleCommitment.problem": lambda: (
        iirl.commitment.AdmissibleCommitment(GAME, R, {}),
        dict(subject_to=[]),
    ),
    "AdmissibleCommitment.solve": lambda: (iirl.commitment.AdmissibleCommitment(GAME, R, {}), {}),
    "Automatic": dict,
    "Automatic.chosen": lambda: (iirl.commitment.Automatic(), dict(problem=made("problem"))),
    "Automatic.plan": lambda: (iirl.commitment.Automatic(), dict(problem=made("problem"))),
    "BranchAndBound": lambda: dict(incumbent=[0, 1]),
    "BranchAndBound.plan": lambda: (
        iirl.commitment.BranchAndBound(),
        dict(problem=made("problem")),
    ),
    "BranchAndBound.search": lambda: (
        iirl.commitment.BranchAndBound(),
        dict(problem=made("problem")),
    ),
    "Commitment.of": lambda: dict(problem=made("problem"), policy=PI1, method="mine"),
    "DeterministicCommitment": lambda: dict(asked=made("problem")),
    "DeterministicCommitment.problem": lambda: (
        iirl.commitment.DeterministicCommitment(made("problem")),
        dict(subject_to=[]),
    ),
    "DeterministicCommitment.solve": lambda: (
        iirl.commitment.DeterministicCommitment(made("problem")),
        dict(subject_to=[]),
    ),
    "Enumeration": dict,
    "Enumeration.plan": lambda: (iirl.commitment.Enumeration(), dict(problem=made("problem"))),
    "Enumeration.search": lambda: (iirl.commitment.Enumeration(), dict(problem=made("problem"))),
    "JointOptimum": dict,
    "JointOptimum.plan": lambda: (iirl.commitment.JointOptimum(), dict(problem=made("problem"))),
    "OccupancyProgram": dict,
    "OccupancyProgram.plan": lambda: (
        iirl.commitment.OccupancyProgram(),
        dict(problem=made("problem")),
    ),
    "LocalSearch": lambda: dict(begin=PI1, steps=3, random_starts=0),
    "LocalSearch.climb": lambda: (
        iirl.commitment.LocalSearch(begin=PI1, steps=3, random_starts=0),
        dict(problem=made("problem")),
    ),
    "LocalSearch.plan": lambda: (
        iirl.commitment.LocalSearch(begin=PI1, steps=3, random_starts=0),
        dict(problem=made("problem")),
    ),
    "MixedCommitment": lambda: dict(asked=made("one state")),
    "MixedCommitment.problem": lambda: (
        iirl.commitment.MixedCommitment(made("one state")),
        dict(subject_to=[]),
    ),
    "MixedCommitment.solve": lambda: (
        iirl.commitment.MixedCommitment(made("one state")),
        dict(subject_to=[]),
    ),
    "MixedInteger": dict,
    "MixedInteger.plan": lambda: (iirl.commitment.MixedInteger(), dict(problem=made("problem"))),
    "NormalForm": dict,
    "NormalForm.plan": lambda: (iirl.commitment.NormalForm(), dict(problem=made("one state"))),
    "ValueIteration": lambda: dict(begin=R),
    "ValueIteration.iterate": lambda: (
        iirl.commitment.ValueIteration(),
        dict(problem=made("problem")),
    ),
    "ValueIteration.plan": lambda: (
        iirl.commitment.ValueIteration(),
        dict(problem=made("problem")),
    ),
    "StackelbergCommitment.by_row": lambda: (
        iirl.StackelbergCommitment(GAME, R),
        dict(answer={"flow": R}),
    ),
    "StackelbergCommitment": lambda: dict(game=GAME, reward=R),
    "StackelbergCommitment.problem": lambda: (
        iirl.StackelbergCommitment(GAME, R),
        dict(subject_to=[]),
    ),
    "StackelbergCommitment.solve": lambda: (
        iirl.StackelbergCommitment(GAME, R),
        dict(subject_to=[]),
    ),
    "commit": lambda: dict(game=GAME, reward=R),
    "OccupancyMeasure": lambda: dict(game=GAME),
    "OccupancySolution.expected": lambda: (made("measure").maximise(R), dict(quantity=R)),
    "OccupancyMeasure.by_row": on("measure", answer={"flow": R}),
    "OccupancyMeasure.basis": on("measure", policy=(PI1, PI2)),
    "OccupancyMeasure.expected": on("measure", quantity=R),
    "OccupancyMeasure.hold_leader": on("measure", pi1=PI1),
    "OccupancyMeasure.maximise": on("measure", reward=R, subject_to=[]),
    "OccupancyMeasure.problem": on("measure", reward=R, subject_to=[]),
    "OccupancySolution.split": on("best"),
    "budget": lambda: dict(expected=made("measure").expected(R), limit=0.5, name="hazard"),
}

REWARDS = {
    "AffineClass": lambda: dict(reward=R),
    "AffineClass.constraints": lambda: (iirl.AffineClass(R), dict(r=expression())),
    "AffineClass.contains": lambda: (iirl.AffineClass(R), dict(reward=R)),
    "AffineClass.nearest": lambda: (iirl.AffineClass(R), dict(reward=R)),
    "AffineClass.dimension": lambda: (iirl.AffineClass(R), {}),
    # What all records with a table inherit.
    "AffineClass.to_frame": lambda: (iirl.AffineClass(R), dict(backend="polars")),
    "AffineClass.to_csv": lambda: (iirl.AffineClass(R), dict(path=made("folder") / "w.csv")),
    "AffineClass.to_latex": lambda: (iirl.AffineClass(R), dict(path=made("folder") / "w.tex")),
    "AffineClass.by_row": lambda: (
        iirl.AffineClass(R),
        dict(answer={"affine class": R}, states=["s", "t"]),
    ),
    "FeasibleRewards": lambda: dict(game=GAME),
    "OccupancyMeasure.contains": on("measure", measure=np.full(8, 0.25)),
    "FeasibleRewards.by_row": on("feasible", answer=lambda: made("feasible").maximise(R)),
    "FeasibleRewards.add": on("feasible", observation=lambda: made("observation")),
    "FeasibleRewards.chebyshev_centre": on("feasible"),
    "FeasibleRewards.constraints": on("feasible", r=expression),
    "FeasibleRewards.contains": on("feasible", reward=R),
    "FeasibleRewards.count_rows": on("feasible"),
    "FeasibleRewards.dimension": on("feasible"),
    "FeasibleRewards.explain_infeasibility": on("feasible"),
    "FeasibleRewards.explicit_rows": on("feasible"),
    "FeasibleRewards.is_informative": on("feasible"),
    "FeasibleRewards.lifted": on("feasible", r=expression),
    "FeasibleRewards.max_margin": on("feasible"),
    "FeasibleRewards.maximise": on("feasible", objective=R),
    "FeasibleRewards.nearest": on("feasible", reward=R),
    "FeasibleRewards.observe": on("feasible", pi1=PI1, response=PI2),
    "FeasibleRewards.outer_rows": on("feasible", points=np.array([UNIT])),
    "FeasibleRewards.problem": on("feasible", objective=R),
    "FeasibleRewards.random_vertex": on("feasible", rng=rng),
    "FeasibleRewards.sample": on("feasible", n=1, rng=rng, thin=1, burn=0),
    "FeasibleRewards.gaps": on("feasible", reward=R),
    "FeasibleRewards.slack": on("feasible", reward=R),
    "FeasibleRewards.losses": on("feasible", reward=R),
    "FeasibleRewards.compatibility": on("feasible", reward=R),
    "FeasibleRewards.most_compatible": on("feasible", contrast=[1.0, -1.0]),
    "FeasibleRewards.prefer": on("feasible", better=(PI1, PI2), worse=(PI1, PI2), by=0.0),
    "Preference.gain": on("preference", reward=R),
    "Preference.exact_gain": on("preference", reward=R),
    "prefer": lambda: dict(game=GAME, better=(PI1, PI2), worse=(PI1, PI2), by=0.0),
    "FeasibleRewards.violations": on("feasible", reward=R),
    "FeasibleRewards.widths": on("feasible", directions=np.eye(2)[:1]),
    "SoftRewards": lambda: dict(game=GAME, temperature=1.0, band=0.1, answers=made("soft").answers),
    "SoftRewards.add": on("soft", seen=lambda: iirl.observe(GAME, PI1, np.full((2, 2), 0.5))),
    "SoftRewards.best_temperature": on("soft", reward=R),
    "SoftRewards.constraints": on("soft", r=expression),
    "SoftRewards.contains": on("soft", reward=R),
    "SoftRewards.fit": on("soft"),
    "SoftRewards.maximise": on("soft", objective=R),
    "SoftRewards.misfit": on("soft", reward=R),
    "SoftRewards.observe": on("soft", pi1=PI1, response=np.full((2, 2), 0.5)),
    "SoftRewards.observe_log": on("soft", pi1=PI1, log_response=np.log(np.full((2, 2), 0.5))),
    "SoftRewards.problem": on("soft", objective=R),
    "SoftRewards.widths": on("soft", directions=np.eye(2)[:1]),
    "RewardBox": dict,
    "RewardBox.contains": lambda: (iirl.RewardBox(), dict(reward=R)),
    "RewardSimplex.contains": lambda: (iirl.RewardSimplex(), dict(reward=UNIT)),
    "RewardBox.constraints": lambda: (iirl.RewardBox(), dict(r=expression())),
    "RewardSimplex.constraints": lambda: (iirl.RewardSimplex(), dict(r=expression())),
    "Centre.depth": on("centre", rows=ROWS),
    "Centre.spread": on("centre", n=2, rng=rng),
    "ConvergenceCondition.check": on("condition"),
    "ConvergenceCondition.pi1": on("condition", k=0),
    "RegretBound.check": on("bound"),
    "RegretElsewhere.check": on("elsewhere"),
    "MinimaxRegret.check": on("minimax"),
    "VerificationProtocol": lambda: dict(game=GAME, hypothesis=R),
    "VerificationProtocol.tell": on("protocol", response=PI2, pi1=PI1),
    "affine_distance": lambda: dict(first=R, second=OTHER),
    "affine_halfspaces": lambda: dict(reward=R),
    "canonical_reward": lambda: dict(game=GAME, reward=R, by="STARC", policy=JOINT),
    "epic_distance": lambda: dict(game=GAME, first=R, second=WIDE, coverage=np.ones((2, 2, 2, 2))),
    "dard_distance": lambda: dict(game=GAME, first=R, second=WIDE, coverage=np.ones((2, 2, 2, 2))),
    "starc_distance": lambda: dict(game=GAME, first=R, second=WIDE, policy=JOINT),
    "reward_distances": lambda: dict(game=GAME, first=R, second=OTHER),
    "analytic_centre": lambda: dict(rows=ROWS),
    "certified": lambda: dict(feasible=made("feasible"), pi1=PI1, delta=0.1),
    "certify": lambda: dict(answer=made("report")),
    "convergence_condition": lambda: dict(game=GAME, truth=R),
    "ideal_environment": environment(),
    "identify": lambda: dict(feasible=made("feasible"), hypothesis=R),
    "identifiability": lambda: dict(game=GAME, commitments=[PI1]),
    "verify_soft_optimal": lambda: dict(hypothesis=R, known=made("soft")),
    "prove_inclusion": lambda: dict(feasible=made("feasible"), halfspaces=ROWS),
    "realise": lambda: dict(game=made("mazelike"), environment=made("strict")),
    "regret_bound": lambda: dict(feasible=made("feasible"), pi1=PI1),
    "still_matters": lambda: dict(feasible=made("feasible"), game=GAME, pi1=PI1),
    "minimax_regret": lambda: dict(feasible=made("feasible"), game=GAME, rounds=0),
    "regret_elsewhere": lambda: dict(feasible=made("feasible"), game=GAME, pi1=PI1),
    "satisfies_condition_b": lambda: dict(game=GAME),
    "strict_environment": environment(epsilon=0.1),
    "verify_affine": lambda: dict(
        hypothesis=[0, 1, 1, 2],
        environment=made("strict"),
        response=iirl.policy_iteration(made("strict").mdp, [0, 1, 1, 2]).policy,
    ),
    "worst_regret": lambda: dict(feasible=made("feasible"), pi1=PI1),
}

LEARNING = {
    **{f"{name}.choose": choose(choice) for name, choice in CHOICES.items()},
    "AnalyticCentre": dict,
    "ChebyshevCentre": dict,
    "HitAndRunMean": dict,
    "MaxMargin": dict,
    "MaximumEntropy": dict,
    "MeanOfVertices": dict,
    "RandomVertex": dict,
    "ActiveIRL": lambda: dict(game=GAME),
    "CommitteeIRL": lambda: dict(game=GAME, among=[PI1, PI1[::-1]]),
    "loss_elsewhere": lambda: dict(games=[GAME], truth=R, estimate=OTHER),
    "ActiveIRL.certified": on("active", delta=0.1),
    "ActiveIRL.regret": on("active"),
    "ActiveIRL.tell": on("active", response=PI2, pi1=PI1),
    "InteractiveIRL": lambda: dict(game=GAME),
    "ActiveIRL.recall": on("active", seen=lambda: made("observation"), memory={}),
    "BayesianInteractiveIRL.recall": on("bayesian", seen=lambda: made("trajectory"), memory={}),
    "recall": lambda: dict(learner=made("learner"), record=made("episode record"), best=1.0),
    "record_of": lambda: dict(episode=made("episode")),
    "InteractiveIRL.tell": on("learner", response=PI2, pi1=PI1),
    "FixedEnvironment": lambda: dict(learner=made("learner")),
    "FixedEnvironment.tell": on("fixed", response=PI2, pi1=PI1),
    "indistinguishable": lambda: dict(game=GAME, first=R, second=OTHER),
    "interact": lambda: dict(learner=made("learner"), truth=R, episodes=1),
    "one_answer": lambda: dict(game=GAME, reward=R),
    "best_value": lambda: dict(game=GAME, truth=R),
    "loss": lambda: dict(best=1.0, value=0.5),
    "regret": lambda: dict(game=GAME, truth=R, history=[made("observation")]),
}

BAYESIAN = {
    "BoltzmannFamily.follower": lambda: (iirl.bayesian.BoltzmannFamily(), dict(parameter=1.0)),
    "SoftOptimalFamily.follower": lambda: (iirl.bayesian.SoftOptimalFamily(), dict(parameter=1.0)),
    "SoftOptimalFamily.log_answer": lambda: (
        iirl.bayesian.SoftOptimalFamily(),
        dict(q=Q, parameter=1.0, tolerance=0.0),
    ),
    "BoltzmannFamily.log_answer": lambda: (
        iirl.bayesian.BoltzmannFamily(),
        dict(q=Q, parameter=1.0),
    ),
    "EpsilonGreedyFamily.follower": lambda: (
        iirl.bayesian.EpsilonGreedyFamily(),
        dict(parameter=0.2),
    ),
    "EpsilonGreedyFamily.log_answer": lambda: (
        iirl.bayesian.EpsilonGreedyFamily(),
        dict(q=Q, parameter=0.2),
    ),
    "BayesianInteractiveIRL": lambda: dict(game=GAME, proposals=20, thin=2, fast=False),
    "BayesianInteractiveIRL.tell": on("bayesian", response=lambda: made("trajectory"), pi1=PI1),
    "Chains.normalised": on("chains", how="min"),
    "Chains.pick": on("chains", rng=rng),
    "DirichletPrior": dict,
    "DirichletPrior.draw": lambda: (iirl.bayesian.DirichletPrior(), dict(n_states=2, rng=rng())),
    "DirichletPrior.log_density": lambda: (iirl.bayesian.DirichletPrior(), dict(reward=UNIT)),
    "DirichletPrior.shape": lambda: (iirl.bayesian.DirichletPrior(), dict(n_states=2)),
    "DirichletProposal": dict,
    "Evidence": lambda: dict(game=GAME),
    "Evidence.count": on("evidence", pi1=PI1, counts=np.ones((2, 2))),
    "Evidence.observe": on("evidence", seen=lambda: made("trajectory")),
    "Evidence.respond": on("evidence", pi1=PI1, response=PI2),
    "GammaPrior": lambda: dict(shape=1.0, rate=1.0),
    "GammaPrior.draw": lambda: (iirl.bayesian.GammaPrior(1.0, 1.0), dict(rng=rng())),
    "GammaPrior.log_density": lambda: (iirl.bayesian.GammaPrior(1.0, 1.0), dict(parameter=1.0)),
    "GammaProposal": dict,
    "Hamiltonian": dict,
    "Known": lambda: dict(value=1.0),
    "Known.draw": lambda: (iirl.bayesian.Known(1.0), dict(rng=rng())),
    "Known.log_density": lambda: (iirl.bayesian.Known(1.0), dict(parameter=1.0)),
    "Posterior": lambda: dict(evidence=made("evidence")),
    "Posterior.action_values": on("posterior", reward=UNIT),
    "Posterior.bank": on("posterior", reward=UNIT),
    "Posterior.gradient": on("posterior", reward=UNIT, beta=1.0),
    "Posterior.log_density": on("posterior", reward=UNIT, parameter=1.0),
    "Posterior.log_likelihood": on("posterior", reward=UNIT, parameter=1.0),
    "ReflectedStep": dict,
    "SimplexWalk": dict,
    "SimplexWalk.snap": lambda: (iirl.bayesian.SimplexWalk(), dict(reward=UNIT)),
    "UniformPrior": dict,
    "UniformPrior.draw": lambda: (iirl.bayesian.UniformPrior(), dict(rng=rng())),
    "UniformPrior.log_density": lambda: (iirl.bayesian.UniformPrior(), dict(parameter=0.5)),
    "exponential_prior": dict,
    "sample": lambda: dict(
        posterior=made("posterior"), proposals=4, chains=1, fast=False, initial=[(UNIT, 1.0)]
    ),
    "PosteriorSampler": lambda: dict(
        posterior=made("posterior"), proposals=4, chains=1, fast=False
    ),
    "PosteriorSampler.take_up": lambda: (sampler(), dict(record=made("drawn"))),
    "sampling": lambda: dict(posterior=made("posterior"), proposals=4, chains=1, fast=False),
}

SOLVERS = {
    "HiGHS": dict,
    "Clarabel": dict,
    "Named": lambda: dict(name="SCIPY"),
    "LiveProgram": lambda: dict(
        objective=[1.0, 2.0], matrix=np.eye(2), row_lower=[1.0, 1.0], row_upper=[np.inf, 2.0]
    ),
    "LiveProgram.add_columns": live(objective=[1.0], matrix=[[1.0], [0.0]]),
    "LiveProgram.advance": live(),
    "LiveProgram.add_rows": live(matrix=[[1.0, 1.0]], row_lower=[0.0], row_upper=[9.0]),
    "LiveProgram.change_objective": live(objective=[1.0, 2.0]),
    "LiveProgram.change_rows": live(row_lower=[0.0, 0.0], row_upper=[3.0, 3.0]),
    "LiveProgram.of": lambda: (iirl.solver.LiveProgram, dict(problem=small_program())),
    "LiveProgram.remove_columns": live(which=[0]),
    "LiveProgram.set": lambda: (iirl.solver.LiveProgram.of(parametric_program()), dict(limit=2.0)),
    "LiveProgram.solve": live(),
    "LiveProgram.start_from": live(basic={"x": True, "rows": False}),
    "solve": lambda: dict(problem=small_program()),
    "explain": lambda: dict(problem=contradictory_program()),
    "linear_rows": lambda: rows_of(small_program()),
    "write_program": lambda: dict(problem=small_program(), path=made("folder") / "new.mps"),
}

PROOFS = {
    "SparseRows.fits": lambda: (certificate.SparseRows.of(ROWS, 2), dict(n_rows=2, width=2)),
    "SparseRows.of": lambda: (certificate.SparseRows.of(ROWS, 2), dict(rows=ROWS, width=2)),
    "SparseRows.row": lambda: (certificate.SparseRows.of(ROWS, 2), dict(index=0)),
    "Instance.of": lambda: (certificate.Instance.of(GAME), dict(game=GAME)),
    "Certificate.save": on("proof", path=lambda: made("folder") / "new.json"),
    "Certificate.from_json": on("proof", text=lambda: made("proof").to_json()),
    "class_halfspaces": lambda: dict(reward=R),
    "angle_bound": lambda: dict(
        environment=made("strict").mdp,
        reward=[0, 1, 1, 2],
    ),
    "cone_halfspaces": lambda: dict(reward=R, tan="1/10"),
    "inclusion": lambda: dict(game=GAME, observations=[made("observation")], halfspaces=[[-1, 1]]),
    "class_inclusion": lambda: dict(game=GAME, observations=[made("observation")], reward=[0, 1]),
    "optimality": lambda: dict(game=GAME, reward=R, policy=best_joint()),
    "infeasibility": lambda: dict(game=GAME, side=made("side")),
    "commitment_bound": lambda: dict(problem=made("problem"), gap=1e-6),
    "Side": lambda: dict(rows=np.ones((1, 8)), bounds=[0.0], prices=[1.0]),
    "policy_improvement": lambda: dict(game=GAME, reward=R, old=JOINT, new=best_joint()),
    "read_certificate": lambda: dict(source=made("folder") / "proof.json"),
    "violation": lambda: dict(
        game=GAME, observation=made("observation"), reward=OTHER, state=0, action=0
    ),
    "witness": lambda: dict(
        game=GAME, observations=[made("observation")], reward=R, halfspace=[1.0, -1.0]
    ),
}

TESTING = {
    "assert_certificate": lambda: dict(certificate=made("proof")),
    "assert_kkt": lambda: dict(problem=solved_program()),
    "assert_policy": lambda: dict(policy=PI1, where=GAME),
    "followers": dict,
    "save_counterexample": lambda: dict(
        path=made("folder") / "counterexample.toml", game=GAME, reward=R, pi1=PI1, pi2=PI2
    ),
    "games": dict,
    "mdps": dict,
    "observations": lambda: dict(game=GAME),
    "planted_ties": dict,
    "policies": lambda: dict(game=GAME),
    "rewards": lambda: dict(game=GAME),
    "trajectories": lambda: dict(game=GAME),
    "Claim": lambda: dict(
        name="n", place="p", statement="s", instances=lambda: None, predicate=lambda at: True
    ),
    "Claim.decide": lambda: (CLAIM, dict(instance=1)),
    "read_claims": lambda: dict(path=made("folder") / "claims.py"),
    "untried": lambda: dict(evidence="none"),
    "describe": lambda: dict(instance=GAME),
    "boundary_rewards": lambda: dict(rows=ROWS, inside=[1.0, 0.4]),
    "tied_rewards": lambda: dict(game=GAME),
    "run_claims": lambda: dict(claims=[], examples=1),
    "FactTable": lambda: dict(rows=[{"a": 1}], caption="c"),
    "FactTable.column": on("table", name="a"),
    "FactTable.to_frame": on("table", backend="polars"),
    "FactTable.to_csv": on("table", path=lambda: made("folder") / "w.csv"),
    "FactTable.to_latex": on("table", path=lambda: made("folder") / "w.tex"),
    "tabulate": lambda: dict(records=[made("report")], caption="c"),
    "Doorkeeper": lambda: dict(maze=iirl.play.PrizeMaze(), seed=1, feasible=None, left=["AB"]),
    "Doorkeeper.tell": lambda: (
        iirl.play.Doorkeeper(),
        dict(response=iirl.play.Session().trajectory(), pi1=iirl.play.Session().doors),
    ),
    "PrizeMaze.exits": lambda: (iirl.play.PrizeMaze(), dict(pi1=iirl.play.Session().doors)),
    "PrizeMaze.reach": lambda: (iirl.play.PrizeMaze(), dict(pi1=iirl.play.Session().doors)),
    "PrizeMaze.reward": lambda: (iirl.play.PrizeMaze(), dict(ranking="AB")),
    "Session": lambda: dict(learner=iirl.play.Doorkeeper(), walk=()),
    "Session.move": lambda: (iirl.play.Session(), dict(direction="N")),
    "walk_for": lambda: dict(
        session=iirl.play.Session(), reward=iirl.play.PrizeMaze().reward("AB")
    ),
}

# What is public, but takes nothing from a user: by the pattern of its name, and why.
NOT_WALKED = {
    r"(Ball|Centre|Chains|Commitment|Conflict(ingRow)?|Dominance|Environment|Episode|FiniteHorizon|Identification|Information|"
    r"MinimaxRegret|Misspecified|Observation|OccupancySolution|Optimum|Outcome|Pruned|RegretBound|Reply|Search|"
    r"RegretElsewhere|StillMatters|"
    r"RewardSolution|Solved|Trajectory|ValueBounds|VerificationReport|ViolatedRow|WorstRegret|"
    r"\w+Solution|Approximation|Improvement|StartGradient|Chosen|CommunicatingClass|ConvergenceCondition|"
    r"Counterpart|DecPOMDP|FileKind(\.\w+)?|Diagnostics|DistinctRows|GymnasiumGame|ImportedGame|Outcomes|"
    r"PlantedTies|Identifiability|SoftAnswer(\.\w+)?|SoftFit|SoftOptimum|SoftReport|"
    r"Assessment|Evaluated|ExactOptimum|HalfspaceInclusion|Indifference|Lifted|OneAnswer|Ridge|"
    r"ChoiceRow|MostCompatible|ObservedRow|Preference|RestrictedRow|StateRow|"
    r"Distinction|Gaps|GridGame|LinearRows|Residuals|Result|Check|Match)": (
        "a record: the library makes it, its constructor stores what it is given"
    ),
    r"(AngleBound|ClassInclusion|CommitmentBound|Inclusion|Infeasibility|Instance|Optimality|"
    r"PolicyImprovement|RewardRank|SparseRows|Violation|Witness)": (
        "the data of a certificate: whatever they are, `check` says whether they prove the claim"
    ),
    r"\w+\.(shares|matches|combined|paid|proved|halfspaces|missed|exact|read|entries|times|transposed|"
    r"chain|flow|follower|leave|over_choices|taken|residuals|exact_rows|same_rows|leads_to|code|"
    r"log_planned)": (
        "of the makers and the checker of proofs, or of the engine of chains; not for users"
    ),
    r"(Finding|ModelAnswer|ModelProblem|UserRow)(\.\w+)?": "a record of a file, or of its answer",
    r"(\w*Question|\w*Run)(\.\w+)?": "the base of families of model files, and of their runs",
    r"Split|(Doors|Setting|StartChoice|TableChoice)\.rewrite": "outcomes are the reader's own",
    r"check_(solver|reward_domain|reward_choice)": "a suite, whose arguments its own tests try",
    r"ContradictionWarning": "a warning",
    r"(from_stormpy|read_prism)": "needs stormpy, which is not installed everywhere: tests/formats",
    r"check_(family|follower|learner)": (
        "a suite of many calls: what it refuses stands in tests/testing/test_conformance.py"
    ),
}

QUANTITIES = {"value": 1.0, "state_price[s2]": 1.0, "total": 2.0}
FILES = {
    "answer": lambda: dict(problem=made("model"), seed=1),
    "check": lambda: dict(
        expect=made("model").expect,
        quantities=QUANTITIES,
        path=Path("file"),
    ),
    "find_model": lambda: dict(name="two-rooms"),
    "learn": lambda: dict(problem=made("learning model")),
    "make_learner": lambda: dict(name="algorithm-1", game=GAME, seed=0, first=PI1, joint=False),
    "make_model": lambda: dict(
        game=GAME,
        reward=R,
        question={"family": "commitment"},
        observations=(),
        trajectories=(),
        follower=iirl.OptimalFollower(),
        follower_reward=OTHER,
        rows=[library.UserRow("row", "measure", R, 0.0, 1.0)],
        prior=None,
        expect={"value": 1.0},
        title="t",
        source="s",
    ),
    "make_question": lambda: dict(game=GAME, family="commitment"),
    "match": lambda: dict(certificate=made("proof"), problem=made("model")),
    "program": lambda: dict(problem=made("model")),
    "read_model": lambda: dict(
        name=made("folder") / "game.npz", discount="1/2", game_seed=1, constants={}, reward=None
    ),
    "verify": lambda: dict(problem=iirl.read_model("ideal-5")),
    "DecPOMDP.reward": on("imported", name="r"),
    "write_model": lambda: dict(
        problem=made("model"), path=made("folder") / "written.toml", comment="c"
    ),
    "DecPOMDP.file_values": on("decpomdp", values=np.zeros(3)),
    "DecPOMDP.of": lambda: (made("imported"), dict(problem=GAME)),
    "read_file": lambda: dict(path=made("folder") / "game.npz", discount=0.5),
    "read_npz": lambda: dict(path=made("folder") / "game.npz", discount=0.5),
    "write_file": lambda: dict(problem=made("imported"), path=made("folder") / "w.npz"),
    "write_npz": lambda: dict(problem=made("imported"), path=made("folder") / "w.npz"),
    "Doors": lambda: dict(doors={"gate": (0, 1)}, reward=0, at_once=1),
    "Setting": lambda: dict(argument="is_slippery"),
    "StartChoice": lambda: dict(states=[0]),
    "TableChoice": lambda: dict(environments={}),
    "from_gymnasium": lambda: dict(env=made("environment"), discount="1/2"),
    "to_gymnasium": lambda: dict(game=GAME, reward=R, leader=PI1),
    "read_pomdp": lambda: dict(path=made("folder") / "game.pomdp", discount=0.5, agent="leader"),
    "write_dpomdp": lambda: dict(
        problem=made("imported"), path=made("folder") / "w.dpomdp", reward="r", rounded=True
    ),
    "write_pomdp": lambda: dict(
        problem=made("one agent"), path=made("folder") / "w.pomdp", reward="r", rounded=True
    ),
    "counterpart": lambda: dict(
        problem=made("imported"), text='R{"r"}max=? [ Cdiscount=0.5 ]', discount=0.5
    ),
    "Counterpart.answer": lambda: (made("asked"), dict(value=0.5)),
    "read_drn": lambda: dict(path=made("folder") / "game.drn", discount=0.5, **choices()),
    "read_explicit": lambda: dict(path=made("folder") / "game.tra", discount=0.5, **choices()),
    "write_drn": lambda: dict(problem=made("imported"), path=made("folder") / "w.drn"),
    "write_explicit": lambda: dict(
        problem=made("imported"), path=made("folder") / "w.tra", decimals=True
    ),
    "read_dpomdp": lambda: dict(path=MODELS / "learning" / "bridge.dpomdp", discount=0.5),
    "from_arrays": lambda: dict(
        kernel=np.eye(2)[None],
        discount=0.5,
        rewards={"r": R},
        axes="action state next",
        reward_axes="state",
        start=UNIT,
        states=["s", "t"],
        leader_actions=["a"],
        follower_actions=["b"],
        available=np.ones((2, 1), dtype=bool),
    ),
    "from_quantecon": lambda: dict(
        ddp=iirl.formats.to_quantecon(GAME, R),
        discount=0.5,
        start=UNIT,
        states=["s", "t"],
        leader_actions=["a", "b"],
        follower_actions=["c", "d"],
    ),
    "to_quantecon": lambda: dict(problem=GAME, reward=R),
    "from_frame": lambda: dict(
        frame=iirl.formats.to_frame(made("imported")),
        discount=0.5,
        start=UNIT,
        states=[0, 1],
        leader_actions=[0, 1],
        follower_actions=[0, 1],
    ),
    "to_frame": lambda: dict(problem=made("imported")),
    "read_table": lambda: dict(path=made("folder") / "game.csv", discount=0.5),
    "read_node_link": lambda: dict(path=made("folder") / "game.json", discount=0.5),
    "write_node_link": lambda: dict(problem=made("imported"), path=made("folder") / "w.json"),
    "write_table": lambda: dict(problem=made("imported"), path=made("folder") / "w.csv"),
}

PICTURES = {
    "animate_maze": lambda: dict(
        maze=made("grid"), episodes=made("walk"), path=made("folder") / "new.gif", width=100
    ),
    "legend_below": lambda: dict(axes=iirl.plot.panels(1)),
    "panels": lambda: dict(n=2, size=(1.0, 1.0)),
    "plot_chains": lambda: dict(chains=made("chains"), states=["hall", "yard"], truth=(R, 1.0)),
    "plot_commitment": lambda: dict(commitment=iirl.commit(GAME, R)),
    "plot_curves": lambda: dict(series={"a": ([2.0, 1.0], [1.0, 0.5], [3.0, 2.0])}, x=[1.0, 2.0]),
    "plot_dominance": lambda: dict(found=iirl.dominance(made("problem")), states=["hall", "yard"]),
    "plot_feasible": lambda: dict(
        feasible=made("three"), truth=[0.0, 1.0, 0.5], estimate=[0.0, 0.5, 1.0]
    ),
    "plot_game": lambda: dict(game=GAME, reward=R),
    "plot_maze": lambda: dict(
        maze=made("grid"), leader=iirl.uniform_policy(8, 6), follower=iirl.uniform_policy(8, 4)
    ),
    "plot_regret": lambda: dict(regrets=[2.0, 1.0]),
    "plot_rewards": lambda: dict(maze=made("grid"), rewards=np.arange(8.0), truth=np.arange(8.0)),
    "save": lambda: dict(axes=iirl.plot.panels(1, (1.0, 1.0))[0], path=made("folder") / "a.png"),
}

CALLS = FILES | GAMES | SEEN | PLANNING | REWARDS | LEARNING | BAYESIAN | SOLVERS | PROOFS | TESTING
CALLS |= PICTURES
