"""Facts of one file for the index: definitions, imports, identifier uses, base classes."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from coder.index.definition import Definition
from coder.index.parsers.languages import LANGUAGES

PYTHON = (".py", ".pyi")
MINIFIED_LINE_LENGTH = 400
"""Average characters per line from which a file counts as generated."""
IDENTIFIER = re.compile(r'[^\W\d][\w$]*+(?!")')
"""Excludes string prefixes before a quote."""


@dataclass(frozen=True, kw_only=True)
class Import:
    """One imported name or module, as it is written."""

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


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Indexed facts of one file."""

    definitions: tuple[Definition, ...] = ()
    imports: tuple[Import, ...] = ()
    bases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By a class's qualified name: its base classes, as written."""
    uses: Mapping[str, list[int]] = field(default_factory=dict)
    """By identifier: lines that contain it as code, ascending; keywords and `self` are excluded."""


def parse_facts(path: str, text: str) -> Facts:
    """Parse a file's facts in the language given by its extension."""
    if path.endswith(PYTHON):
        from coder.index.parsers.python import python_facts

        return python_facts(text)
    if _is_minified(text):
        return Facts()
    if language := LANGUAGES.get(path.rpartition(".")[2]):
        from coder.index.parsers.grammar import grammar_facts

        return grammar_facts(language, text)
    from coder.index.parsers.plain import plain_facts

    return plain_facts(text)


def parse_definitions(path: str, text: str) -> tuple[Definition, ...]:
    """Parse only a file's definitions, which is much cheaper."""
    if path.endswith(PYTHON):
        from coder.index.parsers.python import python_definitions

        return python_definitions(text)
    if _is_minified(text):
        return ()
    if language := LANGUAGES.get(path.rpartition(".")[2]):
        from coder.index.parsers.grammar import grammar_definitions

        return grammar_definitions(language, text)
    from coder.index.parsers.plain import plain_definitions

    return plain_definitions(text)


def _is_minified(text: str) -> bool:
    return len(text) > MINIFIED_LINE_LENGTH * (text.count("\n") + 1)


def identifier_lines(code: str, keywords: frozenset[str]) -> dict[str, list[int]]:
    """Return the lines of each identifier in code whose strings and comments are blank."""
    lines_by_name: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(code.split("\n"), 1):
        for name in set(IDENTIFIER.findall(line)):
            lines_by_name[name].append(number)
    return {name: lines for name, lines in lines_by_name.items() if name not in keywords}
