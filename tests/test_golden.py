"""Golden files: what was written once is read ever after, and says what it said.

The files, and how each was written, are told in ``golden/README.md``. None is ever rewritten.
"""

import hashlib
import importlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt import recheck
from iirl_opt.certificate.record import HOMES
from iirl_opt.claims import PAPER
from iirl_opt.cli.app import run
from iirl_opt.errors import FileProblem
from iirl_opt.experiments.learning import summarise_regrets
from iirl_opt.experiments.sweep import Cell, run_cells
from iirl_opt.library import read_model

GOLDEN = Path(__file__).parent / "golden"
SUMS = GOLDEN / "SHA256SUMS"
CERTIFICATES = sorted(GOLDEN.glob("**/certificates/*.json"))


def document(*place):
    """Return a golden JSON document."""
    return json.loads(GOLDEN.joinpath(*place).read_text(encoding="utf-8"))


def command(capsys, *arguments):
    """Return what a command prints with ``--json`` now."""
    assert run([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_no_golden_file_was_changed_and_none_stands_unnamed():
    named = dict(line.split("  ")[::-1] for line in SUMS.read_text().splitlines())
    files = [path for path in GOLDEN.rglob("*.*") if path.is_file() and path != SUMS]
    inner = {path: path.relative_to(GOLDEN) for path in files}
    there = {
        str(name): path
        for path, name in inner.items()
        if not any(part.startswith((".", "__")) for part in name.parts)
    }
    there.pop("README.md", None)
    assert there.keys() == named.keys()
    for name, path in there.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == named[name], name


# Certificates


@pytest.mark.parametrize("path", CERTIFICATES, ids=lambda path: path.stem)
def test_a_golden_certificate_still_proves_its_claim_to_both_checkers(path):
    text = path.read_text(encoding="utf-8")
    certificate = iirl.read_certificate(path)
    body = json.loads(text)
    assert (certificate.kind, certificate.claim) == (body["kind"], body["claim"])
    assert certificate.check().reasons == ()
    assert recheck.check(text) == body["claim"]


def test_what_a_golden_certificate_holds_is_written_again_alike():
    for path in CERTIFICATES:
        again = json.loads(iirl.read_certificate(path).to_json())
        assert again == json.loads(path.read_text(encoding="utf-8")), path.name


def test_every_kind_of_certificate_has_a_golden_file():
    ours = set(HOMES)
    assert ours == {json.loads(path.read_text(encoding="utf-8"))["kind"] for path in CERTIFICATES}
    assert ours == recheck.KINDS.keys()


# Games


def the_rational_game():
    """Return a game whose weights need more than 64 bits, with labels of three types."""
    weights = np.zeros((3, 2, 2, 3), dtype=object)
    for i, (s, a, b) in enumerate(np.ndindex(3, 2, 2)):
        weights[s, a, b, (s + a) % 3] = 2**70 + i
        weights[s, a, b, (s + b) % 3] += 3 + i
    return iirl.TwoAgentMDP(
        weights,
        "999999999/1000000000",
        [1, 0, 2],
        states=["start", ("hall", 2), 3],
        leader_actions=["open", "shut"],
        follower_actions=["go", "stay"],
    )


def the_float_game():
    """Return a game of floats whose rows do not sum to exactly one."""
    kernel = np.zeros((4, 2, 3, 4))
    for s, a, b in np.ndindex(4, 2, 3):
        kernel[s, a, b] = [0.1 * (1 + s), 0.05 * (1 + a), 0.07 * (1 + b), 0]
        kernel[s, a, b, 3] = 1 - kernel[s, a, b].sum()
    return iirl.TwoAgentMDP(kernel, 0.95, [0.25, 0.25, 0.5, 0])


GAMES = {
    "rational": (
        the_rational_game,
        "d40663020b9bf9b6ced6c7b5abb024b7b961659d7ff14b2fbd8218baeeaa47e6",
    ),
    "float": (the_float_game, "9a369730ae4bb932305ec7c6386bcc25911206754c02dec5b673b4cd1dc40f88"),
    "grid": (
        lambda: iirl.game.introductory_game().game,
        "59152850375f7a962773056949cdb28be59e56b5a1c7547401b672e9cdb698ed",
    ),
}


@pytest.mark.parametrize("name", GAMES)
def test_a_golden_game_is_the_one_that_is_made_anew(name):
    make, fingerprint = GAMES[name]
    stored, made = iirl.load_game(GOLDEN / "games" / f"{name}.npz"), make()
    assert stored.fingerprint == made.fingerprint == fingerprint
    assert stored == made
    assert stored.is_rational == made.is_rational == (name != "float")
    assert stored.exact_discount == made.exact_discount
    for one in ("kernel", "start"):
        assert np.asarray(getattr(stored, one)).tobytes() == getattr(made, one).tobytes()
    for one in ("states", "leader_actions", "follower_actions"):
        assert list(getattr(stored, one)) == list(getattr(made, one))


def test_every_golden_game_is_read():
    assert {path.stem for path in (GOLDEN / "games").iterdir()} == set(GAMES)


# Checkpoints


@pytest.mark.parametrize("kept", [2, 4])
def test_a_golden_checkpoint_is_gone_on_from(tmp_path, monkeypatch, kept):
    """What is left of it comes out as it did, whatever versions it was written with."""
    source = (GOLDEN / "sweep" / "compare.jsonl").read_bytes().splitlines(keepends=True)
    head, *records = map(json.loads, source)
    module, _, function = head.pop("compute").rpartition(".")
    compute = getattr(importlib.import_module(module), function)
    assert head.pop("format") == 1
    cells = [Cell(**record["cell"]) for record in records]
    path = tmp_path / "compare.jsonl"
    path.write_bytes(b"".join(source[: 1 + kept]) + b'{"cell": {"fi')
    monkeypatch.chdir(GOLDEN / "models")  # where it was written
    results = run_cells(cells, compute, checkpoint=path, about=head, resume=True)
    assert [result.cell for result in results] == cells
    assert [result.seconds for result in results[:kept]] == [r["seconds"] for r in records[:kept]]
    for result, record in zip(results, records, strict=True):
        assert result.values.keys() == record["values"].keys()
        for name, value in record["values"].items():
            assert result.values[name] == pytest.approx(value, abs=1e-9), name
    assert path.read_bytes().startswith(b"".join(source[: 1 + kept]))
    (learners,) = document("sweep", "compare.json")["summary"]["panels"].values()
    (found,) = summarise_regrets(results)["panels"].values()
    for learner, curves in learners.items():
        for curve, numbers in curves.items():
            for name, values in numbers.items():  # later versions say more
                assert found[learner][curve][name] == pytest.approx(values, abs=1e-7), name


def test_a_golden_checkpoint_of_another_comparison_is_refused(tmp_path):
    path = shutil.copy(GOLDEN / "sweep" / "compare.jsonl", tmp_path)
    head, first = map(json.loads, Path(path).read_text(encoding="utf-8").splitlines()[:2])
    module, _, function = head.pop("compute").rpartition(".")
    compute = getattr(importlib.import_module(module), function)
    about = {**head, "file": "another.toml"}
    del about["format"]
    with pytest.raises(FileProblem, match="two-rooms"):
        run_cells([Cell(**first["cell"])], compute, checkpoint=Path(path), about=about, resume=True)


# Results


def test_learning_comes_out_as_the_golden_result_says(capsys):
    told = document("learn", "result.json")
    found = command(capsys, "learn", GOLDEN / "models" / told["file"])
    assert found["fingerprint"] == told["fingerprint"]
    assert found["complete"] is told["complete"] is True
    assert told["quantities"].items() <= found["quantities"].items()
    assert found["reward"] == pytest.approx(told["reward"], abs=1e-9)
    for name in ("episode", "value", "regret", "rows"):
        ours, theirs = ([episode[name] for episode in doc["episodes"]] for doc in (found, told))
        assert ours == pytest.approx(theirs, abs=1e-9), name
    assert found["expectations"] == told["expectations"]


def test_a_verdict_is_the_golden_one_and_its_proof_speaks_of_the_same_game(capsys):
    told = document("verify", "result.json")
    file = GOLDEN / "models" / told["file"]
    found = command(capsys, "verify", file)
    assert (found["verdict"], found["reason"]) == (told["verdict"], told["reason"])
    assert found["angle"] == pytest.approx(told["angle"], rel=1e-12)
    assert found["assumptions"] == told["assumptions"]
    for result in (found, told):
        proof = iirl.Certificate.from_json(json.dumps(result["certificate"]))
        assert proof.check().reasons == ()
        assert recheck.holds(json.dumps(result["certificate"]))
        assert proof.matches(read_model(file).game)
    stored = GOLDEN / "verify" / "certificate.json"
    assert run(["recheck", str(stored), "--model", str(file)]) == 0


def test_claims_of_ones_own_come_out_as_the_golden_result_says(capsys):
    told = document("claims", "own.json")
    found = command(capsys, "claims", GOLDEN / "claims" / "own.py")
    assert (found["unmet"], found["short"]) == (told["unmet"], told["short"]) == (0, 0)
    # How many instances fail is the draw of hypothesis, which may change with its version.
    drawn = {"instances", "applies", "floor", "failures"}
    for ours, theirs in zip(found["claims"], told["claims"], strict=True):
        assert theirs.keys() <= ours.keys()
        same = {name: value for name, value in theirs.items() if name not in drawn}
        assert same.items() <= ours.items()


def test_no_statement_of_the_golden_list_is_lost():
    places = {claim.name: claim.place for claim in PAPER}
    told = {
        record["name"]: record["place"] for record in document("claims", "paper.json")["claims"]
    }
    assert told.items() <= places.items()


# Draws


def test_golden_draws_have_the_densities_that_the_posterior_gives_them():
    told = document("posterior", "result.json")
    with np.load(GOLDEN / "posterior" / "draws.npz", allow_pickle=False) as file:
        draws = dict(file)
    problem = read_model(GOLDEN / "models" / told["file"])
    evidence = iirl.bayesian.Evidence(problem.game)
    for trajectory in problem.trajectories:
        evidence = evidence.observe(trajectory)
    prior = iirl.bayesian.exponential_prior(20)
    posterior = iirl.Posterior(evidence, iirl.bayesian.BoltzmannFamily(), parameter_prior=prior)
    log_density = np.array(
        [
            [posterior.log_density(*draw) for draw in zip(*chain, strict=True)]
            for chain in zip(draws["reward"], draws["beta"], strict=True)
        ]
    )
    shift = draws["log_posterior"] - log_density  # up to one constant
    assert log_density.shape == (told["chains"], told["proposals"])
    assert np.ptp(log_density) > 1
    assert shift == pytest.approx(np.full(shift.shape, shift[0, 0]), abs=1e-9)


def test_golden_draws_are_chains_whose_summary_is_the_golden_one():
    told = document("posterior", "result.json")["posterior"]
    with np.load(GOLDEN / "posterior" / "draws.npz", allow_pickle=False) as file:
        rewards, parameters, log_posterior = (file[k] for k in ("reward", "beta", "log_posterior"))
    chains = iirl.bayesian.Chains(
        rewards=rewards,
        parameters=parameters,
        log_posterior=log_posterior,
        acceptance=np.array(told["acceptance"]),
        thin=told["thin"],
        parameter="beta",
        scales=True,
        seconds=told["seconds"],
    )
    assert chains.n_draws == told["draws"]
    assert chains.mean_parameter == pytest.approx(told["beta"]["mean"])
    means = [state["mean"] for state in told["reward"].values()]
    assert chains.mean_reward == pytest.approx(means)
    ridge = [told[name] for name in ("uniform_share", "spread", "spread_normalised")]
    assert list(chains.ridge) == pytest.approx(ridge)
