"""The tool `outline`."""

from collections.abc import Sequence

from coder.tools.files import SOURCE, counted, load, standing, text_of, visible
from coder.tools.ripgrep import list_paths, shown
from coder.tools.symbols import Definition, definitions
from coder.tools.tool import ToolError, tool
from coder.tools.workspace import Workspace

MOST_CHARACTERS = 10_000
MOST_FILES = 200


@tool
def outline(workspace: Workspace, path: str) -> str:
    """Show the lines, signatures and first docstring lines of what a file defines, or the source files and top-level names of a directory.

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
    return _fitting(head, [_line(item) for item in found], relative)


def _line(item: Definition) -> str:
    indent = "  " * item.name.count(".")
    return visible(f"{item.line:>5}| {indent}{item.signature}{f'  # {item.summary}' if item.summary else ''}")


def _fitting(head: str, lines: Sequence[str], path: str) -> str:
    kept: list[str] = []
    room = MOST_CHARACTERS
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return "\n".join(
                [head, *kept, f"... {len(lines) - len(kept)} more definitions; search(pattern='^\\\\s*(class|def) ', path={path!r})"]
            )
        kept.append(line)
    return "\n".join([head, *kept])


def _directory(workspace: Workspace, relative: str) -> str:
    paths = [path for path in list_paths(workspace.root, relative) if path.endswith(SOURCE)]
    if not paths:
        raise ToolError(f"There is no source file below {relative}. See what there is with list_files(path={relative!r}).")
    paths.sort(key=lambda path: (standing(path), path.count("/"), path))
    blocks: list[str] = []
    room = MOST_CHARACTERS
    for path in paths[:MOST_FILES]:
        workspace.name(path)
        block = _summary(workspace, path)
        room -= len(block) + 1
        if room < 0:
            break
        blocks.append(block)
    rest = paths[len(blocks) :]
    more = f"\n{counted(len(rest), 'more file')}, such as {', '.join(map(shown, rest[:10]))}" if rest else ""
    return f"{counted(len(paths), 'source file')} below {shown(relative)}\n" + "\n".join(blocks) + more


def _summary(workspace: Workspace, path: str) -> str:
    text = text_of(workspace.root, path)
    top = [item for item in definitions(path, text) if "." not in item.name and item.kind != "variable"]
    names = ", ".join(f"{item.name}:{item.line}" for item in top[:30]) + (f", and {len(top) - 30} more" if len(top) > 30 else "")
    return f"{shown(path)} ({counted(text.count(chr(10)), 'line')}){': ' if names else ''}{names}"
