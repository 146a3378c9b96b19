"""Mutations are what they are called, and are found again where code has moved."""

import ast

import pytest
from mutation import Identity, find, mutations_of

SOURCE = '''
"""A module."""

class Ball:
    """Holds 1 + 1."""

    def within(self, x):
        """Return whether x < 1."""
        if x < 0 or not self.known:
            raise ValueError(f"{x} < 0")
        for y in (x, 2 * x):
            if y < self.radius:
                return min(y, 3), True
        return x + 1 if x[0, 1:] else "a" + "b"
'''


def written(folder, text, name="ball.py"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def by_identity(*paths):
    found = {}
    for path in paths:
        for mutation in mutations_of(path):
            found.setdefault(mutation.identity, []).append(mutation)
    return found


def test_every_change_is_another_program_that_differs_in_one_line(tmp_path):
    path = written(tmp_path, SOURCE)
    before = SOURCE.splitlines()
    for mutation in mutations_of(path):
        after = mutation.applied().decode()
        assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(SOURCE)), mutation
        changed = [
            i
            for i, lines in enumerate(zip(before, after.splitlines(), strict=True), 1)
            if lines[0] != lines[1]
        ]
        assert changed == [mutation.line], mutation


@pytest.mark.parametrize(
    ("operator", "before", "after"),
    [
        ("comparison negated", "y < self.radius", "(y >= self.radius)"),
        ("boundary moved", "y < self.radius", "(y <= self.radius)"),
        ("and and or swapped", "x < 0 or not self.known", "(x < 0 and (not self.known))"),
        ("condition dropped", "x < 0 or not self.known", "(x < 0)"),
        ("check dropped", "x < 0 or not self.known", "(False)"),
        ("not dropped", "not self.known", "(self.known)"),
        ("arithmetic swapped", "2 * x", "(2 / x)"),
        ("constant off by one", "min(y, 3)", "min(y, (4))"),
        ("call swapped", "min(y, 3)", "(max(y, 3))"),
        ("truth swapped", "True", "(False)"),
        ("neighbours swapped", "(x, 2 * x)", "((2 * x, x))"),
        (
            "branch swapped",
            'x + 1 if x[0, 1:] else "a" + "b"',
            "('a' + 'b' if x[0, 1:] else x + 1)",
        ),
    ],
)
def test_each_operator_makes_its_change(tmp_path, operator, before, after):
    made = {
        mutation.applied().decode()
        for mutation in mutations_of(written(tmp_path, SOURCE))
        if mutation.identity.operator == operator
    }
    assert SOURCE.replace(before, after) in made


def test_text_for_people_and_slices_are_left_alone(tmp_path):
    for mutation in mutations_of(written(tmp_path, SOURCE)):
        after = mutation.applied().decode()
        for text in ("Holds 1 + 1.", "whether x < 1.", 'ValueError(f"{x} < 0")'):
            assert text in after, mutation
        assert "1:, 0" not in after, mutation


MOVED = {
    "another file and layout": (
        SOURCE.replace("min(y, 3), True", "(\n  min(y, 3),\n  True)"),
        True,
    ),
    "another class": (SOURCE.replace("class Ball", "class Sphere"), True),
    "another function": (SOURCE.replace("def within", "def holds"), True),
    "other names": (SOURCE.replace("radius", "reach").replace("y", "z"), True),
    "another statement": (SOURCE.replace("y < self.radius", "self.has(y)"), False),
}


@pytest.mark.parametrize("change", MOVED)
def test_a_mutation_is_found_again_where_code_has_moved(tmp_path, change):
    text, there = MOVED[change]
    wanted = Identity("Ball.within", "y < self.radius", "boundary moved", 0)
    moved = by_identity(written(tmp_path, text, "elsewhere.py"))
    found = find(wanted, moved, "ball")
    assert (found is not None) == there
    if found is not None:
        assert found.identity.operator == "boundary moved"
        assert "<=" in found.text


def test_where_two_places_are_as_near_none_is_found(tmp_path):
    wanted = Identity("Ball.within", "y < self.radius", "boundary moved", 0)
    twice = [SOURCE.replace("def within", f"def {name}") for name in ("holds", "has")]
    paths = [written(tmp_path, text, f"{i}.py") for i, text in enumerate(twice)]
    assert find(wanted, by_identity(*paths), "ball") is None


def test_among_equals_the_file_of_before_decides(tmp_path):
    wanted = Identity("Ball.within", "y < self.radius", "boundary moved", 0)
    paths = [written(tmp_path, SOURCE, name) for name in ("cube.py", "ball.py")]
    assert find(wanted, by_identity(*paths), "ball").path.name == "ball.py"
