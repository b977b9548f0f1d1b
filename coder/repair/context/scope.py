"""Which names can stand at a place, and which of them are alike."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from coder.python.source import BLOCKS, Function, Source

MOST_NAMES = 14
CACHED = 4096
SHORT = 40
"""Characters of what may be a key."""


def arguments_of(function: Function) -> tuple[str, ...]:
    """Parameter names in their order, without self and cls."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *([given.vararg] if given.vararg else []), *given.kwonlyargs]
    named += [given.kwarg] if given.kwarg else []
    return tuple(argument.arg for argument in named if argument.arg not in ("self", "cls"))


def stored(node: ast.AST) -> tuple[str, ...]:
    """Variables that are given values there, in their order."""
    return tuple(
        dict.fromkeys(
            item.id
            for item in ast.walk(node)
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        )
    )


def unread(function: Function) -> tuple[str, ...]:
    """Names that a function binds, its parameters first, and reads nowhere; so do functions inside of it that nothing decorates."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    inner = (
        node.name
        for node in ast.walk(function)
        if isinstance(node, Function) and node is not function and not node.decorator_list
    )
    given = (
        node.arg
        for node in ast.walk(function)
        if isinstance(node, ast.arg) and node.arg not in ("self", "cls")
    )
    bound = dict.fromkeys([*given, *stored(function), *inner])
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    return tuple(name for name in bound if name not in read)


@lru_cache(maxsize=CACHED)
def idle(function: Function | None) -> tuple[str, ...]:
    """Parameters that a function does not read."""
    held = unread(function) if function else ()
    return tuple(name for name in arguments_of(function) if name in held) if function else ()


def local_names(source: Source, node: ast.AST) -> tuple[str, ...]:
    """Parameters, assigned names and functions of the function around a node, then those of the functions around that."""
    return _local_names(source, source.function(node))


@lru_cache(maxsize=CACHED)
def _local_names(source: Source, innermost: Function | None) -> tuple[str, ...]:
    names: dict[str, None] = {}
    around = [innermost, *source.around(innermost)] if innermost else []
    for function in (item for item in around if isinstance(item, Function)):
        names |= dict.fromkeys(arguments_of(function))
        names |= dict.fromkeys(stored(function))
        names |= dict.fromkeys(item.name for item in function.body if isinstance(item, Function))
    return tuple(names)[:MOST_NAMES]


@lru_cache(maxsize=CACHED)
def module_names(source: Source) -> tuple[str, ...]:
    """What the module's top level defines, assigns and imports, under conditions and in `try` too."""
    names: dict[str, None] = {}
    for node in _at_once(source.tree.body):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names[node.name] = None
            case ast.Import() | ast.ImportFrom():
                names |= {(alias.asname or alias.name).split(".")[0]: None for alias in node.names}
            case ast.Assign() | ast.AnnAssign():
                names |= dict.fromkeys(stored(node))
            case _:
                pass
    return tuple(names)


def _at_once(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements and those inside of them that are executed in the same scope."""
    for statement in statements:
        yield statement
        if not isinstance(statement, Function | ast.ClassDef):
            for part in (statement, *getattr(statement, "handlers", ())):
                for name in BLOCKS:
                    yield from _at_once(getattr(part, name, ()))


def own_attributes(source: Source, node: ast.AST) -> tuple[str, ...]:
    """Attributes that the methods of the class around a node use on self, most used first, then its methods' names; then its parents'."""
    owner = next((item for item in source.around(node) if isinstance(item, ast.ClassDef)), None)
    return _own_attributes(source, owner) if owner else ()


@lru_cache(maxsize=CACHED)
def _own_attributes(source: Source, owner: ast.ClassDef) -> tuple[str, ...]:
    names: dict[str, None] = {}
    line = [owner]
    for item in line:
        names |= dict.fromkeys(_attributes_of(item))
        parents = {base.id for base in item.bases if isinstance(base, ast.Name)}
        line += [
            other
            for other in source.tree.body
            if isinstance(other, ast.ClassDef) and other.name in parents and other not in line
        ]
    return tuple(names)


@lru_cache(maxsize=CACHED)
def _attributes_of(owner: ast.ClassDef) -> tuple[str, ...]:
    used = Counter(
        node.attr
        for node in ast.walk(owner)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    )
    methods = (item.name for item in owner.body if isinstance(item, Function))
    return tuple(dict.fromkeys([*(name for name, _ in used.most_common()), *methods]))


@lru_cache(maxsize=CACHED)
def attributes(source: Source) -> tuple[str, ...]:
    """Every attribute name that the file uses, most used first."""
    counted = Counter(node.attr for node in ast.walk(source.tree) if isinstance(node, ast.Attribute))
    return tuple(name for name, _ in counted.most_common())


@lru_cache(maxsize=256)
def short_texts(source: Source) -> tuple[str, ...]:
    """The file's short string literals."""
    texts = (
        node.value
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return tuple(dict.fromkeys(text for text in texts if len(text) < SHORT))


@lru_cache(maxsize=200_000)
def likeness(one: str, other: str) -> float:
    """How alike two names are, from 0 to 1."""
    return SequenceMatcher(None, _plain(one), _plain(other), autojunk=False).ratio()


@lru_cache(maxsize=20_000)
def most_alike(
    name: str, pool: tuple[str, ...], *, count: int, least: float
) -> tuple[tuple[str, float], ...]:
    """Other names of a pool with their likeness, the most alike first."""
    near = (other for other in dict.fromkeys(pool) if other != name and abs(len(other) - len(name)) <= 8)
    scored = [(other, likeness(name, other)) for other in _perhaps_alike(name, near, least)]
    return tuple(
        sorted((pair for pair in scored if pair[1] >= least), key=lambda pair: (-pair[1], pair[0]))[:count]
    )


def _perhaps_alike(name: str, pool: Iterable[str], least: float) -> Iterator[str]:
    """Without those whose letters alone, in whatever order, are too different: to see that takes a fraction of the time."""
    matcher = SequenceMatcher(None, "", _plain(name), autojunk=False)
    for other in pool:
        matcher.set_seq1(_plain(other))
        if matcher.real_quick_ratio() >= least and matcher.quick_ratio() >= least:
            yield other


def _plain(name: str) -> str:
    return name.lower().strip("_")
