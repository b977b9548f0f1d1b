"""Facts extracted from Python source, compared with the `ast` module."""

import ast
import importlib.util
from pathlib import Path

import pytest

from coder.index import definitions
from coder.index.parsers import Import, parse_facts

MODULES = (
    "argparse",
    "dataclasses",
    "enum",
    "inspect",
    "typing",
    "unittest.mock",
    "asyncio.base_events",
    "textwrap",
    "doctest",
)

Row = tuple[str, str, int, int, int, tuple[int, int]]


def ast_definitions(text: str) -> set[Row]:
    """Return the definitions as `ast` sees them."""
    rows: set[Row] = set()

    def walk(node: ast.AST, prefix: str, scope: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                is_class = isinstance(child, ast.ClassDef)
                kind = "class" if is_class else "method" if scope == "class" else "function"
                start = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                first = child.body[0]
                documented = ast.get_docstring(child) is not None
                docstring = (first.lineno, first.end_lineno or 0) if documented else (0, 0)
                rows.add((prefix + child.name, kind, start, child.lineno, child.end_lineno or 0, docstring))
                walk(child, f"{prefix}{child.name}.", "class" if is_class else "function")
            elif isinstance(child, ast.Assign | ast.AnnAssign) and scope != "function":
                target = child.targets[0] if isinstance(child, ast.Assign) else child.target
                if isinstance(target, ast.Name):
                    rows.add(
                        (
                            prefix + target.id,
                            "variable",
                            child.lineno,
                            child.lineno,
                            child.end_lineno or 0,
                            (0, 0),
                        )
                    )
            elif not isinstance(child, ast.expr):
                walk(child, prefix, scope)

    walk(ast.parse(text), "", "module")
    return rows


@pytest.mark.parametrize("module", MODULES)
def test_agrees_with_ast_on_the_standard_library(module: str) -> None:
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    rows = {
        (
            definition.name,
            definition.kind,
            definition.start,
            definition.line,
            definition.end,
            definition.docstring,
        )
        for definition in definitions(spec.origin, text)
    }
    assert rows ^ ast_definitions(text) == set()


HARD = '''\
"""Not def this(): but a docstring."""
X = {
    "a": """
def not_this(): pass
""",
    "b": (1,
2),
}


@decorated(
    name="class Not:",
)
@again
class Box(Base, metaclass=Meta[int]):  # class Nor: this
    'Holds "items".'
    kind: str = f"{Box}def nor():"
    count: int

    async def size(
        self, deep: bool = False,  # how
        *, other={"a": 1},
    ) -> dict[str, int]:
        r"""Count \\"
        them."""
        local = 1
        def inner(): return """
back at the margin
"""
        return {
    1: 2
        }

    if True:
        def late(self): ...
else_: int = 3
'''


def test_strings_brackets_and_margins_do_not_mislead() -> None:
    rows = {
        (
            definition.name,
            definition.kind,
            definition.start,
            definition.line,
            definition.end,
            definition.docstring,
        )
        for definition in definitions("a.py", HARD)
    }
    assert rows == ast_definitions(HARD)


def test_signatures_and_docstrings_take_one_line() -> None:
    result = {
        definition.name: (definition.signature, definition.summary)
        for definition in definitions("a.py", HARD)
    }
    assert result["Box"] == ("class Box(Base, metaclass=Meta[int])", 'Holds "items".')
    assert result["Box.size"] == (
        'async def size(self, deep: bool = False, *, other={"a": 1}) -> dict[str, int]',
        'Count \\"',
    )
    assert result["Box.count"] == ("count: int", "")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "def good():\n    pass\n\n\ndef bad(:\n    pass\n\n\ndef after():\n    pass\n",
            ["good", "bad", "after"],
        ),
        ("x = '''never closed\ndef a(): ...\n", ["x", "a"]),
        ("class A\n    def b(self):\n        return (\n\ndef c(): ...\n", ["A", "c"]),
        ("def", []),
        ("", []),
        ("\0\n\r\ndef a():\r\n    pass\r\n", ["a"]),
        ("def \ud800(): ...\ndef b(): ...", ["b"]),
    ],
)
def test_parses_broken_code_as_far_as_possible(text: str, names: list[str]) -> None:
    assert [definition.name for definition in definitions("a.py", text)] == names


def test_uses_are_code_identifiers_only() -> None:
    text = (
        "import os\n\ndef f(self, a):  # comment\n"
        "    return a.b + 'text' + f'{a!r} said {os.sep:>3} {a[\"b\"]}'\n\nf('f'); f(1)\n"
    )
    assert parse_facts("a.py", text).uses == {"os": [1, 4], "f": [3, 6], "a": [3, 4], "b": [4], "sep": [4]}


def test_imports_are_read_as_they_are_written() -> None:
    text = (
        "import a.b, c as d\nfrom . import e\nfrom ..f.g import (\n    h as i,  # why\n    j,\n)\n"
        "from k import *\n"
    )
    text += "from l import m, \\\n    n\n'''\nimport no\n'''\nfrom o import (p as\n    q)\n"
    assert parse_facts("a.py", text).imports == (
        Import(module="a.b", line=1),
        Import(module="c", alias="d", line=1),
        Import(module=".", name="e", line=2),
        Import(module="..f.g", name="h", alias="i", line=3),
        Import(module="..f.g", name="j", line=3),
        Import(module="k", name="*", line=7),
        Import(module="l", name="m", line=8),
        Import(module="l", name="n", line=8),
        Import(module="o", name="p", alias="q", line=13),
    )


def test_bases_are_named_without_their_arguments() -> None:
    text = "class A(b.C, D[int, str], metaclass=M): ...\nclass E: ...\n"
    assert parse_facts("a.py", text).bases == {"A": ("b.C", "D")}
