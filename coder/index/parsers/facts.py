"""What one file tells the index: definitions, imports, identifiers used, base classes."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from coder.index.definition import Definition
from coder.index.parsers.languages import LANGUAGES

PYTHON = (".py", ".pyi")
MINIFIED = 400
"""Characters a line from which on, on average, a file was written by a program."""
IDENTIFIER = re.compile(r'[^\W\d][\w$]*+(?!")')
"""The letters before a string's quote are none."""


@dataclass(frozen=True, kw_only=True)
class Import:
    """One imported name or module, as it is written."""

    module: str
    """With its leading dots; `.` for `from . import x`."""
    name: str = ""
    """What is taken from the module: empty for the module itself, `*` for all."""
    alias: str = ""
    """The name it has here, where that is another."""
    line: int

    @property
    def local(self) -> str:
        """The name by which the file knows it."""
        return self.alias or self.name or self.module.partition(".")[0]

    @property
    def dotted(self) -> str:
        """What is imported, in one name; of all that a module has, the module."""
        if self.name in ("", "*"):
            return self.module
        return f"{self.module}{'' if self.module.endswith('.') else '.'}{self.name}"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a file says of itself."""

    definitions: tuple[Definition, ...] = ()
    imports: tuple[Import, ...] = ()
    bases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By a class's qualified name: its base classes, as written."""
    uses: Mapping[str, list[int]] = field(default_factory=dict)
    """By identifier: the lines that hold it as code, ascending; keywords and `self` are left out."""


def facts_of(path: str, text: str) -> Facts:
    """Read a file's facts by the language that its name tells."""
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


def definitions_of(path: str, text: str) -> tuple[Definition, ...]:
    """A file's definitions alone, which is much less work."""
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
    return len(text) > MINIFIED * (text.count("\n") + 1)


def uses_of(code: str, without: frozenset[str]) -> dict[str, list[int]]:
    """The lines of each identifier in code whose strings and comments are blank."""
    found: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(code.split("\n"), 1):
        for name in set(IDENTIFIER.findall(line)):
            found[name].append(number)
    return {name: lines for name, lines in found.items() if name not in without}
