"""Definitions and uses of a name, each line below its enclosing definition."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from coder.core.errors import ToolError
from coder.files.ripgrep import Hit, escape_path, grep
from coder.index import Definition, enclosing_definitions, match_definitions
from coder.index.index import find_uses, resolve_name
from coder.index.snapshot import IndexedPlace, IndexSnapshot, NameUse, module_name
from coder.retrieval.orientation import find_reaching_tests
from coder.workspace.workspace import (
    Workspace,
    clip_line,
    format_count,
    path_category,
    read_text_or_empty,
    replace_control_characters,
)

MOST_DEFINITIONS = 30
MOST_USES = 60


def describe_symbol(workspace: Workspace, name: str) -> str:
    """Return the definitions of a bare or dotted name, and its uses in code.

    Empty if nothing of that name is defined.
    """
    symbol = name.removesuffix("()").replace("::", ".").strip(".")
    bare = symbol.rpartition(".")[2]
    snapshot = workspace.index.refresh()
    places = [place for place in find_definitions(snapshot, symbol) if workspace.may_read(place.path)]
    if not places:
        return ""
    uses = [use for use in snapshot.uses_of_name(bare) if workspace.may_read(use.path)]
    return "\n".join(
        [
            *_definition_lines(symbol, places),
            *_use_lines(workspace, snapshot, bare, _without_definitions(uses, places)),
            *_text_lines(workspace, bare, places, uses),
        ]
    )


def describe_reach(workspace: Workspace, name: str, *, of_tests: bool) -> str:
    """Return the tests that reach a definition by the index, or the definitions that use it."""
    symbol = name.removesuffix("()").replace("::", ".")
    snapshot = workspace.index.refresh()
    places = [place for place in find_definitions(snapshot, symbol) if workspace.may_read(place.path)]
    if not places:
        raise ToolError(f"Nothing named {symbol!r} is defined here. search(pattern={symbol!r}) says more.")
    if of_tests:
        tests = find_reaching_tests(snapshot, places)
        lines = [f"  {escape_path(test.id)}  names {test.names}, line {test.line}" for test in tests]
        what = f"{format_count(len(tests), 'test')} with {symbol} or a caller of it, likeliest first"
        none = (
            f"No test names {symbol} or what calls it directly: ask for the tests that run a caller of those."
        )
    else:
        lines = list(dict.fromkeys(_dependent_lines(workspace, snapshot, places)))
        verb = "uses" if len(lines) == 1 else "use"
        what = f"{format_count(len(lines), 'place')} outside of tests {verb} {symbol}"
        none = f"Nothing outside of tests uses {symbol}, as far as names tell."
    more = f"\n  and {len(lines) - MOST_USES} more" if len(lines) > MOST_USES else ""
    return "\n".join([f"{what}, as far as names tell:" if lines else none, *lines[:MOST_USES]]) + more


def _dependent_lines(
    workspace: Workspace, snapshot: IndexSnapshot, places: Sequence[IndexedPlace]
) -> Iterator[str]:
    own = {(place.path, place.definition.name) for place in places if place.definition}
    for use in order_uses(find_uses(snapshot, places)):
        if path_category(use.path) == 1 or not workspace.may_read(use.path):
            continue
        for line in use.lines:
            around = enclosing_definitions(line, snapshot.definitions(use.path))
            if not around:
                yield f"  {escape_path(use.path)}:{line}"
            elif (use.path, around[-1].name) not in own:
                yield f"  {escape_path(use.path)}:{around[-1].line}  {around[-1].name}"


def find_definitions(snapshot: IndexSnapshot, symbol: str) -> list[IndexedPlace]:
    """Return the definitions that a bare or dotted name refers to, source before tests.

    Where no dotted one matches, all definitions of its last part are returned.
    """
    bare = symbol.rpartition(".")[2]
    candidates = sorted(
        snapshot.definitions_named(bare), key=lambda place: (path_category(place.path), place.path)
    )
    if "." not in symbol:
        return candidates
    exact = [
        place
        for place in candidates
        if place.definition and match_definitions(symbol, (place.definition,)) and _module_fits(symbol, place)
    ]
    resolved = [
        place
        for place in resolve_name(snapshot, symbol)
        if place.definition and place.definition.bare_name == bare
    ]
    return list(dict.fromkeys([*exact, *resolved])) or candidates


def _module_fits(symbol: str, place: IndexedPlace) -> bool:
    """Tell whether the parts of a dotted name before the definition's own agree with the file's path."""
    before = symbol.removesuffix(place.definition.name if place.definition else "").strip(".")
    module = module_name(place.path)
    return not before or f".{module}".endswith(f".{before}") or f".{before}." in f".{module}."


def _definition_lines(symbol: str, places: Sequence[IndexedPlace]) -> Iterator[str]:
    yield f"{symbol}: {format_count(len(places), 'definition')}"
    for place in places[:MOST_DEFINITIONS]:
        yield from _line(place)
    if len(places) > MOST_DEFINITIONS:
        yield f"  and {len(places) - MOST_DEFINITIONS} more; a dotted name or path= finds fewer"


def _line(place: IndexedPlace) -> Iterator[str]:
    definition = place.definition
    if definition is None:
        return
    owner = definition.name.rpartition(".")[0]
    yield (
        f"  {escape_path(place.path)}:{definition.line}-{definition.end}  {definition.kind}  "
        f"{replace_control_characters(definition.signature)}"
        f"{f'  in {owner}' if owner else ''}"
    )
    if definition.summary:
        yield f"      {replace_control_characters(definition.summary)}"


def _without_definitions(uses: Sequence[NameUse], places: Sequence[IndexedPlace]) -> list[NameUse]:
    """Return the uses that are not the definitions themselves."""
    definition_lines = {(place.path, place.definition.line) for place in places if place.definition}
    filtered = (
        NameUse(
            path=use.path, lines=tuple(line for line in use.lines if (use.path, line) not in definition_lines)
        )
        for use in uses
    )
    return order_uses(use for use in filtered if use.lines)


def _use_lines(
    workspace: Workspace, snapshot: IndexSnapshot, bare: str, uses: Sequence[NameUse]
) -> Iterator[str]:
    if not uses:
        yield f"{bare} is used nowhere else."
        return
    count = sum(len(use.lines) for use in uses)
    more = f", the first {MOST_USES} shown; path= finds fewer" if count > MOST_USES else ""
    yield f"{format_count(count, 'use')} in {format_count(len(uses), 'file')}{more}"
    left = MOST_USES
    for path, group in groupby(uses, key=lambda use: use.path):
        hits = [hit for use in group for hit in _hits(workspace, use, bare)][: max(left, 0)]
        left -= len(hits)
        if hits:
            yield "\n".join([escape_path(path), *group_by_definition(hits, snapshot.definitions(path))])


def _text_lines(
    workspace: Workspace,
    bare: str,
    places: Sequence[IndexedPlace],
    uses: Sequence[NameUse],
) -> Iterator[str]:
    """Count the lines where the name is no code: text, strings and comments."""
    code = {(use.path, line) for use in uses for line in use.lines}
    code |= {(place.path, place.definition.line) for place in places if place.definition}
    matches = grep(workspace.root, rf"\b{re.escape(bare)}\b", deny_read=workspace.deny_read).hits
    if others := [hit for hit in matches if (hit.path, hit.line) not in code]:
        yield (
            f"{format_count(len(others), 'line')} of text, strings or comments with it, such as "
            f"{sample_places(others)}: literal=true shows them."
        )


WIDEST = 220


def order_uses(uses: Iterable[NameUse]) -> list[NameUse]:
    """Sort uses: source, then tests, then the rest."""
    return sorted(uses, key=lambda use: (path_category(use.path), use.path))


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


def group_by_definition(hits: Sequence[Hit], file_definitions: Sequence[Definition]) -> Iterator[str]:
    """Yield each run of hits below its enclosing definition; context lines belong to their match.

    A definition of which only the first line is a hit needs no heading: the line has the number of its last.
    """
    matches = [hit.line for hit in hits if hit.spans]
    scopes = {line: enclosing_definitions(line, file_definitions) for line in matches}
    counts = Counter(definition for around in scopes.values() for definition in around)
    is_plain = len(matches) == len(hits)
    ends = {
        line: around[-1].end
        for line, around in scopes.items()
        if is_plain and around and around[-1].line == line and counts[around[-1]] == 1
    }
    owners = {
        line: next(reversed(around[:-1] if line in ends else around), None) for line, around in scopes.items()
    }
    has_output = False
    for definition, group in groupby(
        hits, key=lambda hit: owners[min(matches, key=lambda line: abs(line - hit.line))]
    ):
        if definition is not None:
            yield f"  in {definition.name} (lines {definition.start}-{definition.end})"
        elif has_output:
            yield "  in no definition"
        has_output = True
        yield _lines(list(group), ends)


def _lines(hits: Sequence[Hit], ends: Mapping[int, int]) -> str:
    lines: list[str] = []
    previous = 0
    for hit in hits:
        if previous and hit.line > previous + 1 and not hit.spans:
            lines.append("      ...")
        around = hit.spans[0][0] if hit.spans else 0
        number = f"{hit.line}-{ends[hit.line]}" if ends.get(hit.line, hit.line) > hit.line else str(hit.line)
        lines.append(f"{number:>6}| {clip_line(hit.text, WIDEST, around=around)}")
        previous = hit.line
    return "\n".join(lines)


def sample_places(hits: Sequence[Hit]) -> str:
    """Return the first hits of three files as `path:line`."""
    first_hits = list({hit.path: hit for hit in reversed(hits)}.values())[::-1][:3]
    return ", ".join(f"{escape_path(hit.path)}:{hit.line}" for hit in first_hits)
