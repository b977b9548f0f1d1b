"""Facts of Python source from lines and indentation.

Ten times as fast as a parse, and tolerant of broken code.
"""

import keyword
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from coder.index.definition import Definition
from coder.index.parsers.facts import Facts, Import, identifier_lines

WIDEST = 200
WIDEST_VARIABLE = 80
LONGEST_HEADER = 4000
LONG = r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""' + r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
SHORT = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"' + r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
STRING = re.compile(rf"({LONG}|{SHORT}|#[^\n]*)", re.DOTALL)
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


def python_facts(text: str) -> Facts:
    """Parse all facts of a file."""
    source = _Source(text)
    definitions, bases = source.definitions()
    return Facts(
        definitions=definitions,
        imports=tuple(source.imports()),
        bases=bases,
        uses=identifier_lines(source.code[1:], NOT_USES),
    )


def blank_strings(text: str) -> str:
    """Replace the content of strings and comments by spaces; every character keeps its position.

    A string begins with `"` and, where it may span lines, ends with `'`: no code begins with that.
    """

    pieces = STRING.split(text)
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
        signature = _signature(self._without_comments(match.end("indent"), colon))
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
        signature = _signature(self.text[name_start : min(end, match.start() + WIDEST * 2)], WIDEST_VARIABLE)
        last = line + self.text.count("\n", name_start, end - 1)
        return Definition(prefix + match["variable"], "variable", line, line, last, signature)

    def _without_comments(self, start: int, end: int) -> str:
        text = self.text[start:end]
        return re.sub(r"[ \t]#[^\n]*", "", text) if "#" in text else text

    def imports(self) -> Iterator[Import]:
        """Yield the imports in source order."""
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


def _signature(text: str, widest: int = WIDEST) -> str:
    """Join a signature into one line, without layout space."""
    text = " ".join(text.split())
    text = text.replace("( ", "(").replace(", )", ")").replace(" )", ")") if "(" in text else text
    return text if len(text) <= widest else f"{text[:widest]}…"
