"""The tool `read`."""

import difflib
from collections.abc import Sequence

from coder.core.errors import ToolError
from coder.files.ripgrep import shown
from coder.index import Definition, definitions, enclosing, named
from coder.patching.applying.source import Source
from coder.tools.tool import tool
from coder.workspace.files import counted, load, numbered
from coder.workspace.workspace import Workspace

MOST_LINES = 200
MOST_CHARACTERS = 16_000
MOST_NAMES = 30


@tool
def read(
    workspace: Workspace,
    path: str,
    line: int | None = None,
    symbol: str | None = None,
    before: int = 10,
    after: int = 60,
) -> str:
    """Open a window of a file: lines around `line`, a whole `symbol`, or a whole file of up to 200 lines.

    Only of files that something you saw has named: the issue, a search, listing, outline, traceback, or an earlier call of the same
    reply. A window is clipped at 200 lines or 16,000 characters and says how to go on; lines are cut at 400 characters.

    Args:
        path: Relative to the repository's root.
        line: The line to look at.
        symbol: A definition of the file: `Parser.parse`.
        before: Lines above `line`.
        after: Lines below `line`.
    """
    relative, source = load(workspace, path)
    if relative not in workspace.named:
        raise ToolError(
            f"{shown(relative)} has not been named by any search yet. First find the place in it: search(pattern=..., path={relative!r}) "
            f"for the words you expect there, or outline(path={relative!r})."
        )
    if not source.lines:
        return f"{shown(relative)} is empty."
    found = definitions(relative, source.text)
    first, last = _window(source, relative, found=found, line=line, symbol=symbol, before=before, after=after)
    return window(source, relative, first=first, last=last, found=found)


def _window(
    source: Source,
    path: str,
    *,
    found: Sequence[Definition],
    line: int | None,
    symbol: str | None,
    before: int,
    after: int,
) -> tuple[int, int]:
    """The first and last line to show."""
    total = len(source.lines)
    if symbol:
        return _of_symbol(symbol, path, found)
    if line is None:
        if total > MOST_LINES:
            names = _names(found, MOST_NAMES)
            raise ToolError(
                f"{shown(path)} has {total} lines, too many to open whole. Give line= or symbol=, "
                f"{f'such as one of {names}' if names else f'found with search(pattern=..., path={path!r})'}."
            )
        return 1, total
    if not 1 <= line <= total:
        raise ToolError(f"{shown(path)} has lines 1 to {total}; there is no line {line}.")
    return max(1, line - max(0, before)), min(total, line + max(0, after))


def _of_symbol(symbol: str, path: str, found: Sequence[Definition]) -> tuple[int, int]:
    meant = named(symbol, found)
    if not meant:
        near = difflib.get_close_matches(
            symbol.rpartition(".")[2], [item.bare for item in found], n=3, cutoff=0.75
        )
        alike = [item.name for item in found if item.bare in near]
        told = (
            f"Near: {', '.join(alike[:6])}"
            if alike
            else f"It defines: {_names(found, MOST_NAMES) or 'nothing that can be made out'}"
        )
        raise ToolError(
            f"{shown(path)} does not define {symbol!r}. {told}. Where it is defined, find_symbol(name={symbol!r}) says."
        )
    if len(meant) > 1:
        places = ", ".join(f"{item.name} (line {item.line})" for item in meant[:10])
        raise ToolError(
            f"{shown(path)} defines {symbol!r} {len(meant)} times: {places}. Give the dotted name, or line=."
        )
    return meant[0].start, meant[0].end


def _names(found: Sequence[Definition], most: int) -> str:
    """Such as `Box 1, Box.size 4`; variables are left out."""
    scopes = [item for item in found if item.kind != "variable"]
    rest = f", and {len(scopes) - most} more" if len(scopes) > most else ""
    return ", ".join(f"{item.name} {item.line}" for item in scopes[:most]) + rest


def window(source: Source, path: str, *, first: int, last: int, found: Sequence[Definition]) -> str:
    """Lines `first` to `last`, as many as fit, below the headers of what encloses them, with what lies above and below."""
    total = len(source.lines)
    asked = min(last, total)
    last = min(asked, first + MOST_LINES - 1)
    body = numbered(source.lines, first, last)
    while len(body) > MOST_CHARACTERS and last > first:
        last -= max(1, (last - first) // 8)
        body = numbered(source.lines, first, last)
    headers = [
        numbered(source.lines, item.line, item.line) for item in enclosing(first, found) if item.line < first
    ]
    head = f"{shown(path)}, lines {first}-{last} of {total} ({_above(first, found)}; {_below(last, total, found)})"
    foreign = [] if source.encoding == "utf-8" else [f"Not UTF-8: read as {source.encoding}."]
    clip = []
    if last < asked:
        left = _names([item for item in found if last < item.line <= asked], MOST_NAMES)
        clip = [
            f"Clipped; line {asked} was asked for: go on with line={last + 1}, before=0.{f' Left out: {left}.' if left else ''}"
        ]
    return "\n".join([head, *foreign, *headers, *(["      ..."] if headers else []), body, *clip])


def _above(first: int, found: Sequence[Definition]) -> str:
    """How much stands above, and the definition that ends there."""
    if first <= 1:
        return "starts at the top"
    ended = [item for item in found if item.kind != "variable" and item.end < first]
    nearest = max(ended, key=lambda item: (item.end, -item.start), default=None)
    return f"{counted(first - 1, 'line')} above{f': {nearest.name} at {nearest.line}' if nearest else ''}"


def _below(last: int, total: int, found: Sequence[Definition]) -> str:
    """How much stands below: how far what is open there goes on, and the next definition."""
    if last >= total:
        return "ends at the bottom"
    scopes = [item for item in found if item.kind != "variable"]
    going = [
        f"{item.name} to {item.end}"
        for item in scopes
        if item.start <= last < item.end and item.kind != "class"
    ][-1:]
    following = [f"{item.name} at {item.line}" for item in scopes if item.start > last][:1]
    told = ", ".join([*going, *following])
    return f"{counted(total - last, 'line')} below{f': {told}' if told else ''}"
