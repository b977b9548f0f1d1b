"""Place of a rewrite in a source file: its text, the names visible there, the code nearby."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.python.source import Function, PythonSource, find_nodes, is_docstring, parse_expression

ATOMIC_EXPRESSIONS = (
    ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.JoinedStr,
)  # fmt: skip
CACHE_SIZE = 4096
MOST_NAMES = 14
MAX_KEY_LENGTH = 40
"""Characters that a string used as a key may have."""


@dataclass(frozen=True)
class Rewrite:
    """A set of changes to a file."""

    changes: tuple[TextChange, ...]
    summary: str
    """Fit for a commit subject, without the place."""


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

    @property
    def is_callee(self) -> bool:
        return isinstance(self.parent, ast.Call) and self.parent.func is self.node

    @property
    def is_argument(self) -> bool:
        return isinstance(self.parent, ast.keyword) or (
            isinstance(self.parent, ast.Call) and self.node in self.parent.args
        )

    @property
    def is_condition(self) -> bool:
        """Whether the truth value of the node is tested."""
        match self.parent:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
                return test is self.node
            case ast.comprehension(ifs=conditions):
                return self.node in conditions
            case ast.UnaryOp(op=ast.Not()):
                return True
            case ast.BoolOp() as parent:
                return RewriteSite(self.source, parent).is_condition
            case ast.Return():
                return isinstance(self.node, ast.Compare | ast.BoolOp | ast.Call)
        return False

    def text_of(self, node: ast.AST) -> str:
        return self.source.text_of(node)

    def replace_span(self, start: int, end: int, text: str, summary: str) -> Iterator[Rewrite]:
        """Replace a span of the file's text; nothing if the text stays the same."""
        if text != self.source.text[start:end]:
            yield Rewrite((TextChange(start=start, end=end, text=text),), summary)

    def replace(self, node: ast.AST, text: str, summary: str = "") -> Iterator[Rewrite]:
        """Replace one expression with another, in parentheses where needed."""
        start, end = self.source.span(node)
        new = f"({text})" if needs_parentheses(text, node, self.source) else text
        old = self.text_of(node)
        yield from self.replace_span(
            start, end, new, summary or f"use `{abbreviate(text)}` instead of `{abbreviate(old)}`"
        )

    def swap(self, first: ast.AST, second: ast.AST, summary: str) -> Iterator[Rewrite]:
        old, new = self.text_of(first), self.text_of(second)
        if old != new:
            texts = zip((first, second), (new, old), strict=True)
            changes = [
                TextChange(
                    start=self.source.span(node)[0],
                    end=self.source.span(node)[1],
                    text=f"({text})" if needs_parentheses(text, node, self.source) else text,
                )
                for node, text in texts
            ]
            yield Rewrite(tuple(changes), summary)

    def insert(
        self, statement: ast.stmt, lines: Sequence[str], summary: str, *, after: bool = False
    ) -> Iterator[Rewrite]:
        indent, end_of_line = self.source.indent(statement), self.source.line_end
        if not indent.strip():
            place = self.source.span(statement)[after]
            text = "".join(
                f"{end_of_line}{indent}{line}" if after else f"{line}{end_of_line}{indent}" for line in lines
            )
            yield from self.replace_span(place, place, text, summary)


def abbreviate(code: str) -> str:
    """Return code in one line of at most 40 characters."""
    line = " ".join(code.split())
    return line if len(line) <= 40 else f"{line[:37]}..."


def needs_parentheses(text: str, node: ast.AST, source: PythonSource) -> bool:
    try:
        new = parse_expression(text)
    except (SyntaxError, ValueError):
        return False
    if isinstance(new, ATOMIC_EXPRESSIONS):
        return False
    match parent := source.parents.get(node):
        case ast.BinOp(op=ast.Add() | ast.Sub()) if parent.left is node or isinstance(parent.op, ast.Add):
            return not isinstance(new, ast.BinOp)
        case ast.UnaryOp(op=ast.Not()):
            return not isinstance(new, ast.Compare | ast.BinOp | ast.UnaryOp)
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


# Names visible at a place.


def parameter_names(function: Function) -> tuple[str, ...]:
    """Return parameter names in order, without self and cls."""
    signature = function.args
    parameters = [*signature.posonlyargs, *signature.args, *filter(None, [signature.vararg])]
    parameters += [*signature.kwonlyargs, *filter(None, [signature.kwarg])]
    return tuple(argument.arg for argument in parameters if argument.arg not in ("self", "cls"))


def assigned_names(node: ast.AST) -> tuple[str, ...]:
    names = (name for name in find_nodes(node, ast.Name) if isinstance(name.ctx, ast.Store))
    return tuple(dict.fromkeys(name.id for name in names))


@lru_cache(maxsize=CACHE_SIZE)
def unread_parameters(function: Function | None) -> tuple[str, ...]:
    if function is None:
        return ()
    read = {name.id for name in find_nodes(function, ast.Name) if isinstance(name.ctx, ast.Load)}
    return tuple(name for name in parameter_names(function) if name not in read)


def local_names(source: PythonSource, node: ast.AST) -> tuple[str, ...]:
    """Return the local names visible at a node: of its function, then of the enclosing ones."""
    return _local_names(source, source.enclosing_function(node))


@lru_cache(maxsize=CACHE_SIZE)
def _local_names(source: PythonSource, innermost: Function | None) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for function in [innermost, *source.ancestors(innermost)] if innermost else []:
        if isinstance(function, Function):
            nested = (part.name for part in function.body if isinstance(part, Function))
            names |= dict.fromkeys([*parameter_names(function), *assigned_names(function), *nested])
    return tuple(names)[:MOST_NAMES]


@lru_cache(maxsize=CACHE_SIZE)
def module_names(source: PythonSource) -> tuple[str, ...]:
    """Return the names that the module defines, assigns and imports outside of functions."""
    names: dict[str, None] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if (
                source.parents.get(node) is source.tree
            ):
                names[node.name] = None
            case ast.Import() | ast.ImportFrom():
                names |= {(alias.asname or alias.name).split(".")[0]: None for alias in node.names}
            case ast.Assign() | ast.AnnAssign() if source.parents.get(node) is source.tree:
                names |= dict.fromkeys(assigned_names(node))
    return tuple(names)


def self_attributes(source: PythonSource, node: ast.AST) -> tuple[str, ...]:
    """Return the attributes of self in the class around a node, most used first, then its methods."""
    owner = source.find_ancestor(node, ast.ClassDef)
    return _attributes_of(owner) if owner else ()


@lru_cache(maxsize=CACHE_SIZE)
def _attributes_of(owner: ast.ClassDef) -> tuple[str, ...]:
    accesses = (node for node in find_nodes(owner, ast.Attribute) if isinstance(node.value, ast.Name))
    used = Counter(node.attr for node in accesses if node.value.id == "self")  # type: ignore[attr-defined]
    methods = (member.name for member in owner.body if isinstance(member, Function))
    return tuple(dict.fromkeys([*(name for name, _ in used.most_common()), *methods]))


@lru_cache(maxsize=CACHE_SIZE)
def attribute_names(source: PythonSource) -> tuple[str, ...]:
    """Return every attribute name that the file uses, most used first."""
    counted = Counter(node.attr for node in find_nodes(source.tree, ast.Attribute))
    return tuple(name for name, _ in counted.most_common())


@lru_cache(maxsize=CACHE_SIZE)
def names_beside(source: PythonSource) -> dict[str, tuple[str, ...]]:
    """Return, by name, what stands beside it in the file: attributes of equal names, keywords of one call."""
    groups: dict[str, dict[str, None]] = {}
    for node in find_nodes(source.tree, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id not in ("self", "cls"):
            groups.setdefault(node.value.id, {})[node.attr] = None
    calls = find_nodes(source.tree, ast.Call)
    keywords = [[keyword.arg for keyword in call.keywords if keyword.arg] for call in calls]
    found: dict[str, dict[str, None]] = {}
    for names in (*groups.values(), *keywords):
        for name in names:
            found.setdefault(name, {}).update(dict.fromkeys(other for other in names if other != name))
    return {name: tuple(others) for name, others in found.items()}


@lru_cache(maxsize=256)
def short_strings(source: PythonSource) -> tuple[str, ...]:
    texts = (node.value for node in find_nodes(source.tree, ast.Constant) if isinstance(node.value, str))
    return tuple(dict.fromkeys(text for text in texts if 0 < len(text) < MAX_KEY_LENGTH))


@lru_cache(maxsize=200_000)
def name_similarity(name: str, other: str) -> float:
    """Return the similarity of two names, from 0 to 1."""
    matcher = SequenceMatcher(None, name.lower().strip("_"), other.lower().strip("_"), autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() > 0.4 and matcher.quick_ratio() > 0.4 else 0.0


@lru_cache(maxsize=20_000)
def similar_names(name: str, pool: tuple[str, ...], *, least: float = 0.5, most: int = 8) -> tuple[str, ...]:
    scored = {other: name_similarity(name, other) for other in dict.fromkeys(pool) if other != name}
    near = (other for other, ratio in scored.items() if ratio >= least)
    return tuple(sorted(near, key=lambda other: (-scored[other], other))[:most])


# Code of the file that may be copied: the plastic surgery hypothesis, E. T. Barr et al. (FSE 2014).

MAX_COPIED = 160
"""Characters of code that may be copied."""


@dataclass(frozen=True)
class Fragment:
    """A statement or an expression of the file in one line."""

    node: ast.stmt | ast.expr
    text: str
    names: frozenset[str]
    """Names that it reads and its own function binds."""
    function: Function | None


@lru_cache(maxsize=256)
def fragments(source: PythonSource) -> tuple[Fragment, ...]:
    """Return the one-line statements and expressions inside functions, from top to bottom."""
    found = []
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.stmt | ast.expr) or node.lineno != node.end_lineno:
            continue
        function = source.enclosing_function(node)
        text = source.text_of(node)
        if function is None or function is node or len(text) > MAX_COPIED or is_docstring_or_literal(node):
            continue
        reads = {name.id for name in find_nodes(node, ast.Name) if isinstance(name.ctx, ast.Load)}
        names = frozenset(reads & {*_local_names(source, function)})
        found.append(Fragment(node=node, text=text, names=names, function=function))
    return tuple(sorted(found, key=lambda fragment: fragment.node.lineno))


def is_docstring_or_literal(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.stmt) and is_docstring(node))


def nearest_fragments(site: RewriteSite, kind: type | tuple[type, ...]) -> list[Fragment]:
    """Return fragments of a kind whose names are visible at the site, nearest first, each text once."""
    visible = {*local_names(site.source, site.node)}
    line = getattr(site.node, "lineno", 0)
    usable = [
        fragment
        for fragment in fragments(site.source)
        if isinstance(fragment.node, kind) and fragment.names <= visible
    ]
    usable.sort(
        key=lambda fragment: (fragment.function is not site.function, abs(fragment.node.lineno - line))
    )
    return [*{fragment.text: fragment for fragment in reversed(usable)}.values()][::-1]
