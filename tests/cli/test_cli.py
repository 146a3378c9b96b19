"""The command as a stranger runs it, judged by what comes out."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from commands import RUN, child, iirl, interrupt

from iirl_opt import library
from iirl_opt.checkpoint import Checkpoint
from iirl_opt.cli import sweeps
from iirl_opt.cli.app import main
from iirl_opt.experiments import Cell, CellResult, commitment, figure


def test_learn_writes_a_line_an_episode_a_result_and_pictures(tmp_path: Path) -> None:
    done = iirl("learn", "small-maze", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert done.err == ""
    lines = [line for line in done.out.splitlines() if line.startswith("episode ")]
    assert len(lines) == 8
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert [episode["episode"] for episode in result["episodes"]] == list(range(1, 9))
    assert all(episode["regret"] >= -1e-9 for episode in result["episodes"])
    for line, episode in zip(lines, result["episodes"], strict=True):
        assert f"{episode['regret']:.6f}" in line
    assert result["complete"]
    assert all(finding["met"] for finding in result["expectations"])
    assert len(result["reward"]) == 32
    for picture in ("regret.png", "maze.png"):
        assert (tmp_path / "out" / picture).read_bytes().startswith(b"\x89PNG")
    assert not list((tmp_path / "out").glob(".*"))


@pytest.mark.process
def test_json_is_one_document_and_nothing_else(tmp_path: Path) -> None:
    # HiGHS greets on the standard output of C, which only a process of its own shows.
    done = child([*RUN, "learn", "two-rooms", "--episodes", "2", "--json"], cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    result = json.loads(done.out)
    assert {"value", "regret"} <= set(result["episodes"][0])
    assert done.out.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_same_seed_gives_the_same_run_and_another_seed_another(tmp_path: Path) -> None:
    def run(seed: int) -> list[tuple[float, float]]:
        result = json.loads(
            iirl("learn", "small-maze", "--episodes", 3, "--seed", seed, "--json").out
        )
        return [(episode["value"], episode["rows"]) for episode in result["episodes"]]

    first = run(3)
    assert run(3) == first
    assert run(4) != first


def test_a_failed_expectation_leaves_with_one_and_says_what_was_found(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[2] / "models" / "learning" / "two-rooms.toml"
    path = tmp_path / "planted.toml"
    path.write_text(shipped.read_text().replace("value = 2.4", "value = 2.5", 1))
    done = iirl("learn", path, cwd=tmp_path)
    assert done.code == 1
    assert "NOT MET optimal_value = 2.4" in done.out
    assert "expected 2.5" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["learn", "absent.toml"], "absent.toml: no such file"),
        (["learn", "absent"], "iirl-opt show lists all"),
        (["learn", "broken.toml"], "broken.toml:1:"),
        (["show", "maze-maker", "--discount", "1"], "discount is 1"),
        (["show", "maze-maker", "--discount", "x"], "discount is 'x'"),
        (["learn", "maze-maker", "--episodes", "0"], "episodes"),
    ],
)
def test_bad_input_leaves_with_two_and_no_traceback(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "broken.toml").write_text("version = \n")
    done = iirl(*arguments, cwd=tmp_path)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["broken.toml"]


@pytest.mark.process
def test_an_interrupted_run_keeps_the_episodes_done(tmp_path: Path) -> None:
    command = [*RUN, "learn", "small-maze", "--episodes", "5000", "--out", tmp_path]
    done = interrupt(command, "episode   2")
    assert done.code == 130, done.err
    assert "interrupted" in done.out
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["complete"] is False
    assert len(result["episodes"]) >= 2


def test_show_names_sizes_influence_and_draws_the_grid() -> None:
    done = iirl("show", "maze-maker")
    assert done.code == 0
    for fact in ("392", "leader 6, follower 4", "1.6", ". . . S . . ."):
        assert fact in done.out
    facts = json.loads(iirl("show", "maze-maker", "--json").out)
    assert (facts["states"], facts["transitions"], facts["rational"]) == (392, 39264, True)


def test_other_peoples_files_are_learnt(problems: Path, tmp_path: Path) -> None:
    for name in ("oneDoor_2_7_0.20_0.00_0_2", "GridSmall"):
        path = problems / f"{name}.dpomdp"
        done = iirl("learn", path, "--episodes", 3, "--out", tmp_path / name)
        assert done.code == 0, done.err
        assert len(json.loads((tmp_path / name / "result.json").read_text())["episodes"]) == 3
    refused = iirl("learn", problems / "example.dpomdp")
    assert refused.code == 2
    assert "example.dpomdp:199:" in refused.err
    undiscounted = iirl("show", problems / "dectiger.dpomdp")
    assert undiscounted.code == 2
    assert "--discount" in undiscounted.err
    assert iirl("show", problems / "dectiger.dpomdp", "--discount", 0.9).code == 0


def test_version() -> None:
    assert iirl("--version").out.startswith("iirl-opt ")
    assert "highspy" in iirl("--versions").out


@pytest.mark.process
def test_a_refusal_is_the_exit_code_of_the_process(tmp_path: Path) -> None:
    done = child([*RUN, "learn", "absent.toml"], cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("iirl-opt: absent.toml: no such file")
    assert done.err.count("\n") == 1


def test_the_command_leaves_with_what_its_run_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, code in ((["--version"], 0), (["learn", "absent"], 2)):
        monkeypatch.setattr(sys, "argv", ["iirl-opt", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == code


def test_check_reports_a_planted_expectation_by_file_quantity_expected_and_found(
    tmp_path: Path,
) -> None:
    models = Path(__file__).parents[2] / "models"
    folder = tmp_path / "copy"
    shutil.copytree(models / "occupancy", folder)
    planted = folder / "puterman-3-1-1.toml"
    planted.write_text(planted.read_text().replace("value = -20", "value = -21"))
    assert iirl("check", models / "occupancy").code == 0
    done = iirl("check", folder)
    assert done.code == 1
    assert "NOT MET" in done.out
    assert "puterman-3-1-1.toml" in done.out
    found = re.search(r"state_price\[s2\]: expected -21 ± 1e-07, found (\S+)", done.out)
    assert found is not None
    assert float(found[1]) == pytest.approx(-20)
    report = json.loads(iirl("check", folder, "--json").out)
    assert report["unmet"] == 1
    [failed] = [finding for finding in report["expectations"] if not finding["met"]]
    assert failed["quantity"] == "state_price[s2]"


def test_solve_prints_evidence_and_writes_it(tmp_path: Path) -> None:
    done = iirl("solve", "correlated-budget", "--out", tmp_path)
    assert done.code == 0
    assert "price[turns to the left] 1" in done.out
    assert "HIGHS" in done.out
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["evidence"]["solved"]["status"] == "OPTIMAL"
    nothing = iirl("solve", "contradiction")
    assert nothing.code == 0
    assert "contradicts              right is worth more" in nothing.out


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("contradiction", "infeasible is 1"),
        ("budget-too-small", "infeasible is 1"),
        ("budget-correlated", "product is 0"),
        ("ideal-5-mixed-ties", "inconclusive is 1"),
        ("narrow-prior", "the chains have not mixed"),
    ],
)
def test_no_answer_is_one_only_where_the_file_expects_it(
    tmp_path: Path, name: str, why: str
) -> None:
    text = library.find_model(name).read_text()
    if name != "narrow-prior":
        assert iirl("solve", name).code == 0
        text = text.partition("[[expect]]")[0]
    silent = tmp_path / "silent.toml"
    silent.write_text(re.sub(r"proposals = \d+", "proposals = 40", text))
    done = iirl("solve", silent)
    assert done.code == 3
    assert f"no answer: {why}" in done.out
    if name == "narrow-prior":
        done = iirl("check", silent)
        assert done.code == 3
        assert why in done.err


def test_export_writes_to_standard_output_a_file_or_a_folder(tmp_path: Path) -> None:
    assert "goal_twice_the_start" in iirl("export", "goal-twice-the-start", "--lp").out
    assert iirl("export", "figure-1", "--lp", tmp_path / "a.lp").code == 0
    assert iirl("export", "figure-1", "--lp", "--mps", "--out", tmp_path).code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"a.lp", "figure-1.lp", "figure-1.mps"}
    assert iirl("export", "figure-1").code == 2
    refused = iirl("export", "tie-break", "--lp")
    assert refused.code == 2
    assert "not one linear program" in refused.err


def test_the_seed_of_a_random_game_changes_what_is_exported() -> None:
    programs = {
        json.loads(iirl("export", "random-50", "--lp", "--json", *seed).out)["programs"]["lp"]
        for seed in ((), ("--seed", "7"), ("--seed", "8"))
    }
    assert len(programs) == 2


@pytest.mark.parametrize("command", ["learn", "solve", "show", "check"])
def test_every_command_takes_json_seed_and_out(command: str, tmp_path: Path) -> None:
    done = iirl(command, "two-rooms", "--json", "--seed", 0, "--out", tmp_path)
    assert done.code == 0, done.err
    assert json.loads(done.out)["command"] == command
    assert json.loads((tmp_path / "result.json").read_text())["command"] == command


@pytest.mark.parametrize(
    ("name", "verdict", "kind"),
    [
        ("ideal-5", "confirmed", "class inclusion"),
        ("strict-4", "confirmed", "angle bound"),
        ("strict-4-refuted", "refuted", "violation"),
        ("ideal-5-mixed-ties", "inconclusive", "witness"),
    ],
)
def test_verify_gives_a_verdict_and_a_proof_that_recheck_accepts(
    name: str, verdict: str, kind: str, tmp_path: Path
) -> None:
    done = iirl("verify", name, "--json", "--out", tmp_path)
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert (result["verdict"], result["certificate"]["kind"]) == (verdict, kind)
    again = iirl("recheck", tmp_path / "certificate.json")
    assert again.code == 0, again.out + again.err
    assert "proved in exact numbers, about the game inside this file" in again.out
    mine = iirl("recheck", tmp_path / "certificate.json", "--model", name)
    assert mine.code == 0, mine.out + mine.err
    assert f"proved in exact numbers, about {name}" in mine.out
    theirs = iirl("recheck", tmp_path / "certificate.json", "--model", "maze-maker", "--json")
    assert theirs.code == 1
    result = json.loads(theirs.out)
    assert result["holds"]
    assert result["differences"] == ["the game is another"]


@pytest.mark.process
def test_recheck_loads_no_solver_and_refuses_an_edit(tmp_path: Path) -> None:
    assert iirl("verify", "strict-4-refuted", "--out", tmp_path).code == 0
    proof = tmp_path / "certificate.json"
    code = (
        "import sys; from iirl_opt.cli.app import run; "
        f"run(['recheck', {str(proof)!r}]); "
        "print([m for m in ('cvxpy', 'highspy', 'networkx', 'matplotlib') if m in sys.modules])"
    )
    done = child([sys.executable, "-c", code])
    assert done.out.endswith("[]\n")
    proof.write_text(proof.read_text().replace('"state": 3', '"state": 2'))
    assert iirl("recheck", proof).code == 2


def test_an_inconclusive_verdict_without_expectations_is_no_answer(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[2] / "models/affine_equivalence/ideal-5-mixed-ties.toml"
    path = tmp_path / "model.toml"
    path.write_text(shipped.read_text().split("[[expect]]")[0])
    assert iirl("verify", path).code == 3


@pytest.fixture(scope="module")
def small() -> Iterator[None]:
    """Random games of figures that are smaller and fewer, computed in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(commitment.SCALES, "small", (((5, 3, 3), 1), ((3, 2, 2), 1)))
        patch.setattr(sweeps, "_executor", lambda *_: ThreadPoolExecutor(1))
        yield


@pytest.fixture(scope="module")
def figure_7(tmp_path_factory: pytest.TempPathFactory, small: None) -> tuple[str, Path]:
    """What `figure 7` prints, and the folder that it writes."""
    folder = tmp_path_factory.mktemp("figure")
    done = iirl("figure", 7, "--out", folder)
    assert (done.code, done.err) == (0, "")
    return done.out, folder


def test_a_figure_is_a_document_a_picture_and_a_line_a_statement(
    figure_7: tuple[str, Path],
) -> None:
    printed, folder = figure_7
    assert {path.name for path in folder.iterdir()} == {
        f"figure-7.{kind}" for kind in ("csv", "json", "jsonl", "meta.json", "parquet", "png")
    }
    document = json.loads((folder / "figure-7.json").read_text())
    assert (document["command"], document["figure"], document["scale"]) == ("figure", 7, "small")
    assert len(document["statements"]) == 12
    for statement in document["statements"]:
        assert f"ok  {statement['text']}" in printed
    assert len((folder / "figure-7.jsonl").read_text().splitlines()) == 2 + len(document["cells"])
    assert (folder / "figure-7.png").read_bytes().startswith(b"\x89PNG")


def test_a_figure_resumes_and_reports_a_statement_that_fails(
    figure_7: tuple[str, Path], tmp_path: Path
) -> None:
    shutil.copy(figure_7[1] / "figure-7.jsonl", tmp_path)
    again = iirl("figure", 7, "--out", tmp_path, "--resume", "--json")
    assert again.code == 0
    document = json.loads(again.out)
    assert document == json.loads((figure_7[1] / "figure-7.json").read_text())
    checkpoint = tmp_path / "figure-7.jsonl"
    lines = checkpoint.read_text().splitlines()
    checkpoint.write_text("\n".join([lines[0], lines[1].replace("0.", "1.", 1), *lines[2:], ""]))
    doctored = iirl("figure", 7, "--out", tmp_path, "--resume")
    assert (doctored.code, "jsonl:2: was changed" in doctored.err) == (2, True)
    head = json.loads(lines[0])["head"]
    records = [json.loads(line)["record"] for line in lines[1:-1]]
    records[0]["values"]["joint"] = records[0]["values"]["best"] = 100.0
    with Checkpoint(checkpoint, head, begin="restart") as work:
        for record in records:
            work.append(record)
    doctored = iirl("figure", 7, "--out", tmp_path, "--resume")
    assert doctored.code == 1
    assert "NOT SO" in doctored.out
    other = iirl("figure", 7, "--out", tmp_path, "--resume", "--seed", 1)
    assert other.code == 2
    assert "was written with seed 0, now it is 1" in other.err


@pytest.mark.parametrize("cells", [0, 1])
def test_an_interrupted_figure_says_how_to_go_on_if_anything_is_kept(
    cells: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: object, **how: Any) -> None:
        for _ in range(cells):
            how["progress"](CellResult(Cell(7, "small", "none"), {}, 0.5))
        raise KeyboardInterrupt

    monkeypatch.setattr(figure, "run_figure", interrupted)
    done = iirl("figure", 7, "--out", tmp_path)
    assert done.code == 130
    goes_on = f"; go on with --resume from {tmp_path / 'figure-7.jsonl'}" if cells else ""
    assert done.err == f"iirl-opt: interrupted{goes_on}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure", "2"], "figure is 2; allowed 1, 3, 4, 6, 7"),
        (["figure", "6", "--scale", "huge"], "allowed small, paper"),
        (["figure", "6", "--jobs", "0"], "jobs"),
        (["figure", "6", "--json", "--resume"], "--out DIR"),
    ],
)
def test_a_figure_that_cannot_be_leaves_with_two(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = iirl(*arguments, cwd=tmp_path)
    assert done.code == 2
    assert message in done.err
    assert (done.out, list(tmp_path.iterdir())) == ("", [])


def test_a_comparison_writes_what_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--learners", "algorithm-1,active", "--episodes", 3, "--runs", 2)
    done = iirl("compare", "two-rooms", *options, "--out", tmp_path)
    assert done.code == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        f"compare.{kind}" for kind in ("csv", "json", "jsonl", "meta.json", "parquet", "png")
    }
    document = json.loads((tmp_path / "compare.json").read_text())
    (panel,) = document["summary"]["panels"].values()
    assert set(panel) == {"algorithm-1", "active"}
    for name, found in panel.items():
        assert f"{name:<28}{found['total']['mean']:>10.4f}" in done.out
    monkeypatch.setattr(sweeps, "_executor", lambda *_: ThreadPoolExecutor(1))
    again = iirl("compare", "two-rooms", *options, "--json")
    assert json.loads(again.out) == document


@pytest.mark.process
def test_an_interrupted_comparison_keeps_its_cells_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("two-rooms", "--learners", "algorithm-1", "--episodes", 2, "--runs", 16)
    command = [*RUN, "compare", *options, "--jobs", 2, "--out", tmp_path]
    done = interrupt(command, "two-rooms.toml")
    assert done.code == 130, done.err
    assert done.err.startswith("iirl-opt: interrupted; go on with --resume")
    assert done.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["compare.jsonl"]
    kept = (tmp_path / "compare.jsonl").read_text().splitlines()
    assert 2 <= len(kept) <= 16
    monkeypatch.setattr(sweeps, "_executor", lambda *_: ThreadPoolExecutor(1))
    resumed = iirl("compare", *options, "--out", tmp_path, "--resume")
    assert resumed.code == 0
    assert (tmp_path / "compare.jsonl").read_text().splitlines()[: len(kept)] == kept
    straight = json.loads(iirl("compare", *options, "--json").out)
    assert json.loads((tmp_path / "compare.json").read_text()) == straight


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["two-rooms", "--learners", "best"], "learner is 'best'"),
        (["nowhere"], "nowhere"),
        (["two-rooms", "--runs", "0"], "runs"),
    ],
)
def test_a_comparison_that_cannot_be_leaves_with_two(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = iirl("compare", *arguments, cwd=tmp_path)
    assert done.code == 2
    assert message in done.err
    assert list(tmp_path.iterdir()) == []
