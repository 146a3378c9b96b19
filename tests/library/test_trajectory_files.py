"""Model files with trajectories, unknown parameters and priors: what they mean, what is refused."""

from pathlib import Path

import numpy as np
import pytest

from iirl_opt.bayesian.chains import Chains
from iirl_opt.bayesian.families import BoltzmannFamily, EpsilonGreedyFamily
from iirl_opt.bayesian.priors import (
    DirichletPrior,
    GammaPrior,
    Known,
    UniformPrior,
    exponential_prior,
)
from iirl_opt.bayesian.proposals import DirichletProposal, Hamiltonian, SimplexWalk
from iirl_opt.bayesian.sampler import sample
from iirl_opt.bayesian.summary import PosteriorSummary
from iirl_opt.errors import FileProblem
from iirl_opt.library import answer, read_model
from iirl_opt.library.families.bayesian import Settings

WHOLE = """
version = 1
title = "t"
source = "s"

[game]
discount = 0.5
states = ["a", "b"]
leader_actions = ["x", "y"]
follower_actions = ["go", "stay"]
start = { a = 1 }
transitions = [
  { from = "a", follower = "go", to = { b = 1 } },
  { from = "a", follower = "stay", to = { a = 1 } },
  { from = "b", to = { a = "1/2", b = "1/2" } },
]

[reward]
values = { b = 1 }

[follower]
model = "boltzmann"
beta = "unknown"

[[trajectory]]
leader = { "*" = "x" }
steps = [["a", "x", "stay"], ["a", "x", "go"], ["b", "x", "go"]]

[[trajectory]]
leader = { a = { x = "1/2", y = "1/2" }, b = "y" }
steps = [["a", "y", "go"], ["b", "y", "stay"]]

[question]
family = "bayesian"
proposals = 40
chains = 2
"""
SEEN = WHOLE[WHOLE.index("[[trajectory]]") : WHOLE.index("[question]")]


def settings(folder: Path, *changes: tuple[str, str], **given: int) -> Settings:
    text = WHOLE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "model.toml"
    path.write_text(text, encoding="utf-8")
    return Settings(read_model(path), **given)


def test_trajectories_are_counted_under_their_commitments(tmp_path: Path) -> None:
    evidence = settings(tmp_path).posterior.evidence
    assert evidence.episodes == 2
    np.testing.assert_array_equal(evidence.commitments, [[[1, 0], [1, 0]], [[0.5, 0.5], [0, 1]]])
    np.testing.assert_array_equal(evidence.counts, [[[1, 1], [1, 0]], [[1, 0], [0, 1]]])


def test_labels_that_are_numbers_are_matched_by_their_text(tmp_path: Path) -> None:
    game = WHOLE[WHOLE.index("[game]") : WHOLE.index("[reward]")]
    generator = """[game.generator]
name = "random_game"
states = 3
leader_actions = 2
follower_actions = 2
seed = 1
"""
    steps = SEEN[SEEN.index("[[trajectory]]") :]
    other = '[[trajectory]]\nleader = { "*" = "0" }\nsteps = [["0", "0", "1"], ["2", "0", "0"]]\n'
    seen = settings(tmp_path, (game, generator), (steps, other), ("b = 1 }\n", '"1" = 1 }\n'))
    [trajectory] = seen.problem.trajectories
    np.testing.assert_array_equal(trajectory.states, [0, 2])
    np.testing.assert_array_equal(trajectory.follower_actions, [1, 0])


def test_a_whole_response_counts_as_its_weight(tmp_path: Path) -> None:
    response = (
        '[[observation]]\nleader = { "*" = "y" }\nfollower = { a = { go = 1 }, b = "stay" }\n'
    )
    seen = settings(
        tmp_path, (SEEN, response), ("proposals = 40", "proposals = 40\nweight = 2.5")
    ).posterior.evidence
    np.testing.assert_array_equal(seen.counts, [[[2.5, 0], [0, 2.5]]])


def test_what_is_believed_of_a_parameter(tmp_path: Path) -> None:
    def believed(follower: str, prior: str = "") -> object:
        changes = [('model = "boltzmann"\nbeta = "unknown"', follower)]
        return settings(tmp_path, *changes, ("[question]", f"{prior}\n[question]"))

    unknown = 'model = "boltzmann"\nbeta = "unknown"'
    five = 'model = "boltzmann"\nbeta = 5'
    exponential = '[prior]\nparameter = { name = "exponential", mean = 20 }'
    gamma = '[prior]\nparameter = { name = "gamma", shape = 2, rate = 3 }'
    assert believed(five).parameter_prior == Known(5.0)
    assert believed(five, exponential).parameter_prior == exponential_prior(20.0)
    assert believed(unknown, gamma).parameter_prior == GammaPrior(2.0, 3.0)
    assert believed(unknown).posterior.belief == exponential_prior(500.0)
    careless = believed('model = "epsilon-greedy"\nepsilon = "unknown"')
    assert careless.posterior.belief == UniformPrior()
    assert isinstance(careless.family, EpsilonGreedyFamily)
    assert isinstance(believed(five).family, BoltzmannFamily)
    narrow = '[prior]\nparameter = { name = "uniform", high = 0.25 }'
    few = believed('model = "epsilon-greedy"\nepsilon = "unknown"', narrow)
    assert few.posterior.belief == UniformPrior(0.0, 0.25)


def test_the_prior_of_the_reward_is_one_number_or_one_a_state(tmp_path: Path) -> None:
    for written, shape in (("3", [3, 3]), ('{ b = "5/2" }', [1, 2.5])):
        prior = settings(tmp_path, ("[question]", f"[prior]\nreward = {written}\n[question]"))
        assert isinstance(prior.reward_prior, DirichletPrior)
        np.testing.assert_array_equal(prior.reward_prior.shape(2), shape)


@pytest.mark.parametrize(
    ("table", "move"),
    [
        ('{ name = "walk", moves = 7, grid = 50 }', SimplexWalk(7, 50)),
        ('{ name = "dirichlet", concentration = 20 }', DirichletProposal(20.0)),
        ('{ name = "hamiltonian", leaps = 4 }', Hamiltonian(4)),
    ],
)
def test_samplers_by_name(tmp_path: Path, table: str, move: object) -> None:
    changed = ("proposals = 40", f"proposals = 40\nsampler = {table}")
    assert settings(tmp_path, changed).move == move


def test_large_games_get_the_walk_unless_the_prior_forbids_it_small_ones_do_not(
    tmp_path: Path,
) -> None:
    game = WHOLE[WHOLE.index("[game]") : WHOLE.index("[reward]")]
    large = '[game.generator]\nname = "random_game"\nstates = 21\nleader_actions = 2\n'
    large += "follower_actions = 2\nseed = 1\n"
    steps = '[[trajectory]]\nleader = { "*" = "0" }\nsteps = [["0", "0", "1"]]\n'
    changes = (game, large), (SEEN, steps), ("{ b = 1 }", '{ "1" = 1 }')
    assert settings(tmp_path, *changes).move == SimplexWalk()
    sparse = settings(tmp_path, *changes, ("[question]", "[prior]\nreward = 0.5\n[question]"))
    assert sparse.move == DirichletProposal(210.0, acceptance=0.3)
    assert settings(tmp_path).move == DirichletProposal(20.0, acceptance=0.3)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('["b", "x", "go"]]', '["b", "x", "jump"]]', "trajectory[0].steps[2]: no follower action"),
        ('["b", "x", "go"]]', '["c", "x", "go"]]', "trajectory[0].steps[2]: no state is called"),
        ('["b", "x", "go"]]', '["b", "x"]]', "trajectory[0].steps[2]: is ['b', 'x']; allowed ["),
        ('["b", "x", "go"]]', '["b", "x", 3]]', "trajectory[0].steps[2][2]: Expected `str`"),
        ('["a", "x", "stay"]', '["a", "y", "stay"]', "trajectory[0]: steps[0] has the leader"),
        ('["a", "x", "stay"], ', '["b", "x", "go"], ["b", "x", "go"], ["a", "x", "go"], ', "never"),
        ('steps = [["a", "y"', 'stesp = [["a", "y"', "did you mean 'steps'"),
        (SEEN, "", "question.episodes: is missing; or give [[trajectory]]"),
        (
            'steps = [["a", "y", "go"], ["b", "y", "stay"]]',
            "steps = []",
            "trajectory[1]: steps are",
        ),
        ('leader = { "*" = "x" }', 'leader = { "*" = "z" }', "trajectory[0].leader: no action"),
        ('beta = "unknown"', 'beta = "unkown"', "follower.beta"),
        ('beta = "unknown"', "beta = -1", "beta is -1"),
        ('"boltzmann"\nbeta = "unknown"', '"optimal"', "follower.model: allowed 'boltzmann' or"),
        ("proposals = 40", "proposals = 0", "question.proposals: is 0; allowed ≥ 1"),
        ("proposals = 40", "thin = 0", "question.thin: is 0"),
        ("proposals = 40", "seed = -1", "question.seed: is -1; allowed ≥ 0"),
        ("proposals = 40", "level = 1.0", "question.level: is 1.0; allowed 0 < level < 1"),
        ("chains = 2", "chains = 0", "question.chains: is 0"),
        ("proposals = 40", 'normalise = "max"', "question.normalise"),
        (
            "proposals = 40",
            'sampler = { name = "walk", moves = 0 }',
            "question.sampler: moves is 0",
        ),
        ("proposals = 40", 'sampler = { name = "gibbs" }', "question.sampler"),
        ("proposals = 40", "episodes = 0", "question.episodes: is 0; allowed ≥ 1"),
        ("proposals = 40", "episodes = 3", "trajectory: has no meaning beside episodes"),
        ("[question]", "[prior]\nreward = -1\n[question]", "prior.reward: concentration is"),
        ("[question]", "[prior]\nreward = { c = 1 }\n[question]", "prior.reward.c: no state"),
        (
            "[question]",
            '[prior]\nparameter = { name = "gamma", shape = 1, rate = 0 }\n[question]',
            "prior.parameter: rate is 0",
        ),
        (
            "[question]",
            '[prior]\nparameter = { name = "uniform", low = -1 }\n[question]',
            "prior.parameter: low, high are -1.0, 1.0; allowed ≥ 0",
        ),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, old: str, new: str, place: str) -> None:
    with pytest.raises(FileProblem) as caught:
        answer(settings(tmp_path, (old, new)).problem)
    assert place in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "model.toml"))


def test_episodes_need_somebody_to_answer(tmp_path: Path) -> None:
    play = (SEEN, ""), ("proposals = 40", "proposals = 40\nepisodes = 2")
    with pytest.raises(FileProblem, match=r"follower\.beta: is 'unknown', so nobody can answer"):
        settings(tmp_path, *play)
    known = ('"unknown"', "4")
    with pytest.raises(FileProblem, match="reward: is missing"):
        settings(tmp_path, *play, known, ("[reward]\nvalues = { b = 1 }\n", ""))
    assert settings(tmp_path, *play, known).total == 2
    joint = ("values = { b = 1 }", 'choices = [{ follower = "go", value = 1 }]')
    with pytest.raises(FileProblem, match=r"reward\.choices: allowed a reward by state"):
        settings(tmp_path, *play, known, joint)
    with pytest.raises(FileProblem, match="has no meaning beside episodes"):
        settings(tmp_path, known, episodes=2)


def test_an_observation_that_leaves_out_the_answer_of_an_unknown_follower(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match=r"follower\.beta: is 'unknown'"):
        settings(tmp_path, (SEEN, '[[observation]]\nleader = { "*" = "y" }\n'))
    mask = '[[observation]]\nleader = { "*" = "y" }\noptimal = { "*" = ["go"] }\n'
    with pytest.raises(FileProblem, match=r"observation\[0\]: response is a mask"):
        _ = settings(tmp_path, (SEEN, mask)).posterior


def test_another_family_refuses_what_only_the_posterior_uses(tmp_path: Path) -> None:
    learning = ('family = "bayesian"\nproposals = 40\nchains = 2', 'family = "learning"')
    known = ('"unknown"', "4")
    with pytest.raises(FileProblem, match="trajectory: has a meaning for the family bayesian"):
        settings(tmp_path, learning, known)
    with pytest.raises(FileProblem, match="prior: has a meaning for the family bayesian"):
        settings(tmp_path, learning, known, (SEEN, "[prior]\nreward = 2\n"))
    with pytest.raises(FileProblem, match="allowed a number, but in the family bayesian"):
        settings(tmp_path, learning, (SEEN, ""))
    with pytest.raises(FileProblem, match=r"question\.family: is not bayesian"):
        settings(tmp_path, learning, known, (SEEN, ""))


def test_the_answer_is_what_the_library_samples(tmp_path: Path) -> None:
    pytest.importorskip("arviz")
    prior = '[prior]\nparameter = { name = "exponential", mean = 5 }\n[question]'
    long = ("proposals = 40", "proposals = 3000\nthin = 3")
    own = settings(tmp_path, long, ("[question]", prior), seed=4)
    told = answer(own.problem, seed=4)
    found, evidence = told.quantities, told.evidence
    chains = sample(
        own.posterior,
        3000,
        move=DirichletProposal(20.0, acceptance=0.3),
        chains=2,
        thin=3,
        warmup=750,
        rng=4,
    )
    assert found["draws"] == 2000
    assert found["beta"] == pytest.approx(chains.mean_parameter, rel=1e-12)
    np.testing.assert_allclose(
        [found["reward[a]"], found["reward[b]"]], chains.mean_reward, rtol=1e-12
    )
    assert found["reward_low[a]"] == pytest.approx(np.quantile(chains.rewards[..., 0], 0.05))
    assert found["beta_high"] == pytest.approx(np.quantile(chains.parameters, 0.95))
    assert evidence["diagnostics"]["r_hat"] == pytest.approx(chains.diagnostics.r_hat)


def summary(rewards: np.ndarray, parameters: np.ndarray, **how: object) -> PosteriorSummary:
    facts = {"acceptance": np.full(len(parameters), 0.5), "thin": 1, "seconds": 0.0}
    scales = bool(how.pop("scales", True))
    chains = Chains(
        rewards, parameters, parameters.copy(), parameter="beta", scales=scales, **facts
    )
    normalise = how.get("normalise")
    shown = chains if normalise is None else chains.normalised(normalise)
    return PosteriorSummary(chains, shown, 0.9, normalise, ("a", "b"))


def drawn(shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    first = rng.uniform(0.55, 0.75, (2, 500)) + np.array([[0.0], [shift]])
    return np.stack([1 - first, first], axis=-1), rng.uniform(5, 6, (2, 500))


def test_chains_that_disagree_give_no_quantity_of_the_posterior() -> None:
    pytest.importorskip("arviz")
    apart = summary(*drawn(shift=0.2))
    assert apart.converged is False
    assert apart.quantities["converged"] == 0
    assert apart.quantities["r_hat"] > 1.05
    assert not {"beta", "reward[a]"} & set(apart.quantities)
    assert "NOT CONVERGED, so no verdict: R-hat is" in apart.warning
    together = summary(*drawn())
    assert together.converged
    assert together.warning is None
    assert together.quantities["beta"] == pytest.approx(5.5, abs=0.05)


def test_the_ridge_is_said_unless_it_is_taken_out_or_there_is_none() -> None:
    rewards, parameters = drawn()
    assert "up to a ridge" in summary(rewards, parameters).ridge
    assert "up to a constant only" in summary(rewards, parameters, scales=False).ridge
    moved = summary(rewards, parameters, normalise="min")
    assert moved.ridge == "each draw is moved along its ridge, normalise = 'min'"
    assert moved.reward["a"].mean == 0
    assert moved.parameter.mean == pytest.approx(
        float((parameters * (1 - 2 * rewards.min(axis=-1))).mean())
    )
    edge = rewards.copy()
    edge[..., 0], edge[..., 1] = 0.0, 1.0
    assert summary(edge, parameters).ridge is None
