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
    file_definitions = definitions(relative, source.text)
    head = f"{shown(relative)}: {counted(len(source.lines), 'line')}"
    if not file_definitions:
        return f"{head}, no definitions found. Open it with read(path={relative!r}, line=1)."
    for definition in file_definitions:
        workspace.name(relative, definition.line)
    return _file(head, file_definitions, relative)


def _file(head: str, file_definitions: Sequence[Definition], path: str) -> str:
    for note, is_shown, line in DETAILS:
        lines = [line(definition) for definition in file_definitions if is_shown(definition)]
        if sum(len(line) + 1 for line in lines) <= MOST_CHARACTERS:
            return "\n".join([f"{head}{note}", *lines])
    fitting_lines = list(_take_fitting(lines, MOST_CHARACTERS))
    more = (
        f"... {len(lines) - len(fitting_lines)} more; find_symbol(name=..., "
        f"path={path!r}) shows one, search(pattern=..., path=...) others"
    )
    return "\n".join([f"{head}{note}", *fitting_lines, more])


def _full_line(definition: Definition) -> str:
    return visible(f"{_short_line(definition)}{f'  # {definition.summary}' if definition.summary else ''}")


def _short_line(definition: Definition) -> str:
    return visible(f"{definition.line:>5}| {'  ' * definition.name.count('.')}{definition.signature}")


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


def _directory(workspace: Workspace, relative: str) -> str:
    snapshot = workspace.index.current()
    paths = [
        path
        for path in snapshot.paths
        if path.endswith(SOURCE) and inside(path, relative) and workspace.may_read(path)
    ]
    if not paths:
        raise ToolError(
            f"There is no source file below {shown(relative)}. See what there is with "
            f"list_files(path={relative!r})."
        )
    paths.sort(key=lambda path: (standing(path), path.count("/"), path))
    note, blocks = _blocks(snapshot, paths)
    fitting_blocks = list(_take_fitting(blocks, MOST_CHARACTERS))
    for path in paths[: len(fitting_blocks)]:
        workspace.name(path)
    omitted_paths = paths[len(fitting_blocks) :]
    more = (
        f"\n{counted(len(omitted_paths), 'more file')}, such as {', '.join(map(shown, omitted_paths[:10]))}"
        if omitted_paths
        else ""
    )
    return (
        f"{counted(len(paths), 'source file')} below {shown(relative)}{note}\n"
        + "\n".join(fitting_blocks)
        + more
    )


def _blocks(snapshot: Snapshot, paths: Sequence[str]) -> tuple[str, list[str]]:
    """Describe the definitions of each file, in as much detail as fits."""
    if len(paths) <= MOST_FILES:
        for note, is_shown, line in DETAILS:
            blocks = [
                "\n".join(
                    [
                        shown(path),
                        *(
                            line(definition)
                            for definition in snapshot.definitions(path)
                            if is_shown(definition)
                        ),
                    ]
                )
                for path in paths
            ]
            if sum(len(block) + 1 for block in blocks) <= MOST_CHARACTERS:
                return note, blocks
    return " (top-level names only)", [_names(snapshot, path) for path in paths[:MOST_FILES]]


def _names(snapshot: Snapshot, path: str) -> str:
    top_level = [definition for definition in snapshot.definitions(path) if _is_top_level(definition)]
    more = f", and {len(top_level) - MOST_NAMES} more" if len(top_level) > MOST_NAMES else ""
    names = ", ".join(f"{definition.name}:{definition.line}" for definition in top_level[:MOST_NAMES])
    return f"{shown(path)}{': ' if names else ''}{names}{more}"
