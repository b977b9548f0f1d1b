"""The tool `outline`."""

from collections.abc import Callable, Iterator, Sequence

from coder.core.errors import ToolError
from coder.files.ripgrep import shown
from coder.index import Definition, definitions
from coder.index.snapshot import Snapshot
from coder.tools.support.uses import inside
from coder.tools.tool import tool
from coder.workspace.files import SOURCE, counted, load, standing, visible
from coder.workspace.workspace import Workspace

MOST_CHARACTERS = 10_000
MOST_FILES = 200
MOST_NAMES = 30


@tool
def outline(workspace: Workspace, path: str) -> str:
    """Show what a file or the source files of a directory define: line, signature, first docstring line.

    Up to 10,000 characters: in a large file or directory first variables are left out, then docstrings, then methods; at last there
    are only the top-level names of each file.

    Args:
        path: A file or directory; `.` is all.
    """
    absolute, relative = workspace.resolve(path or ".")
    if absolute.is_dir():
        return _directory(workspace, relative)
    relative, source = load(workspace, path)
    workspace.name(relative)
    found = definitions(relative, source.text)
    head = f"{shown(relative)}: {counted(len(source.lines), 'line')}"
    if not found:
        return f"{head}, no definitions found. Open it with read(path={relative!r}, line=1)."
    for item in found:
        workspace.name(relative, item.line)
    return _file(head, found, relative)


def _file(head: str, found: Sequence[Definition], path: str) -> str:
    for without, kept, line in DETAILS:
        lines = [line(item) for item in found if kept(item)]
        if sum(len(line) + 1 for line in lines) <= MOST_CHARACTERS:
            return "\n".join([f"{head}{without}", *lines])
    fitting = list(_fitting(lines, MOST_CHARACTERS))
    more = f"... {len(lines) - len(fitting)} more; find_symbol(name=..., path={path!r}) shows one, search(pattern=..., path=...) others"
    return "\n".join([f"{head}{without}", *fitting, more])


def _full(item: Definition) -> str:
    return visible(f"{_short(item)}{f'  # {item.summary}' if item.summary else ''}")


def _short(item: Definition) -> str:
    return visible(f"{item.line:>5}| {'  ' * item.name.count('.')}{item.signature}")


def _is_code(item: Definition) -> bool:
    return item.kind != "variable"


def _is_top(item: Definition) -> bool:
    return item.kind != "variable" and "." not in item.name


DETAILS: tuple[tuple[str, Callable[[Definition], bool], Callable[[Definition], str]], ...] = (
    ("", lambda _: True, _full),
    (" (without variables)", _is_code, _full),
    (" (without variables and docstrings)", _is_code, _short),
    (" (top level only)", _is_top, _short),
)
"""From much to little: what is said of it, what is shown, and how."""


def _fitting(blocks: Sequence[str], room: int) -> Iterator[str]:
    for block in blocks:
        room -= len(block) + 1
        if room < 0:
            return
        yield block


def _directory(workspace: Workspace, relative: str) -> str:
    snapshot = workspace.index.current()
    paths = [
        path
        for path in snapshot.paths
        if path.endswith(SOURCE) and inside(path, relative) and workspace.may_read(path)
    ]
    if not paths:
        raise ToolError(
            f"There is no source file below {shown(relative)}. See what there is with list_files(path={relative!r})."
        )
    paths.sort(key=lambda path: (standing(path), path.count("/"), path))
    without, blocks = _blocks(snapshot, paths)
    kept = list(_fitting(blocks, MOST_CHARACTERS))
    for path in paths[: len(kept)]:
        workspace.name(path)
    rest = paths[len(kept) :]
    more = f"\n{counted(len(rest), 'more file')}, such as {', '.join(map(shown, rest[:10]))}" if rest else ""
    return f"{counted(len(paths), 'source file')} below {shown(relative)}{without}\n" + "\n".join(kept) + more


def _blocks(snapshot: Snapshot, paths: Sequence[str]) -> tuple[str, list[str]]:
    """What each file defines, in as much detail as there is room for."""
    if len(paths) <= MOST_FILES:
        for without, kept, line in DETAILS:
            blocks = [
                "\n".join([shown(path), *(line(item) for item in snapshot.definitions(path) if kept(item))])
                for path in paths
            ]
            if sum(len(block) + 1 for block in blocks) <= MOST_CHARACTERS:
                return without, blocks
    return " (top-level names only)", [_names(snapshot, path) for path in paths[:MOST_FILES]]


def _names(snapshot: Snapshot, path: str) -> str:
    top = [item for item in snapshot.definitions(path) if _is_top(item)]
    more = f", and {len(top) - MOST_NAMES} more" if len(top) > MOST_NAMES else ""
    names = ", ".join(f"{item.name}:{item.line}" for item in top[:MOST_NAMES])
    return f"{shown(path)}{': ' if names else ''}{names}{more}"
