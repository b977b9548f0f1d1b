"""The tool `list_files`."""

from collections import Counter

from coder.core.errors import ToolError
from coder.files.ripgrep import escape_path, list_files_below
from coder.tools.tool import tool
from coder.workspace.workspace import Workspace, format_count, resolve_existing

MOST_LINES = 200
LONGEST_GLOB = 4000


@tool
def list_files(workspace: Workspace, path: str = "", glob: str = "", depth: int = 2) -> str:
    """List files as a tree, at most 200 lines; deeper directories as counts. What git ignores, and symbolic links, are left out.

    Args:
        path: A directory; empty is the root.
        glob: Only such files, at any depth: `**/test_*.py`.
        depth: Levels to open, 1 to 10.
    """
    absolute, relative = resolve_existing(workspace, path or ".")
    if not absolute.is_dir():
        raise ToolError(f"{escape_path(relative)} is a file; open it with read.")
    if "\0" in glob or len(glob) > LONGEST_GLOB:
        raise ToolError(
            f"A glob has at most {LONGEST_GLOB:,} characters and no NUL; give one such as '**/test_*.py'."
        )
    files = list_files_below(workspace.root, relative, glob=glob)
    paths = files.paths
    place = "the root" if relative == "." else escape_path(relative)
    cut = f" (not all: {files.cut}; narrow it with path=)" if files.cut else ""
    if not paths:
        return f"No files{f' like {glob}' if glob else ''} below {place}{cut}."
    prefix = "" if relative == "." else f"{relative}/"
    inner = [path.removeprefix(prefix) for path in paths]
    entries = sorted(inner) if glob else _entries(inner, depth=max(1, min(depth, 10)))
    counts = Counter(folder for path in inner for folder in _folders(path))
    lines = [_line(entry, counts, flat=bool(glob)) for entry in entries[:MOST_LINES]]
    for entry in entries[:MOST_LINES]:
        if not entry.endswith("/"):
            workspace.record_place(prefix + entry)
    remainder = (
        f"\n... {format_count(len(entries) - MOST_LINES, 'more line')}; narrow it with path= or glob="
        if len(entries) > MOST_LINES
        else ""
    )
    return (
        f"{format_count(len(paths), 'file')} below {place}{f' like {glob}' if glob else ''}{cut}\n"
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
