"""A small share of the campaign of forgeries (`tests/campaigns/forgeries.py`)."""

from campaigns.forgeries import campaign


def test_no_forgery_passes_either_checker_and_honest_certificates_pass_both():
    run = campaign(120, seed=7, start=40)
    assert run.false_passes == []
    assert run.disagreements == []
    assert run.failures == []
    assert run.forgeries >= 120
    assert run.holds()
