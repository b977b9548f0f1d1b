"""Definitions, imports and uses of one source file."""

import importlib
import keyword
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from coder.index.languages import LANGUAGES, Language

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Node, Query

    Captures = dict[str, list[Node]]
    "Nodes of one match of a query, by capture name."

MINIFIED_LINE_LENGTH = 400
"""Average characters per line from which a file counts as generated."""
IDENTIFIER = re.compile(r'[^\W\d][\w$]*+(?!")')
"""Excludes string prefixes before a quote."""


@dataclass(frozen=True, kw_only=True)
class Import:
    module: str
    """With its leading dots; `.` for `from . import x`."""
    name: str = ""
    """Imported name: empty for the module itself, `*` for all."""
    alias: str = ""
    """Local name, where it differs."""
    line: int

    @property
    def local_name(self) -> str:
        """Name that the file uses."""
        return self.alias or self.name or self.module.partition(".")[0]

    @property
    def dotted_name(self) -> str:
        """Imported object as one dotted name; the module for `*`."""
        if self.name in ("", "*"):
            return self.module
        return f"{self.module}{'' if self.module.endswith('.') else '.'}{self.name}"


class Definition(NamedTuple):
    """A class, function or variable and its location.

    A named tuple, because tens of thousands are created, in a fifth of the time of a dataclass.
    """

    name: str
    """Qualified within its file, such as `Box.size`."""
    kind: str
    """class, function, method or variable; in other languages also interface, struct, enum, trait, type,
    module, macro, prototype."""
    start: int
    """First line, from 1, decorators included."""
    line: int
    end: int
    """Last line."""
    signature: str
    """On one line, without the colon."""
    summary: str = ""
    """The first line of its docstring."""
    docstring: tuple[int, int] = (0, 0)
    """First and last line of its docstring; zeros where it has none."""

    @property
    def bare_name(self) -> str:
        """The last part of the qualified name."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    definitions: tuple[Definition, ...] = ()
    imports: tuple[Import, ...] = ()
    bases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By a class's qualified name: its base classes, as written."""
    uses: Mapping[str, list[int]] = field(default_factory=dict)
    """By identifier: lines that contain it as code, ascending; keywords and `self` are excluded."""


def parse_facts(path: str, text: str) -> FileFacts:
    if len(text) > MINIFIED_LINE_LENGTH * (text.count("\n") + 1):
        return FileFacts()
    if language := LANGUAGES.get(path.rpartition(".")[2]):
        return grammar_facts(language, text)
    code = STRING_OR_COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return FileFacts(definitions=plain_definitions(text), uses=identifier_lines(code, frozenset()))


@lru_cache(maxsize=32)
def definitions(path: str, text: str) -> tuple[Definition, ...]:
    """Return the definitions of a file in source order; broken code is parsed as far as possible."""
    return parse_facts(path, text).definitions


def identifier_lines(code: str, keywords: frozenset[str]) -> dict[str, list[int]]:
    lines_by_name: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(code.split("\n"), 1):
        for name in set(IDENTIFIER.findall(line)):
            lines_by_name[name].append(number)
    return {name: lines for name, lines in lines_by_name.items() if name not in keywords}


MAX_SIGNATURE_LENGTH = 200
MAX_VARIABLE_LENGTH = 80
"""Of the assignment to a variable of Python."""
TYPE_KINDS = frozenset({"class", "interface", "struct", "enum", "trait", "scope"})
"""Kinds whose functions are methods."""
FUNCTION_KINDS = frozenset({"function", "method"})
"""Kinds whose inner definitions are local, except functions."""
LEAST_SPECIFIC_KINDS = frozenset({"variable", "type"})
"""Kinds less specific than any other that a query finds for the same name."""
SOFT_KEYWORDS = frozenset(
    {
        *("get", "set", "of", "from", "type", "target", "meta", "module", "open", "record", "to", "uses"),
        *("with", "print"),
    }
)
"""Keywords only in certain contexts."""
PYTHON_KEYWORDS = frozenset({*keyword.kwlist, "self", "cls"})
WRAPPER_NODES = ("export_statement", "template_declaration", "ambient_declaration", "decorated_definition")
"""Nodes around a definition that belong to it."""
SOLE_CHILD_WRAPPERS = re.compile(r"\w+_declaration|type_definition")
"""Nodes that belong to a definition if they contain nothing else."""
DOCSTRING_NODES = ("string", "concatenated_string")
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


def grammar_facts(language: Language, text: str) -> FileFacts:
    data = text.encode("utf-8", "replace")
    definition_captures: list[Captures] = []
    imports: list[Import] = []
    bases: list[tuple[int, str]] = []
    code = bytearray(data)
    for captures in _matches(language, data):
        if "blank" in captures:
            _blank(code, captures["blank"])
        elif "code" in captures:
            for node in captures["code"]:
                code[node.start_byte : node.end_byte] = data[node.start_byte : node.end_byte]
        elif "base" in captures:
            bases += [(node.start_byte, _plain(node)) for node in captures["base"]]
        elif "source" in captures:
            imports += _imports(captures["source"][0], captures["import"][0])
        elif "import" in captures:
            imports += _python_imports(captures["import"][0])
        else:
            definition_captures.append(captures)
    scoped = _scope_definitions(definition_captures)
    return FileFacts(
        definitions=_definitions(scoped, text, is_python=language is LANGUAGES["py"]),
        imports=tuple(imports),
        bases=_bases_by_type(scoped, bases),
        uses=identifier_lines(code.decode("utf-8", "replace"), _keywords(language)),
    )


def _matches(language: Language, data: bytes) -> "Iterator[Captures]":
    from tree_sitter import Parser, QueryCursor

    tree = Parser(load_grammar(language)).parse(data)
    return (captures for _, captures in QueryCursor(_query(language)).matches(tree.root_node))


@cache
def load_grammar(language: Language) -> "Grammar":
    from tree_sitter import Language as Grammar

    return Grammar(getattr(importlib.import_module(language.package), language.grammar)())


@cache
def _query(language: Language) -> "Query":
    from tree_sitter import Query

    return Query(load_grammar(language), language.query)


@cache
def _keywords(language: Language) -> frozenset[str]:
    if language is LANGUAGES["py"]:
        return PYTHON_KEYWORDS
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


def _plain(node: "Node") -> str:
    """Return a name without its type arguments, its parts joined with dots."""
    if (text := node_text(node)).isidentifier():
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


def _definitions(
    definitions: Sequence[_CapturedDefinition], text: str, *, is_python: bool
) -> tuple[Definition, ...]:
    lines = text.split("\n")
    return tuple(
        _definition(captured, lines, is_python=is_python)
        for captured in definitions
        if captured.kind != "scope"
    )


def _definition(definition: _CapturedDefinition, lines: Sequence[str], *, is_python: bool) -> Definition:
    outermost = definition.node
    while (parent := outermost.parent) and (
        parent.type in WRAPPER_NODES
        or (parent.named_child_count == 1 and SOLE_CHILD_WRAPPERS.fullmatch(parent.type))
    ):
        outermost = parent
    start = outermost.start_point[0] + 1
    end = max(outermost.end_point[0] + (1 if outermost.end_point[1] else 0), definition.line)
    docstring, bare = (0, 0), definition.name.rpartition(".")[2]
    if is_python:
        signature = _python_signature(definition.node)
        docstring, summary = _docstring(definition.node)
        while end > definition.line and lines[end - 1].lstrip()[:1] in ("", "#"):  # comments below its code
            end -= 1
    else:
        signature, summary = _signature(outermost, definition.node), _comment_above(start, lines)
    return Definition(
        name=definition.name,
        kind="variable" if definition.kind == "constant" else definition.kind,
        start=start,
        line=definition.line,
        end=end,
        signature=signature if bare in signature else f"{signature} {bare}",
        summary=summary,
        docstring=docstring,
    )


def _python_signature(node: "Node") -> str:
    """Return the header without its colon, or the beginning of an assignment, without layout space."""
    data, widest = node.text or b"", MAX_SIGNATURE_LENGTH
    if node.type == "assignment":
        text, widest = data[: 2 * MAX_SIGNATURE_LENGTH].decode("utf-8", "replace"), MAX_VARIABLE_LENGTH
    else:
        colon = next((child.start_byte for child in node.children if child.type == ":"), node.end_byte)
        header = data[: colon - node.start_byte].decode("utf-8", "replace")
        text = re.sub(r"[ \t]#[^\n]*", "", header)
    text = " ".join(text.split()).replace("( ", "(").replace(", )", ")").replace(" )", ")")
    return text if len(text) <= widest else f"{text[:widest]}…"


def _docstring(node: "Node") -> tuple[tuple[int, int], str]:
    """Return first and last line of a definition's docstring, and its first line of text."""
    body = node.child_by_field_name("body")
    inner = body.named_children if body else ()
    first = next((child for child in inner if child.type != "comment"), None)
    text = first.named_child(0) if first is not None and first.type == "expression_statement" else None
    if text is None or text.type not in DOCSTRING_NODES or node_text(text)[0] in "bBfF":
        return (0, 0), ""
    summary = node_text(text).lstrip("rRuU").strip("\"'").strip().partition("\n")[0]
    return (text.start_point[0] + 1, text.end_point[0] + 1), summary.strip()[:120]


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
    line = statement.start_point[0] + 1
    module_text = re.sub(r"\s+", "", node_text(module)) if "{" not in node_text(module) else node_text(module)
    name = module_text.strip("\"'`<>").replace("::", ".")
    head = (
        node_text(statement)[: module.start_byte - statement.start_byte]
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


def _python_imports(statement: "Node") -> Iterator[Import]:
    line = statement.start_point[0] + 1
    is_future = statement.type == "future_import_statement"
    module = "__future__" if is_future else _dotted_name(statement.child_by_field_name("module_name"))
    if any(child.type == "wildcard_import" for child in statement.children):
        yield Import(module=module, name="*", line=line)
    for node in statement.children_by_field_name("name"):
        alias = node_text(node.child_by_field_name("alias"))
        name = _dotted_name(node.child_by_field_name("name") or node)
        if module:
            yield Import(module=module, name=name, alias=alias, line=line)
        else:
            yield Import(module=name, alias=alias, line=line)


def _dotted_name(node: "Node | None") -> str:
    return "".join(node_text(node).split())


DEFINITION_KEYWORDS = (
    r"class|struct|interface|trait|enum|impl|module|namespace|type|func|fn|function"
    r"|def|sub|macro_rules!|defmodule|protocol|object"
)
MODIFIERS = (
    r"export|default|public|private|protected|static|final|abstract|async"
    r"|pub(?:\([a-z]+\))?|const|unsafe|override|virtual|inline"
)
LINE = re.compile(
    rf"^(?P<indent>[ \t]*)(?:(?:{MODIFIERS})\s+)*(?P<word>{DEFINITION_KEYWORDS})\s+(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_$][\w$]*)"
)
TYPES = (
    *("class", "struct", "interface", "trait", "enum", "impl", "module", "namespace", "type", "protocol"),
    "object",
)
STRING_OR_COMMENT = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|/\*.*?\*/|//[^\n]*', re.DOTALL)


def plain_definitions(text: str) -> tuple[Definition, ...]:
    """Return a definition for each line that looks like one; the next one indented no deeper ends it."""
    lines = text.split("\n")
    matches = [
        (number, match)
        for number, line in enumerate(lines, 1)
        if len(line) < 1000 and (match := LINE.match(line))
    ]
    ends: list[int] = []
    open_blocks: list[tuple[int, int]] = []
    for number, match in reversed(matches):
        depth = len(match["indent"])
        while open_blocks and open_blocks[-1][0] > depth:
            open_blocks.pop()
        ends.append(open_blocks[-1][1] - 1 if open_blocks else len(lines))
        open_blocks.append((depth, number))
    return tuple(
        Definition(
            name=match["name"],
            kind="class" if match["word"] in TYPES else "function",
            start=number,
            line=number,
            end=end,
            signature=lines[number - 1].strip().removesuffix("{").strip()[:200],
        )
        for (number, match), end in zip(matches, reversed(ends), strict=True)
    )


SyntaxNode: TypeAlias = "Node"
"""A tree-sitter node, for packages that do not import the library; broken code has nodes of type `ERROR`."""


def parse_syntax(suffix: str, data: bytes) -> SyntaxNode:
    """Return the root of the syntax tree of a file, as far as it can be parsed.

    `suffix` is a file extension in `LANGUAGES`.
    """
    from tree_sitter import Parser

    return Parser(load_grammar(LANGUAGES[suffix])).parse(data).root_node


def node_text(node: "Node | None") -> str:
    """Return the source text of a node; empty for None."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def match_definitions(symbol: str, candidates: Sequence[Definition]) -> tuple[Definition, ...]:
    """Return the definitions that a bare or dotted name refers to.

    Such names are `size`, `Box.size` or `package.module.Box.size`.
    """
    name = symbol.removesuffix("()").replace("::", ".").strip(".")
    if exact := tuple(definition for definition in candidates if definition.name == name):
        return exact
    return tuple(
        definition
        for definition in candidates
        if definition.name.endswith(f".{name}") or name.endswith(f".{definition.name}")
    )


def enclosing_definitions(line: int, candidates: Sequence[Definition]) -> tuple[Definition, ...]:
    """Return the classes and functions around a line, outermost first."""
    return tuple(
        definition
        for definition in candidates
        if definition.kind != "variable" and definition.start <= line <= definition.end
    )


CASE = re.compile(r"""([ \t]*)((?:it|test|describe|context)\b[\w.]*\(\s*["'`][^"'`\n]*["'`])""")
"""The line that begins a test, or a group of tests, of JavaScript."""


def find_cases(text: str) -> tuple[Definition, ...]:
    """Return the tests and groups of JavaScript, which define no name, such as `it('adds')`, in order.

    Each lasts to the next line that is indented no deeper.
    """
    lines = text.split("\n")
    depths = [len(line) - len(line.lstrip()) if line.strip() else len(text) for line in lines]
    cases = []
    for start, line in enumerate(lines, 1):
        if match := CASE.match(line):
            later = range(start, len(lines))
            end = next((number for number in later if depths[number] <= len(match[1])), len(lines) - 1) + 1
            name = f"{match[2]})"
            case = Definition(name=name, kind="test", start=start, line=start, end=end, signature=name)
            cases.append(case)
    return tuple(cases)
