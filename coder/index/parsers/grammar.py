"""Facts of files in the languages that have a grammar, read with tree-sitter: broken code gives what can be made out."""

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from coder.index.definition import Definition
from coder.index.parsers.facts import Facts, Import, uses_of
from coder.index.parsers.languages import Language

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Node, Query

    Captures = dict[str, list[Node]]
    """What one match of a query holds, by the names that the query gives it."""

WIDEST = 200
TYPES = frozenset({"class", "interface", "struct", "enum", "trait", "scope"})
"""What is inside these is a method."""
CODE = frozenset({"function", "method"})
"""What is inside these is no concern of anybody else, unless it is a function again."""
LEAST = frozenset({"variable", "type"})
"""Kinds that say less than any other that a query finds for the same name."""
NAMES_TOO = frozenset(
    {
        "get",
        "set",
        "of",
        "from",
        "type",
        "target",
        "meta",
        "module",
        "open",
        "record",
        "to",
        "uses",
        "with",
        "print",
    }
)
"""Keywords only in certain places."""
AROUND = ("export_statement", "template_declaration", "ambient_declaration")
"""What belongs to a definition though it stands around it."""
ALONE = re.compile(r"\w+_declaration|type_definition")
"""The same, where nothing else is in it."""
COMMENT = re.compile(r"^\s*(?:///?|/?\*+/?|#(?![a-z]))\s?(.*?)\s*(?:\*/)?$")
IMPORTED = re.compile(r"([\w$*]+)(?:\s+as\s+([\w$]+))?\s*(?=,|\}|$)")


class _Found(NamedTuple):
    """One definition of the tree, before it is known what it is inside of."""

    start: int
    end: int
    name: str
    kind: str
    node: "Node"
    line: int
    owner: str = ""


def grammar_facts(language: Language, text: str) -> Facts:
    """All that the index keeps of a file."""
    data = text.encode("utf-8", "replace")
    named: list[Captures] = []
    imports: list[Import] = []
    bases: list[tuple[int, str]] = []
    code = bytearray(data)
    for captures in _matches(language, language.query, data):
        if "blank" in captures:
            _blank(code, captures["blank"])
        elif "base" in captures:
            bases += [(node.start_byte, _plain(node)) for node in captures["base"]]
        elif "source" in captures:
            imports += _imports(captures["source"][0], captures["import"][0])
        else:
            named.append(captures)
    placed = _placed(named)
    return Facts(
        definitions=_definitions(placed, text),
        imports=tuple(imports),
        bases=_derived(placed, bases),
        uses=uses_of(code.decode("utf-8", "replace"), _keywords(language)),
    )


def grammar_definitions(language: Language, text: str) -> tuple[Definition, ...]:
    """The definitions alone, which is half the work."""
    return _definitions(_placed(_matches(language, language.outline, text.encode("utf-8", "replace"))), text)


def _matches(language: Language, query: str, data: bytes) -> "Iterator[Captures]":
    from tree_sitter import Parser, QueryCursor

    tree = Parser(_grammar(language)).parse(data)
    return (captures for _, captures in QueryCursor(_query(language, query)).matches(tree.root_node))


@cache
def _grammar(language: Language) -> "Grammar":
    from tree_sitter import Language as Grammar

    return Grammar(getattr(importlib.import_module(language.package), language.grammar)())


@cache
def _query(language: Language, query: str) -> "Query":
    from tree_sitter import Query

    return Query(_grammar(language), query)


@cache
def _keywords(language: Language) -> frozenset[str]:
    grammar = _grammar(language)
    kinds = (
        grammar.node_kind_for_id(number) or ""
        for number in range(grammar.node_kind_count)
        if not grammar.node_kind_is_named(number)
    )
    return frozenset(filter(str.isidentifier, kinds)) - NAMES_TOO


def _blank(code: bytearray, nodes: "Iterable[Node]") -> None:
    for node in nodes:
        inside = code[node.start_byte : node.end_byte]
        code[node.start_byte : node.end_byte] = b"\n".join(b" " * len(line) for line in inside.split(b"\n"))


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _plain(node: "Node") -> str:
    """A name without its type arguments, its parts joined with dots."""
    if (text := _text(node)).isidentifier():
        return text
    text = re.sub(r"<.*>|\[.*\]|^[&*\s]+|^extends\s+", "", text, flags=re.DOTALL)
    return re.sub(r"\s*(?:::|\.)\s*", ".", text).strip(" .")


def _found(captures: "Captures") -> _Found | None:
    name = captures["name"][0]
    kind = next(kind for kind in captures if kind not in ("name", "owner"))
    node = captures[kind][0]
    owner = _plain(captures["owner"][0]) if "owner" in captures else ""
    plain = _plain(name)
    if not plain or len(plain) > WIDEST:
        return None
    return _Found(
        start=name.start_byte,
        end=node.end_byte,
        name=plain,
        kind=kind.rstrip("_"),
        node=node,
        line=name.start_point[0] + 1,
        owner=owner,
    )


def _placed(matches: "Iterable[Captures]") -> list[_Found]:
    """Definitions in the order they stand in, named by what they are inside of; local variables are left out."""
    found: dict[int, _Found] = {}
    for captures in matches:
        if (item := _found(captures)) and (item.start not in found or found[item.start].kind in LEAST):
            found[item.start] = item
    placed: list[_Found] = []
    scopes: list[_Found] = []
    for item in sorted(found.values(), key=lambda item: (item.node.start_byte, -item.end)):
        while scopes and scopes[-1].end <= item.node.start_byte:
            scopes.pop()
        outer = scopes[-1] if scopes else None
        if outer and outer.kind in CODE and item.kind not in (*CODE, *TYPES):
            continue
        before = item.owner or (outer.name if outer else "")
        item = item._replace(name=f"{before}.{item.name}" if before else item.name, kind=_kind(item, outer))
        if item.kind not in ("variable", "constant"):
            scopes.append(item)
        placed.append(item)
    return placed


def _kind(item: _Found, outer: _Found | None) -> str:
    if item.kind not in CODE:
        return item.kind
    inside = item.owner or "." in item.name or (outer is not None and outer.kind in TYPES)
    return "method" if inside else "function"


def _definitions(placed: Sequence[_Found], text: str) -> tuple[Definition, ...]:
    lines = text.split("\n")
    return tuple(_definition(item, lines) for item in placed if item.kind != "scope")


def _definition(item: _Found, lines: Sequence[str]) -> Definition:
    outermost = item.node
    while (parent := outermost.parent) and (
        parent.type in AROUND or (parent.named_child_count == 1 and ALONE.fullmatch(parent.type))
    ):
        outermost = parent
    start = outermost.start_point[0] + 1
    signature = _signature(outermost, item.node)
    bare = item.name.rpartition(".")[2]
    return Definition(
        name=item.name,
        kind="variable" if item.kind == "constant" else item.kind,
        start=start,
        line=item.line,
        end=max(outermost.end_point[0] + (1 if outermost.end_point[1] else 0), item.line),
        signature=signature if bare in signature else f"{signature} {bare}",
        summary=_comment_above(start, lines),
    )


def _signature(outermost: "Node", node: "Node") -> str:
    """What stands before the body, on one line."""
    inner = next((child for child in node.children if child.child_by_field_name("body")), None)
    body = node.child_by_field_name("body") or (inner.child_by_field_name("body") if inner else None)
    end = body.start_byte if body is not None else node.end_byte
    text = (outermost.text or b"")[: end - outermost.start_byte][: WIDEST * 2].decode("utf-8", "replace")
    first = " ".join((text.partition("{")[0] if body is None else text).split()).rstrip("{=;, ")
    return first if len(first) <= WIDEST else f"{first[:WIDEST]}…"


def _comment_above(start: int, lines: Sequence[str]) -> str:
    """The first line that says something of the comment that ends right above a line."""
    number = start - 1
    said = ""
    while (
        number > 0
        and (match := COMMENT.match(lines[number - 1]))
        and not lines[number - 1].lstrip().startswith(("#include", "#def", "#if", "#end"))
    ):
        said = match[1] or said
        number -= 1
    return said[:120]


def _derived(placed: Sequence[_Found], bases: Sequence[tuple[int, str]]) -> dict[str, tuple[str, ...]]:
    """The bases of each type: those written inside of it, and inside of no type inside of it."""
    found: dict[str, list[str]] = {}
    for position, base in bases:
        around = [
            item for item in placed if item.kind in TYPES and item.node.start_byte <= position < item.end
        ]
        if around and base:
            found.setdefault(around[-1].name, []).append(base)
    return {name: tuple(dict.fromkeys(names)) for name, names in found.items()}


def _imports(module: "Node", statement: "Node") -> Iterator[Import]:
    """One for each name that is taken, or one for the whole module."""
    line = statement.start_point[0] + 1
    written = re.sub(r"\s+", "", _text(module)) if "{" not in _text(module) else _text(module)
    name = written.strip("\"'`<>").replace("::", ".")
    head = (
        _text(statement)[: module.start_byte - statement.start_byte]
        if statement.type in ("import_statement", "export_statement")
        else ""
    )
    if statement.type == "use_declaration":
        before, _, listed = name.partition("{")
        taken = IMPORTED.findall(listed.rstrip("} \n")) if listed else [(before.rpartition(".")[2], "")]
        name = before.rstrip(".") if listed else before.rpartition(".")[0]
    elif statement.type == "import_declaration" and "." in name:
        name, _, last = name.rpartition(".")
        taken = [(last, "")]
    else:
        taken = IMPORTED.findall(
            re.sub(r"^\s*(?:import|export)\s+(?:type\s+)?|\bfrom\s*$|\{", "", head).strip()
        )
    yield from (Import(module=name, name=taken_name, alias=alias, line=line) for taken_name, alias in taken)
    if not taken:
        yield Import(module=name, line=line)
