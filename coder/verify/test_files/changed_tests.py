"""Tests of a Python file that a change adds, edits or removes, by the functions that define them."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from coder.python.source import parse_module

_SUITE_WIDE = ("pytest_", "pytestmark", "__test__", "collect_ignore", "load_tests", "setup", "teardown")
"""Beginnings of names of a module that decide on all of its tests."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef
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
        """Return what to run for the changed tests of the file at `path`, or for their `old` versions."""
        if self.is_whole:
            return (path,)
        return (*self.edited, *self.removed) if old else (*self.added, *self.edited)


WHOLE_FILE = ChangedTests(is_whole=True)


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
        if isinstance(statement, _Function) and statement.name.startswith("test"):
            tests[statement.name,] = (statement,)
        elif isinstance(statement, ast.ClassDef) and (own := _class_tests(statement, classes)):
            tests |= own
            bound[statement.name].append(_without_tests(statement))
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            for name in {*_bound_names(statement)} or {""}:
                bound[name].append(statement)
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
    """Return the tests of a class, of its bases in the module and of the classes in it."""
    tests: dict[_Name, tuple[ast.AST, ...]] = {}
    shell = _without_tests(node)
    for base in reversed(node.bases):
        if isinstance(base, ast.Name) and base.id in classes and base.id not in (node.name, *derived):
            inherited = _class_tests(classes[base.id], classes, (node.name, *derived))
            tests |= {(node.name, *name[1:]): (shell, *parts) for name, parts in inherited.items()}
    for member in node.body:
        if isinstance(member, _Function) and member.name.startswith("test"):
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
        and not (isinstance(member, _Function) and member.name.startswith("test"))
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
    statements = [
        (name, node) for module in (before, after) for name in module.bound for node in module.bound[name]
    ]
    pending = True
    while pending:
        users = {name for name, node in statements if not changed.isdisjoint(_used_names([node]))}
        pending = not users <= changed
        changed |= users
    is_suite_wide = any(
        not name or name.startswith(_SUITE_WIDE) or any(map(_is_automatic, after.bound.get(name, ())))
        for name in changed
    )
    return None if is_suite_wide else changed


def _is_automatic(node: ast.AST) -> bool:
    """Tell whether a statement defines a fixture that all tests use."""
    return isinstance(node, _Function) and any(
        isinstance(inner, ast.keyword) and inner.arg == "autouse"
        for decorator in node.decorator_list
        for inner in ast.walk(decorator)
    )


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names of the module that a statement binds."""
    if isinstance(statement, _Function | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, _Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield "" if node.name == "*" else (node.asname or node.name.partition(".")[0])


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
    return [ast.dump(node) for node in nodes]
