"""The hypothesis profile ``"iirl_opt"``, registered when `iirl_opt.testing` is opened; you load it.

    settings.load_profile("iirl_opt")

Against hypothesis's defaults it sets three things, as the suite of this library does:

* no deadline: programs take longer on a busy machine, and a test that fails for that says nothing
  of the lemma;
* no health check for slow draws: a boundary is walked to in Fractions;
* no explain phase: it runs a failing test some hundred times more, every line traced, those of
  cvxpy too. Where a lemma is false it takes five to fifteen times as long as finding and shrinking
  the counterexample does, and what it names are lines of this library.
"""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

__all__: list[str] = []

settings.register_profile(
    "iirl_opt",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[phase for phase in Phase if phase is not Phase.explain],
)
