"""Outline of a file: the definitions with their lines."""

from collections.abc import Callable, Iterator, Sequence

from coder.files.ripgrep import escape_path
from coder.index import Definition
from coder.workspace.workspace import format_count, replace_control_characters

MOST_CHARACTERS = 10_000


def outline(path: str, line_count: int, file_definitions: Sequence[Definition]) -> str:
    """Return line, signature and first docstring line of each definition, in as much detail as fits."""
    head = f"{escape_path(path)}: {format_count(line_count, 'line')}"
    for note, is_shown, line in DETAILS:
        lines = [line(definition) for definition in file_definitions if is_shown(definition)]
        if sum(len(line) + 1 for line in lines) <= MOST_CHARACTERS:
            return "\n".join([f"{head}{note}", *lines])
    fitting_lines = list(_take_fitting(lines, MOST_CHARACTERS))
    return "\n".join([f"{head}{note}", *fitting_lines, f"... {len(lines) - len(fitting_lines)} more"])


def _full_line(definition: Definition) -> str:
    return replace_control_characters(
        f"{_short_line(definition)}{f'  # {definition.summary}' if definition.summary else ''}"
    )


def _short_line(definition: Definition) -> str:
    return replace_control_characters(
        f"{definition.line:>5}| {'  ' * definition.name.count('.')}{definition.signature}"
    )


def _is_code(definition: Definition) -> bool:
    return definition.kind != "variable"


def _is_top_level(definition: Definition) -> bool:
    return definition.kind != "variable" and "." not in definition.name


DETAILS: tuple[tuple[str, Callable[[Definition], bool], Callable[[Definition], str]], ...] = (
    ("", lambda _: True, _full_line),
    (" (without variables)", _is_code, _full_line),
    (" (without variables and docstrings)", _is_code, _short_line),
    (" (top level only)", _is_top_level, _short_line),
)
"""Levels of detail in descending order: note, filter of definitions, and line format."""


def _take_fitting(blocks: Sequence[str], room: int) -> Iterator[str]:
    for block in blocks:
        room -= len(block) + 1
        if room < 0:
            return
        yield block
