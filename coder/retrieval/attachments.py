"""Files and symbols that a message of the user names with `@`, as attachments for the model."""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path

from coder.core.errors import ToolError, UserError
from coder.core.events import Attachment
from coder.core.paths import is_git_name
from coder.core.ports import Model
from coder.core.values import Image
from coder.files.regular_files import LARGEST_BYTES, is_within, read_regular
from coder.index.index import SymbolIndex
from coder.index.parsers import match_definitions
from coder.permissions.secrets import DENY_READ, is_read_denied
from coder.python.source import split_lines
from coder.workspace.workspace import format_count, number_lines

MENTION = re.compile(r'(?<![\w@./-])@(?:"([^"\n]+)"|([\w./:-]*\w))')
"""`@src/box.py`, `@"my notes.md"` or `@Box.size`; not the middle of an address such as ada@example.org."""
MOST_LINES = 600
"""Lines of one file that are attached; the model reads the rest with its tools."""
LARGEST_IMAGE_BYTES = 3_700_000
"""Largest image, in bytes: as base64 it has to stay below the 5 MB that providers accept."""
IMAGES = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}
"""Beginnings of image files."""
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
        UserError: a file is private, too large, or neither text nor an image.
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
    if any(map(is_git_name, Path(name).parts)):
        return []
    data = read_regular(path, within=root)
    if data is None:
        if is_within(path, root) and path.is_file() and path.stat().st_size > LARGEST_BYTES:
            raise UserError(f"{name} has more than {LARGEST_BYTES // 1_000_000} MB, so nothing is attached.")
        return []
    if is_read_denied(name, deny_read):
        raise UserError(f"{name} is private (deny_read), so nothing is attached. Write it without the @.")
    if (media_type := next((kind for kind, mark in IMAGES.items() if mark.match(data)), None)) is not None:
        return [_attach_image(name, data, media_type)]
    if b"\0" in data:
        raise UserError(
            f"{name} is neither text nor an image, so nothing is attached. Write it without the @."
        )
    lines = tuple(split_lines(data.decode("utf-8", "replace")))
    shown = number_lines(lines, 1, MOST_LINES)
    rest = len(lines) - MOST_LINES
    note = f"\n[{format_count(rest, 'line')} more]" if rest > 0 else ""
    return [Attachment(name=f"{name} ({format_count(len(lines), 'line')})", text=shown + note)]


def _attach_image(name: str, data: bytes, media_type: str) -> Attachment:
    if len(data) > LARGEST_IMAGE_BYTES:
        limit = f"{LARGEST_IMAGE_BYTES / 1_000_000:.1f} MB"
        raise UserError(f"The image {name} has more than {limit}, so nothing is attached.")
    image = Image(name=name, media_type=media_type, base64=b64encode(data).decode())
    return Attachment(name=f"{name} (image, {max(len(data) // 1000, 1)} kB)", text="", image=image)


def refuse_images(
    attachments: Sequence[Attachment], model: Model
) -> tuple[tuple[Attachment, ...], tuple[str, ...]]:
    names = [attachment.image.name for attachment in attachments if attachment.image is not None]
    if not names or model.accepts_images:
        return tuple(attachments), ()
    accepted = tuple(attachment for attachment in attachments if attachment.image is None)
    return accepted, tuple(f"{model.name} does not accept images; {name} is not attached." for name in names)


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
            code = number_lines(tuple(split_lines(text)), definition.start, definition.end)
            yield Attachment(name=f"{definition.name}, {place.path}:{definition.line}", text=code)
