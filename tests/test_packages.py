"""What is packed: the lists of files, and a small share of the campaign of packages."""

import os
import sys

import pytest
from campaigns.extras import CALLS
from campaigns.packages import (
    CORE,
    ROOT,
    campaign,
    declared_extras,
    sdist_faults,
    wheel_faults,
)

FILES = [
    "iirl_opt/__init__.pyi",
    "iirl_opt/py.typed",
    "models/maze.toml",
    "SECURITY.md",
    "tests/a.py",
]
WHEEL = ["iirl_opt/__init__.pyi", "iirl_opt/py.typed", "iirl_opt/models/maze.toml"]
LICENCE = "iirl_opt-1.dist-info/licenses/LICENSE"


def test_every_extra_has_a_call_that_needs_it_and_a_line_in_the_documents():
    assert list(CALLS) == declared_extras()
    page = (ROOT / "docs" / "stability.rst").read_text("utf-8")
    assert [extra for extra in CALLS if f"* - ``{extra}``" not in page] == []


def test_what_a_wheel_lacks_or_should_not_hold_is_named():
    assert wheel_faults([*WHEEL, LICENCE], FILES) == []
    for missing in WHEEL:
        held = [name for name in WHEEL if name != missing]
        assert wheel_faults([*held, LICENCE], FILES) == [f"the wheel lacks {missing}"]
    assert wheel_faults(WHEEL, FILES) == ["the wheel lacks its licence"]
    assert wheel_faults([*WHEEL, LICENCE, "tests/a.py"], FILES) == ["the wheel holds tests/a.py"]


def test_what_an_sdist_lacks_or_should_not_hold_is_named():
    held = [f"iirl_opt-1/{name}" for name in [*FILES, "PKG-INFO"]]
    assert sdist_faults(held, FILES) == []
    assert sdist_faults(held, [*FILES, "LICENSE"]) == ["the sdist lacks LICENSE"]
    assert sdist_faults([*held, "iirl_opt-1/.env"], FILES) == ["the sdist holds .env"]


@pytest.mark.campaign
def test_wheel_and_sdist_are_what_a_stranger_needs():
    """``IIRL_EXTRAS="core bayes"`` names extras to try alone, ``all`` all; unset, the core."""
    wanted = os.environ.get("IIRL_EXTRAS", CORE).split()
    campaign([CORE, *CALLS] if wanted == ["all"] else wanted, [sys.executable])
