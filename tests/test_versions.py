"""What a report of a fault should say."""

from importlib.metadata import PackageNotFoundError

import iirl_opt as iirl
from iirl_opt import versions


def said(capsys):
    iirl.show_versions()
    return dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())


def test_a_report_says_versions_machine_and_extras(capsys, monkeypatch):
    declared = ["numpy>=2", "nothing-such>=1 ; extra == 'rare'", 'scipy; extra == "rare"']
    monkeypatch.setattr(versions, "requires", lambda name: [*declared, "ruff; extra == 'dev'"])
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    report = said(capsys)
    assert report["numpy"] == versions.version_of("numpy")
    assert report["[rare]"] == f"nothing-such absent, scipy {versions.version_of('scipy')}"
    assert "OMP_NUM_THREADS=3" in report["threads"]
    assert {"iirl-opt", "Python", "platform", "cores"} <= report.keys()
    assert "[dev]" not in report


def test_a_package_that_is_not_installed_still_says_what_it_runs_on(capsys, monkeypatch):
    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(versions, "requires", absent)
    assert set(versions.PACKAGES) <= said(capsys).keys()
