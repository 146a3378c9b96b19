"""Settings of the whole suite: hypothesis profiles, the place of the optional shared files."""

import gc
import os
import sys
from pathlib import Path
from typing import Any

# One thread a worker: on matrices as small as ours, threads cost several times what they gain.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Compiling the samplers costs more than running them on chains as short as ours: less is optimised,
# the arithmetic is the same, and the code is kept apart from what a checkout is used with.
os.environ.setdefault("NUMBA_OPT", "1")
os.environ.setdefault("NUMBA_LOOP_VECTORIZE", "0")
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parent / ".numba"))

# Processes that tests start, and the other worker, find the package compiled, whatever is set here.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Looking for garbage among all that collecting makes was a fifth of the suite: it is looked for
# less often, and never in what was there before the first test.
gc.set_threshold(50_000, 20, 20)

import pytest  # noqa: E402

pytest_plugins = ["cost"]

# What samples with compiled code.
COMPILE = (
    "tests/bayesian/",
    "tests/experiments/test_posterior_figures.py",
    "tests/library/test_learn_bayesian.py",
    "tests/library/test_models.py",
    "tests/test_arguments.py::test_a_wrong_argument_is_named_or_has_a_meaning[sampl",
)

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def problems() -> Path:
    """The folder of real problem files beside the project's own checkout."""
    folder = SHARED / "problems"
    if not folder.is_dir():
        pytest.skip("the real problem files stand beside the project's own checkout only")
    return folder


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load the profile of the properties, but not where tests are only handed out to workers."""
    if config.getoption("dist", "no") != "no":
        return
    from hypothesis import settings

    import iirl_opt.testing  # noqa: F401

    shipped = settings.get_profile("iirl_opt")
    settings.register_profile("quick", shipped, max_examples=12, derandomize=True)
    settings.register_profile("deep", shipped, max_examples=1000)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each file to one worker, so that what a module shares is made once.

    All that compiles the samplers is one file in this sense: compiling takes half a minute, after
    which numba's cache has it for everybody.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "compiled" if nodeid.startswith(COMPILE) else nodeid.partition("::")[0]

    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that read the real problem files: they are an outside oracle."""
    for item in items:
        if "problems" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.oracle)


def pytest_collection_finish() -> None:
    """Leave out of the search for garbage what lasts as long as the process."""
    gc.freeze()
