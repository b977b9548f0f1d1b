"""Where the standard library has a name, and the change of a file that imports it."""

import ast
import importlib
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

from coder.core.ports.repair import Change
from coder.python.source import Source, is_docstring

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
"""Those of which programs import single names; the last one's aliases of what others have are deprecated."""
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
"""By module and name, what is used instead of what the standard library has no longer."""


@lru_cache(maxsize=1)
def offered() -> dict[str, tuple[str, ...]]:
    """By name, the modules of the standard library that offer it."""
    found: dict[str, list[str]] = {}
    for name in MODULES:
        module = importlib.import_module(name)
        for var in getattr(module, "__all__", None) or (var for var in vars(module) if _is_own(module, var)):
            if name != MODULES[-1] or var not in found:
                found.setdefault(var, []).append(name)
    return {name: tuple(modules) for name, modules in found.items()}


def _is_own(module: ModuleType, name: str) -> bool:
    value = getattr(module, name)
    home = getattr(value, "__module__", module.__name__) or module.__name__
    return (
        not name.startswith("_") and not isinstance(value, ModuleType) and home.lstrip("_") == module.__name__
    )


def imports(source: Source, name: str) -> Iterator[Change]:
    """The ways to import what the standard library calls so: the module itself, or the name from each module that offers it."""
    if name in sys.stdlib_module_names:
        yield inserted(source, f"import {name}")
    for module in offered().get(name, ()):
        yield import_of(source, module, name)


def import_of(source: Source, module: str, name: str) -> Change:
    """One more name in the import from a module that the file has already, else an import at its top."""
    there = (
        item
        for item in source.tree.body
        if isinstance(item, ast.ImportFrom) and item.module == module and not item.level
    )
    last = next((item.names[-1] for item in there if item.names[-1].name != "*"), None)
    if last is None:
        return inserted(source, f"from {module} import {name}")
    _, end = source.span(last)
    return Change(start=end, end=end, text=f", {name}")


def inserted(source: Source, line: str) -> Change:
    """A line before the first statement that an import may stand before."""
    start, _ = source.span(first_statement(source))
    return Change(start=start, end=start, text=f"{line}{source.line_end}")


def first_statement(source: Source) -> ast.stmt:
    """The module's first statement that an import may stand before."""
    for statement in source.tree.body:
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not is_docstring(statement) and not future:
            return statement
    return source.tree.body[-1]
