"""Files and symbols that a message of the user names with `@`, as attachments for the model."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from coder.core.errors import ToolError, UserError
from coder.core.values.task import Attachment
from coder.files.regular_files import read_regular
from coder.index.definition import match_definitions
from coder.index.index import SymbolIndex
from coder.permissions.private_files import DENY_READ, is_read_denied
from coder.workspace.files import format_count, number_lines

MENTION = re.compile(r'(?<![\w@./-])@(?:"([^"\n]+)"|([\w./:-]*\w))')
"""`@src/box.py`, `@"my notes.md"` or `@Box.size`; not the middle of an address such as ada@example.org."""
MOST_LINES = 600
"""Lines of one file that are attached; the model reads the rest with its tools."""
MOST_PLACES = 3
"""Definitions of one symbol that are attached."""


def attach_mentions(
    text: str,
    root: Path,
    index: SymbolIndex,
    *,
    deny_read: Sequence[str] = DENY_READ,
    checkout: Path | None = None,
) -> tuple[Attachment, ...]:
    """Return what the mentions in a text refer to, in their order; words that name nothing are left alone.

    Paths are relative to `root`, and never lead out of it. Files that a worktree at `root` lacks, such as
    those that the user has made since, are read from `checkout`.

    Raises:
        UserError: a file is private, or is no text.
    """
    names = dict.fromkeys(match[1] or match[2] for match in MENTION.finditer(text))
    roots = [root] if checkout is None else [root, checkout]
    found: dict[str, Attachment] = {}
    for name in names:
        files = (_attach_path(name, place, deny_read) for place in roots)
        for attachment in next(filter(None, files), None) or _attach_symbol(name, root, index, deny_read):
            found.setdefault(attachment.name, attachment)
    return tuple(found.values())


def _attach_path(name: str, root: Path, deny_read: Sequence[str]) -> list[Attachment]:
    """Return the file of that name, if there is one."""
    path = root / name
    data = read_regular(path, within=root) if ".git" not in Path(name).parts else None
    if data is None:
        return []
    if is_read_denied(name, deny_read):
        raise UserError(f"{name} is private (deny_read), so nothing is attached. Write it without the @.")
    if b"\0" in data:
        raise UserError(f"{name} is no text, so nothing is attached. Write it without the @.")
    lines = tuple(data.decode("utf-8", "replace").splitlines())
    shown = number_lines(lines, 1, MOST_LINES)
    rest = len(lines) - MOST_LINES
    note = f"\n[{format_count(rest, 'line')} more]" if rest > 0 else ""
    return [Attachment(name=f"{name} ({format_count(len(lines), 'line')})", text=shown + note)]


def _attach_symbol(
    name: str, root: Path, index: SymbolIndex, deny_read: Sequence[str]
) -> Iterator[Attachment]:
    """Yield the definitions of a symbol, such as `size` or `Box.size`."""
    symbol = name.replace("::", ".")
    try:
        places = index.refresh().definitions_named(symbol.rpartition(".")[2])
    except ToolError:  # the files could not be listed; the model finds the symbol with its tools
        return
    shown = 0
    for place in places:
        definition = place.definition
        if shown == MOST_PLACES or definition is None or is_read_denied(place.path, deny_read):
            continue
        if match_definitions(symbol, (definition,)):
            shown += 1
            text = (read_regular(root / place.path, within=root) or b"").decode("utf-8", "replace")
            code = number_lines(tuple(text.splitlines()), definition.start, definition.end)
            yield Attachment(name=f"{definition.name}, {place.path}:{definition.line}", text=code)
