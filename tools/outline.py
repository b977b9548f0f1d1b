"""The tool `outline`."""

from collections.abc import Callable, Iterator, Sequence

from coder.core.errors import ToolError
from coder.core.paths import SOURCE_SUFFIXES
from coder.files.ripgrep import escape_path
from coder.index import Definition, definitions
from coder.index.snapshot import IndexSnapshot
from coder.tools.support.uses import is_inside
from coder.tools.tool import tool
from coder.workspace.workspace import (
    Workspace,
    format_count,
    load_source,
    path_category,
    replace_control_characters,
)

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
    absolute, relative = workspace.resolve_path(path or ".")
    if absolute.is_dir():
        return _directory(workspace, relative)
    relative, source = load_source(workspace, path)
    workspace.record_place(relative)
    file_definitions = definitions(relative, source.text)
    head = f"{escape_path(relative)}: {format_count(len(source.lines), 'line')}"
    if not file_definitions:
        return f"{head}, no definitions found. Open it with read(path={relative!r}, line=1)."
    for definition in file_definitions:
        workspace.record_place(relative, definition.line)
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


def _directory(workspace: Workspace, relative: str) -> str:
    snapshot = workspace.index.refresh()
    paths = [
        path
        for path in snapshot.paths
        if path.endswith(SOURCE_SUFFIXES) and is_inside(path, relative) and workspace.may_read(path)
    ]
    if not paths:
        raise ToolError(
            f"There is no source file below {escape_path(relative)}. See what there is with "
            f"list_files(path={relative!r})."
        )
    paths.sort(key=lambda path: (path_category(path), path.count("/"), path))
    note, blocks = _blocks(snapshot, paths)
    fitting_blocks = list(_take_fitting(blocks, MOST_CHARACTERS))
    for path in paths[: len(fitting_blocks)]:
        workspace.record_place(path)
    omitted_paths = paths[len(fitting_blocks) :]
    more = (
        f"\n{format_count(len(omitted_paths), 'more file')}, such as {', '.join(map(escape_path, omitted_paths[:10]))}"
        if omitted_paths
        else ""
    )
    return (
        f"{format_count(len(paths), 'source file')} below {escape_path(relative)}{note}\n"
        + "\n".join(fitting_blocks)
        + more
    )


def _blocks(snapshot: IndexSnapshot, paths: Sequence[str]) -> tuple[str, list[str]]:
    """Describe the definitions of each file, in as much detail as fits."""
    if len(paths) <= MOST_FILES:
        for note, is_shown, line in DETAILS:
            blocks = [
                "\n".join(
                    [
                        escape_path(path),
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


def _names(snapshot: IndexSnapshot, path: str) -> str:
    top_level = [definition for definition in snapshot.definitions(path) if _is_top_level(definition)]
    more = f", and {len(top_level) - MOST_NAMES} more" if len(top_level) > MOST_NAMES else ""
    names = ", ".join(f"{definition.name}:{definition.line}" for definition in top_level[:MOST_NAMES])
    return f"{escape_path(path)}{': ' if names else ''}{names}{more}"
