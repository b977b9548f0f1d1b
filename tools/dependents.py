"""The tool `dependents`."""

from collections.abc import Iterable, Iterator, Sequence

from coder.core.errors import ToolError
from coder.files.ripgrep import escape_path
from coder.index import Definition, enclosing_definitions
from coder.index.index import find_uses
from coder.index.resolve import find_importers
from coder.index.snapshot import IndexedPlace, IndexSnapshot, NameUse
from coder.tools.find_symbol import find_definitions
from coder.tools.support.uses import order_uses
from coder.tools.tool import tool
from coder.workspace.workspace import Workspace, format_count, path_category

MOST_FILES = 40
MOST_LINES = 6


@tool
def dependents(workspace: Workspace, name: str) -> str:
    """Show who imports a file, or who imports, calls or mentions a symbol: what a change of it may break, one level, tests apart.

    Found by name and import, up to 40 files of source and 40 of tests; of a method that shares its name with others, theirs are among
    them. Calls made by strings or other tricks are not seen.

    Args:
        name: A symbol such as `Parser.parse` or `package.module.Parser`, or a file's path.
    """
    snapshot = workspace.index.refresh()
    path = name.strip().removeprefix("./")
    if path in snapshot.sources:
        uses = [NameUse(path=importer, lines=(line,)) for importer, line in find_importers(snapshot, path)]
        return _report(workspace, snapshot, f"{path} is imported", uses)
    symbol = name.strip().removesuffix("()").replace("::", ".").strip(".")
    places = find_definitions(snapshot, symbol)
    if not places:
        similar = ", ".join(snapshot.similar_names(symbol.rpartition(".")[2]))
        raise ToolError(
            f"{name!r} is neither a file nor a symbol defined "
            f"here.{f' Near: {similar}.' if similar else ''} Try find_symbol."
        )
    return _report(
        workspace,
        snapshot,
        f"{symbol} is used",
        find_uses(snapshot, places),
        others=_namesake_count(snapshot, places),
    )


def _namesake_count(snapshot: IndexSnapshot, places: Sequence[IndexedPlace]) -> int:
    bare = next(place.definition.bare_name for place in places if place.definition)
    return sum(place not in places for place in snapshot.definitions_named(bare))


def _report(
    workspace: Workspace, snapshot: IndexSnapshot, heading: str, uses: Iterable[NameUse], *, others: int = 0
) -> str:
    readable = [use for use in order_uses(uses) if workspace.may_read(use.path)]
    groups = {
        "source": [use for use in readable if path_category(use.path) == 0],
        "tests": [use for use in readable if path_category(use.path) == 1],
    }
    groups["elsewhere"] = [use for use in readable if path_category(use.path) == 2]
    if not readable:
        return f"{heading} nowhere in this repository."
    caution = (
        f" ({format_count(others, 'other definition')} of that name: some uses may mean those)"
        if others
        else ""
    )
    lines = [f"{heading} by{caution}"]
    for title, group in groups.items():
        if group:
            lines += [f"{title}: {format_count(len(group), 'file')}", *_files(workspace, snapshot, group)]
    return "\n".join(lines)


def _files(workspace: Workspace, snapshot: IndexSnapshot, uses: Sequence[NameUse]) -> Iterator[str]:
    for use in uses[:MOST_FILES]:
        file_definitions = snapshot.definitions(use.path)
        by_owner: dict[Definition | None, list[int]] = {}
        for line in use.lines:
            scopes = enclosing_definitions(line, file_definitions)
            by_owner.setdefault(scopes[-1] if scopes else None, []).append(line)
            workspace.record_place(use.path, line)
        yield f"  {escape_path(use.path)}"
        yield from (
            f"    {owner.name if owner else 'top level'}: {_lines(lines)}"
            for owner, lines in by_owner.items()
        )
    if len(uses) > MOST_FILES:
        yield f"  and {format_count(len(uses) - MOST_FILES, 'more file')}"


def _lines(lines: Sequence[int]) -> str:
    more = f" and {len(lines) - MOST_LINES} more" if len(lines) > MOST_LINES else ""
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:MOST_LINES]))}{more}"
