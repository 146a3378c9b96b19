"""A campaign of mutants: how many small faults, planted one at a time, do the tests see?

    python -m tests.campaigns.mutants --count 60 --seed 0

`mutants.json` beside this file is a sample of mutations (`tests/mutation.py`) that was drawn once,
each with the names of at most twelve test functions that run the line, the nearest to its module.
Every mutation is found again by its identity, wherever function and tests have moved to, applied to
a copy of the package in a temporary folder, and the tests are run against it, without shrinking:
*killed* if one fails, *survived* if none does, *timed out* if they do not end, *untested* if none
of the tests is left. Those that are not found are listed apart. Exit code 0: of those found at
least as many are killed or time out as when the sample was drawn.

When the sample was drawn, in November 2026 with seed 0, 40 of its 60 mutants were killed and 20
survived the tests named (each its own ``before``). Some of those are the same program in other
words, such as a bound that floats never meet; tests that are not the nearest may see others.

A sample is drawn anew, from all rooms that compute or check, with what coverage.py recorded with
``dynamic_context = test_function``:

    python -m tests.campaigns.mutants --count 60 --seed 0 --draw .coverage

A function is drawn, then one of the operators that apply in it, then a place. Left out are the
compiled engine of the samplers, pictures, commands, experiments, readers of files, and what is
shipped for tests.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from mutation import Identity, Mutation, find, mutations_of

ROOT = Path(__file__).parents[2]
SAMPLE = Path(__file__).with_suffix(".json")
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", ".*cache", ".hypothesis")

# Rooms and files that no mutation is drawn from.
LEFT_OUT = {"plot", "cli", "experiments", "formats", "library", "testing", "claims", "errors"}
LEFT_OUT |= {"engine", "banner", "export", "__init__"}

NEAREST, MOST = 8, 12  # tests of the module's own file, and in all
BUDGET, LIMIT = 40.0, 180.0  # seconds that the tests of a mutant should and may take

SEEN = ("killed", "timed out")
UNUSABLE = (4, 5)  # pytest's codes for arguments that it cannot use, and no tests

# As the profile of the suite, but what fails is not made smaller: that takes minutes.
PROFILE = """
import pytest
from hypothesis import Phase, settings

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", settings(), phases=phases)
    settings.load_profile("mutants")
"""


@dataclass
class Mutant:
    """A mutation of the sample.

    Attributes
    ----------
    identity : what it is known by.
    file : where it was when it was drawn.
    tests : by ``file.function``, the nearest first.
    before : what became of it then.
    """

    identity: Identity
    file: str
    tests: list[str]
    before: str = ""


class Copy:
    """A copy of the package and its tests, in which one file at a time is changed."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(root, folder, ignore=NOT_COPIED, dirs_exist_ok=True)
        (folder / "aside").mkdir()
        (folder / "aside" / "mutant_profile.py").write_text(PROFILE)
        self.clock = time.time()
        self.places = self._collect()

    @property
    def package(self) -> Path:
        """The folder of the package."""
        return self.folder / "iirl_opt"

    def pytest(self, *arguments: str, limit: float | None = None) -> tuple[int | None, str]:
        """Return the exit code of pytest, None if it did not end in time, and what it printed."""
        paths = os.pathsep.join([str(self.folder), str(self.folder / "aside")])
        environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        process = subprocess.Popen(
            [*command, "-p", "mutant_profile", *arguments],
            cwd=self.folder,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return process.returncode, printed

    def _collect(self) -> dict[str, str]:
        """Return where each test function is, by ``file.function`` and by its name alone."""
        _, printed = self.pytest("--collect-only")
        places: dict[str, str] = {}
        for line in printed.splitlines():
            file, _, rest = line.partition("::")
            if rest:
                node = f"{file}::{rest.partition('[')[0]}"
                name = node.rpartition("::")[2]
                places[f"{Path(file).stem}.{name}"] = node
                places.setdefault(name, node)
        return places

    def nodes(self, tests: Iterable[str]) -> list[str]:
        """Return where tests of these names are, those that there still are."""
        found = (self.places.get(t) or self.places.get(t.partition(".")[2]) for t in tests)
        return list(dict.fromkeys(node for node in found if node is not None))

    def seconds(self, tests: Iterable[str]) -> dict[str, float]:
        """Run tests without a mutation and return how long each function takes.

        Raises
        ------
        SystemExit
            One of them fails.
        """
        code, printed = self.pytest("--durations=0", "--durations-min=0", *self.nodes(tests))
        if code != 0:
            sys.exit(f"tests fail without a mutation:\n{printed[-4000:]}")
        taken: dict[str, float] = defaultdict(float)
        for number, node in re.findall(r"^([0-9.]+)s \w+ +(\S+)", printed, flags=re.MULTILINE):
            file, *_, name = node.split("[")[0].split("::")
            taken[f"{Path(file).stem}.{name}"] += float(number)
        return taken

    def judge(self, mutation: Mutation, tests: Iterable[str]) -> str:
        """Apply a mutation, run tests, and take it back."""
        nodes = self.nodes(tests)
        if not nodes:
            return "untested"
        original = mutation.path.read_bytes()
        try:
            self._write(mutation.path, mutation.applied())
            code, _ = self.pytest("-x", *nodes, limit=LIMIT)
        finally:
            self._write(mutation.path, original)
        if code in UNUSABLE:
            sys.exit(f"pytest does not run {' '.join(nodes)}")
        return "timed out" if code is None else "killed" if code else "survived"

    def _write(self, path: Path, content: bytes) -> None:
        """Write a file so that no compiled file of the text before is taken for it."""
        path.write_bytes(content)
        self.clock += 2
        os.utime(path, (self.clock, self.clock))


# Drawing


def candidates(package: Path) -> Iterator[Mutation]:
    """Yield the mutations of all files that are drawn from."""
    for path in sorted(package.rglob("*.py")):
        if not LEFT_OUT & {*path.relative_to(package).with_suffix("").parts}:
            yield from mutations_of(path)


def everywhere(package: Path) -> dict[Identity, list[Mutation]]:
    """Return all mutations of a package by what they are known by."""
    found: dict[Identity, list[Mutation]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for mutation in mutations_of(path):
            found[mutation.identity].append(mutation)
    return found


class Recorded:
    """Which test functions run which line, as coverage.py recorded it."""

    def __init__(self, file: Path, package: Path, tests: Path) -> None:
        from coverage import CoverageData

        data = CoverageData(str(file))
        data.read()
        # The record names files where the package was when it ran: only their ends count.
        self.lines = {}
        for name in data.measured_files():
            inside = name.rpartition("/iirl_opt/")[2]
            self.lines[package / inside] = data.contexts_by_lineno(name)
        self.spread = Counter(
            test for lines in self.lines.values() for tests in lines.values() for test in tests
        )
        self.rooms = {path.stem: path.parent.name for path in tests.rglob("test_*.py")}

    def tests(self, mutation: Mutation) -> list[str]:
        """Return the test functions that run a line, the nearest to its module first."""
        stem, room = mutation.path.stem, mutation.path.parent.name
        running = self.lines.get(mutation.path, {}).get(mutation.line, [])
        named = (test for test in running if re.fullmatch(r"test_\w+\.test_\w+", test))
        # What a test runs little else of the package for is nearest within its file.
        own: list[str] = []
        others: list[str] = []
        for test in sorted(named, key=lambda t: (self.spread[t], t)):
            home = test.partition(".")[0]
            (own if home == f"test_{stem}" else others).append(test)
        others.sort(key=lambda t: self.rooms.get(t.partition(".")[0]) != room)
        first = ends(own, NEAREST)
        return first + others[: MOST - len(first)]


def ends(tests: list[str], count: int) -> list[str]:
    """Return some of the first tests, which run little, and of the last, which run much."""
    return tests if len(tests) <= count else tests[: count // 2] + tests[-(count // 2) :]


def draw(copy: Copy, coverage: Path, count: int, seed: int) -> list[Mutant]:
    """Draw a sample of mutations whose lines some test function runs."""
    recorded = Recorded(coverage, copy.package, copy.folder / "tests")
    unique = {known for known, places in everywhere(copy.package).items() if len(places) == 1}
    functions: dict[tuple[Path, str], dict[str, list[Mutation]]] = {}
    for mutation in candidates(copy.package):
        if mutation.identity in unique and recorded.tests(mutation):
            key = (mutation.path, mutation.identity.function)
            by_operator = functions.setdefault(key, {})
            by_operator.setdefault(mutation.identity.operator, []).append(mutation)
    rng = random.Random(seed)
    sample = []
    for key in rng.sample(sorted(functions), count):
        operators = functions[key]
        mutation = rng.choice(operators[rng.choice(sorted(operators))])
        file = mutation.path.relative_to(copy.folder).as_posix()
        sample.append(Mutant(mutation.identity, file, recorded.tests(mutation)))
    seconds = copy.seconds(sorted({test for mutant in sample for test in mutant.tests}))
    for mutant in sample:
        mutant.tests = within(mutant.tests, seconds)
    return sample


def within(tests: list[str], seconds: dict[str, float]) -> list[str]:
    """Return the first tests that together keep to the budget, at least one."""
    kept, total = [], 0.0
    for test in tests:
        if total + seconds[test] <= BUDGET:
            kept.append(test)
            total += seconds[test]
    return kept or [min(tests, key=lambda test: seconds[test])]


def read(path: Path) -> list[Mutant]:
    """Read a sample."""
    records = json.loads(path.read_text(encoding="utf-8"))
    return [Mutant(Identity(**record.pop("identity")), **record) for record in records]


def write(path: Path, sample: list[Mutant]) -> None:
    """Write a sample."""
    records = [asdict(mutant) for mutant in sample]
    path.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# Running


def run(copy: Copy, sample: list[Mutant]) -> list[tuple[Mutant, str]]:
    """Judge every mutant, print a line for each, and return what became of them."""
    there = everywhere(copy.package)
    judged = []
    for mutant in sample:
        begun = time.perf_counter()
        mutation = find(mutant.identity, there, Path(mutant.file).stem)
        end = "not found" if mutation is None else copy.judge(mutation, mutant.tests)
        judged.append((mutant, end))
        place, words = mutant.file, f"{mutant.identity.function}: {mutant.identity.statement}"
        if mutation is not None:
            place = f"{mutation.path.relative_to(copy.folder)}:{mutation.line}"
            words = f"{mutant.identity.operator}: {str(mutation)[:200]}"
        gone = len(mutant.tests) - len(copy.nodes(mutant.tests))
        if gone:
            words += f" ({gone} of {len(mutant.tests)} tests are gone)"
        seconds = time.perf_counter() - begun
        print(f"{end:<10} {seconds:>5.0f} s  {place}  {words}", flush=True)
    return judged


def main() -> int:
    """Run the campaign of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--root", type=Path, default=ROOT, help="checkout to mutate a copy of")
    parser.add_argument("--draw", type=Path, metavar="COVERAGE", help="draw the sample anew")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(given.root.resolve(), Path(folder).resolve())
        if given.draw is not None:
            write(SAMPLE, draw(copy, given.draw, given.count, given.seed))
        sample = read(SAMPLE)[: given.count]
        judged = run(copy, sample)
    if given.draw is not None:
        write(SAMPLE, [Mutant(m.identity, m.file, m.tests, end) for m, end in judged])
        judged = [(Mutant(m.identity, m.file, m.tests, end), end) for m, end in judged]
    return report(judged)


def report(judged: list[tuple[Mutant, str]]) -> int:
    """Print the counts and return the exit code."""
    counts = Counter(end for _, end in judged)
    print(", ".join(f"{n} {end}" for end, n in counts.most_common()), f"of {len(judged)}")
    found = [mutant.before in SEEN for mutant, end in judged if end != "not found"]
    seen = counts["killed"] + counts["timed out"]
    print(f"of {len(found)} that are found {seen} are seen, {sum(found)} were when it was drawn")
    return 0 if seen >= sum(found) else 1


if __name__ == "__main__":
    sys.exit(main())
