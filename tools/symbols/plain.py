"""Definitions of files in other languages, by what their definition lines look like."""

import re

from coder.tools.symbols.definition import Definition

WORDS = r"class|struct|interface|trait|enum|impl|module|namespace|type|func|fn|function|def|sub|macro_rules!|defmodule|protocol|object"
BEFORE = r"export|default|public|private|protected|static|final|abstract|async|pub(?:\([a-z]+\))?|const|unsafe|override|virtual|inline"
LINE = re.compile(rf"^(?P<indent>[ \t]*)(?:(?:{BEFORE})\s+)*(?P<word>{WORDS})\s+(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_$][\w$]*)")
TYPES = ("class", "struct", "interface", "trait", "enum", "impl", "module", "namespace", "type", "protocol", "object")


def plain_definitions(text: str) -> tuple[Definition, ...]:
    """One definition for each line that looks like one; it ends before the next line that is indented no deeper and starts another."""
    lines = text.split("\n")
    found = [(number, match) for number, line in enumerate(lines, 1) if len(line) < 1000 and (match := LINE.match(line))]
    return tuple(
        Definition(
            name=match["name"],
            kind="class" if match["word"] in TYPES else "function",
            start=number,
            line=number,
            end=next((later - 1 for later, other in found if later > number and len(other["indent"]) <= len(match["indent"])), len(lines)),
            signature=lines[number - 1].strip().removesuffix("{").strip()[:200],
        )
        for number, match in found
    )
