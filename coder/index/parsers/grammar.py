"""Facts of files in languages with a tree-sitter grammar; broken code is parsed as far as possible."""

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from coder.index.definition import Definition
from coder.index.parsers.facts import Facts, Import, identifier_lines
from coder.index.parsers.languages import Language

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Node, Query

    Captures = dict[str, list[Node]]
    """Nodes of one match of a query, by capture name."""

MAX_SIGNATURE_LENGTH = 200
TYPE_KINDS = frozenset({"class", "interface", "struct", "enum", "trait", "scope"})
"""Kinds whose functions are methods."""
FUNCTION_KINDS = frozenset({"function", "method"})
"""Kinds whose inner definitions are local, except functions."""
LEAST_SPECIFIC_KINDS = frozenset({"variable", "type"})
"""Kinds less specific than any other that a query finds for the same name."""
SOFT_KEYWORDS = frozenset(
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
"""Keywords only in certain contexts."""
WRAPPER_NODES = ("export_statement", "template_declaration", "ambient_declaration")
"""Nodes around a definition that belong to it."""
SOLE_CHILD_WRAPPERS = re.compile(r"\w+_declaration|type_definition")
"""Nodes that belong to a definition if they contain nothing else."""
COMMENT = re.compile(r"^\s*(?:///?|/?\*+/?|#(?![a-z]))\s?(.*?)\s*(?:\*/)?$")
IMPORTED = re.compile(r"([\w$*]+)(?:\s+as\s+([\w$]+))?\s*(?=,|\}|$)")


class _CapturedDefinition(NamedTuple):
    """A definition in the tree, before its scope is known."""

    start: int
    end: int
    name: str
    kind: str
    node: "Node"
    line: int
    owner: str = ""


def grammar_facts(language: Language, text: str) -> Facts:
    """Parse all facts of a file."""
    data = text.encode("utf-8", "replace")
    definition_captures: list[Captures] = []
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
            definition_captures.append(captures)
    scoped = _scope_definitions(definition_captures)
    return Facts(
        definitions=_definitions(scoped, text),
        imports=tuple(imports),
        bases=_bases_by_type(scoped, bases),
        uses=identifier_lines(code.decode("utf-8", "replace"), _keywords(language)),
    )


def grammar_definitions(language: Language, text: str) -> tuple[Definition, ...]:
    """Parse only the definitions, which takes half the time."""
    return _definitions(
        _scope_definitions(_matches(language, language.definition_query, text.encode("utf-8", "replace"))),
        text,
    )


def _matches(language: Language, query: str, data: bytes) -> "Iterator[Captures]":
    from tree_sitter import Parser, QueryCursor

    tree = Parser(load_grammar(language)).parse(data)
    return (captures for _, captures in QueryCursor(_query(language, query)).matches(tree.root_node))


@cache
def load_grammar(language: Language) -> "Grammar":
    """Return the grammar of a language, loaded once."""
    from tree_sitter import Language as Grammar

    return Grammar(getattr(importlib.import_module(language.package), language.grammar)())


@cache
def _query(language: Language, query: str) -> "Query":
    from tree_sitter import Query

    return Query(load_grammar(language), query)


@cache
def _keywords(language: Language) -> frozenset[str]:
    grammar = load_grammar(language)
    kinds = (
        grammar.node_kind_for_id(number) or ""
        for number in range(grammar.node_kind_count)
        if not grammar.node_kind_is_named(number)
    )
    return frozenset(filter(str.isidentifier, kinds)) - SOFT_KEYWORDS


def _blank(code: bytearray, nodes: "Iterable[Node]") -> None:
    for node in nodes:
        text = code[node.start_byte : node.end_byte]
        code[node.start_byte : node.end_byte] = b"\n".join(b" " * len(line) for line in text.split(b"\n"))


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _plain(node: "Node") -> str:
    """Return a name without its type arguments, its parts joined with dots."""
    if (text := _text(node)).isidentifier():
        return text
    text = re.sub(r"<.*>|\[.*\]|^[&*\s]+|^extends\s+", "", text, flags=re.DOTALL)
    return re.sub(r"\s*(?:::|\.)\s*", ".", text).strip(" .")


def _captured_definition(captures: "Captures") -> _CapturedDefinition | None:
    name = captures["name"][0]
    kind = next(kind for kind in captures if kind not in ("name", "owner"))
    node = captures[kind][0]
    owner = _plain(captures["owner"][0]) if "owner" in captures else ""
    plain_name = _plain(name)
    if not plain_name or len(plain_name) > MAX_SIGNATURE_LENGTH:
        return None
    return _CapturedDefinition(
        start=name.start_byte,
        end=node.end_byte,
        name=plain_name,
        kind=kind.rstrip("_"),
        node=node,
        line=name.start_point[0] + 1,
        owner=owner,
    )


def _scope_definitions(matches: "Iterable[Captures]") -> list[_CapturedDefinition]:
    """Return definitions in source order, qualified by their scopes; local variables are excluded."""
    by_start: dict[int, _CapturedDefinition] = {}
    for captures in matches:
        if (definition := _captured_definition(captures)) and (
            definition.start not in by_start or by_start[definition.start].kind in LEAST_SPECIFIC_KINDS
        ):
            by_start[definition.start] = definition
    scoped: list[_CapturedDefinition] = []
    scopes: list[_CapturedDefinition] = []
    for definition in sorted(
        by_start.values(), key=lambda definition: (definition.node.start_byte, -definition.end)
    ):
        while scopes and scopes[-1].end <= definition.node.start_byte:
            scopes.pop()
        outer = scopes[-1] if scopes else None
        if outer and outer.kind in FUNCTION_KINDS and definition.kind not in (*FUNCTION_KINDS, *TYPE_KINDS):
            continue
        prefix = definition.owner or (outer.name if outer else "")
        definition = definition._replace(
            name=f"{prefix}.{definition.name}" if prefix else definition.name, kind=_kind(definition, outer)
        )
        if definition.kind not in ("variable", "constant"):
            scopes.append(definition)
        scoped.append(definition)
    return scoped


def _kind(definition: _CapturedDefinition, outer: _CapturedDefinition | None) -> str:
    if definition.kind not in FUNCTION_KINDS:
        return definition.kind
    is_inside = definition.owner or "." in definition.name or (outer is not None and outer.kind in TYPE_KINDS)
    return "method" if is_inside else "function"


def _definitions(definitions: Sequence[_CapturedDefinition], text: str) -> tuple[Definition, ...]:
    lines = text.split("\n")
    return tuple(_definition(captured, lines) for captured in definitions if captured.kind != "scope")


def _definition(definition: _CapturedDefinition, lines: Sequence[str]) -> Definition:
    outermost = definition.node
    while (parent := outermost.parent) and (
        parent.type in WRAPPER_NODES
        or (parent.named_child_count == 1 and SOLE_CHILD_WRAPPERS.fullmatch(parent.type))
    ):
        outermost = parent
    start = outermost.start_point[0] + 1
    signature = _signature(outermost, definition.node)
    bare = definition.name.rpartition(".")[2]
    return Definition(
        name=definition.name,
        kind="variable" if definition.kind == "constant" else definition.kind,
        start=start,
        line=definition.line,
        end=max(outermost.end_point[0] + (1 if outermost.end_point[1] else 0), definition.line),
        signature=signature if bare in signature else f"{signature} {bare}",
        summary=_comment_above(start, lines),
    )


def _signature(outermost: "Node", node: "Node") -> str:
    """Return the text before the body, on one line."""
    inner = next((child for child in node.children if child.child_by_field_name("body")), None)
    body = node.child_by_field_name("body") or (inner.child_by_field_name("body") if inner else None)
    end = body.start_byte if body is not None else node.end_byte
    text = (outermost.text or b"")[: end - outermost.start_byte][: MAX_SIGNATURE_LENGTH * 2].decode(
        "utf-8", "replace"
    )
    first = " ".join((text.partition("{")[0] if body is None else text).split()).rstrip("{=;, ")
    return first if len(first) <= MAX_SIGNATURE_LENGTH else f"{first[:MAX_SIGNATURE_LENGTH]}…"


def _comment_above(start: int, lines: Sequence[str]) -> str:
    """Return the first non-empty line of the comment that ends right above a line."""
    number = start - 1
    text = ""
    while (
        number > 0
        and (match := COMMENT.match(lines[number - 1]))
        and not lines[number - 1].lstrip().startswith(("#include", "#def", "#if", "#end"))
    ):
        text = match[1] or text
        number -= 1
    return text[:120]


def _bases_by_type(
    definitions: Sequence[_CapturedDefinition], bases: Sequence[tuple[int, str]]
) -> dict[str, tuple[str, ...]]:
    """Return the bases of each type: those inside it, but not inside an inner type."""
    bases_by_type: dict[str, list[str]] = {}
    for position, base in bases:
        enclosing = [
            definition
            for definition in definitions
            if definition.kind in TYPE_KINDS and definition.node.start_byte <= position < definition.end
        ]
        if enclosing and base:
            bases_by_type.setdefault(enclosing[-1].name, []).append(base)
    return {name: tuple(dict.fromkeys(names)) for name, names in bases_by_type.items()}


def _imports(module: "Node", statement: "Node") -> Iterator[Import]:
    """Yield an import for each imported name, or one for the whole module."""
    line = statement.start_point[0] + 1
    module_text = re.sub(r"\s+", "", _text(module)) if "{" not in _text(module) else _text(module)
    name = module_text.strip("\"'`<>").replace("::", ".")
    head = (
        _text(statement)[: module.start_byte - statement.start_byte]
        if statement.type in ("import_statement", "export_statement")
        else ""
    )
    if statement.type == "use_declaration":
        before, _, names = name.partition("{")
        imported = IMPORTED.findall(names.rstrip("} \n")) if names else [(before.rpartition(".")[2], "")]
        name = before.rstrip(".") if names else before.rpartition(".")[0]
    elif statement.type == "import_declaration" and "." in name:
        name, _, last = name.rpartition(".")
        imported = [(last, "")]
    else:
        imported = IMPORTED.findall(
            re.sub(r"^\s*(?:import|export)\s+(?:type\s+)?|\bfrom\s*$|\{", "", head).strip()
        )
    yield from (
        Import(module=name, name=imported_name, alias=alias, line=line) for imported_name, alias in imported
    )
    if not imported:
        yield Import(module=name, line=line)
