"""Display of uses: each line below its enclosing definition."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from coder.files.ripgrep import Hit, escape_path
from coder.index.snapshot import IndexSnapshot, NameUse
from coder.tools.search import group_by_definition
from coder.workspace.workspace import Workspace, path_category, read_text_or_empty


def is_inside(path: str, where: str) -> bool:
    """Tell whether a path is the file or below the directory `where`; `.` is all."""
    return where == "." or path == where or path.startswith(f"{where}/")


def order_uses(uses: Iterable[NameUse]) -> list[NameUse]:
    """Sort uses: source, then tests, then the rest."""
    return sorted(uses, key=lambda use: (path_category(use.path), use.path))


def render_uses(
    workspace: Workspace, snapshot: IndexSnapshot, uses: Sequence[NameUse], *, name: str, most: int
) -> str:
    """Show the first `most` lines of uses by file and enclosing definition, and record them as named."""
    blocks: list[str] = []
    for path, group in groupby(uses, key=lambda use: use.path):
        if most <= 0:
            break
        hits = [hit for use in group for hit in _hits(workspace, use, name)][:most]
        if not hits:
            continue
        most -= len(hits)
        for hit in hits:
            workspace.record_place(path, hit.line)
        blocks.append(
            f"{escape_path(path)}\n" + "\n".join(group_by_definition(hits, snapshot.definitions(path)))
        )
    return "\n".join(blocks)


def _hits(workspace: Workspace, use: NameUse, name: str) -> list[Hit]:
    lines = read_text_or_empty(workspace.root, use.path).split("\n")
    matching_lines = [line for line in use.lines if line <= len(lines) and name in lines[line - 1]]
    return [
        Hit(
            path=use.path,
            line=line,
            text=lines[line - 1],
            spans=((at := lines[line - 1].find(name), at + len(name)),),
        )
        for line in matching_lines
    ]
