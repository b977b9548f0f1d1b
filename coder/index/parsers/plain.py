"""Facts of files in languages without a grammar, from lines that look like definitions."""

import re

from coder.index.definition import Definition
from coder.index.parsers.facts import Facts, identifier_lines

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
    "class",
    "struct",
    "interface",
    "trait",
    "enum",
    "impl",
    "module",
    "namespace",
    "type",
    "protocol",
    "object",
)
STRING = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|/\*.*?\*/|//[^\n]*', re.DOTALL)


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


def plain_facts(text: str) -> Facts:
    """Return definitions, and every identifier outside of strings and comments of the C family as a use."""
    code = STRING.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return Facts(definitions=plain_definitions(text), uses=identifier_lines(code, frozenset()))
