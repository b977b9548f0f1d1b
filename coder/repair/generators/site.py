"""Input and output of repair templates."""

import ast
import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from types import ModuleType

from coder.core.ports import TextChange
from coder.core.verdict import Failure, Frame
from coder.python.source import (
    BLOCK_FIELDS,
    Function,
    PythonSource,
    find_nodes,
    is_docstring,
    parse_expression,
)

ATOMIC_EXPRESSIONS = (
    ast.Name,
    ast.Constant,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.JoinedStr,
)


@dataclass(frozen=True)
class Rewrite:
    """A set of changes to a file."""

    changes: tuple[TextChange, ...]
    weight: float
    """How often such an edit is right where it applies, relative to others: 0 to 1; above 1 with evidence
    from the failure."""
    summary: str
    """Fit for a commit subject, without the place."""


def replace_span(start: int, end: int, text: str, *, weight: float, summary: str) -> Rewrite:
    """Return the rewrite that replaces one span of the file's text."""
    return Rewrite((TextChange(start=start, end=end, text=text),), weight, summary)


@dataclass(frozen=True)
class RewriteSite:
    """One node of a suspicious statement."""

    source: PythonSource
    node: ast.AST
    failures: tuple[Failure, ...] = ()
    """Failures of the failing tests."""

    @property
    def parent(self) -> ast.AST:
        return self.source.parents.get(self.node, self.source.tree)

    @property
    def function(self) -> Function | None:
        return self.source.enclosing_function(self.node)

    def contains_frame(self, frame: Frame) -> bool:
        """Tell whether a frame of a failure is on the node's lines."""
        first, last = getattr(self.node, "lineno", 0), getattr(self.node, "end_lineno", 0)
        return frame.path == self.source.path and first <= frame.line <= last

    def text_of(self, node: ast.AST) -> str:
        """Return the text of a node."""
        return self.source.text_of(node)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node begins and ends in the file's text."""
        return self.source.span(node)

    def replace(self, node: ast.AST, text: str, *, weight: float, summary: str) -> Iterator[Rewrite]:
        """Replace one expression with another, in parentheses where needed.

        Yields nothing if the text stays the same.
        """
        start, end = self.source.span(node)
        new = f"({text})" if needs_parentheses(text, node, self.source) else text
        if new != self.source.text[start:end]:
            yield replace_span(start, end, new, weight=weight, summary=summary)

    def rename_attribute(
        self, node: ast.Attribute, name: str, *, weight: float, summary: str
    ) -> Iterator[Rewrite]:
        """Access another attribute of the same object.

        Only the attribute name is replaced, so that edits of different objects compare equal.
        """
        _, end = self.source.span(node)
        if name != node.attr:
            yield replace_span(end - len(node.attr), end, name, weight=weight, summary=summary)

    def swap_expressions(
        self, first: ast.AST, second: ast.AST, *, weight: float, summary: str
    ) -> Iterator[Rewrite]:
        """Swap two expressions, the first standing before the second."""
        (start, end), (start_after, end_after) = self.source.span(first), self.source.span(second)
        old, new = self.source.text[start:end], self.source.text[start_after:end_after]
        if old != new:
            new_first = f"({new})" if needs_parentheses(new, first, self.source) else new
            new_second = f"({old})" if needs_parentheses(old, second, self.source) else old
            changes = (
                TextChange(start=start, end=end, text=new_first),
                TextChange(start=start_after, end=end_after, text=new_second),
            )
            yield Rewrite(changes, weight, summary)

    def insert_before(
        self, statement: ast.stmt, lines: Sequence[str], *, weight: float, summary: str
    ) -> Iterator[Rewrite]:
        """Insert lines before a statement, at its indent."""
        indent = self.source.indent(statement)
        if not indent.strip():
            start, _ = self.source.span(statement)
            text = "".join(f"{line}{self.source.line_end}{indent}" for line in lines)
            yield replace_span(start, start, text, weight=weight, summary=summary)

    def insert_after(
        self, statement: ast.stmt, lines: Sequence[str], *, weight: float, summary: str
    ) -> Iterator[Rewrite]:
        """Insert lines after a statement, at its indent."""
        indent = self.source.indent(statement)
        if not indent.strip():
            _, end = self.source.span(statement)
            text = "".join(f"{self.source.line_end}{indent}{line}" for line in lines)
            yield replace_span(end, end, text, weight=weight, summary=summary)


Template = Callable[[RewriteSite], Iterator[Rewrite]]


def needs_parentheses(text: str, node: ast.AST, source: PythonSource) -> bool:
    """Tell whether an expression's text needs parentheses in the place of `node`."""
    try:
        new = parse_expression(text)
    except SyntaxError:
        return False
    if isinstance(new, ATOMIC_EXPRESSIONS):
        return False
    match parent := source.parents.get(node):
        case ast.BinOp(op=ast.Add() | ast.Sub()) if parent.left is node or isinstance(parent.op, ast.Add):
            return not isinstance(new, ast.BinOp)
        case ast.BinOp() | ast.UnaryOp() | ast.Await() | ast.Starred() | ast.Attribute():
            return True
        case ast.Subscript() | ast.Call():
            return node is getattr(parent, "value", None) or node is getattr(parent, "func", None)
        case ast.BoolOp():
            return isinstance(new, ast.BoolOp | ast.IfExp | ast.Lambda)
        case ast.Compare():
            return not isinstance(new, ast.BinOp)
        case ast.IfExp():
            return isinstance(new, ast.IfExp | ast.Lambda)
    return False


# Names visible at a place, and the similarity of names.

MOST_NAMES = 14
CACHE_SIZE = 4096
MAX_KEY_LENGTH = 40
"""Characters that a string used as a key may have."""


def parameter_names(function: Function) -> tuple[str, ...]:
    """Return parameter names in order, without self and cls."""
    signature = function.args
    parameters = [
        *signature.posonlyargs,
        *signature.args,
        *([signature.vararg] if signature.vararg else []),
        *signature.kwonlyargs,
    ]
    parameters += [signature.kwarg] if signature.kwarg else []
    return tuple(argument.arg for argument in parameters if argument.arg not in ("self", "cls"))


def assigned_names(node: ast.AST) -> tuple[str, ...]:
    """Return the variables assigned under a node, in order."""
    return tuple(
        dict.fromkeys(
            descendant.id
            for descendant in find_nodes(node, ast.Name)
            if isinstance(descendant.ctx, ast.Store)
        )
    )


def names_never_read(function: Function) -> tuple[str, ...]:
    """Return names that a function binds and never reads, parameters first.

    Undecorated nested functions are included.
    """
    names = [*find_nodes(function, ast.Name)]
    nested = (
        node.name
        for node in ast.walk(function)
        if isinstance(node, Function) and node is not function and not node.decorator_list
    )
    parameters = (node.arg for node in find_nodes(function, ast.arg) if node.arg not in ("self", "cls"))
    bound = dict.fromkeys([*parameters, *assigned_names(function), *nested])
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    return tuple(name for name in bound if name not in read)


@lru_cache(maxsize=CACHE_SIZE)
def parameters_never_read(function: Function | None) -> tuple[str, ...]:
    """Return the parameters that a function does not read."""
    unread_names = names_never_read(function) if function else ()
    return tuple(name for name in parameter_names(function) if name in unread_names) if function else ()


def local_names(source: PythonSource, node: ast.AST) -> tuple[str, ...]:
    """Return the local names visible at a node: of its function, then of the enclosing ones.

    Of each function parameters come first, then assigned names and nested functions.
    """
    return _local_names(source, source.enclosing_function(node))


@lru_cache(maxsize=CACHE_SIZE)
def _local_names(source: PythonSource, innermost: Function | None) -> tuple[str, ...]:
    names: dict[str, None] = {}
    around = [innermost, *source.ancestors(innermost)] if innermost else []
    for function in (ancestor for ancestor in around if isinstance(ancestor, Function)):
        names |= dict.fromkeys(parameter_names(function))
        names |= dict.fromkeys(assigned_names(function))
        names |= dict.fromkeys(ancestor.name for ancestor in function.body if isinstance(ancestor, Function))
    return tuple(names)[:MOST_NAMES]


@lru_cache(maxsize=CACHE_SIZE)
def module_names(source: PythonSource) -> tuple[str, ...]:
    """Return the names that the module's top level defines, assigns and imports.

    Statements under conditions and in `try` are included.
    """
    names: dict[str, None] = {}
    for node in _same_scope_statements(source.tree.body):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names[node.name] = None
            case ast.Import() | ast.ImportFrom():
                names |= {(alias.asname or alias.name).split(".")[0]: None for alias in node.names}
            case ast.Assign() | ast.AnnAssign():
                names |= dict.fromkeys(assigned_names(node))
    return tuple(names)


def _same_scope_statements(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements and nested statements of the same scope."""
    for statement in statements:
        yield statement
        if not isinstance(statement, Function | ast.ClassDef):
            for part in (statement, *getattr(statement, "handlers", ())):
                for name in BLOCK_FIELDS:
                    yield from _same_scope_statements(getattr(part, name, ()))


def self_attribute_names(source: PythonSource, node: ast.AST) -> tuple[str, ...]:
    """Return the attributes of self in the class around a node, most used first.

    Then method names, then the attributes and methods of its parents.
    """
    owner = source.find_ancestor(node, ast.ClassDef)
    return _own_attributes(source, owner) if owner else ()


@lru_cache(maxsize=CACHE_SIZE)
def _own_attributes(source: PythonSource, owner: ast.ClassDef) -> tuple[str, ...]:
    names: dict[str, None] = {}
    classes = [owner]
    for class_ in classes:
        names |= dict.fromkeys(_attributes_of(class_))
        parents = {base.id for base in class_.bases if isinstance(base, ast.Name)}
        classes += [
            other
            for other in source.tree.body
            if isinstance(other, ast.ClassDef) and other.name in parents and other not in classes
        ]
    return tuple(names)


@lru_cache(maxsize=CACHE_SIZE)
def _attributes_of(owner: ast.ClassDef) -> tuple[str, ...]:
    used = Counter(
        node.attr
        for node in find_nodes(owner, ast.Attribute)
        if isinstance(node.value, ast.Name) and node.value.id == "self"
    )
    methods = (member.name for member in owner.body if isinstance(member, Function))
    return tuple(dict.fromkeys([*(name for name, _ in used.most_common()), *methods]))


@lru_cache(maxsize=CACHE_SIZE)
def attribute_names(source: PythonSource) -> tuple[str, ...]:
    """Return every attribute name that the file uses, most used first."""
    counted = Counter(node.attr for node in find_nodes(source.tree, ast.Attribute))
    return tuple(name for name, _ in counted.most_common())


@lru_cache(maxsize=256)
def short_string_literals(source: PythonSource) -> tuple[str, ...]:
    """Return the file's short string literals."""
    texts = (node.value for node in find_nodes(source.tree, ast.Constant) if isinstance(node.value, str))
    return tuple(dict.fromkeys(text for text in texts if len(text) < MAX_KEY_LENGTH))


@lru_cache(maxsize=200_000)
def name_similarity(name: str, other: str) -> float:
    """Return the similarity of two names, from 0 to 1."""
    return SequenceMatcher(None, _normalize_name(name), _normalize_name(other), autojunk=False).ratio()


@lru_cache(maxsize=20_000)
def most_similar_names(
    name: str, pool: tuple[str, ...], *, max_count: int, min_similarity: float
) -> tuple[tuple[str, float], ...]:
    """Return other names of a pool with their similarity, the most similar first."""
    similar_length = (
        other for other in dict.fromkeys(pool) if other != name and abs(len(other) - len(name)) <= 8
    )
    scored = [
        (other, name_similarity(name, other))
        for other in _filter_by_letters(name, similar_length, min_similarity)
    ]
    return tuple(
        sorted((pair for pair in scored if pair[1] >= min_similarity), key=lambda pair: (-pair[1], pair[0]))[
            :max_count
        ]
    )


def _filter_by_letters(name: str, pool: Iterable[str], least: float) -> Iterator[str]:
    """Drop names whose letters alone, in any order, are too different: much cheaper than the exact ratio."""
    matcher = SequenceMatcher(None, "", _normalize_name(name), autojunk=False)
    for other in pool:
        matcher.set_seq1(_normalize_name(other))
        if matcher.real_quick_ratio() >= least and matcher.quick_ratio() >= least:
            yield other


def _normalize_name(name: str) -> str:
    return name.lower().strip("_")


# Names of the standard library, and the edits that import them.

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


def find_callee(site: RewriteSite, call: ast.Call) -> Function | None:
    """Return the function or constructor that the file defines under the name that is called."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            constructors = [
                function
                for function in site.source.functions
                if function.name == "__init__" and _is_named(site.source.owner_class(function), name)
            ]
            return next(
                (
                    function
                    for function in (*constructors, *site.source.functions)
                    if function in constructors or function.name == name
                ),
                None,
            )
    return None


def _is_named(owner: ast.ClassDef | None, name: str) -> bool:
    return owner is not None and owner.name == name
