"""Mutations: small changes to the text of functions, named so that they are found again elsewhere.

A *mutation* is one operator at one place. Its *identity* is the qualified name of the function in
its module (``Class.method``), the normalised text of the statement, the operator, and which of the
places in that statement it is. Files, lines and layout are no part of it, so that it survives a
move; `find` also follows a function or the names in a statement to other names where no doubt is
left. Text for people is left alone: docstrings, messages, what is raised, what only prints.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Identity", "Mutation", "find", "mutations_of"]

# Operators of pairs, both ways round where that is another change.
NEGATED = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
CALLED = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "all": "any",
    "any": "all",
    "floor": "ceil",
    "ceil": "floor",
}
# Numbers that choose a layout, not a value: another one only ends in an error of NumPy.
LAYOUT = {"axis", "axes", "ndmin", "stacklevel", "maxsize", "indent", "width"}
# Functions whose result is for people.
PROSE = {"__repr__", "__str__", "_words", "render", "report", "title"}
# Parts that stay as they are: messages, annotations, and what narrows a type.
UNTOUCHED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True, order=True)
class Identity:
    """What a mutation is known by."""

    function: str
    statement: str
    operator: str
    occurrence: int

    @property
    def shape(self) -> tuple[str, str, int]:
        """The identity without any name: other words for the same statement."""
        return (re.sub(r"\b[^\W\d]\w*", "_", self.statement), self.operator, self.occurrence)


@dataclass(frozen=True)
class Mutation:
    """A change to a file.

    Attributes
    ----------
    identity : what it is known by.
    path : the file.
    line : where the statement begins.
    start, end : the bytes of the file that `text` takes the place of.
    """

    identity: Identity
    path: Path
    line: int
    start: int
    end: int
    text: str

    def applied(self) -> bytes:
        """Return the file with the change."""
        source = self.path.read_bytes()
        return source[: self.start] + self.text.encode() + source[self.end :]

    def __str__(self) -> str:
        old = " ".join(self.path.read_bytes()[self.start : self.end].decode().split())
        return f"{self.identity.function}: {old}  →  {self.text}"


def mutations_of(path: Path) -> Iterator[Mutation]:
    """Yield all mutations of a file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for name, statement, parts in _statements(ast.parse(source), ""):
        counts: dict[str, int] = defaultdict(int)
        said = _normal(parts)
        for part in parts:
            for node, operator, text in [*_dropped(statement, part), *_changes(part)]:
                identity = Identity(name, said, operator, counts[operator])
                counts[operator] += 1
                start = starts[node.lineno - 1] + node.col_offset
                end = starts[node.end_lineno - 1] + node.end_col_offset
                yield Mutation(identity, path, statement.lineno, start, end, text)


def _statements(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.stmt, list[ast.AST]]]:
    """Yield each statement of each function, with the parts of it that are no statements."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _statements(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.FunctionDef):
            if child.name not in PROSE:
                yield from _statements(child, f"{prefix}{child.name}.")
        else:
            if isinstance(child, ast.stmt) and _in_function(node, prefix):
                parts = [c for c in ast.iter_child_nodes(child) if not _is_block(c)]
                yield prefix.rstrip("."), child, parts
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                yield from _statements(child, prefix)


def _in_function(node: ast.AST, prefix: str) -> bool:
    return bool(prefix) and not isinstance(node, ast.ClassDef)


def _is_block(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case)


def _normal(parts: list[ast.AST]) -> str:
    """Return the text of a statement's own parts, whatever its layout."""
    return " ; ".join(ast.unparse(part) for part in parts if not isinstance(part, ast.expr_context))


def _dropped(statement: ast.stmt, part: ast.AST) -> Iterator[tuple[ast.expr, str, str]]:
    """Yield the change that lets an argument pass a check that raises."""
    if not isinstance(statement, ast.If) or part is not statement.test:
        return
    if not statement.orelse and isinstance(statement.body[-1], ast.Raise):
        yield statement.test, "check dropped", "(False)"


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr, str, str]]:
    """Yield the expressions inside a node that can change, the operator, and the new text."""
    if isinstance(node, UNTOUCHED):
        return
    if isinstance(node, ast.expr):
        for operator, changed in _changed(node):
            yield node, operator, f"({ast.unparse(changed)})"
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.keyword) and child.arg in LAYOUT):
            yield from _changes(child)


def _changed(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the operators that apply to an expression itself, with what it becomes."""
    match node:
        case ast.Compare(ops=[op]):
            for name, table in (("comparison negated", NEGATED), ("boundary moved", BOUNDARY)):
                if type(op) in table:
                    yield name, ast.Compare(node.left, [table[type(op)]()], node.comparators)
        case ast.BinOp(op=op) if type(op) in ARITHMETIC and not _is_text(node):
            other = ARITHMETIC[type(op)]
            yield "arithmetic swapped", ast.BinOp(node.left, other(), node.right)
        case ast.BoolOp(op=op):
            other = ast.Or if isinstance(op, ast.And) else ast.And
            yield "and and or swapped", ast.BoolOp(other(), node.values)
            yield "condition dropped", node.values[0]
        case ast.UnaryOp(op=ast.Not()):
            yield "not dropped", node.operand
        case ast.UnaryOp(op=ast.USub()) if not isinstance(node.operand, ast.Constant):
            yield "sign dropped", node.operand
        case ast.Constant(value=bool()):
            yield "truth swapped", ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield "constant off by one", ast.Constant(node.value + 1)
        case ast.Constant(value=float()) if node.value:
            yield "constant doubled", ast.Constant(2 * node.value)
        case ast.Call(func=ast.Name(id=name)) if name in CALLED:
            yield "call swapped", _calling(node, ast.Name(CALLED[name], ast.Load()))
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in CALLED:
            yield "call swapped", _calling(node, ast.Attribute(value, CALLED[name], ast.Load()))
        case ast.IfExp():
            yield "branch swapped", ast.IfExp(node.test, node.orelse, node.body)
        case ast.Tuple(elts=[first, second], ctx=ast.Load()):
            sliced = any(isinstance(part, ast.Slice) for part in node.elts)
            if ast.dump(first) != ast.dump(second) and not sliced:
                yield "neighbours swapped", ast.Tuple([second, first], ast.Load())


def _calling(node: ast.Call, function: ast.expr) -> ast.Call:
    return ast.Call(function, node.args, node.keywords)


def _is_text(node: ast.BinOp) -> bool:
    """Return whether a sum is one of texts or of lists, which have no difference."""
    texts = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)
    return any(
        isinstance(side, texts) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def find(wanted: Identity, there: dict[Identity, list[Mutation]], stem: str) -> Mutation | None:
    """Return the mutation of this identity among all of a package, or None.

    Where the identity is gone, the same statement in a function of another name stands for it, or
    in the function of this name the same statement in other words, if it is the only one.

    Parameters
    ----------
    stem : of the file where it was, which decides between equals.
    """
    same = there.get(wanted, [])
    at_home = [m for m in same if m.path.stem == stem]
    if at_home or same:
        return (at_home or same)[0]
    own = wanted.function.rpartition(".")[2]
    places = [
        [k for k in there if (k.statement, *k.shape[1:]) == (wanted.statement, *wanted.shape[1:])],
        [k for k in there if k.shape == wanted.shape and k.function.rpartition(".")[2] == own],
    ]
    for keys in places:
        if len(keys) == 1 and len(there[keys[0]]) == 1:
            return there[keys[0]][0]
    return None
