"""A Python source file: its tree, spans of nodes, imports and names, and checks of changed files."""

import ast
import codecs
import hashlib
import io
import re
import sys
import threading
import tokenize
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypeVar

Function = ast.FunctionDef | ast.AsyncFunctionDef
Node = TypeVar("Node", bound=ast.AST)
BLOCK_FIELDS = ("body", "orelse", "finalbody")


UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decode_source(data: bytes) -> tuple[str, str]:
    """Return the text of a source file and its encoding: by byte order mark or declaration (PEP 263).

    `text.encode(encoding)` gives the same bytes again.

    Raises:
        SyntaxError: the declared encoding is unknown, or contradicts the mark.
        ValueError: the bytes do not fit the encoding.
    """
    if data.startswith(UTF16_MARKS):
        encoding = "utf-16"
    else:
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    text = data.decode(encoding)
    if text.encode(encoding) != data:
        raise ValueError(f"The bytes cannot be restored in {encoding}.")
    return text, encoding


def decode_text(data: bytes) -> str:
    """Return the text of any file for reading; bytes that do not fit its encoding are replaced."""
    try:
        return decode_source(data)[0]
    except (SyntaxError, ValueError):
        return data.decode("utf-16" if data.startswith(UTF16_MARKS) else "utf-8-sig", "replace")


class PythonSource:
    """One source file; positions are character offsets into its text."""

    def __init__(self, path: str, text: str) -> None:
        """Parse the text; `path` is relative to the tree of files.

        Raises:
            SyntaxError: the text is not Python of this interpreter's version.
        """
        self.path = path
        self.text = text
        self.tree = parse_module(text)
        self._positions = Positions(text)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions, from top to bottom."""
        functions = [node for node in ast.walk(self.tree) if isinstance(node, Function)]
        return tuple(sorted(functions, key=lambda node: (node.lineno, node.col_offset)))

    def names_in(self, function_name: str) -> set[str]:
        """Return the names and attributes in the functions of one name."""
        functions = [function for function in self.functions if function.name == function_name]
        nodes = [node for function in functions for node in ast.walk(function)]
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}

    @cached_property
    def top_level(self) -> tuple[ast.stmt, ...]:
        """The statements of the module and of its classes, without those inside functions."""
        bodies = [
            self.tree.body,
            *(node.body for node in find_nodes(self.tree, ast.ClassDef)),
        ]
        return tuple(
            node for body in bodies for node in body if self.enclosing_function(self.parents[node]) is None
        )

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the start and end offset of an expression, statement, keyword or argument."""
        return self._positions.span(node)

    def text_of(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the ancestors of a node, innermost first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def find_ancestor(self, node: ast.AST, kind: type[Node]) -> Node | None:
        return next((ancestor for ancestor in self.ancestors(node) if isinstance(ancestor, kind)), None)

    def enclosing_function(self, node: ast.AST) -> Function | None:
        """Return the innermost function that contains a node; a function contains itself."""
        return next(
            (ancestor for ancestor in (node, *self.ancestors(node)) if isinstance(ancestor, Function)), None
        )

    def owner_class(self, function: Function | None) -> ast.ClassDef | None:
        parent = self.parents.get(function) if function else None
        return parent if isinstance(parent, ast.ClassDef) else None

    def qualified_place(self, node: ast.AST) -> str:
        """Return `path::Qualified.name` of the innermost definition around a node, or `path:line`."""
        definitions = [
            definition
            for definition in (node, *self.ancestors(node))
            if isinstance(definition, ast.ClassDef | Function)
        ]
        if definitions:
            return f"{self.path}::{'.'.join(definition.name for definition in reversed(definitions))}"
        return f"{self.path}:{getattr(node, 'lineno', 1)}"

    def function_at(self, line: int) -> Function | None:
        """Return the innermost function that contains a line; decorators do not count."""
        enclosing = [node for node in self.functions if node.lineno <= line <= (node.end_lineno or 0)]
        return enclosing[-1] if enclosing else None

    def indent(self, statement: ast.stmt) -> str:
        """Return the text between the start of the line and a statement.

        It is white space only if the statement is the first on its line.
        """
        start = self._positions.line_starts[statement.lineno - 1]
        return self.text[start : self._positions.offset(statement.lineno, statement.col_offset)]

    def enclosing_block(self, statement: ast.stmt) -> list[ast.stmt]:
        parent = self.parents.get(statement)
        for name in BLOCK_FIELDS:
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return [statement]

    @property
    def line_end(self) -> str:
        """The first line end of the text, a line feed if there is none."""
        match = LINE_END.search(self.text)
        return match[0] if match else "\n"

    def line_span(self, statement: ast.stmt) -> tuple[int, int]:
        """Return the span of a statement's whole lines, up to the start of the next line."""
        end = statement.end_lineno or statement.lineno
        starts = self._positions.line_starts
        return starts[statement.lineno - 1], starts[end] if end < len(starts) else len(self.text)


def find_nodes(root: ast.AST | None, kind: type[Node]) -> Iterator[Node]:
    """Yield a node and the nodes under it that are of a kind; nothing for None."""
    return (node for node in (ast.walk(root) if root else ()) if isinstance(node, kind))


def is_docstring(statement: ast.stmt) -> bool:
    """Tell whether a statement is a string literal by itself."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def first_statement(function: Function) -> ast.stmt | None:
    return next((statement for statement in function.body if not is_docstring(statement)), None)


def header_lines(statement: ast.stmt) -> range:
    """Return the lines of a statement and its decorators, without the lines of statements nested in it."""
    inner = [
        block[0].lineno
        for name in (*BLOCK_FIELDS, "handlers", "cases")
        if (block := getattr(statement, name, None)) and hasattr(block[0], "lineno")
    ]
    last = min(inner) - 1 if inner else statement.end_lineno or statement.lineno
    first = min(
        (decorator.lineno for decorator in getattr(statement, "decorator_list", ())), default=statement.lineno
    )
    return range(first, max(last, statement.lineno) + 1)


def own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield a statement and its expressions, without nested statements.

    Of a function only the defaults of its parameters are included.
    """
    yield statement
    if isinstance(statement, Function):
        parameters = statement.args
        pending: list[ast.AST] = [
            *parameters.defaults,
            *(default for default in parameters.kw_defaults if default),
        ]
    else:
        pending = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.expr):
            yield node
        if not isinstance(node, ast.JoinedStr):
            pending += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


PARSER_LOCK = threading.Lock()
"""Hold this lock while a library parses."""
_TYPE_PARAMETERS = re.compile(
    r"^(?P<kept>[ \t]*(?:async[ \t]+def|def|class)[ \t]+\w+)\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\]", re.MULTILINE
)
_TYPE_ALIAS = re.compile(r"^(?P<kept>[ \t]*)type[ \t]+(?P<name>\w+)(?:\[[^\n=]*\])?(?=[ \t]*=)", re.MULTILINE)


def parse_module(text: str, filename: str = "<unknown>") -> ast.Module:
    """Parse a module; type parameters that this Python does not know (PEP 695) are read as spaces.

    All positions are those of the text.

    Raises:
        SyntaxError, ValueError: as `ast.parse` does; also for code that nests too deep for the parser.
    """
    with PARSER_LOCK, _nesting_is_syntax_error():
        try:
            return ast.parse(text, filename=filename)
        except SyntaxError:
            older = _TYPE_ALIAS.sub(_pad, _TYPE_PARAMETERS.sub(_pad, text))
            if older == text:
                raise
        return ast.parse(older, filename=filename)


def parse_or_empty(text: str) -> ast.Module:
    """Return the syntax tree of a module; an empty one if the text does not parse."""
    try:
        return parse_module(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


def parse_code(text: str) -> ast.Module:
    """Parse a module, and leave out docstrings and other statements that are nothing but a literal.

    Raises:
        SyntaxError, ValueError: as `parse_module` does.
    """
    module = parse_module(text)
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            body = [part for part in node.body if not _is_literal(part)]
            node.body = body or [ast.Pass()]
    return module


def differs_in_code(old: str, new: str) -> bool:
    """Tell whether two modules differ in more than comments and docstrings; False if one does not parse."""
    try:
        return dump_node(parse_code(old)) != dump_node(parse_code(new))
    except (SyntaxError, ValueError, RecursionError):
        return False


def _is_literal(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def refers_to_any(node: ast.AST, names: Collection[str]) -> bool:
    """Tell whether code uses one of some names, as a variable or as an attribute."""
    return bool(names) and any(
        (isinstance(part, ast.Name) and part.id in names)
        or (isinstance(part, ast.Attribute) and part.attr in names)
        for part in ast.walk(node)
    )


def dump_node(node: ast.AST) -> str:
    """Return a text of a syntax tree, without positions: equal for equal code.

    Unlike `ast.dump` it takes a node however deep it nests (a chain of 900 `elif`).
    """
    parts: list[str] = []
    remaining: list[Any] = [node]
    while remaining:
        match remaining.pop():
            case ast.AST() as inner:
                parts.append(f"{type(inner).__name__}(")
                remaining.append(")")
                values = ((name, getattr(inner, name, None)) for name in reversed(inner._fields))
                for name, value in values:
                    if value is not None:
                        remaining += (_dump_part(value), f" {name}=")
            case list() as items:
                parts.append("[")
                remaining += ("]", *map(_dump_part, reversed(items)))
            case text:
                parts.append(text)
    return "".join(parts)


def _dump_part(value: Any) -> Any:
    return value if isinstance(value, ast.AST | list) else f"{value!r},"


@contextmanager
def _nesting_is_syntax_error() -> Iterator[None]:
    try:
        yield
    except (RecursionError, MemoryError):
        raise SyntaxError("the code nests too deep to be parsed") from None


def _pad(match: re.Match[str]) -> str:
    """Return what is kept of a match, in its length."""
    return "".join(match.groups()).ljust(len(match[0]))


def parse_expression(text: str) -> ast.expr:
    """Parse an expression.

    Raises:
        SyntaxError, ValueError: as `parse_module` does.
    """
    with PARSER_LOCK, _nesting_is_syntax_error():
        return ast.parse(text, mode="eval").body


LINE_END = re.compile(r"\r\n|\r|\n")
"""Line ends as Python's tokenizer counts them; `str.splitlines` knows more."""


def split_lines(text: str, *, keepends: bool = False) -> list[str]:
    """Return the lines of a text as Python's tokenizer and git count them: a form feed ends none."""
    lines = io.StringIO(text, newline="").readlines()
    return lines if keepends else [line.rstrip("\r\n") for line in lines]


class Positions:
    """Character offsets in one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.line_starts = [0, *(match.end() for match in LINE_END.finditer(text))]

    def offset(self, line: int, column: int) -> int:
        """Return the character offset of a line (from 1) and a column in bytes of UTF-8."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self._text)
        text = self._text[start:end]
        return start + (column if text.isascii() else len(text.encode()[:column].decode(errors="replace")))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where an expression, statement, keyword or argument begins and ends."""
        line, column, end_line, end_column = (
            getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")
        )
        return self.offset(line, column), self.offset(end_line or line, end_column or 0)


def fingerprint_files(files: Mapping[str, str | None]) -> str:
    """Return 16 hexadecimal digits that identify the contents of changed files.

    `files` maps paths to contents, None for a deleted file. Empty if there are none. Two versions of a Python
    file with the same syntax tree have the same fingerprint.
    """
    if not files:
        return ""
    content = "\0".join(
        f"{path}\0{'' if text is None else _normalize(path, text)}" for path, text in sorted(files.items())
    )
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]


def _normalize(path: str, text: str) -> str:
    if path.endswith((".py", ".pyi")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return dump_node(parse_module(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # what does not parse is compared as text
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def find_syntax_error(text: str, path: str) -> str:
    """Return `path:line: message` and the line of a syntax error.

    Empty if the text parses or is not Python.
    """
    if not path.endswith((".py", ".pyi")):
        return ""
    try:
        _parse_and_compile(text, path)
    except SyntaxError as error:
        line = (error.text or "").rstrip("\n")
        return f"{path}:{error.lineno or 1}: {error.msg}" + (
            f"\n{error.lineno or 1:>5}| {line[:200]}" if line.strip() else ""
        )
    except (ValueError, RecursionError, MemoryError) as error:
        return f"{path}:1: it cannot be parsed ({error})"
    return ""


def find_undefined_names(before: str, after: str, path: str) -> list[str]:
    """Return `path:line: undefined name 'x'` for each name that the change made undefined."""
    if not path.endswith(".py"):
        return []
    known_counts = Counter(text for _, text in _undefined_names_in(before, path))
    findings = []
    for line, text in _undefined_names_in(after, path):
        if known_counts[text] > 0:
            known_counts[text] -= 1
        else:
            findings.append(f"{path}:{line}: {text}")
    return findings


def _undefined_names_in(text: str, path: str) -> list[tuple[int, str]]:
    from pyflakes import messages  # type: ignore[import-untyped]  # pyflakes ships no types
    from pyflakes.checker import Checker  # type: ignore[import-untyped]  # as above

    try:
        tree = _parse_and_compile(text, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    message_types = (messages.UndefinedName, messages.UndefinedLocal, messages.UndefinedExport)
    with PARSER_LOCK:  # pyflakes parses string annotations itself
        all_messages = Checker(tree, filename=path).messages
    undefined = [message for message in all_messages if isinstance(message, message_types)]
    return sorted((message.lineno, message.message % message.message_args) for message in undefined)


def _parse_and_compile(text: str, path: str) -> ast.Module:
    """Return the syntax tree after compiling the text too.

    Only the compiler finds a `return` outside of a function.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parse_module(text, path)
        compile(text, path, "exec", dont_inherit=True)
    return tree


SOURCE_DIRECTORIES = ("src", "lib")
"""Directories of sources that are no part of a module's name."""


class ImportedName(NamedTuple):
    module: str
    """Absolute name of the module, as far as it is known."""
    name: str
    """The name taken from it; empty for `import module`."""
    line: int


def module_of_path(path: str) -> str:
    """Return the name under which a file of a usual layout is imported: `src/shop/cart.py` is `shop.cart`."""
    parts = PurePosixPath(path).with_suffix("").parts
    if len(parts) > 1 and parts[0] in SOURCE_DIRECTORIES:
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def list_imports(text: str, path: str) -> tuple[ImportedName, ...]:
    """Return all imports of a module in the order of their lines; empty if it does not parse.

    Relative ones are made absolute by the module's path.
    """
    nodes = find_nodes(parse_or_empty(text), ast.stmt)
    found = [imported for node in nodes for imported in _imports_of(node, path)]
    return tuple(sorted(found, key=lambda imported: imported.line))


def third_party_modules(texts: Iterable[tuple[str, str]], own: Iterable[str]) -> tuple[str, ...]:
    """Return the top-level modules that (path, text) pairs import, without those of Python and `own`."""
    known = {*own, *sys.stdlib_module_names, "__future__"}
    tops = (
        imported.module.partition(".")[0] for path, text in texts for imported in list_imports(text, path)
    )
    return tuple(dict.fromkeys(top for top in tops if top and top not in known))


def defined_names(text: str) -> frozenset[str] | None:
    """Return the names that a module binds at its top level; None if the source does not show them all."""
    try:
        tree = parse_module(text)
    except (SyntaxError, ValueError):
        return None
    names = {name for node in tree.body for name in bound_names(node)}
    return None if "*" in names or "__getattr__" in names else frozenset(names)


def _imports_of(node: ast.stmt, path: str) -> Iterator[ImportedName]:
    match node:
        case ast.Import(names=aliases):
            yield from (ImportedName(alias.name, "", node.lineno) for alias in aliases)
        case ast.ImportFrom(module=module, names=aliases, level=level):
            absolute = f"{_package(path, level)}.{module or ''}".strip(".") if level else module or ""
            yield from (ImportedName(absolute, alias.name, node.lineno) for alias in aliases)


def _package(path: str, level: int) -> str:
    """Return the package that `level` dots stand for in a module."""
    parts = module_of_path(path).split(".")
    is_package = PurePosixPath(path).stem == "__init__"
    return ".".join(parts[: len(parts) - level + is_package])


def bound_names(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module binds, also within its branches; `*` for unknown ones."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Import(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name for alias in aliases)
        case _:
            if type(node).__name__ == "TypeAlias":
                yield node.name.id  # type: ignore[attr-defined]  # newer than the oldest Python
            for child in ast.iter_child_nodes(node):
                yield from _names_bound_in(child)


def _names_bound_in(child: ast.AST) -> Iterator[str]:
    """Yield the names that a part of a statement binds, without those of functions and classes inside."""
    if isinstance(child, ast.stmt):
        yield from bound_names(child)
    elif isinstance(child, ast.ExceptHandler | ast.match_case):
        for statement in child.body:
            yield from bound_names(statement)
    else:
        for node in ast.walk(child):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
