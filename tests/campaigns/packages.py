"""What a stranger installs: the wheel, the sdist, and each extra alone.

    python -m tests.campaigns.packages --extras all
    python -m tests.campaigns.packages --extras core --python python3.12 --python python3.13

Wheel and sdist are built from a copy of what is under version control; the wheel twice, from the
copy and from the sdist. They are judged by twine, and hold what is under version control, no more.
Then each extra is installed alone, into an environment made for it, and one call that needs it is
made (`extras.py`), in an empty folder. With ``core`` the environment has no extra: there each of
these calls must name the line that installs its extra, every public name be there or name it, the
command work, the README's tour come out, and a few files of tests from the sdist pass.

It needs a package index. An extra takes a minute or two, nearly all of it pip's.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from .extras import CALLS, MISSING

ROOT = Path(__file__).parents[2]
CORE = "core"

# The tests of the sdist that run on the installed wheel.
TESTS = ("exact", "follower", "test_errors.py", "test_lemmas.py", "test_observation.py")

# Every public name of every room, which is there or names its extra.
NAMES = """
from importlib import import_module
from pkgutil import walk_packages
import iirl_opt
from iirl_opt.errors import MissingExtra
tried = told = 0
found = walk_packages(iirl_opt.__path__, "iirl_opt.")
for room in ["iirl_opt", *(module.name for module in found if module.ispkg)]:
    module = import_module(room)
    for name in getattr(module, "__all__", ()):
        tried += 1
        try:
            getattr(module, name)
        except MissingExtra:
            told += 1
print(tried, told)
assert tried > 300 and told > 20
"""


class Fault(Exception):
    """Something that a stranger would stumble over."""


def run(*command: object, cwd: Path, code: int = 0) -> str:
    """Return what a command prints, or fail with it."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != code:
        raise Fault(f"{' '.join(map(str, command))} left with {done.returncode}:\n{done.stdout}")
    return done.stdout


def declared_extras() -> list[str]:
    """Return the extras that pyproject.toml offers to users."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    return sorted(project["optional-dependencies"].keys() - {"dev"})


def tracked() -> set[str]:
    """Return the files under version control."""
    return set(run("git", "ls-files", cwd=ROOT).splitlines())


def build(folder: Path) -> tuple[Path, Path]:
    """Return the wheel and the sdist of a clean copy, judged by twine.

    Raises
    ------
    Fault
        They cannot be built, twine complains, or the sdist makes another wheel than the checkout.
    """
    copy, dist, direct = folder / "checkout", folder / "dist", folder / "direct"
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    python = [sys.executable, "-m"]
    run(*python, "build", "--outdir", dist, copy, cwd=folder)  # the wheel is built from the sdist
    run(*python, "build", "--wheel", "--outdir", direct, copy, cwd=folder)
    (wheel,), (sdist,), (other,) = dist.glob("*.whl"), dist.glob("*.tar.gz"), direct.glob("*.whl")
    run(*python, "twine", "check", "--strict", wheel, sdist, cwd=folder)
    if wheel.read_bytes() != other.read_bytes():
        raise Fault("the sdist does not build the wheel that the checkout builds")
    return wheel, sdist


def wheel_faults(names: Iterable[str], files: Iterable[str]) -> list[str]:
    """Return what the names in a wheel lack, and what should not be among them."""
    held = {name for name in names if ".dist-info/" not in name}
    wanted = {name for name in files if name.startswith("iirl_opt/")}
    wanted |= {f"iirl_opt/{name}" for name in files if name.startswith("models/")}
    licence = any(re.fullmatch(r"[^/]+\.dist-info/licenses/LICENSE", name) for name in names)
    return [
        *(f"the wheel lacks {name}" for name in sorted(wanted - held)),
        *(f"the wheel holds {name}" for name in sorted(held - wanted)),
        *([] if licence else ["the wheel lacks its licence"]),
    ]


def sdist_faults(names: Iterable[str], files: Iterable[str]) -> list[str]:
    """Return what the names in an sdist lack, and what should not be among them."""
    held, wanted = {name.partition("/")[2] for name in names}, set(files)
    extra = held - wanted - {"PKG-INFO"}
    return [
        *(f"the sdist lacks {name}" for name in sorted(wanted - held)),
        *(f"the sdist holds {name}" for name in sorted(extra)),
    ]


def contents(wheel: Path, sdist: Path) -> None:
    """Fail unless wheel and sdist hold what they must, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = archive.namelist()
    with tarfile.open(sdist) as tape:
        in_sdist = [member.name for member in tape.getmembers() if member.isfile()]
    files = tracked()
    if faults := wheel_faults(in_wheel, files) + sdist_faults(in_sdist, files):
        raise Fault("\n".join(faults))
    models = sum(
        name.startswith("iirl_opt/models/") and name.endswith(".toml") for name in in_wheel
    )
    stubs = sum(name.endswith("__init__.pyi") for name in in_wheel)
    print(f"wheel: {len(in_wheel)} files, {models} models, {stubs} stubs; sdist: {len(in_sdist)}")


def environment(python: str, folder: Path, *wanted: str) -> Path:
    """Return the interpreter of a new environment that holds these requirements."""
    run(python, "-m", "venv", folder / "venv", cwd=folder)
    made = folder / "venv" / "bin" / "python"
    pip = ("-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check")
    run(made, *pip, *wanted, cwd=folder)
    return made


def call(python: Path, extra: str, cwd: Path, code: int = 0) -> str:
    """Make the call that needs an extra, alone with what is installed."""
    return run(python, "-I", ROOT / "tests" / "campaigns" / "extras.py", extra, cwd=cwd, code=code)


def core(python: Path, empty: Path) -> None:
    """Fail unless the package without extras does what it says, and names what it lacks."""
    told = 0
    for extra in CALLS:
        said = call(python, extra, empty, MISSING)
        if f"pip install 'iirl-opt[{extra}]'" not in said:
            raise Fault(f"without {extra} the call says: {said}")
        told += 1
    public = run(python, "-I", "-c", NAMES, cwd=empty).split()
    versions = run(python.parent / "iirl-opt", "--versions", cwd=empty)
    if missing := [extra for extra in CALLS if f"[{extra}]" not in versions]:
        raise Fault(f"--versions does not name {', '.join(missing)}")
    run(python.parent / "iirl-opt", "learn", "small-maze", "--episodes", 3, cwd=empty)
    options = ("-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE")
    run(python, "-I", "-m", "doctest", *options, ROOT / "README.md", cwd=empty)
    print(f"core: {told} calls name their extra, {public[1]} of {public[0]} public names do")


def suite(python: Path, sdist: Path, folder: Path) -> None:
    """Run some tests of the sdist, where the package is the installed one alone."""
    with tarfile.open(sdist) as tape:
        tape.extractall(folder, filter="data")
    (unpacked,) = folder.glob("iirl_opt-*")
    shutil.rmtree(unpacked / "iirl_opt")
    pip = ("-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check")
    run(python, *pip, "pytest>=8.2", "hypothesis>=6.140", cwd=folder)
    tests = [f"tests/{name}" for name in TESTS]
    said = run(python, "-m", "pytest", "-q", "-m", "not campaign", *tests, cwd=unpacked)
    print(f"tests of the sdist: {said.splitlines()[-1]}")


def tried(wheel: Path, sdist: Path, extra: str, python: str) -> None:
    """Install an extra alone, or none, into an environment of its own and use what it enables."""
    with tempfile.TemporaryDirectory() as name:
        folder, start = Path(name), time.perf_counter()
        made = environment(python, folder, str(wheel) if extra == CORE else f"{wheel}[{extra}]")
        empty = folder / "empty"
        empty.mkdir()
        if extra == CORE:
            core(made, empty)
            suite(made, sdist, folder)
        else:
            call(made, extra, empty)
        number = len(list((folder / "venv").glob("lib/*/site-packages/*.dist-info")))
        seconds = time.perf_counter() - start
        print(f"{extra} on {python}: {number} packages, {seconds:.0f} s", flush=True)


def campaign(extras: Sequence[str], pythons: Sequence[str]) -> None:
    """Build, judge and install.

    Raises
    ------
    Fault
    """
    with tempfile.TemporaryDirectory() as name:
        wheel, sdist = build(Path(name))
        contents(wheel, sdist)
        for python in pythons:
            for extra in extras:
                tried(wheel, sdist, extra, python)


def main() -> int:
    """Read the options, and say what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    every = [CORE, *CALLS]
    parser.add_argument("--extras", nargs="+", default=[CORE], choices=["all", *every])
    parser.add_argument("--python", action="append", help="an interpreter; may be given again")
    given = parser.parse_args()
    try:
        campaign(every if "all" in given.extras else given.extras, given.python or [sys.executable])
    except Fault as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
