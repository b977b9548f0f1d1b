"""Excerpts of definitions for an overview: without docstrings, with callees, and no near-identical copies."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from coder.core.errors import ToolError
from coder.files.tokenize import parts
from coder.index import Definition, definitions, enclosing
from coder.index.resolve import resolve
from coder.index.snapshot import Snapshot
from coder.patching.applying.source import Source
from coder.retrieval.locating.issue_terms import Clues
from coder.retrieval.locating.sites import Site
from coder.workspace.files import clipped, load
from coder.workspace.workspace import Workspace

LONGEST = 75
"""Lines of one window."""
SHARE_OF_ONE = 3
"""Divisor: one window takes at most this part of the remaining characters."""
MOST_WINDOWS = 10
LONGEST_DOCSTRING = 3
LIKENESS = 0.85
COMPARED = 1500
"""Characters of two definitions that are compared."""
BARE = 2
"""A long class with no more lines than this above its methods is not shown by itself."""
CALL = re.compile(r"(?P<of>\w+\.)?(?P<name>[A-Za-z_]\w{3,})\(")
CALLERS = 3
"""Number of likeliest definitions whose callees are shown; of others those that share words with the issue.
"""
MOST_CALLEES = 4
LONGEST_CALLEE = 30
NEAR = 6
"""Windows at most so many lines apart are merged."""
WHOLE_CLASSES = 2
"""Number of likeliest methods whose whole class is shown, if it is short."""
SHORT_CLASS = 70


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Lines to show, with a remark."""

    path: str
    first: int
    last: int
    remark: str = ""


def chosen(workspace: Workspace, likely: Sequence[Site], clues: Clues) -> list[Spot]:
    """Select the definitions to show, likeliest first, each followed by its callees.

    A near-identical copy is only mentioned.
    """
    snapshot = workspace.index.current()
    selected: list[_Selection] = []
    for site in likely:
        loaded = _load_definitions(workspace, site.path)
        if loaded is None:
            continue
        source, file_definitions = loaded
        code = tuple(
            line.strip()
            for number, line in code_lines(source, site.first, site.last, file_definitions)
            if number and line.strip()
        )
        if site.shortened and len(code) <= BARE:
            continue
        original = next((other for other in selected if _is_near_copy(site, code, other)), None)
        if original is not None:
            original.copies.append(f"{site.path}:{site.item.line}")
        else:
            whole_class = _class_of(site, source, file_definitions) if len(selected) < WHOLE_CLASSES else None
            selected.append(
                _Selection(
                    site=site,
                    code=code,
                    callees=list(_callees(snapshot, site, code, file_definitions)),
                    whole=whole_class,
                )
            )
    return _merge_near([spot for callee in _with_callees(selected, clues) for spot in callee.spots()])


def _class_of(site: Site, source: Source, file_definitions: Sequence[Definition]) -> Definition | None:
    """Return the class of a method, where it is short enough to be shown whole."""
    owner = next(
        (
            definition
            for definition in file_definitions
            if definition.kind == "class" and definition.name == site.name.rpartition(".")[0]
        ),
        None,
    )
    return (
        owner
        if owner and len(list(code_lines(source, owner.start, owner.end, file_definitions))) <= SHORT_CLASS
        else None
    )


def _merge_near(spots: Sequence[Spot]) -> list[Spot]:
    """Merge spots near each other in a file, at the position of the first of them."""
    merged: list[Spot] = []
    for spot in spots:
        for index, other in enumerate(merged):
            first, last = min(other.first, spot.first), max(other.last, spot.last)
            gap = max(other.first, spot.first) - min(other.last, spot.last)
            if (
                other.path == spot.path
                and gap <= NEAR
                and (last - first < LONGEST or (first, last) == (other.first, other.last))
            ):
                remark = "; ".join(filter(None, (other.remark, spot.remark)))
                merged[index] = replace(other, first=first, last=last, remark=remark)
                break
        else:
            merged.append(spot)
    return merged


@dataclass(kw_only=True)
class _Selection:
    """A definition that will be shown."""

    site: Site
    code: tuple[str, ...]
    callees: list[tuple[str, Definition]]
    whole: Definition | None
    """Its class, where that is shown instead."""
    copies: list[str] = field(default_factory=list)

    def spots(self) -> list[Spot]:
        """Return its own lines, then those of its callees."""
        remark = (
            f"{self.site.item.bare}: near-identical copy at {', '.join(self.copies)}" if self.copies else ""
        )
        first, last = (self.whole.start, self.whole.end) if self.whole else (self.site.first, self.site.last)
        own = Spot(path=self.site.path, first=first, last=last, remark=remark)
        by = self.site.item.bare
        callees = [
            Spot(path=path, first=callee.start, last=callee.end, remark=f"{callee.bare}: called by {by}")
            for path, callee in self.callees
            if path != self.site.path or not first <= callee.start <= last
        ]
        return [own, *callees]


def _with_callees(selections: list[_Selection], clues: Clues) -> list[_Selection]:
    """Keep only a few callees: those sharing words with the issue, then those of likely definitions."""
    shown_keys = {(selection.site.path, selection.site.name) for selection in selections}
    ranked = sorted(
        (not any(word in clues.words for word in parts(callee.bare)), order, callee.start, path)
        for order, selection in enumerate(selections)
        for path, callee in selection.callees
        if (path, callee.name) not in shown_keys
    )
    chosen_orders: dict[tuple[str, int], int] = {}
    for is_unrelated, order, start, path in ranked:
        if (not is_unrelated or order < CALLERS) and len(chosen_orders) < MOST_CALLEES:
            chosen_orders.setdefault((path, start), order)
    for order, selection in enumerate(selections):
        selection.callees = [
            (path, callee)
            for path, callee in selection.callees
            if chosen_orders.get((path, callee.start)) == order
        ]
    return selections


def _load_definitions(workspace: Workspace, path: str) -> tuple[Source, tuple[Definition, ...]] | None:
    try:
        relative, source = load(workspace, path)
    except ToolError:
        return None
    return source, definitions(relative, source.text)


def _is_near_copy(site: Site, code: tuple[str, ...], other: _Selection) -> bool:
    """Tell whether it is the same definition in another file, equal or nearly so."""
    if site.path == other.site.path or site.name != other.site.name:
        return False
    matcher = difflib.SequenceMatcher(
        None, "\n".join(code)[:COMPARED], "\n".join(other.code)[:COMPARED], autojunk=False
    )
    return matcher.quick_ratio() >= LIKENESS and matcher.ratio() >= LIKENESS


def _callees(
    snapshot: Snapshot, site: Site, code: Sequence[str], file_definitions: Sequence[Definition]
) -> Iterator[tuple[str, Definition]]:
    """Yield short definitions that a definition calls.

    These are functions, methods of the same class or the only ones of their name, and classes held by its
    attributes.
    """
    if site.item.kind == "class":
        return
    owner = site.name.rpartition(".")[0]
    short_definitions = [
        definition
        for definition in file_definitions
        if definition.end - definition.start < LONGEST_CALLEE and definition.name != site.name
    ]
    calls = dict.fromkeys(
        (match["of"] or "", match["name"]) for line in code for match in CALL.finditer(line)
    )
    for receiver, name in calls:
        is_own = receiver in ("self.", "cls.")
        namesakes = [definition for definition in short_definitions if definition.bare == name]
        qualified_name = f"{owner}.{name}" if is_own else name
        exact = (
            [
                definition
                for definition in namesakes
                if definition.name == qualified_name and definition.kind in ("function", "method")
            ]
            if is_own or not receiver
            else []
        )
        classes = sorted(
            (definition for definition in namesakes if is_own and definition.kind == "class"),
            key=lambda definition: definition.end - definition.start,
        )[:1]
        unique_methods = (
            [definition for definition in namesakes if receiver and definition.kind == "method"]
            if len(namesakes) == 1
            else []
        )
        local_callees = exact or classes or unique_methods
        yield from ((site.path, definition) for definition in local_callees)
        if not local_callees and not is_own:
            yield from _imported_callees(snapshot, site.path, f"{receiver}{name}")


def _imported_callees(snapshot: Snapshot, path: str, dotted: str) -> Iterator[tuple[str, Definition]]:
    """Yield the short function of another file that a name refers to here."""
    for place in resolve(snapshot, dotted, importer=path)[:1]:
        definition = place.definition
        if (
            definition
            and place.path != path
            and definition.kind in ("function", "method")
            and definition.end - definition.start < LONGEST_CALLEE
        ):
            yield place.path, definition


def code_lines(
    source: Source, first: int, last: int, file_definitions: Sequence[Definition]
) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a window without the inside of long docstrings.

    An omission has number 0 and a note.
    """
    omitted: dict[int, int] = {}
    for definition in file_definitions:
        start, end = definition.docstring
        if first <= start <= last and end - start >= LONGEST_DOCSTRING:
            opening = source.lines[start - 1].strip().lstrip("rRuUbB").strip("\"'")
            omitted[start + (1 if opening else 2)] = end
    number = first
    while number <= min(last, len(source.lines)):
        if number in omitted:
            yield 0, f"      ... docstring, to line {omitted[number]}"
            number = omitted[number] + 1
            continue
        yield number, source.lines[number - 1]
        number += 1


def windows(workspace: Workspace, spots: Sequence[Spot], room: int) -> Iterator[str]:
    """Yield the source of as many spots as fit, no line twice."""
    covered: dict[str, set[int]] = {}
    count = 0
    for spot in spots:
        shown_lines = covered.setdefault(spot.path, set())
        if count >= MOST_WINDOWS or room < 400:
            return
        if len(shown_lines & set(range(spot.first, spot.last + 1))) * 2 > spot.last - spot.first:
            continue
        block = excerpt(workspace, spot, most=room // SHARE_OF_ONE)
        if block:
            yield block
            shown_lines |= set(range(spot.first, spot.last + 1))
            room -= len(block) + 2
            count += 1


def excerpt(workspace: Workspace, spot: Spot, *, most: int) -> str:
    """Return one window below the headers of its enclosing definitions, cut to fit.

    Empty where not even its start fits.
    """
    loaded = _load_definitions(workspace, spot.path)
    if loaded is None:
        return ""
    source, file_definitions = loaded
    spot = replace(spot, first=max(1, spot.first), last=min(spot.last, len(source.lines)))
    lines = [
        _line(number, text) for number, text in code_lines(source, spot.first, spot.last, file_definitions)
    ]
    outer = [
        _line(definition.line, source.lines[definition.line - 1])
        for definition in enclosing(spot.first, file_definitions)
        if definition.line < spot.first
    ]
    remark = f" ({spot.remark})" if spot.remark else ""
    head = [
        f"{spot.path}, lines {spot.first}-{spot.last} of {len(source.lines)}{remark}",
        *outer,
        *(["      ..."] if outer else []),
    ]
    fitting_lines = lines[:LONGEST]
    while fitting_lines and sum(len(line) + 1 for line in [*head, *fitting_lines]) > most - 40:
        fitting_lines.pop()
    if len(fitting_lines) < min(4, len(lines)):
        return ""
    if len(fitting_lines) < len(lines):
        fitting_lines.append(f"      ... {len(lines) - len(fitting_lines)} more")
    workspace.name(spot.path, spot.first)
    return "\n".join([*head, *fitting_lines])


def _line(number: int, text: str) -> str:
    return f"{number:>5}| {clipped(text)}" if number else text
