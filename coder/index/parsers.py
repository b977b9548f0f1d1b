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

PYTHON = (".py", ".pyi")
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


@lru_cache(maxsize=32)
def definitions(path: str, text: str) -> tuple[Definition, ...]:
    """Return the definitions of a file in source order; broken code is parsed as far as possible."""

    return parse_definitions(path, text)


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    definitions: tuple[Definition, ...] = ()
    imports: tuple[Import, ...] = ()
    bases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By a class's qualified name: its base classes, as written."""
    uses: Mapping[str, list[int]] = field(default_factory=dict)
    """By identifier: lines that contain it as code, ascending; keywords and `self` are excluded."""


def parse_facts(path: str, text: str) -> FileFacts:
    if path.endswith(PYTHON):
        return python_facts(text)
    if _is_minified(text):
        return FileFacts()
    if language := LANGUAGES.get(path.rpartition(".")[2]):
        return grammar_facts(language, text)

    return plain_facts(text)


def parse_definitions(path: str, text: str) -> tuple[Definition, ...]:
    """Parse only a file's definitions, which is much cheaper."""
    if path.endswith(PYTHON):
        return python_definitions(text)
    if _is_minified(text):
        return ()
    if language := LANGUAGES.get(path.rpartition(".")[2]):
        return grammar_definitions(language, text)

    return plain_definitions(text)


def _is_minified(text: str) -> bool:
    return len(text) > MINIFIED_LINE_LENGTH * (text.count("\n") + 1)


def identifier_lines(code: str, keywords: frozenset[str]) -> dict[str, list[int]]:
    lines_by_name: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(code.split("\n"), 1):
        for name in set(IDENTIFIER.findall(line)):
            lines_by_name[name].append(number)
    return {name: lines for name, lines in lines_by_name.items() if name not in keywords}


WIDEST = 200
WIDEST_VARIABLE = 80
LONGEST_HEADER = 4000
LONG = r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""' + r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
SHORT = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"' + r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
PYTHON_STRING = re.compile(rf"({LONG}|{SHORT}|#[^\n]*)", re.DOTALL)
FIELD = re.compile(r"\{([^{}\n!:]+)|[^\n]")
HEAD = re.compile(
    r"\n(?P<indent>[ \t]*+)(?:(?:(?:async[ \t]+)?def|(?P<class>class))[ \t]+(?P<name>[^\W\d]\w*)"
    r"|(?P<variable>[^\W\d]\w*+)[ \t]*+(?:(?::[ \t]*[^\s=][^=\n]*)?=(?!=)|"
    r":[ \t]*[^\s=][^=\n]*$)|(?P<decorator>@))",
    re.MULTILINE,
)
INNER = re.compile(
    r"\n(?P<indent>[ \t]*+)(?:(?:(?:async[ \t]+)?def|(?P<class>class))"
    r"[ \t]+(?P<name>[^\W\d]\w*)|(?P<decorator>@))"
)
"""The same inside a function, whose variables are local."""
IMPORT = re.compile(
    r"\n[ \t]*(?:from[ \t]+(?P<module>[.\w]+)[ \t]+import[ \t]*(?P<names>\([^)]*\)|(?:[^\n\\;]|\\\n)*)"
    r"|import[ \t]+(?P<modules>(?:[^\n\\;]|\\\n)*))"
)
HEADER = re.compile(r"[ \t]*+(?:\([^()]*+\))?+[ \t]*+(?:->[^:\n(\[{]*+)?+:")
"""A simple header, up to its colon."""
BRACKET = re.compile(r"[()\[\]{}:\n]")
DOCSTRING = re.compile(r"(?:\s|\\\n)*+[rRuU]?(\"\s*+[\"'])")
BASE = re.compile(r"\s*([^\W\d][\w.]*)\s*(?:\[|$)")
NOT_USES = frozenset({*keyword.kwlist, "self", "cls"})
OPEN = ("(", "[", "{", ",")


def python_definitions(text: str) -> tuple[Definition, ...]:
    """Return classes, functions, methods, and the variables of modules and classes."""
    return _Source(text).definitions()[0]


def python_facts(text: str) -> FileFacts:
    source = _Source(text)
    definitions, bases = source.definitions()
    return FileFacts(
        definitions=definitions,
        imports=tuple(source.imports()),
        bases=bases,
        uses=identifier_lines(source.code[1:], NOT_USES),
    )


def blank_strings(text: str) -> str:
    """Replace the content of strings and comments by spaces; every character keeps its position.

    A string begins with `"` and, where it may span lines, ends with `'`: no code begins with that.
    """

    pieces = PYTHON_STRING.split(text)
    for index in range(1, len(pieces), 2):
        string = pieces[index]
        if string[0] == "#":
            pieces[index] = " " * len(string)
        elif "\n" not in string and "{" not in string:
            pieces[index] = f'"{" " * (len(string) - 2)}"'
        else:
            pieces[index] = _blank_string(string, pieces[index - 1][-2:])
    return "".join(pieces)


def _blank_string(string: str, before: str) -> str:
    if "{" in string and (before[-1:] in ("f", "F") or before.lower() == "fr"):
        return '"' + FIELD.sub(lambda piece: f" {piece[1]}" if piece[1] else " ", string[1:-1]) + "'"
    return '"' + "\n".join([" " * len(line) for line in string[1:-1].split("\n")]) + "'"


class _Scope(NamedTuple):
    end: int
    name: str
    is_class: bool


class _Source:
    """A file's text and the same with blanked strings and comments; both begin with an empty line."""

    def __init__(self, text: str) -> None:
        self.text = f"\n{text}"
        self.code = blank_strings(self.text)
        self._at = self._line = 0

    def line(self, position: int) -> int:
        """Return the line number, from 1, of a character position."""
        step = (
            self.text.count("\n", self._at, position)
            if position >= self._at
            else -self.text.count("\n", position, self._at)
        )
        self._at = position
        self._line += step
        return self._line

    def definitions(self) -> tuple[tuple[Definition, ...], dict[str, tuple[str, ...]]]:
        """Return the definitions in source order, and the bases of each class."""
        definitions: list[Definition] = []
        bases: dict[str, tuple[str, ...]] = {}
        scopes: list[_Scope] = []
        decorator: tuple[str, int] | None = None
        for match in self._heads(scopes):
            indent = match["indent"]
            if match["decorator"]:
                decorator = (
                    decorator
                    if decorator and decorator[0] == indent
                    else (indent, self.line(match.start() + 1))
                )
            elif match["name"]:
                start = decorator[1] if decorator and decorator[0] == indent else 0
                decorator = None
                definition, scope, header = self._scope(match, scopes, start)
                definitions.append(definition)
                scopes.append(scope)
                if scope.is_class:
                    bases[definition.name] = _bases(header)
            elif match["variable"] not in keyword.kwlist and not self._is_argument(match):
                definitions.append(self._variable(match, f"{scopes[-1].name}." if scopes else ""))
        return tuple(definitions), bases

    def _heads(self, scopes: list[_Scope]) -> Iterator[re.Match[str]]:
        """Yield matches where definitions begin; scopes that ended before are popped first."""
        position = 0
        while True:
            if scopes and not scopes[-1].is_class:
                match = self._inner(position, scopes[-1].end)
                if match is None:
                    position = max(position, scopes.pop().end)
                    continue
            elif match := HEAD.search(self.code, position):
                while scopes and scopes[-1].end <= match.start():
                    scopes.pop()
            else:
                return
            position = match.end()
            if match.re is INNER or not scopes or scopes[-1].is_class or not match["variable"]:
                yield match

    def _inner(self, position: int, end: int) -> re.Match[str] | None:
        """Return the next definition inside a function; few have one."""
        find = self.code.find
        may_have_inner = find("def", position, end) >= 0 or find("class", position, end) >= 0
        return INNER.search(self.code, position, end) if may_have_inner else None

    def _scope(
        self, match: re.Match[str], scopes: list[_Scope], start: int
    ) -> tuple[Definition, _Scope, str]:
        name_start = match.start("name")
        colon = self._colon(match.end())
        end = self._end(colon, len(match["indent"]))
        outer = scopes[-1] if scopes else None
        name = f"{outer.name}.{match['name']}" if outer else match["name"]
        is_class = match["class"] is not None
        line = self.line(name_start)
        docstring, summary = self._docstring(colon)
        kind = "class" if is_class else "method" if outer and outer.is_class else "function"
        last = line + self.text.count("\n", name_start, end - 1)
        signature = _python_signature(self._without_comments(match.end("indent"), colon))
        definition = Definition(name, kind, start or line, line, last, signature, summary, docstring)
        return definition, _Scope(end, name, is_class), self.code[match.end() : colon]

    def _colon(self, position: int) -> int:
        """Return the end of the header that continues at `position`."""
        if simple := HEADER.match(self.code, position):
            return simple.end() - 1
        depth = 0
        for match in BRACKET.finditer(self.code, position, position + LONGEST_HEADER):
            if match[0] in "([{":
                depth += 1
            elif match[0] in ")]}":
                depth -= 1
            elif depth <= 0:
                return match.start()
        newline = self.code.find("\n", position)
        return newline if newline >= 0 else len(self.code)

    def _end(self, position: int, indent: int) -> int:
        """Return the end of the block or statement at `position`: a line indented no deeper ends it."""
        start = position
        while dedent := _dedent(indent).search(self.code, position):
            body = self.code[start : dedent.start()].rstrip()
            is_continued = body.endswith("\\") or (body.endswith(OPEN) and _is_open(body))
            if not is_continued or self.code.startswith(("def ", "class ", "async ", "@"), dedent.end()):
                return start + len(body)
            position = dedent.end()
        return start + len(self.code[start:].rstrip())

    def _docstring(self, colon: int) -> tuple[tuple[int, int], str]:
        match = DOCSTRING.match(self.code, colon + 1)
        if match is None:
            return (0, 0), ""
        opening, closing = match.span(1)
        summary = self.text[opening:closing].strip("\"'").strip().split("\n", 1)[0]
        first = self._line + self.text.count("\n", self._at, opening)
        return (first, first + self.text.count("\n", opening, closing - 1)), summary.strip()[:120]

    def _is_argument(self, match: re.Match[str]) -> bool:
        """Tell whether the line before continues, so that `name=` is an argument.

        At the margin a comma ends a tuple.
        """
        before = self.code[max(0, match.start() - LONGEST_HEADER) : match.start()].rstrip()
        return before.endswith((*OPEN, "\\") if match["indent"] else ("(", "[", "{", "\\"))

    def _variable(self, match: re.Match[str], prefix: str) -> Definition:
        name_start = match.start("variable")
        line = self.line(name_start)
        end = self._end(match.end(), len(match["indent"]))
        signature = _python_signature(
            self.text[name_start : min(end, match.start() + WIDEST * 2)], WIDEST_VARIABLE
        )
        last = line + self.text.count("\n", name_start, end - 1)
        return Definition(prefix + match["variable"], "variable", line, line, last, signature)

    def _without_comments(self, start: int, end: int) -> str:
        text = self.text[start:end]
        return re.sub(r"[ \t]#[^\n]*", "", text) if "#" in text else text

    def imports(self) -> Iterator[Import]:
        for match in IMPORT.finditer(self.code):
            line = self.line(match.start() + 1)
            for part in (
                (match["names"] or match["modules"] or "").replace("\\\n", " ").strip("() \t\n").split(",")
            ):
                name, _, alias = (piece.strip() for piece in part.strip().partition(" as "))
                if name and match["names"]:
                    yield Import(module=match["module"], name=name, alias=alias, line=line)
                elif name:
                    yield Import(module=name, alias=alias, line=line)


@cache
def _dedent(indent: int) -> re.Pattern[str]:
    return re.compile(rf"\n[ \t]{{0,{indent}}}(?=[^\s)\]}}'])")


def _is_open(code: str) -> bool:
    return sum(map(code.count, "([{")) > sum(map(code.count, ")]}"))


def _bases(header: str) -> tuple[str, ...]:
    arguments = header.partition("(")[2].rpartition(")")[0]
    return tuple(match[1] for part in arguments.split(",") if (match := BASE.match(part)))


def _python_signature(text: str, widest: int = WIDEST) -> str:
    """Join a signature into one line, without layout space."""
    text = " ".join(text.split())
    text = text.replace("( ", "(").replace(", )", ")").replace(" )", ")") if "(" in text else text
    return text if len(text) <= widest else f"{text[:widest]}…"


MAX_SIGNATURE_LENGTH = 200
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


def grammar_facts(language: Language, text: str) -> FileFacts:
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
    return FileFacts(
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


def plain_facts(text: str) -> FileFacts:
    """Return definitions, and every identifier outside of strings and comments of the C family as a use."""
    code = STRING_OR_COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return FileFacts(definitions=plain_definitions(text), uses=identifier_lines(code, frozenset()))


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
