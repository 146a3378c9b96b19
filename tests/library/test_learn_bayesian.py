"""``iirl-opt learn`` on files that ask for a posterior: exit codes, and what comes out."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import Done, iirl, interrupt

MODELS = Path(__file__).parents[2] / "models" / "bayesian"


@pytest.fixture(scope="module")
def erring(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The folder of a run on `erring-partner`, and what it left."""
    pytest.importorskip("arviz")
    folder = tmp_path_factory.mktemp("erring")
    picture = folder / "chains.pdf"
    return folder, iirl("learn", "erring-partner", "--out", folder / "out", "--plot", picture)


def test_trajectories_give_a_table_files_and_a_picture(erring: tuple[Path, Done]) -> None:
    folder, (code, out, err) = erring
    assert code == 0, err
    assert err == ""
    result = json.loads((folder / "out" / "result.json").read_text())
    posterior = result["posterior"]
    assert posterior["converged"]
    assert result["verdict"]
    for text in (
        "4 episodes under 2 commitments, 23 observed actions",
        f"{posterior['beta']['mean']:.4g}",
        f"{posterior['reward']['left']['low']:.4g}",
        f"R-hat {posterior['diagnostics']['r_hat']:.3f}",
        "up to a ridge",
        "ok  beta = ",
    ):
        assert text in out
    assert "NOT CONVERGED" not in out
    with np.load(folder / "out" / "draws.npz") as draws:
        assert draws["reward"].shape == (4, 20_000, 3)
        assert draws["beta"].mean() == pytest.approx(posterior["beta"]["mean"])
    assert (folder / "out" / "posterior.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "chains.pdf").read_bytes().startswith(b"%PDF")
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "draws.npz",
        "learn.jsonl",
        "posterior.png",
        "result.json",
    ]


def test_json_is_one_document_that_the_seed_decides(tmp_path: Path) -> None:
    def posterior(seed: int) -> dict:
        _, out, _ = iirl(
            "learn", "careless-partner", "--proposals", 2000, "--chains", 2, "--seed", seed,
            "--json", cwd=tmp_path,
        )  # fmt: skip
        assert out.count("\n") == 1
        return json.loads(out)

    one = posterior(3)
    assert (one["seed"], one["proposals"], one["chains"]) == (3, 2000, 2)
    assert len(one["posterior"]["acceptance"]) == 2
    assert one["expectations"] == []
    same = posterior(3)["posterior"]["epsilon"]
    assert same == one["posterior"]["epsilon"]
    assert same != posterior(4)["posterior"]["epsilon"]
    assert not list(tmp_path.iterdir())


def test_chains_that_have_not_mixed_are_no_verdict(tmp_path: Path) -> None:
    pytest.importorskip("arviz")
    text = (MODELS / "erring-partner.toml").read_text()
    path = tmp_path / "walk.toml"
    path.write_text(text.replace("chains = 4", 'chains = 4\nsampler = { name = "walk" }'))
    code, out, _ = iirl("learn", path, cwd=tmp_path)
    assert code == 3
    assert "NOT CONVERGED, so no verdict: R-hat is" in out
    assert "expected" not in out  # nothing is held against what is no verdict
    result = json.loads((tmp_path / "results" / "walk" / "result.json").read_text())
    assert (result["verdict"], result["complete"]) == (False, True)
    assert result["quantities"]["r_hat"] > 1.05
    assert "beta" not in result["quantities"]


def test_an_expectation_that_fails_leaves_with_one(tmp_path: Path) -> None:
    pytest.importorskip("arviz")
    text = (MODELS / "careless-partner.toml").read_text()
    path = tmp_path / "planted.toml"
    path.write_text(text.replace("value = 0.33337", "value = 0.9"))
    code, out, _ = iirl("learn", path, cwd=tmp_path)
    assert code == 1
    assert "NOT MET epsilon" in out


def test_episodes_tell_the_regret_of_each(tmp_path: Path) -> None:
    code, out, err = iirl("learn", "hidden-boltzmann", "--out", tmp_path)
    assert code == 0, err
    lines = [line for line in out.splitlines() if line.startswith("episode ")]
    result = json.loads((tmp_path / "result.json").read_text())
    assert [record["episode"] for record in result["episodes"]] == [1, 2, 3, 4]
    for line, record in zip(lines, result["episodes"], strict=True):
        assert f"regret {record['regret']:>10.6f}" in line
        assert f"beta {record['beta']:.4g}" in line
    assert result["quantities"]["total_regret"] == pytest.approx(2.39643589758)
    assert result["posterior"]["draws"] == 40_000
    assert iirl("learn", "hidden-boltzmann", "--episodes", 1, cwd=tmp_path)[0] == 0


def test_normalise_is_taken_from_the_file(tmp_path: Path, erring: tuple[Path, Done]) -> None:
    text = (MODELS / "erring-partner.toml").read_text()
    path = tmp_path / "normal.toml"
    path.write_text(text.replace("seed = 0", 'seed = 0\nnormalise = "min"'))
    drawn = json.loads((erring[0] / "out" / "result.json").read_text())["posterior"]
    moved = json.loads(iirl("learn", path, "--json")[1])["posterior"]
    assert moved["normalise"] == "min"
    assert "moved along its ridge" in moved["ridge"]
    assert sum(state["mean"] for state in moved["reward"].values()) == pytest.approx(1)
    assert moved["beta"]["mean"] < drawn["beta"]["mean"]
    assert moved["diagnostics"] == drawn["diagnostics"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["erring-partner", "--proposals", "0"], "--proposals"),
        (["erring-partner", "--chains", "0"], "--chains"),
        (["erring-partner", "--seed", "-1"], "--seed is '-1'; allowed"),
        (["erring-partner", "--episodes", "3"], "erring-partner.toml: trajectory: has no meaning"),
        (["two-rooms", "--chains", "2"], "chains has no meaning in the family learning"),
        (["erring-partner", "--plot", "chains.txt"], ".png, .pdf, .svg"),
        (["erring-partner", "--plot", "absent/chains.png"], "in no folder"),
        (["broken.toml"], "broken.toml: trajectory[0].steps[0]: no state is called 'hal'"),
    ],
)
def test_bad_input_leaves_with_two_and_writes_nothing(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    text = (MODELS / "erring-partner.toml").read_text()
    (tmp_path / "broken.toml").write_text(text.replace('["hall", "open', '["hal", "open', 1))
    code, out, err = iirl("learn", *arguments, cwd=tmp_path)
    assert code == 2
    assert message in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["broken.toml"]


@pytest.mark.process
def test_an_interrupted_run_keeps_the_draws_so_far(tmp_path: Path) -> None:
    text = (MODELS / "careless-partner.toml").read_text()
    path = tmp_path / "long.toml"
    path.write_text(text.replace("proposals = 5000", "proposals = 8000\nwarmup = 0\nthin = 2"))
    # Without numba: compiling in a process of its own takes longer than the run.
    plain = "import sys; sys.modules['numba'] = None; from iirl_opt.cli.app import main; main()"
    done = interrupt([sys.executable, "-c", plain, "learn", path, "--out", tmp_path], " 10 %")
    assert done.code == 130, done.err
    assert "interrupted" in done.out
    assert "Traceback" not in done.err
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["complete"], result["verdict"]) == (False, False)
    with np.load(tmp_path / "draws.npz") as draws:
        assert 4 * 400 <= draws["epsilon"].size == result["posterior"]["draws"] < 4 * 4000


def test_without_arviz_there_are_numbers_but_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    done = iirl("learn", "careless-partner", "--json", "--proposals", 200)
    assert done.code == 3, done.err
    result = json.loads(done.out)
    assert result["posterior"]["converged"] is None
    assert "iirl-opt[bayes]" in result["posterior"]["warning"]
    assert "epsilon" in result["quantities"]
    assert "r_hat" not in result["quantities"]


def test_algorithm_1_draws_its_regret_where_it_is_told(tmp_path: Path) -> None:
    picture = tmp_path / "regret.svg"
    code, out, err = iirl("learn", "two-rooms", "--json", "--plot", picture)
    assert code == 0, err
    assert json.loads(out)["command"] == "learn"
    assert "<svg" in picture.read_text()
