"""In a process of its own: what is loaded when, and lemmas under hypothesis's own defaults."""

import re
import sys
import textwrap
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from commands import child
from hypothesis import Phase, settings

PAGE = Path(__file__).parents[2] / "docs" / "property_tests.rst"

# One lemma for each kind of thing that a test may use first; none of them is loaded before.
LEMMAS = """
@given(game=games(), data=st.data())
def test_followers(game, data):
    reward, pi1 = data.draw(rewards(game)), data.draw(policies(game))
    assert data.draw(followers()).respond(game, reward, pi1).shape[0] == game.n_states

@given(game=games(), data=st.data())
def test_feasible_sets(game, data):
    reward = data.draw(rewards(game))
    seen = data.draw(observations(game, reward=reward))
    known = iirl.FeasibleRewards(game).add(seen)
    assert known.contains(reward)
    assert known.contains(known.maximise(reward).reward, tolerance=1e-6)

@given(game=games(), data=st.data())
def test_commitments_and_measures(game, data):
    reward = data.draw(rewards(game))
    best = iirl.OccupancyMeasure(game).maximise(reward).value
    assert abs(iirl.commit(game, reward).value - best) <= 1e-6 * (1 + abs(best))

@given(game=games(min_states=2), data=st.data())
def test_environments(game, data):
    wanted = data.draw(rewards(game, constant=False))
    assert iirl.strict_environment(wanted, game.discount or 0.5).game.n_states == game.n_states

@given(game=games(), data=st.data())
def test_trajectories_and_graphs(game, data):
    steps = data.draw(trajectories(game))
    assert iirl.FeasibleRewards(game).observe(steps.pi1, steps).contains([0.0] * game.n_states)
    assert iirl.to_networkx(game).number_of_nodes() == game.n_states
"""


def run(code):
    return child([sys.executable, "-W", "ignore", "-c", code])


def run_on_a_busy_machine(code):
    """Run up to three times: what is loaded too late is late each time, a busy machine is not."""
    for _ in range(3):
        done = run(code)
        if done.code == 0:
            break
    return done


@pytest.mark.process
@pytest.mark.skipif(
    all(entry.module != "iirl_opt._hypothesis" for entry in entry_points(group="hypothesis")),
    reason="the installed package does not name the entry point, so hypothesis cannot find it",
)
def test_the_entry_point_registers_the_types_and_loads_neither_strategies_nor_solvers():
    done = run(
        "import sys\n"
        "from hypothesis import HealthCheck, given, settings, strategies as st\n"
        "late = {'iirl_opt.testing', 'iirl_opt.follower.ties', 'cvxpy', 'networkx'}\n"
        "assert not late & set(sys.modules), late & set(sys.modules)\n"
        "from iirl_opt.game.mdp import MDP, TwoAgentMDP\n"
        "from iirl_opt.observation import Observation, Trajectory\n"
        "for kind in (MDP, TwoAgentMDP, Observation, Trajectory):\n"
        "    @settings(max_examples=5, deadline=None, suppress_health_check=[*HealthCheck])\n"
        "    @given(st.from_type(kind))\n"
        "    def check(one):\n"
        "        assert type(one) is kind\n"
        "    check()\n"
    )
    assert done.code == 0, done.err


@pytest.mark.process
def test_true_lemmas_pass_under_hypothesis_defaults_where_nothing_was_loaded():
    """Those of the page and those above: in one process, which each finds as opening left it.

    All but the lemma of the page that is false, which `tests/testing/test_counterexample.py` tries.
    """
    page = PAGE.read_text("utf-8")
    blocks = re.findall(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", page)
    others = re.compile("load_profile|save_counterexample")
    code = "\n".join(textwrap.dedent(block) for block in blocks if not others.search(block))
    assert code.count("def test_") >= 2
    done = run_on_a_busy_machine(
        "import sys, iirl_opt\n"
        "assert 'cvxpy' not in sys.modules\n"
        "import iirl_opt.testing\n"
        "assert 'numba' not in sys.modules and 'matplotlib' not in sys.modules\n"
        "from iirl_opt.testing import *\n"
        "from hypothesis import settings\n"
        "settings.register_profile('fewer', settings.get_profile('default'), max_examples=5)\n"
        "settings.load_profile('fewer')\n"
        f"{code}\n{LEMMAS}\n"
        "before = set(sys.modules)\n"
        "tests = {name: test for name, test in globals().items() if name[:5] == 'test_'}\n"
        "suites = [tests.pop(name) for name in list(tests) if name[:8] == 'test_my_']\n"
        "[test() for test in tests.values()]\n"
        "late = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(*late - {'hypothesis', 'iirl_opt'})\n"
        "[suite() for suite in suites]\n"  # which load the solver that they are given
    )
    assert done.code == 0, done.err
    assert done.out.split() == []


def test_the_profile_is_registered_and_not_loaded():
    import iirl_opt.testing  # noqa: F401

    ours = settings.get_profile("iirl_opt")
    assert ours.deadline is None
    assert Phase.explain not in ours.phases
    assert Phase.shrink in ours.phases
    assert ours.max_examples == settings.get_profile("default").max_examples


@pytest.mark.process
def test_without_hypothesis_the_strategies_name_the_extra_and_the_assertions_work():
    done = run(
        "import sys\n"
        "sys.modules['hypothesis'] = None\n"
        "from iirl_opt.testing import assert_policy\n"
        "assert_policy([[1.0]], (1, 1))\n"
        "from iirl_opt import testing\n"
        "from iirl_opt.errors import MissingExtra\n"
        "for name in testing.__all__:\n"
        "    try:\n"
        "        getattr(testing, name)\n"
        "    except MissingExtra as problem:\n"
        "        print(problem)\n"
    )
    assert done.code == 0, done.err
    from iirl_opt import testing

    told = done.out.splitlines()
    needs = {name for name in testing.__all__ if not name.startswith("assert_")}
    assert {"games", "check_follower", "save_counterexample"} <= needs
    assert set(told) == {
        f"iirl_opt.testing.{name} needs an extra: pip install 'iirl-opt[testing]'" for name in needs
    }
