"""Names of the standard library, and the edits that import them."""

import ast
import importlib
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

from coder.core.ports import TextChange
from coder.python.source import PythonSource, is_docstring

MODULES = (
    "abc",
    "argparse",
    "base64",
    "bisect",
    "collections",
    "collections.abc",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "heapq",
    "html",
    "io",
    "itertools",
    "json",
    "math",
    "numbers",
    "operator",
    "os",
    "os.path",
    "pathlib",
    "pprint",
    "queue",
    "random",
    "re",
    "shlex",
    "shutil",
    "statistics",
    "string",
    "subprocess",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "types",
    "unittest.mock",
    "urllib.parse",
    "uuid",
    "warnings",
    "typing",
)
"""Modules from which programs import single names; `typing` is last because its aliases of other modules are
deprecated."""
SUCCESSORS = {
    ("base64", "decodestring"): "base64.decodebytes",
    ("base64", "encodestring"): "base64.encodebytes",
    ("cgi", "escape"): "html.escape",
    ("fractions", "gcd"): "math.gcd",
    ("inspect", "getargspec"): "inspect.getfullargspec",
    ("itertools", "ifilter"): "filter",
    ("itertools", "imap"): "map",
    ("itertools", "izip"): "zip",
    ("itertools", "izip_longest"): "itertools.zip_longest",
    ("os", "getcwdu"): "os.getcwd",
    ("string", "letters"): "string.ascii_letters",
    ("string", "lowercase"): "string.ascii_lowercase",
    ("string", "maketrans"): "str.maketrans",
    ("string", "uppercase"): "string.ascii_uppercase",
    ("time", "clock"): "time.perf_counter",
}
"""Replacements of removed standard-library names, by module and name."""


@lru_cache(maxsize=1)
def standard_library_index() -> dict[str, tuple[str, ...]]:
    """Return the standard-library modules that export a name, by name."""
    modules_by_name: dict[str, list[str]] = {}
    for name in MODULES:
        module = importlib.import_module(name)
        for attribute in getattr(module, "__all__", None) or (
            attribute for attribute in vars(module) if _is_own(module, attribute)
        ):
            if name != MODULES[-1] or attribute not in modules_by_name:
                modules_by_name.setdefault(attribute, []).append(name)
    return {name: tuple(modules) for name, modules in modules_by_name.items()}


def _is_own(module: ModuleType, name: str) -> bool:
    value = getattr(module, name)
    home = getattr(value, "__module__", module.__name__) or module.__name__
    return (
        not name.startswith("_") and not isinstance(value, ModuleType) and home.lstrip("_") == module.__name__
    )


def import_changes(source: PythonSource, name: str) -> Iterator[TextChange]:
    """Yield the ways to import a standard-library name: as a module, or from each module that exports it."""
    if name in sys.stdlib_module_names:
        yield insert_import_line(source, f"import {name}")
    for module in standard_library_index().get(name, ()):
        yield import_from_change(source, module, name)


def import_from_change(source: PythonSource, module: str, name: str) -> TextChange:
    """Return the change that adds a name to an existing import from the module, or inserts a new import."""
    existing = (
        statement
        for statement in source.tree.body
        if isinstance(statement, ast.ImportFrom) and statement.module == module and not statement.level
    )
    last = next((statement.names[-1] for statement in existing if statement.names[-1].name != "*"), None)
    if last is None:
        return insert_import_line(source, f"from {module} import {name}")
    _, end = source.span(last)
    return TextChange(start=end, end=end, text=f", {name}")


def insert_import_line(source: PythonSource, line: str) -> TextChange:
    """Return the change that inserts a line before the first statement that an import may precede."""
    start, _ = source.span(first_importable_statement(source))
    return TextChange(start=start, end=start, text=f"{line}{source.line_end}")


def first_importable_statement(source: PythonSource) -> ast.stmt:
    """Return the module's first statement that an import may precede."""
    for statement in source.tree.body:
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not is_docstring(statement) and not future:
            return statement
    return source.tree.body[-1]
