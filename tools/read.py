"""The tool `read`."""

import re
from collections.abc import Callable, Sequence
from functools import partial

from coder.core.errors import ToolError
from coder.core.text import suggest_name
from coder.files.ripgrep import escape_path
from coder.index import Definition, definitions, enclosing_definitions, match_definitions
from coder.patching.plan import TextFile
from coder.tools.support.listing import list_directory
from coder.tools.tool import tool
from coder.workspace.workspace import (
    SKILL_PREFIX,
    Workspace,
    format_count,
    load_skill_file,
    load_source,
    number_lines,
    replace_control_characters,
    resolve_existing,
)

MOST_LINES = 300
MOST_CHARACTERS = 16_000
CLIP_CHARACTERS = 600
"""Room for the head of a window, and for what says where a clipped one goes on."""
MOST_NAMES = 30
RANGE = re.compile(r"(?P<first>\d{1,7})(?:\s*-\s*(?P<last>\d{1,7}))?")


@tool()
def read(
    workspace: Workspace,
    path: str,
    line: int | None = None,
    symbol: str | None = None,
    before: int = 10,
    after: int = 60,
) -> str:
    """Open a file of up to 300 lines whole, lines around `line`, or whole symbols; of a longer file alone its outline, as of one that nothing has named yet (search first); of a directory its files.

    Args:
        path: Relative to the root.
        line: Its number.
        symbol: Definitions of the file, or ranges: `Parser.parse, 210-240`.
        before: Lines above `line`.
        after: Lines below `line`.
    """
    if path.startswith(SKILL_PREFIX):
        relative, source = load_skill_file(workspace, path)
    else:
        absolute, relative = resolve_existing(workspace, path or ".")
        if absolute.is_dir():
            return list_directory(workspace, relative)
        relative, source = load_source(workspace, path)
    if not source.lines:
        return f"{escape_path(relative)} is empty."
    file_definitions = definitions(relative, source.text)
    if file_definitions and not workspace.is_named(relative):
        return _introduce(relative, len(source.lines), file_definitions)
    if symbol and "," in symbol:
        parts = dict.fromkeys(part.strip() for part in symbol.split(",") if part.strip())
        windows = sorted({_part_lines(part, source, relative, file_definitions) for part in parts})
        share = MOST_CHARACTERS // max(1, len(windows)) - CLIP_CHARACTERS
        return "\n\n".join(
            render_window(
                source, relative, first=first, last=last, file_definitions=file_definitions, most=share
            )
            for first, last in windows
        )
    if line is None and not symbol and len(source.lines) > MOST_LINES:
        if file_definitions:
            return outline(relative, len(source.lines), file_definitions)
        line, before, after = 1, 0, MOST_LINES - 1
    total = len(source.lines)
    if symbol:
        first, last = _part_lines(symbol, source, relative, file_definitions)
    elif line is None:
        first, last = 1, total
    else:
        _check_line(line, relative, total)
        first, last = max(1, line - max(0, before)), min(total, line + max(0, after))
    return render_window(source, relative, first=first, last=last, file_definitions=file_definitions)


def _check_line(line: int, path: str, total: int) -> None:
    if not 1 <= line <= total:
        raise ToolError(f"{escape_path(path)} has lines 1 to {total}; there is no line {line}.")


def _introduce(path: str, line_count: int, file_definitions: Sequence[Definition]) -> str:
    """Return the outline of a file that nothing has named, and the searches that lead to it."""
    names = [definition.name for definition in file_definitions if definition.kind != "variable"]
    searches = " or ".join(f"search(pattern={name!r})" for name in dict.fromkeys(names[:2]))
    return (
        f"Nothing has named {escape_path(path)} so far, so this is its outline; {searches or 'a search'} leads "
        "here, and says who uses it. If it is the right file, read(path=..., symbol=...) opens it now.\n"
        f"{outline(path, line_count, file_definitions)}"
    )


def _part_lines(
    part: str, source: TextFile, path: str, file_definitions: Sequence[Definition]
) -> tuple[int, int]:
    """Return the first and last line of a definition, or of a range such as `10-40`."""
    match = RANGE.fullmatch(part)
    if match is None:
        return _symbol_lines(part, path, file_definitions)
    first, total = int(match["first"]), len(source.lines)
    _check_line(first, path, total)
    return first, max(first, min(total, int(match["last"] or first)))


def _symbol_lines(symbol: str, path: str, file_definitions: Sequence[Definition]) -> tuple[int, int]:
    matches = match_definitions(symbol, file_definitions)
    if not matches:
        hint = (
            suggest_name(symbol, [definition.name for definition in file_definitions])
            or f"It defines: {_names(file_definitions, MOST_NAMES) or 'nothing that can be made out'}. "
        )
        raise ToolError(
            f"{escape_path(path)} does not define {symbol!r}. {hint}Where it is defined, "
            f"search(pattern={symbol!r}) says."
        )
    if len(matches) > 1:
        places = ", ".join(f"{definition.name} (line {definition.line})" for definition in matches[:10])
        raise ToolError(
            f"{escape_path(path)} defines {symbol!r} {len(matches)} times: {places}. Give the "
            "dotted name, or line=."
        )
    return matches[0].start, matches[0].end


def _names(file_definitions: Sequence[Definition], most: int) -> str:
    """List definitions and lines, such as `Box 1, Box.size 4`; variables are left out."""
    scopes = [scope for scope in file_definitions if scope.kind != "variable"]
    rest = f", and {len(scopes) - most} more" if len(scopes) > most else ""
    return ", ".join(f"{scope.name} {scope.line}" for scope in scopes[:most]) + rest


def render_window(
    source: TextFile,
    path: str,
    *,
    first: int,
    last: int,
    file_definitions: Sequence[Definition],
    most: int = MOST_CHARACTERS,
) -> str:
    """Show lines `first` to `last`, as many as fit into `most` characters, below the headers of their scopes."""
    total = len(source.lines)
    requested_last = min(last, total)
    last = min(requested_last, first + MOST_LINES - 1)
    body = number_lines(source.lines, first, last)
    while len(body) > most and last > first:
        last -= max(1, (last - first) // 8)
        body = number_lines(source.lines, first, last)
    headers = [
        number_lines(source.lines, definition.line, definition.line)
        for definition in enclosing_definitions(first, file_definitions)
        if definition.line < first
    ]
    head = f"{escape_path(path)}, lines {first}-{last} of {total}"
    encoding_note = [] if source.encoding == "utf-8" else [f"Not UTF-8: read as {source.encoding}."]
    clip_note = []
    if last < requested_last:
        omitted = _names(
            [definition for definition in file_definitions if last < definition.line <= requested_last],
            MOST_NAMES,
        )
        clip_note = [
            f"Clipped; line {requested_last} was asked for: go on with line={last + 1}, "
            f"before=0.{f' Left out: {omitted}.' if omitted else ''}"
        ]
    return "\n".join([head, *encoding_note, *headers, *(["      ..."] if headers else []), body, *clip_note])


OUTLINE_CHARACTERS = 10_000


def outline(path: str, line_count: int, file_definitions: Sequence[Definition]) -> str:
    """Return line, signature and first docstring line of each definition, in as much detail as fits."""
    head = f"{escape_path(path)}: {format_count(line_count, 'line')}"
    for note, is_shown, line in DETAILS:
        lines = [line(definition) for definition in file_definitions if is_shown(definition)]
        if sum(len(line) + 1 for line in lines) <= OUTLINE_CHARACTERS:
            return "\n".join([f"{head}{note}", *lines])
    text = "\n".join(lines)[:OUTLINE_CHARACTERS].rpartition("\n")[0]
    return f"{head}{note}\n{text}\n... {len(lines) - text.count(chr(10)) - 1} more"


def _line(definition: Definition, *, has_summary: bool) -> str:
    summary = f"  # {definition.summary}" if has_summary and definition.summary else ""
    indent = "  " * definition.name.count(".")
    return replace_control_characters(f"{definition.line:>5}| {indent}{definition.signature}{summary}")


def _is_top_level(definition: Definition) -> bool:
    return definition.kind != "variable" and "." not in definition.name


DETAILS: tuple[tuple[str, Callable[[Definition], bool], Callable[[Definition], str]], ...] = (
    ("", lambda _: True, partial(_line, has_summary=True)),
    (
        " (without variables and docstrings)",
        lambda definition: definition.kind != "variable",
        partial(_line, has_summary=False),
    ),
    (" (top level only)", _is_top_level, partial(_line, has_summary=False)),
)
"""Levels of detail in descending order: note, filter of definitions, and line format."""
