"""Model files of soft-optimal followers: what they answer, and what they refuse by its place."""

import pytest

import iirl_opt as iirl
from iirl_opt import library
from iirl_opt.bayesian import Known, SoftOptimalFamily
from iirl_opt.errors import FileProblem
from iirl_opt.follower import SoftOptimalFollower
from iirl_opt.library.followers import follower_table, read_follower

ONE = iirl.library.read_model("one-answer").path.read_text("utf-8")
WAITS = "follower = { start = { stay = 0.25, go = 0.75 }, goal = { stay = 0.5, go = 0.5 } }"


def written(tmp_path, *changes):
    """A file like the shipped one, with changes of its text."""
    text = ONE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "soft.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_follower_of_the_file_answers_what_the_file_leaves_out(tmp_path):
    path = written(
        tmp_path,
        (WAITS, ""),
        ("[follower]", "[reward]\nvalues = { goal = 3 }\n\n[follower]"),
        ('ask = "fit"', 'ask = "verify"'),
        (ONE[ONE.index("[[expect]]") :], ""),
    )
    answer = library.answer(iirl.read_model(path))
    assert answer.quantities["confirmed"] == answer.quantities["explained"] == 1
    assert answer.quantities["gap"] < 1e-12


def test_what_commitments_tell_is_asked_without_an_answer_of_note(tmp_path):
    rest = ONE[ONE.index("[[expect]]") :]
    path = written(tmp_path, ('ask = "fit"', 'ask = "identify"\nrewards = "joint"'), (rest, ""))
    told = library.answer(iirl.read_model(path)).quantities
    assert (told["left"], told["identified"], told["rank"]) == (2, 0, 4)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        (
            'model = "soft-optimal"\ntemperature = 2',
            'model = "boltzmann"\nbeta = 2',
            "follower.model",
        ),
        ("temperature = 2", "temperature = 0", "temperature is 0"),
        ("temperature = 2", "temperature = nan", "temperature"),
        ("temperature = 2", 'temperature = "warm"', "temperature"),
        ("stay = 0.25, go = 0.75", "stay = 0, go = 1", r"observation\[0\].*is 0; allowed a prob"),
        (WAITS, 'optimal = { "*" = ["stay", "go"] }', r"observation\[0\].*is a mask"),
        ('ask = "fit"', 'ask = "fit"\nband = -1', "band is -1"),
        ('ask = "fit"', 'ask = "fit"\nband = nan', "band is nan"),
        ('ask = "fit"', 'ask = "verify"\nrewards = "joint"', "question.rewards"),
        ('ask = "fit"', 'ask = "verify"', "reward"),
        ('ask = "fit"', 'ask = "guess"', "ask"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_place(tmp_path, old, new, match):
    with pytest.raises(FileProblem, match=match):
        library.answer(iirl.read_model(written(tmp_path, (old, new))))


def test_a_posterior_may_be_asked_of_such_a_follower(tmp_path):
    question = 'family = "bayesian"\nproposals = 40\nchains = 2\nthin = 4'
    rest = ONE[ONE.index("[question]") :]
    for heat, prior in (("2", Known(0.5)), ('"unknown"', None)):
        path = written(
            tmp_path,
            (rest, f"[question]\n{question}\n"),
            ("temperature = 2", f"temperature = {heat}"),
        )
        problem = iirl.read_model(path)
        run = problem.question.learn(problem)
        assert run.settings.posterior.family == SoftOptimalFamily()
        assert (run.settings.posterior.parameter_prior == prior) or prior is None


def test_the_table_of_a_follower_makes_the_follower(tmp_path):
    follower = SoftOptimalFollower(0.25)
    assert read_follower(tmp_path, follower_table(follower)) == follower
