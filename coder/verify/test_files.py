"""Tests of a change: files, functions and examples that define them, and which of these differ."""

import ast
import doctest
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import islice, zip_longest
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from coder.core.paths import SOURCE_SUFFIXES, is_test_path, test_file_of, test_function_of, test_name_of
from coder.core.text import shorten_line
from coder.core.verdict import ReplacedAssertion
from coder.files.regular_files import project_files, read_regular_text
from coder.index.parsers import SyntaxNode, definitions, node_text, parse_syntax
from coder.python.source import (
    Function,
    bound_names,
    decode_text,
    dump_node,
    parse_module,
    parse_or_empty,
    split_lines,
)

_SUITE_WIDE = ("pytest_", "pytestmark", "__test__", "collect_ignore", "load_tests", "setup", "teardown")
"""Beginnings of names of a module that decide on all of its tests."""
_Name = tuple[str, ...]
"""A test's qualified name: its classes, then its function."""


class ChangedTests(NamedTuple):
    """Test functions that differ between two versions of a file, as ids: `path::Class::test`."""

    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    """Those on both sides that differ, or whose class, helpers, fixtures or constants do."""
    removed: tuple[str, ...] = ()
    is_whole: bool = False
    """Any test of the file may be affected; then none is named."""

    def selection(self, path: str, *, old: bool = False) -> tuple[str, ...]:
        if self.is_whole:
            return (path,)
        return (*self.edited, *self.removed) if old else (*self.added, *self.edited)


WHOLE_FILE = ChangedTests(is_whole=True)
_IMPORT = re.compile(
    r"""^[ \t]*(?:
        from[ ]\S+[ ]import[ ]+(?:\([^)]*\)|[^(\n]*$)  # Python
        |import[ ]+[\w.]+(?:[ ]as[ ]\w+)?[ \t]*$
        |(?:\w+[ ]*=[ ]*)?(?:importlib[.])?(?:import_module|__import__)\(["'][^()\n]*\)[ \t]*$
        |pytest_plugins[ ]*=[ ]*(?:[\[(][^\])]*[\])]|["'][\w.]+["'])[ \t]*$
        |import\b[^;"'`()]*["'][^"'\n]+["'];?  # JavaScript
        |(?:const|let|var)\s+(?:\w+|\{[^{}=]*\})\s*=\s*require\([^()\n]*\);?
    )""",
    re.M | re.X,
)


def differs_by_imports_alone(old: str, new: str) -> bool:
    """Tell whether two versions of a test file of Python or JavaScript differ in what they load only."""
    return _IMPORT.sub("", old).split() == _IMPORT.sub("", new).split()


def find_changed_tests(path: str, old: str, new: str) -> ChangedTests:
    """Return the tests of a file that differ; any test where the syntax does not tell which."""
    try:
        before, after = _read_module(parse_module(old)), _read_module(parse_module(new))
    except (SyntaxError, ValueError, RecursionError):
        return WHOLE_FILE
    changed = _changed_names(before, after)
    if changed is None:
        return WHOLE_FILE

    def test_id(name: _Name) -> str:
        return "::".join((path, *name))

    found = ChangedTests(
        added=tuple(test_id(name) for name in after.tests if name not in before.tests),
        edited=tuple(
            test_id(name)
            for name, parts in after.tests.items()
            if name in before.tests
            and (_dump(parts) != _dump(before.tests[name]) or not changed.isdisjoint(_used_names(parts)))
        ),
        removed=tuple(test_id(name) for name in before.tests if name not in after.tests),
    )
    return found if any(found) else WHOLE_FILE


BUILT_IN_FIXTURES = frozenset(
    {
        *("cache", "capfd", "caplog", "capsys", "doctest_namespace", "monkeypatch", "pytestconfig"),
        *("request", "recwarn", "tmp_path", "tmp_path_factory", "tmpdir", "tmpdir_factory"),
        *("anyio_backend", "event_loop", "event_loop_policy", "live_server", "django_db_setup"),
    }
)
"""Fixtures of pytest and its plugins that others build upon."""


def find_fixture_names(text: str) -> set[str]:
    """Return the names by which the functions of a test file may ask for fixtures, and those it defines."""
    names: set[str] = set()
    for node in ast.walk(parse_or_empty(text)):
        match node:
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.Constant(value=str(words)):
                names |= {word.strip() for word in words.split(",")}
    return names


def adds_only_fixtures(old: str, new: str, *, taken: Collection[str], changed: Collection[str]) -> bool:
    """Tell whether a `conftest.py` differs by new fixtures, and what these need, under names not `taken`.

    Nothing there may run before a test asks for it, nor come from modules that are `changed`.
    """
    try:
        before, after = parse_module(old).body, parse_module(new).body
    except (SyntaxError, ValueError, RecursionError):
        return False
    known = [dump_node(node) for node in before]
    added = [node for node in after if dump_node(node) not in known]
    kept = [dump_node(node) for node in after if dump_node(node) in known]
    return kept == known and all(_is_inert(node, taken, changed) for node in added)


def _is_inert(node: ast.stmt, taken: Collection[str], changed: Collection[str]) -> bool:
    """Tell whether a statement of a `conftest.py` does nothing but define or import what it names."""
    names = {*bound_names(node)}
    if any(name in BUILT_IN_FIXTURES or name in taken or name.startswith(_SUITE_WIDE) for name in names):
        return False
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            return True
        case ast.Import(names=aliases):
            return not any(alias.name.partition(".")[0] in changed for alias in aliases)
        case ast.ImportFrom(module=str(module), level=0):
            return module.partition(".")[0] not in changed and "*" not in names
        case ast.ClassDef(bases=bases, keywords=[], body=body):
            parts = [*bases, *node.decorator_list]
            return all(map(_is_plain, parts)) and all(_is_inert(part, (), changed) for part in body)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            values = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            return all(map(_is_plain, values)) and all(map(_is_plain_decorator, node.decorator_list))
        case ast.Assign(targets=targets, value=value):
            return all(isinstance(target, ast.Name) for target in targets) and _is_plain(value)
        case ast.AnnAssign(target=ast.Name(), value=value):
            return value is None or _is_plain(value)
        case _:
            return False


def _is_plain(node: ast.expr) -> bool:
    """Tell whether an expression can be evaluated without an effect: values, names, paths."""
    return all(
        not isinstance(part, ast.Call | ast.NamedExpr | ast.Await | ast.Lambda)
        or (isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "Path")
        for part in ast.walk(node)
    )


def _is_plain_decorator(node: ast.expr) -> bool:
    """Tell whether a decorator makes a fixture that tests must ask for, or is only a name."""
    if not isinstance(node, ast.Call):
        return _is_plain(node)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    words = {word.arg for word in node.keywords}
    return name == "fixture" and words <= {"params", "ids", "scope"} and all(map(_is_plain, node.args))


class _Module(NamedTuple):
    """The statements of a test file."""

    tests: Mapping[_Name, tuple[ast.AST, ...]]
    """For each test its function, and its classes without their tests."""
    bound: Mapping[str, list[ast.AST]]
    """All other statements, by the names that they bind; those that bind nothing are under the empty name."""


def _read_module(module: ast.Module) -> _Module:
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    tests: dict[_Name, tuple[ast.AST, ...]] = {}
    bound: dict[str, list[ast.AST]] = defaultdict(list)
    for statement in _split_imports(module):
        if isinstance(statement, Function) and statement.name.startswith("test"):
            tests[statement.name,] = (statement,)
        elif isinstance(statement, ast.ClassDef) and (own := _class_tests(statement, classes)):
            tests |= own
            bound[statement.name].append(_without_tests(statement))
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            for name in {*bound_names(statement)} or {""}:
                bound[name.strip("*")].append(statement)  # `*` binds unknown ones
    return _Module(tests, bound)


def _split_imports(module: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements of a module, with one import for each name."""
    for statement in module.body:
        match statement:
            case ast.Import(names=names):
                yield from (ast.Import(names=[alias]) for alias in names)
            case ast.ImportFrom(module=source, names=names, level=level):
                yield from (ast.ImportFrom(module=source, names=[alias], level=level) for alias in names)
            case _:
                yield statement


def _class_tests(
    node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], derived: tuple[str, ...] = ()
) -> dict[_Name, tuple[ast.AST, ...]]:
    tests: dict[_Name, tuple[ast.AST, ...]] = {}
    shell = _without_tests(node)
    for base in reversed(node.bases):
        if isinstance(base, ast.Name) and base.id in classes and base.id not in (node.name, *derived):
            inherited = _class_tests(classes[base.id], classes, (node.name, *derived))
            tests |= {(node.name, *name[1:]): (shell, *parts) for name, parts in inherited.items()}
    for member in node.body:
        if isinstance(member, Function) and member.name.startswith("test"):
            tests[node.name, member.name] = (shell, member)
        elif isinstance(member, ast.ClassDef):
            inner = _class_tests(member, {})
            tests |= {(node.name, *name): (shell, *parts) for name, parts in inner.items()}
    return tests


def _without_tests(node: ast.ClassDef) -> ast.ClassDef:
    kept = [
        member
        for member in node.body
        if not isinstance(member, ast.ClassDef)
        and not (isinstance(member, Function) and member.name.startswith("test"))
    ]
    return ast.ClassDef(
        name=node.name,
        bases=node.bases,
        keywords=node.keywords,
        body=kept,
        decorator_list=node.decorator_list,
    )


def _changed_names(before: _Module, after: _Module) -> set[str] | None:
    """Return the names that the change binds otherwise, and those that use them; None if any test may."""
    names = before.bound.keys() | after.bound.keys()
    changed = {
        name for name in names if _dump(before.bound.get(name, ())) != _dump(after.bound.get(name, ()))
    }
    changed = _with_users(changed, [before, after])
    is_suite_wide = any(
        not name or name.startswith(_SUITE_WIDE) or any(map(_is_automatic, after.bound.get(name, ())))
        for name in changed
    )
    return None if is_suite_wide else changed


def _with_users(names: set[str], modules: Sequence[_Module]) -> set[str]:
    """Return the names and those that use them, directly or by others."""
    statements = [(name, node) for module in modules for name in module.bound for node in module.bound[name]]
    while True:
        users = {name for name, node in statements if not names.isdisjoint(_used_names([node]))}
        if users <= names:
            return names
        names = names | users


def _is_automatic(node: ast.AST) -> bool:
    """Tell whether a statement defines a fixture that all tests use."""
    return isinstance(node, Function) and any(
        isinstance(inner, ast.keyword) and inner.arg == "autouse"
        for decorator in node.decorator_list
        for inner in ast.walk(decorator)
    )


def _used_names(nodes: tuple[ast.AST, ...] | list[ast.AST]) -> Iterator[str]:
    """Yield the names that code may refer to: variables, attributes, parameters, and words of strings."""
    for node in nodes:
        for inner in ast.walk(node):
            match inner:
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                    yield name
                case ast.Constant(value=str(text)):
                    yield from text.replace(",", " ").split()


def _dump(nodes: tuple[ast.AST, ...] | list[ast.AST]) -> list[str]:
    return [dump_node(node) for node in nodes]


CODE = (*SOURCE_SUFFIXES, ".bats", ".dart", ".ex", ".exs", ".fs", ".groovy", ".hs", ".jl", ".pl", ".t")
MOST_FILES = 5000
MOST_WORDS = 12
_QUOTED = re.compile(r"""(["'`])((?:(?!\1)[^\\\n]|\\.){1,200})\1""")
_FUNCTION = re.compile(r"\b(?:def|fn|fun|func|function|sub|void|Task)\s+`?(\w+)")
_GO_METHOD = re.compile(r"\bfunc\s*\([^)]*\)\s*(\w+)")
SCRIPTS = frozenset({".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"})
_TITLED_TEST = re.compile(
    r"^\s*(?:(?:it|test|specify)[\w.]*\(|func Test\w|#\[[\w:]*test\b|@Test\b)", re.MULTILINE
)
"""Matches where a test begins in JavaScript, Go, Rust, Java and their like."""
TITLED = re.compile(
    r"""(?:\b(?:it|test|specify|scenario|example|describe|context|suite|subtest|Run)[\w.]*|@test)"""
    r"""\s*\(?\s*(["'`])((?:(?!\1)[^\\\n]|\\.){1,200})\1"""
)
"""The title of a test, as test frameworks take it; `_QUOTED` may be any other text."""
_NUMBERED = re.compile(r" #\d+$")
"""What distinguishes two tests of one name in a report."""
_RUST_EXAMPLE = re.compile(r"(?P<path>\S+\.rs) - .*\(line \d+\)")
"""The id of an example in documentation."""


def is_example(test_id: str) -> bool:
    """Tell whether a test is an example in documentation: a doctest of pytest, or of Rust."""
    name, path = test_id.partition("::")[2].partition("[")[0], PurePosixPath(test_file_of(test_id))
    module = path.parent.name if path.stem == "__init__" else path.stem
    return _RUST_EXAMPLE.match(test_id) is not None or (
        path.suffix in (".py", ".md", ".rst", ".txt")
        and ("." in name or (name == module and not is_test_path(str(path))))
    )


class TestLocator:
    """Finds the files that define tests in one tree."""

    __test__ = False

    def __init__(self, tree: Path) -> None:
        """Read files of the tree only when a test has to be searched for."""
        self._tree = tree

    def find_files(self, test_id: str) -> tuple[str, ...]:
        """Return the files that may define a test, test files if there are any; empty if none is found."""
        path = test_file_of(test_id)
        if example := _RUST_EXAMPLE.match(test_id):
            path = example["path"]
        if path and (self._tree / path).is_file():
            return (path,)
        named = [file for file in self._files_of_class(test_id) if self._mentions(file, test_id)]
        tests = [file for file in named if is_test_path(file)] or self._find_definers(test_id)
        return tuple(tests or named[:1])

    def _find_definers(self, test_id: str) -> list[str]:
        for name in names_of(test_id):
            if files := self._files_by_name.get(name):
                tests = [file for file in files if is_test_path(file)]
                return tests or files
        return []

    def _files_of_class(self, test_id: str) -> Iterator[str]:
        """Yield the files that a dotted id names, such as `src/test/java/org/Shop.java` for `org.Shop`."""
        dotted = _NUMBERED.sub("", test_file_of(test_id)).replace("\\", ".")
        if not re.fullmatch(r"[\w$]+(?:\.[\w$]+)*", dotted):
            return
        parts = dotted.partition("$")[0].split(".")
        for count in range(len(parts), 0, -1):
            stem = "/".join(parts[:count])
            for path in self._files_by_stem.get(parts[count - 1], ()):
                whole = path.removesuffix(PurePosixPath(path).suffix)
                if whole == stem or whole.endswith(f"/{stem}"):
                    yield path

    def _mentions(self, path: str, test_id: str) -> bool:
        text = read_regular_text(self._tree / path)
        return any(name in text for name in names_of(test_id))

    @cached_property
    def _files(self) -> tuple[str, ...]:
        return tuple(islice((path for path in project_files(self._tree) if path.endswith(CODE)), MOST_FILES))

    @cached_property
    def _files_by_stem(self) -> Mapping[str, list[str]]:
        files = defaultdict(list)
        for path in self._files:
            files[PurePosixPath(path).stem].append(path)
        return files

    @cached_property
    def _files_by_name(self) -> Mapping[str, list[str]]:
        files = defaultdict(list)
        for path in self._files:
            for name in defined_names(path, read_regular_text(self._tree / path)):
                files[name].append(path)
        return files


def count_titled_tests(tree: Path, like: Sequence[str] = ()) -> dict[str, int]:
    """Return about how many tests each test file has, in other languages than Python.

    With `like`, in the languages of these files alone.
    """
    wanted = {PurePosixPath(path).suffix for path in like} or {*CODE}
    wanted |= SCRIPTS if wanted & SCRIPTS else set()
    files = (path for path in project_files(tree) if PurePosixPath(path).suffix in wanted - {".py"})
    counts = {
        path: len(_TITLED_TEST.findall(read_regular_text(tree / path)))
        for path in files
        if is_test_path(path)
    }
    return {path: count for path, count in counts.items() if count}


def defined_names(path: str, text: str) -> frozenset[str]:
    """Return the names and titles of the tests that a file may define.

    Any quoted text of a test file may be the title of a test; elsewhere only what is written as one is.
    """
    if path.endswith(RUST) and not is_test_path(path):
        return frozenset(_FUNCTION.findall(inline_tests(path, text)))
    functions = {*_FUNCTION.findall(text), *_GO_METHOD.findall(text)}
    if is_test_path(path):
        return frozenset(functions | {match[2] for match in _QUOTED.finditer(text)})
    return frozenset(
        {name for name in functions if "test" in name.lower()} | {match[2] for match in TITLED.finditer(text)}
    )


def names_of(test_id: str) -> tuple[str, ...]:
    """Return the names under which a file may define a test, the most specific first.

    Reports join the titles of suites and tests with spaces, `>`, dots or slashes.
    """
    own = _NUMBERED.sub("", test_id.rpartition("::")[2]).strip()
    words = own.split(" ")
    parts = re.split(r" [>\u203a\u00bb] ", own)
    names = [
        own,
        parts[-1],
        own.partition("[")[0],
        own.partition(" with data set ")[0],
        own.partition("(")[0],
        own.partition("/")[0],
        *(own.rpartition(mark)[2] for mark in "./\\:" if re.fullmatch(r"[\w$./\\:]+", own)),
        *(" ".join(words[start:]) for start in range(1, min(len(words) - 1, MOST_WORDS))),
        *parts[-2::-1],
    ]
    return tuple(dict.fromkeys(name for name in names if len(name) > 1))


RUST, PYTHON = ".rs", ".py"
INLINE_SUFFIXES = (RUST, PYTHON)


def inline_tests(path: str, text: str) -> str:
    """Return the tests in a source; empty if it has none."""
    if path.endswith(PYTHON):
        return "\n".join(
            f"{name}: {examples}"
            for name, part in _find_docstrings(text)
            if (examples := _examples(part.text))
        )
    data = text.encode()
    return "\n".join(
        data[part.start : part.end].decode("utf-8", "replace")
        for part in (_parts(data) if "test" in text else ())
        if isinstance(part, _TestItem)
    )


def replace_inline_tests(path: str, text: str, other: str, *, adds_names: bool = False) -> str:
    """Return a source with the tests of another version of it instead of its own.

    Those of modules and definitions that the source does not have are left out. If it `adds_names`, functions
    that only the other version has stand at the end with their examples, and say that they are not defined.
    """
    if path.endswith(PYTHON):
        return _replace_examples(text, other, adds_names=adds_names)
    data, other_data = text.encode(), other.encode()
    tests: dict[str, list[bytes]] = {}
    for part in _parts(other_data):
        if isinstance(part, _TestItem):
            tests.setdefault(part.module, []).append(other_data[part.start : part.end])
    edits: list[tuple[int, int, bytes]] = []
    for part in _parts(data):
        match part:
            case _TestItem():
                edits.append((part.start, part.end, b""))
            case _InlineModule() if part.path in tests:
                edits.append((part.end, part.end, b"\n" + b"\n".join(tests[part.path]) + b"\n"))
            case _:
                pass
    for start, end, replacement in sorted(edits, reverse=True):
        data = data[:start] + replacement + data[end:]
    return decode_text(data)


# Rust


class _InlineModule(NamedTuple):
    """A module in a file, and the place after its last item."""

    path: str
    """Names of the enclosing modules, joined with `::`; empty for the file itself."""
    end: int


class _TestItem(NamedTuple):
    module: str
    start: int
    end: int


_TEST_ATTRIBUTE = re.compile(
    r"#\[\s*(?:cfg\s*\((?!.*\bnot\b).*\btest\b.*\)|(?:\w+::)*(?:test|rstest|test_case)\b.*)\s*\]", re.S
)


def _parts(data: bytes) -> Iterator[_InlineModule | _TestItem]:
    """Yield the outermost tests, and the modules that are no tests themselves."""
    root = parse_syntax(RUST[1:], data)
    pending: list[tuple[str, SyntaxNode, int]] = [("", root, len(data))]
    while pending:
        module, container, end = pending.pop()
        yield _InlineModule(module, end)
        attributes: list[SyntaxNode] = []
        for item in container.named_children:
            if item.type == "attribute_item":
                attributes.append(item)
                continue
            if any(_TEST_ATTRIBUTE.match(node_text(attribute)) for attribute in attributes):
                yield _TestItem(module, attributes[0].start_byte, item.end_byte)
            elif item.type == "mod_item" and (body := item.child_by_field_name("body")) is not None:
                name = node_text(item.child_by_field_name("name"))
                pending.append((f"{module}::{name}".removeprefix("::"), body, body.end_byte - 1))
            attributes = attributes if item.type.endswith("comment") else []


# Python


class _Docstring(NamedTuple):
    """The docstring of a definition, or the place where one would be."""

    text: str
    source: str
    """The literal as it is written; empty if there is none."""
    start: tuple[int, int]
    """Line, from 1, and byte of the literal, or of the first statement."""
    end: tuple[int, int]
    is_function: bool


def _find_docstrings(text: str) -> Iterator[tuple[str, _Docstring]]:
    """Yield what docstrings can document in a source, by dotted name; the module's name is empty."""
    module = parse_or_empty(text)
    pending: list[tuple[str, ast.Module | ast.ClassDef | Function]] = [("", module)]
    while pending:
        name, node = pending.pop(0)
        if not node.body:
            continue
        first = node.body[0]
        documented = ast.get_docstring(node, clean=False) or ""
        decorators: list[ast.expr] = getattr(first, "decorator_list", [])
        start = end = (min([first.lineno, *(mark.lineno for mark in decorators)]), first.col_offset)
        source = ""
        if documented:
            end = (first.end_lineno or first.lineno, first.end_col_offset or 0)
            source = ast.get_source_segment(text, first) or ""
        yield name, _Docstring(documented, source, start, end, isinstance(node, Function))
        if not isinstance(node, Function):
            pending += (
                (f"{name}.{child.name}".lstrip("."), child)
                for child in node.body
                if isinstance(child, ast.ClassDef | Function)
            )


def _examples(docstring: str) -> list[tuple[str, str]]:
    """Return the examples of a docstring with what they print; all of it if it is not written as required."""
    try:
        found = doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        return [(docstring, "")]
    return [(example.source, example.want) for example in found]


def _replace_examples(text: str, other: str, *, adds_names: bool) -> str:
    own, others = dict(_find_docstrings(text)), dict(_find_docstrings(other))
    lines = [line.encode() for line in split_lines(text, keepends=True)]
    for name, part in sorted(own.items(), key=lambda item: item[1].start, reverse=True):
        new = others.get(name)
        if _examples(part.text) == (_examples(new.text) if new else []):
            continue
        source = (new.source if new else "") or '""'
        (start_line, start), (end_line, end) = part.start, part.end
        before, after = lines[start_line - 1][:start], lines[end_line - 1][end:]
        if not part.source:
            source += f"\n{' ' * start}" if not before.strip() else "; "
        lines[start_line - 1 : end_line] = [before + source.encode() + after]
    stubs = [
        f"\n\ndef {name}(*_, **__):\n    {part.source}\n"
        f"    raise NameError(\"name '{name}' is not defined\")\n"
        for name, part in others.items()
        if adds_names and name not in own and "." not in name and part.is_function and _examples(part.text)
    ]
    return b"".join(lines).decode() + "".join(stubs)


MOST_SHOWN = 5
LONGEST = 100
"""Characters of one side of an assertion."""


def find_replaced_assertions(
    old: Mapping[str, str], new: Mapping[str, str], tests: Sequence[str]
) -> tuple[ReplacedAssertion, ...]:
    """Return the lines of existing tests that a change replaces, the first few.

    `old` and `new` are the changed test files by path. Where the function of a test is the same on both
    sides, the lines of its file are compared.
    """
    found: dict[ReplacedAssertion, None] = {}
    for function in dict.fromkeys(map(test_function_of, tests)):
        path = test_file_of(function)
        before, after = (
            source_of_test(path, texts.get(path, ""), function).splitlines() for texts in (old, new)
        )
        if before == after:
            before, after = (texts.get(path, "").splitlines() for texts in (old, new))
        found |= {
            ReplacedAssertion(
                test=function, old=shorten_line(was.strip(), LONGEST), new=shorten_line(now.strip(), LONGEST)
            ): None
            for was, now in _pair(before, after)
            if was.strip() != now.strip()
        }
    return tuple(found)[:MOST_SHOWN]


def _pair(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what of the old is replaced or removed, with what is in its place."""
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            pairs = zip_longest(old[start:end], new[new_start:new_end], fillvalue="")
            yield from ((before, after) for before, after in pairs if before)


def source_of_test(path: str, text: str, test_id: str) -> str:
    """Return the lines of a test in its file: its function, or the block under its title; empty if none.

    Of functions of one name in a Python file these are all: a class may inherit its tests.
    """
    if path.endswith(".py"):
        name = test_name_of(test_id)
        nodes = ast.walk(parse_or_empty(text))
        functions = [node for node in nodes if isinstance(node, Function) and node.name == name]
        return "\n".join(ast.get_source_segment(text, node) or "" for node in functions)
    names, own, lines = names_of(test_id), test_id.rpartition("::")[2], text.split("\n")
    blocks = [
        (definition.start - 1, definition.end)
        for definition in definitions(path, text)
        if definition.kind != "variable" and definition.bare_name in names
    ]
    for match in TITLED.finditer(text):
        if match[2] in names or own.endswith(f" {match[2]}"):
            start = text.count("\n", 0, match.start())
            blocks.append((start, _end_of_block(lines, start)))
    return "\n".join(line for start, end in blocks for line in lines[start:end])


def _end_of_block(lines: Sequence[str], start: int) -> int:
    """Return where a block ends: after the line that closes it, indented no deeper, or its only line."""
    indent = len(lines[start]) - len(lines[start].lstrip())
    is_open = lines[start].rstrip().endswith(("{", "(", "[", ",", "=>", "do", "|"))
    for number, line in enumerate(lines[start + 1 :] if is_open else (), start + 1):
        code = line.lstrip()
        if code.startswith(("}", ")", "]", "end")) and len(line) - len(code) <= indent:
            return number + 1
    return len(lines) if is_open else start + 1
