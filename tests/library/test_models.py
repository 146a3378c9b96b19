"""Every shipped model file meets its expectations; a new file is a new test."""

from pathlib import Path

import pytest

from iirl_opt.library import answer, check, learn, learning_answer, read_model, shipped_models
from iirl_opt.library.schema import Learning

FILES = sorted(shipped_models().glob("**/*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_model_meets_its_expectations(path: Path) -> None:
    model = read_model(path)
    assert model.expect, "a model file without expectations tests nothing"
    if isinstance(model.question, Learning):
        # What these files expect of long runs holds of the first episodes too.
        run = list(learn(model, episodes=min(model.question.episodes, 4)))
        found = learning_answer(model, run)
    else:
        found = answer(model)
    assert not [f for f in check(model.expect, found.quantities, path) if not f.met]


def test_names_of_model_files_are_unique() -> None:
    names = [path.stem for path in FILES]
    assert len(set(names)) == len(names)


def test_every_family_has_its_folder() -> None:
    folders = {path.parent.name for path in FILES}
    assert folders == {
        "affine_equivalence",
        "bayesian",
        "commitment",
        "feasible_rewards",
        "learning",
        "occupancy",
    }
    for path in FILES:
        assert type(read_model(path).question).__struct_config__.tag == path.parent.name
