"""Every shipped model file meets its expectations; a new file is a new test."""

from pathlib import Path

import pytest

from iirl_opt.library import check, learn, learning_quantities, read_model, shipped_models
from iirl_opt.programs.commitment import commit

FILES = sorted(shipped_models().glob("**/*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_model_meets_its_expectations(path: Path) -> None:
    model = read_model(path)
    assert model.expect, "a model file without expectations tests nothing"
    # What the files expect of long runs holds of the first episodes too.
    run = list(learn(model, episodes=min(model.question.episodes, 4)))
    quantities = learning_quantities(model, commit(model.game, model.truth), run)
    unmet = [finding for finding in check(model.expect, quantities, path) if not finding.met]
    assert not unmet


def test_names_of_model_files_are_unique() -> None:
    names = [path.stem for path in FILES]
    assert len(set(names)) == len(names)
