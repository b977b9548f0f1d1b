"""Listings of the files of a directory."""

from collections import Counter

from coder.core.errors import ToolError
from coder.files.ripgrep import escape_path, list_files_below
from coder.workspace.workspace import Workspace, format_count

MOST_LINES = 200
LEVELS = 2
LONGEST_GLOB = 4000


def list_directory(workspace: Workspace, where: str, glob: str = "") -> str:
    """List the files below a directory: as a tree of two levels with counts, or flat those like a glob."""
    if "\0" in glob or len(glob) > LONGEST_GLOB:
        raise ToolError(
            f"A glob has at most {LONGEST_GLOB:,} characters and no NUL; give one such as '**/test_*.py'."
        )
    files = list_files_below(workspace.root, where, glob=glob)
    place = "the root" if where == "." else escape_path(where)
    cut = f" (not all: {files.cut}; narrow it with path=)" if files.cut else ""
    if not files.paths:
        return f"No files{f' like {glob}' if glob else ''} below {place}{cut}."
    inner = [path.removeprefix("" if where == "." else f"{where}/") for path in files.paths]
    entries = sorted(inner) if glob else _entries(inner, LEVELS)
    counts = Counter(folder for path in inner for folder in _folders(path))
    lines = [_line(entry, counts, flat=bool(glob)) for entry in entries[:MOST_LINES]]
    remainder = (
        f"\n... {format_count(len(entries) - MOST_LINES, 'more line')}; narrow it with path= or glob="
        if len(entries) > MOST_LINES
        else ""
    )
    return (
        f"{format_count(len(inner), 'file')} below {place}{f' like {glob}' if glob else ''}{cut}\n"
        + "\n".join(lines)
        + remainder
    )


def _entries(paths: list[str], depth: int) -> list[str]:
    """Return the files and directories of the first levels, each directory before its content.

    Directories have a trailing slash.
    """
    folders = {folder for path in paths for folder in _folders(path) if folder.count("/") <= depth}
    return sorted(
        {path for path in paths if path.count("/") < depth} | folders, key=lambda entry: entry.split("/")
    )


def _folders(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: index + 1]) + "/" for index in range(len(parts))]


def _line(entry: str, counts: Counter[str], *, flat: bool) -> str:
    if flat:
        return escape_path(entry)
    name = entry.rstrip("/").rpartition("/")[2]
    indent = "  " * entry.rstrip("/").count("/")
    return (
        f"{indent}{escape_path(name)}/  ({format_count(counts[entry], 'file')})"
        if entry.endswith("/")
        else f"{indent}{escape_path(name)}"
    )
