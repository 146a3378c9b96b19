"""How many examples a property gets: a share of the profile's, so that ``deep`` stays deep."""

from hypothesis import settings


def share(part: float) -> settings:
    """Return the settings of a property whose examples are dear: a part of the profile's number."""
    return settings(max_examples=max(1, round(part * settings().max_examples)))
