"""How many examples a property gets: a share of the profile's, so that ``deep`` stays deep."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import Phase, settings


def share(part: float) -> settings:
    """Return the settings of a property whose examples are dear: a part of the profile's number."""
    return settings(max_examples=max(1, round(part * settings().max_examples)))


def under(chosen: settings) -> Any:
    """Return a fixture that loads other settings, for suites that run under those loaded."""

    def loaded() -> Iterator[None]:
        before = settings.get_current_profile_name()
        settings.register_profile("chosen", chosen)
        settings.load_profile("chosen")
        yield
        settings.load_profile(before)

    return pytest.fixture(loaded)


def unshrunk(examples: int) -> settings:
    """Return settings that find what is broken and leave it as it is found."""
    quick = settings.get_profile("quick")
    return settings(quick, max_examples=examples, database=None, phases=[Phase.generate])
