"""Games of other kinds of files as problems: their rewards by name, their place in model files."""

from pathlib import Path

import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.formats import ImportedGame, write_file
from iirl_opt.library import answer, check, learn, read_model

GAME, TRUTH = iirl.random_game(3, 2, 2, 0)
MODEL = """\
version = 1
title = "t"
source = "s"
[game]
{game}
[question]
family = "commitment"
[[expect]]
quantity = "value"
value = 0
source = "none"
"""


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """The path of a saved game with two rewards."""
    path = tmp_path / "several.npz"
    write_file(ImportedGame(GAME, {"truth": TRUTH, "steps": np.ones(3)}), path)
    return path


def test_of_several_rewards_one_is_chosen_by_its_name(several: Path) -> None:
    model = read_model(several)
    assert (model.title, model.truth, model.as_stated) == ("several", None, True)
    with pytest.raises(FileProblem, match="reward: is not chosen; allowed one of 'truth'"):
        learn(model)
    chosen = read_model(several, reward="truth")
    assert np.array_equal(chosen.need_truth(), TRUTH)
    assert not chosen.as_stated
    assert len(list(learn(chosen, episodes=2))) == 2
    with pytest.raises(FileProblem, match=r"reward: no reward is called 'trut'; did you mean"):
        read_model(several, reward="trut")


def test_a_game_without_a_reward_is_shown_and_not_learnt(tmp_path: Path) -> None:
    iirl.save_game(GAME, tmp_path / "bare.npz")
    model = read_model(tmp_path / "bare.npz", discount="1/2")
    assert (model.truth, model.game.discount) == (None, 0.5)
    with pytest.raises(FileProblem, match="reward: is missing"):
        learn(model)


def test_a_model_file_takes_its_game_from_any_kind_of_file(several: Path) -> None:
    path = several.with_name("model.toml")
    path.write_text(MODEL.format(game='file = "several.npz"\nreward = "truth"\ndiscount = 0.5'))
    model = read_model(path)
    assert model.game == GAME.discounted(0.5)
    assert np.array_equal(model.need_truth(), TRUTH)
    found = answer(model).quantities
    assert found["bound"] - found["value"] <= 1e-9
    assert not check(model.expect, found, path)[0].met
    assert not read_model(path, reward="steps").as_stated
    assert read_model(path, reward="steps").need_truth().tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("game", "more", "said"),
    [
        (
            'file = "several.npz"\nconstants = { K = 2 }',
            "",
            "constants is .*; allowed none",
        ),
        ('file = "several.npz"\nreward = "r"', "", "reward: no reward is called 'r'"),
        ('file = "several.npz"\nreward = "steps"', "[reward]\ndefault = 1", "beside .reward."),
        ('grid = { rows = ["S1"] }\ndiscount = 0.5\nreward = "r"', "", "beside grid"),
        ('grid = { rows = ["S1"] }\ndiscount = 0.5\nconstants = { K = 2 }', "", "beside grid"),
        ('file = "model.toml"', "", "is a model file, which iirl_opt.read_model reads"),
        ('file = "no.npz"', "", "'no.npz' is no file here"),
        ('file = "a\\u0000.npz"', "", "game.file: .* is no path"),
    ],
)
def test_keys_beside_a_file_have_a_meaning_or_are_refused(
    several: Path, game: str, more: str, said: str
) -> None:
    path = several.with_name("model.toml")
    path.write_text(MODEL.format(game=game) + more)
    with pytest.raises((FileProblem, InvalidArgument), match=said):
        read_model(path)


def test_constants_are_those_of_the_file_with_those_that_are_given_instead(
    several: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(
        "iirl_opt.library.games.read_file",
        lambda path, **given: asked.append(given) or ImportedGame(GAME, {"r": TRUTH}),
    )
    path = several.with_name("model.toml")
    game = 'file = "several.npz"\nconstants = { K = 2, p = 0.1, fast = true, name = "x" }'
    path.write_text(MODEL.format(game=game))
    read_model(path)
    read_model(path, constants={"K": 3})
    given = {"K": "2", "p": "0.1", "fast": "true", "name": "x"}
    assert [each["constants"] for each in asked] == [given, given | {"K": "3"}]


def test_a_mark_before_the_text_of_a_model_file_is_no_part_of_it(tmp_path: Path) -> None:
    text = MODEL.format(game='grid = { rows = ["S1"] }\ndiscount = 0.5')
    for name, content in (
        ("plain.toml", text.encode()),
        ("marked.toml", b"\xef\xbb\xbf" + text.encode()),
        ("LOUD.TOML", text.encode()),
    ):
        (tmp_path / name).write_bytes(content)
        assert read_model(tmp_path / name).title == "t"
    (tmp_path / "wide.toml").write_bytes(text.encode("utf-16"))
    with pytest.raises(FileProblem, match="no UTF-8 text, but UTF-16"):
        read_model(tmp_path / "wide.toml")
