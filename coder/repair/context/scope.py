"""Names visible at a place, and the similarity of names."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from coder.python.source import BLOCK_FIELDS, Function, PythonSource

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
            for descendant in ast.walk(node)
            if isinstance(descendant, ast.Name) and isinstance(descendant.ctx, ast.Store)
        )
    )


def names_never_read(function: Function) -> tuple[str, ...]:
    """Return names that a function binds and never reads, parameters first.

    Undecorated nested functions are included.
    """
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    nested = (
        node.name
        for node in ast.walk(function)
        if isinstance(node, Function) and node is not function and not node.decorator_list
    )
    parameters = (
        node.arg
        for node in ast.walk(function)
        if isinstance(node, ast.arg) and node.arg not in ("self", "cls")
    )
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
            case _:
                pass
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
    owner = next(
        (ancestor for ancestor in source.ancestors(node) if isinstance(ancestor, ast.ClassDef)), None
    )
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
        for node in ast.walk(owner)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    )
    methods = (member.name for member in owner.body if isinstance(member, Function))
    return tuple(dict.fromkeys([*(name for name, _ in used.most_common()), *methods]))


@lru_cache(maxsize=CACHE_SIZE)
def attribute_names(source: PythonSource) -> tuple[str, ...]:
    """Return every attribute name that the file uses, most used first."""
    counted = Counter(node.attr for node in ast.walk(source.tree) if isinstance(node, ast.Attribute))
    return tuple(name for name, _ in counted.most_common())


@lru_cache(maxsize=256)
def short_string_literals(source: PythonSource) -> tuple[str, ...]:
    """Return the file's short string literals."""
    texts = (
        node.value
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
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
