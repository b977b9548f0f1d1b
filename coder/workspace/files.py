"""Reading of worktree files for tools: the text, or an error message that says what to do instead."""

import codecs
import difflib
import os
import stat
from pathlib import Path

from coder.core.errors import ToolError
from coder.core.values.paths import SOURCE_SUFFIXES, is_test_path
from coder.files.ripgrep import escape_path, list_paths
from coder.patching.applying.source import TextFile, decode_source
from coder.patching.applying.tree import ConfinedTree
from coder.patching.errors import PatchError
from coder.permissions.private_files import is_read_denied
from coder.workspace.workspace import Workspace

NON_SOURCE_DIRECTORIES = frozenset(
    {
        "docs",
        "doc",
        "examples",
        "example",
        "benchmarks",
        "static",
        "vendor",
        "_vendor",
        "third_party",
        "node_modules",
    }
)
LARGEST_BYTES = 5_000_000
MAX_LINE_WIDTH = 400


def resolve_existing(workspace: Workspace, path: str) -> tuple[Path, str]:
    """Return what exists at a path, as (absolute path, path relative to the root).

    A name that `shown` had to escape may be passed in its escaped form.

    Raises:
        ToolError: the path does not exist, or leads out of the worktree.
    """
    absolute, relative = workspace.resolve_path(path)
    if absolute.exists():
        return absolute, relative
    if "\\" in path and (
        unescaped := next(
            (other for other in list_paths(workspace.root) if escape_path(other) == relative), None
        )
    ):
        return workspace.root / unescaped, unescaped
    if absolute.is_symlink():
        raise ToolError(f"{escape_path(relative)} is a symbolic link that leads nowhere.")
    raise ToolError(f"{escape_path(relative)} does not exist.{suggest_paths(workspace, relative)}")


def load_source(workspace: Workspace, path: str) -> tuple[str, TextFile]:
    """Return the path relative to the root, and the text there; symbolic links inside the root are followed.

    Raises:
        ToolError: it is not a readable text file.
    """
    absolute, relative = resolve_existing(workspace, path)
    if absolute.is_dir():
        raise ToolError(
            f"{escape_path(relative)} is a directory. See what is in it with "
            f"list_files(path={relative!r}) or outline(path={relative!r})."
        )
    if (size := absolute.stat().st_size) > LARGEST_BYTES:
        raise ToolError(
            f"{escape_path(relative)} has {size:,} bytes, too many to open here. Look into it with "
            f"search(pattern=..., path={relative!r})."
        )
    real = os.path.relpath(os.path.realpath(absolute), os.path.realpath(workspace.root))
    check_readable(workspace, relative, real)
    try:
        content = ConfinedTree(workspace.root).read(real)
    except PatchError as error:
        raise ToolError(error.reason) from None
    if content is None:
        raise ToolError(f"{escape_path(relative)} has just vanished. See what there is with list_files().")
    try:
        return relative, _decode_utf16(content[0]) or decode_source(content[0], relative)
    except PatchError:
        raise ToolError(
            f"{escape_path(relative)} is a binary file ({size:,} bytes) and cannot be shown as text."
        ) from None


def check_readable(workspace: Workspace, *paths: str) -> None:
    """Raise ToolError where a model may not read one of the paths, which are relative to the root."""
    for path in paths:
        if not workspace.may_read(path):
            raise ToolError(
                f"{escape_path(path)} may hold secrets: the person lets nobody read or change it. Go on "
                "without it; its example, where there is "
                "one, or the code that reads it says which names it holds."
            )


def _decode_utf16(data: bytes) -> TextFile | None:
    """Decode UTF-16 for reading, which patches treat as binary; None for other encodings."""
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    lines = data.decode("utf-16", "replace").splitlines()
    return TextFile(lines=tuple(lines), ends=("\n",) * len(lines), encoding="utf-16")


def read_bytes_or_empty(root: Path, path: str) -> bytes:
    """Return a file's content for searching; empty where it is too large or unreadable."""
    if is_read_denied(path):
        return b""
    try:
        with os.fdopen(_open_file(root, path), "rb") as file:
            status = os.fstat(file.fileno())
            return file.read() if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_BYTES else b""
    except OSError:
        return b""


def read_text_or_empty(root: Path, path: str) -> str:
    """Return a file's text for searching, in any encoding; empty where it is too large or unreadable."""
    return decode_text(read_bytes_or_empty(root, path))


def decode_text(data: bytes) -> str:
    """Decode the content that `read_bytes_or_empty` returned."""
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if is_utf16 else "utf-8-sig", "replace").replace("\r\n", "\n")


def _open_file(root: Path, path: str) -> int:
    """Open a file for reading without blocking on pipes; a symbolic link must stay inside the root."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    if not (root / path).is_symlink():
        return os.open(root / path, flags | os.O_NOFOLLOW)
    real = os.path.realpath(root / path)
    if not Path(real).is_relative_to(os.path.realpath(root)):
        raise PermissionError(f"{path} leads out of the repository")
    return os.open(real, flags | os.O_NOFOLLOW)


def suggest_paths(workspace: Workspace, path: str) -> str:
    """Return a sentence that suggests existing files with the same or a similar name."""
    paths = list_paths(workspace.root)
    name = path.rpartition("/")[2]
    namesakes = [other for other in paths if other.rpartition("/")[2] == name]
    suggestions = difflib.get_close_matches(
        path, namesakes or paths[:20_000], n=4, cutoff=0.0 if namesakes else 0.7
    )
    for other in suggestions:
        workspace.record_place(other)
    return (
        f" Did you mean {' or '.join(map(escape_path, suggestions))}?"
        if suggestions
        else " See what there is with list_files()."
    )


def clip_line(text: str, width: int = MAX_LINE_WIDTH, *, around: int = 0) -> str:
    """Clip a line to `width` so that the character at `around` stays in view.

    Control characters are made visible.
    """
    if len(text) <= width:
        return replace_control_characters(text)
    start = max(0, min(around - width // 3, len(text) - width))
    end = start + width
    suffix = f"… (+{len(text) - end} characters)" if end < len(text) else ""
    return f"{'…' if start else ''}{replace_control_characters(text[start:end])}{suffix}"


def replace_control_characters(text: str) -> str:
    """Replace control characters in a line of text, which a terminal would execute."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character == "\t" else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


def number_lines(lines: tuple[str, ...], first: int, last: int) -> str:
    """Return lines `first` to `last` (from 1, both included) with their numbers."""
    return "\n".join(
        f"{number:>5}| {clip_line(lines[number - 1])}"
        for number in range(max(1, first), min(last, len(lines)) + 1)
    )


def format_count(number: int, noun: str) -> str:
    """Format a count with its noun, such as `1 match`, `3 matches`."""
    plural = f"{noun}es" if noun.endswith(("s", "ch", "sh")) else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def path_category(path: str) -> int:
    """Classify a path by its likely relevance: 0 source, 1 tests, 2 documentation, examples and the rest."""
    *folders, name = path.split("/")
    if (
        not path.endswith(SOURCE_SUFFIXES)
        or NON_SOURCE_DIRECTORIES & set(folders)
        or (folders[-1:] == ["migrations"] and name[:4].isdigit())
    ):
        return 2
    return 1 if is_test_path(path) else 0
