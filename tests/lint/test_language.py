"""Language: function names, docstrings, and class names, as CONTRIBUTING.md states them."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
OTHERS = ("demo/project", "bench/suite", "bench/challenges", "coder/tools/", "coder/prompts/")
"""Data, and links to directories at the top of the repository."""
PARAMETER = re.compile(
    r"`([a-z_]\w*)` (?:are|asks?|builds?|called|comes?|compares?|counts?|decides?|describes?|gets?|gives?"
    r"|hears?|holds?|is|judges?|keeps?|limits|maps|may|must|names|needs?|receives?|returns?|runs?|says?|takes?|tells?"
    r"|writes?)\b"
)
"""A name in backquotes that is the subject of a sentence."""
NOT_PARAMETERS = frozenset(
    {
        "base",
        "if",
        "last",
        "node_modules",
        "ok",
        "parse_plan",
        "read",
        "run_tests",
        "show_lines",
        "token",
        "try",
    }
)
"""Files, tools, keywords and values that are subjects as well."""
IRREGULAR = re.compile(
    "begun|bought|broken|brought|built|caught|chosen|done|drawn|found|given|gone|heard|held|kept|known|left|lost|made|"
    "meant|said|seen|sent|shown|spoken|taken|told|understood|written"
)
REGULAR = re.compile(r"[a-z]{2,}(?:ed|ing)")
NO_PARTICIPLE = re.compile(
    "embed|exceed|feed|need|proceed|red|seed|speed|bring|string|listing|opening|docstring"
)
"""Verbs and nouns that look like participles."""
ADVERB = re.compile("in|out|of|by|to|up|on|off|from|at|inside|otherwise|alike|elsewhere|again|twice|as|with")
"""Makes the name a participle, such as `left_out`; before a noun it is an adjective."""
TEMPLATES = "coder/repair/templates.py"
"""Its functions are named like families of edits, which statistics hold."""
TARGETS = ("coder/verify/target/", "coder/warm/target/")
"""Loaded as single modules by foreign interpreters; names of its exceptions are data that others compare."""
OPENERS = re.compile(r"(?:What|Who|Whoever|How|Which|Says|Tells|Knows|Whatever)\b")


@cache
def modules() -> dict[str, ast.Module]:
    """Return the parsed modules by path."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for top in ("coder", "tools")
        for path in sorted((ROOT / top).rglob("*.py"))
        if not any(part in path.as_posix() for part in OTHERS)
    }


def definitions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Yield all functions and classes; expressions, most of a tree, hold none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from definitions(child)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in definitions(tree) if not isinstance(node, ast.ClassDef))


def is_participle(name: str) -> bool:
    """Tell whether a name is a participle, alone or with an adverb; `changed_paths` is a noun."""
    word, *rest = name.strip("_").split("_")
    regular = REGULAR.fullmatch(word) and not NO_PARTICIPLE.fullmatch(word)
    return bool(regular or IRREGULAR.fullmatch(word)) and (not rest or ADVERB.fullmatch(rest[0]) is not None)


def participle_names(tree: ast.Module) -> list[str]:
    """Return the functions that are named by a participle and return no bool."""
    return [
        node.name
        for node in functions(tree)
        if node.name.strip("_") != "missing"  # a method that Enum or dict calls
        and is_participle(node.name)
        and "bool" not in (ast.unparse(node.returns) if node.returns else "")
    ]


def riddles(tree: ast.Module) -> list[str]:
    """Return the first lines of docstrings that open with a question word or a third person."""
    first_lines = [(ast.get_docstring(node) or "").partition("\n")[0] for node in (tree, *definitions(tree))]
    return [line for line in first_lines if OPENERS.match(line)]


def unknown_parameters(tree: ast.Module) -> list[str]:
    """Return the names that docstrings speak of like parameters, and that occur nowhere in the function."""
    unknown = []
    for function in functions(tree):
        documentation = ast.get_docstring(function) or ""
        named = {*PARAMETER.findall(" ".join(documentation.split()))} - NOT_PARAMETERS
        for node in ast.walk(function) if named else ():
            match node:
                case ast.arg(arg=name) | ast.Name(id=name) | ast.Attribute(attr=name):
                    named.discard(name)
        unknown += sorted(named)
    return unknown


def test_names_and_docstrings() -> None:
    """One test: to parse all modules is most of its time."""
    found = {
        path: [
            *(() if path == TEMPLATES else participle_names(tree)),
            *riddles(tree),
            *unknown_parameters(tree),
        ]
        for path, tree in modules().items()
    }
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_public_classes_have_different_names() -> None:
    homes: dict[str, set[str]] = defaultdict(set)
    for path, tree in modules().items():
        for node in tree.body:
            if (
                isinstance(node, ast.ClassDef)
                and not node.name.startswith("_")
                and not path.startswith(TARGETS)
            ):
                homes[node.name].add(path)
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_the_checks_can_fail() -> None:
    assert unknown_parameters(ast.parse('def f(names):\n    """Do. `named` are tests."""\n')) == ["named"]
    bad = ast.parse('def kept(name: str) -> str:\n    """What is kept."""\n\n\ndef is_kept() -> bool: ...\n')
    assert participle_names(bad) == ["kept"]
    assert riddles(bad) == ["What is kept."]
