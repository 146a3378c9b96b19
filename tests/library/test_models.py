"""Every shipped model file meets its expectations; a new file is a new test."""

from pathlib import Path

import pytest

from iirl_opt.library import answer, check, learn, read_model, shipped_models
from iirl_opt.library.families import catalogue
from iirl_opt.library.families.learning import LearningQuestion

FILES = sorted(shipped_models().glob("**/*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_model_meets_its_expectations(path: Path) -> None:
    model = read_model(path)
    assert model.expect, "a model file without expectations tests nothing"
    if isinstance(model.question, LearningQuestion):
        # What these files expect of long runs holds of the first episodes too.
        run = learn(model, episodes=min(model.question.episodes, 4))
        assert len(list(run)) == run.total
        found = run.quantities
    else:
        found = dict(answer(model).quantities)
    assert not [f for f in check(model.expect, found, path) if not f.met]


def test_names_of_model_files_are_unique() -> None:
    names = [path.stem for path in FILES]
    assert len(set(names)) == len(names)


def test_every_family_has_its_folder() -> None:
    folders = {path.parent.name for path in FILES}
    assert folders == {kind.family() for kind in catalogue.FAMILIES}
    for path in FILES:
        assert read_model(path).question.family() == path.parent.name
