"""Seeded edits of Python files: in functions, around them, and at import."""

import ast
import random
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from coder.python.source import Positions
from coder.warm.trials import SwappableModule


@dataclass(frozen=True)
class Mutation:
    """One file with another text."""

    kind: str
    path: str
    text: str | None
    """None: the file is deleted."""


Found = Iterator[tuple[int, int, str]]
Maker = Callable[["Text", random.Random], Found]


class Text:
    """A source file whose nodes know their position, in characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.module = SwappableModule(text)
        self.tree = ast.parse(text)
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def span(self, node: ast.AST) -> tuple[int, int]:
        return Positions(self.text).span(node)

    def segment(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def in_function(self, node: ast.AST) -> bool:
        """Return whether it lies in the body of a function."""
        while (parent := self.parents.get(node)) is not None:
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and node in parent.body:
                return True
            node = parent
        return False

    def nodes(self, *types: type[ast.AST], inside: bool) -> list[ast.AST]:
        return [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, types) and self.in_function(node) is inside
        ]


def constants(text: Text, inside: bool) -> Found:
    for node in text.nodes(ast.Constant, inside=inside):
        assert isinstance(node, ast.Constant)
        parent = text.parents[node]
        if isinstance(parent, ast.JoinedStr | ast.FormattedValue | ast.Expr):
            continue
        if isinstance(node.value, bool):
            yield *text.span(node), str(not node.value)
        elif isinstance(node.value, int):
            yield *text.span(node), str(node.value + 1)
        elif (
            isinstance(node.value, str)
            and "\n" not in text.segment(node)
            and text.segment(node)[-1:] in "'\""
        ):
            yield *text.span(node), repr(node.value + "x")


def operators(text: Text, _rng: random.Random) -> Found:
    swapped = {ast.Lt: ">=", ast.Gt: "<=", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not", ast.In: "not in"}
    for node in text.nodes(ast.Compare, inside=True):
        assert isinstance(node, ast.Compare)
        if len(node.ops) == 1 and type(node.ops[0]) in swapped:
            yield (
                *text.span(node),
                f"{text.segment(node.left)} {swapped[type(node.ops[0])]} {text.segment(node.comparators[0])}",
            )


def returns(text: Text, _rng: random.Random) -> Found:
    for node in text.nodes(ast.Return, inside=True):
        yield *text.span(node), "return None"


def conditions(text: Text, _rng: random.Random) -> Found:
    for node in text.nodes(ast.If, inside=True):
        assert isinstance(node, ast.If)
        yield *text.span(node.test), f"not ({text.segment(node.test)})"


def statements(text: Text, _rng: random.Random) -> Found:
    for node in text.nodes(ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, inside=True):
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield *text.span(node), "pass"


def more_lines(text: Text, rng: random.Random) -> Found:
    """Insert statements before others, which moves all that follows."""
    for node in text.nodes(ast.Return, ast.Assign, ast.If, inside=True):
        start, _ = text.span(node)
        indent = start - (text.text.rfind("\n", 0, start) + 1)
        if text.text[start - indent : start].isspace():
            lines = rng.choice(
                (
                    ["pass"],
                    ["# a remark", "unused = [", "    1,", "]"],
                    ["def inner():", "    return 1", "inner()"],
                )
            )
            yield start, start, "".join(f"{line}\n{' ' * indent}" for line in lines)


def generators(text: Text, _rng: random.Random) -> Found:
    for node in text.nodes(ast.Return, inside=True):
        start, _ = text.span(node)
        if text.text[:start].rpartition("\n")[2].isspace():
            yield *text.span(node), "yield"


def documentation(text: Text, _rng: random.Random) -> Found:
    for node in ast.walk(text.tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            yield *text.span(node.body[0]), '"""Said otherwise."""'


def defaults(text: Text, rng: random.Random) -> Found:
    for node in ast.walk(text.tree):
        if isinstance(node, ast.FunctionDef) and node.args.defaults:
            yield *text.span(rng.choice(node.args.defaults)), "None"


def signatures(text: Text, _rng: random.Random) -> Found:
    for node in ast.walk(text.tree):
        if (
            isinstance(node, ast.FunctionDef)
            and node.args.args
            and not node.args.defaults
            and not node.args.vararg
        ):
            _, end = text.span(node.args.args[-1])
            yield end, end, ", added=None"


def decorators(text: Text, _rng: random.Random) -> Found:
    for node in ast.walk(text.tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.decorator_list:
            start, end = text.span(node.decorator_list[0])
            yield start - 1, end, "# no decorator"


def class_bodies(text: Text, rng: random.Random) -> Found:
    for node in ast.walk(text.tree):
        if isinstance(node, ast.ClassDef) and not text.in_function(node):
            start, _ = text.span(node.body[-1])
            line = text.text.rfind("\n", 0, start) + 1
            if text.text[line:start].isspace():
                added = rng.choice(("added = 1", "def __bool__(self): return False", "__slots__ = ()"))
                yield line, line, f"{text.text[line:start]}{added}\n"


def rename_functions(text: Text, _rng: random.Random) -> Found:
    for node in ast.walk(text.tree):
        if isinstance(node, ast.FunctionDef) and not text.in_function(node):
            start, _ = text.span(node)
            at = text.text.index(f"def {node.name}", start) + 4
            yield at, at + len(node.name), f"{node.name}_renamed"


def removed_definitions(text: Text, _rng: random.Random) -> Found:
    for node in ast.walk(text.tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not text.in_function(node):
            first = min([node, *node.decorator_list], key=lambda part: part.lineno)
            start, end = text.span(first)[0] - bool(node.decorator_list), text.span(node)[1]
            yield start, end, "pass"


def replacing_definitions(text: Text, _rng: random.Random) -> Found:
    """Add a function of the name of another one after it, so that the new one is called."""
    for node in text.tree.body:
        if isinstance(node, ast.FunctionDef):
            new = f"\n\ndef {node.name}(*arguments, **options):\n    raise NotImplementedError\n"
            yield len(text.text), len(text.text), new


def edits_at_end(text: Text, rng: random.Random) -> Found:
    added = (
        "ADDED = 1",
        "def added():\n    return 1",
        "import json as added",
        "raise RuntimeError('at import')",
        "def broken(:",
        "print('hello')",
    )
    yield len(text.text), len(text.text), f"\n\n{rng.choice(added)}\n"


def edits_at_top(text: Text, _rng: random.Random) -> Found:
    yield 0, 0, "# a remark\n# and another\n"


KINDS: dict[str, Maker] = {
    "constant in a function": lambda text, _rng: constants(text, True),
    "operator": operators,
    "return": returns,
    "condition": conditions,
    "statement": statements,
    "more lines": more_lines,
    "generator": generators,
    "documentation": documentation,
    "constant at import": lambda text, _rng: constants(text, False),
    "default": defaults,
    "signature": signatures,
    "decorator": decorators,
    "class body": class_bodies,
    "renamed": rename_functions,
    "removed": removed_definitions,
    "replaced": replacing_definitions,
    "at the end": edits_at_end,
    "at the top": edits_at_top,
}
OUTSIDE = (
    *("constant at import", "default", "signature", "decorator", "class body"),
    *("renamed", "removed", "replaced"),
)
IN_FUNCTIONS = ("constant in a function", "operator", "return", "condition", "statement", "more lines")


def random_mutations(
    tree: Path, sources: list[str], tests: list[str], *, seed: int, kinds: tuple[str, ...] = ()
) -> Iterator[Mutation]:
    """Yield mutations endlessly; one in twelve is of a test or a whole file, unless kinds are named."""
    rng = random.Random(seed)
    texts: dict[str, Text] = {}
    while True:
        if not kinds and rng.random() < 1 / 12:
            yield _whole_file_mutation(tree, sources, tests, rng)
            continue
        path, kind = rng.choice(sources), rng.choice(kinds or [*KINDS])
        if path not in texts:
            texts[path] = Text((tree / path).read_bytes().decode())
        places = [*KINDS[kind](texts[path], rng)]
        if places:
            start, end, new = rng.choice(places)
            text = texts[path].text[:start] + new + texts[path].text[end:]
            if text != texts[path].text:
                yield Mutation(kind, path, text)


def _whole_file_mutation(tree: Path, sources: list[str], tests: list[str], rng: random.Random) -> Mutation:
    match rng.randrange(4):
        case 0:
            return Mutation("deleted file", rng.choice(sources), None)
        case 1:
            new = Path(rng.choice(tests)).with_name("test_quite_new.py").as_posix()
            return Mutation("new test", new, "def test_new():\n    assert 1 == 2\n")
        case 2:
            new = Path(rng.choice(sources)).with_name("quite_new.py").as_posix()
            return Mutation("new file", new, "VALUE = 1\n")
        case _:
            path = rng.choice(tests)
            added = textwrap.dedent(
                rng.choice(("def test_added(): assert False", "import os as added", "raise OSError('no')"))
            )
            return Mutation("test", path, f"{(tree / path).read_bytes().decode()}\n\n{added}\n")
