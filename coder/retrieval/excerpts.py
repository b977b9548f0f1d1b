"""Excerpts of definitions for an overview: without docstrings, with callees, and no near-identical copies."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from coder.core.errors import ToolError
from coder.files.tokenize import identifier_terms
from coder.index import Definition, definitions, enclosing_definitions
from coder.index.resolve import resolve_name
from coder.index.snapshot import IndexSnapshot
from coder.patching.plan import TextFile
from coder.retrieval.issue_terms import IssueTerms
from coder.retrieval.ranking import DefinitionSite
from coder.workspace.workspace import Workspace, clip_line, load_source

MAX_WINDOW_LINES = 75
"""Lines of one window."""
WINDOW_SHARE = 3
"""Divisor: one window takes at most this part of the remaining characters."""
MAX_WINDOWS = 10
LONGEST_DOCSTRING = 3
COPY_SIMILARITY = 0.85
COMPARED_CHARACTERS = 1500
"""Characters of two definitions that are compared."""
MIN_CLASS_HEADER_LINES = 2
"""A long class with no more lines than this above its methods is not shown by itself."""
CALL = re.compile(r"(?P<of>\w+\.)?(?P<name>[A-Za-z_]\w{3,})\(")
MAX_CALLERS = 3
"""Number of likeliest definitions whose callees are shown; of others those that share words with the issue.
"""
MOST_CALLEES = 4
LONGEST_CALLEE = 30
MERGE_DISTANCE = 6
"""Windows at most so many lines apart are merged."""
MAX_WHOLE_CLASSES = 2
"""Number of likeliest methods whose whole class is shown, if it is short."""
SHORT_CLASS_LINES = 70


@dataclass(frozen=True, kw_only=True)
class LineRange:
    """Lines to show, with a remark."""

    path: str
    first: int
    last: int
    remark: str = ""


def choose_line_ranges(
    workspace: Workspace, likely: Sequence[DefinitionSite], clues: IssueTerms
) -> list[LineRange]:
    """Select the definitions to show, likeliest first, each followed by its callees.

    A near-identical copy is only mentioned.
    """
    snapshot = workspace.index.refresh()
    selected: list[_Selection] = []
    for site in likely:
        loaded = _load_definitions(workspace, site.path)
        if loaded is None:
            continue
        source, file_definitions = loaded
        code = tuple(
            line.strip()
            for number, line in lines_without_docstrings(source, site.first, site.last, file_definitions)
            if number and line.strip()
        )
        if site.is_shortened and len(code) <= MIN_CLASS_HEADER_LINES:
            continue
        original = next((other for other in selected if _is_near_copy(site, code, other)), None)
        if original is not None:
            original.copies.append(f"{site.path}:{site.item.line}")
        else:
            whole_class = (
                _class_of(site, source, file_definitions) if len(selected) < MAX_WHOLE_CLASSES else None
            )
            selected.append(
                _Selection(
                    site=site,
                    code=code,
                    callees=list(_callees(snapshot, site, code, file_definitions)),
                    whole=whole_class,
                )
            )
    return _merge_near([spot for callee in _with_callees(selected, clues) for spot in callee.spots()])


def _class_of(
    site: DefinitionSite, source: TextFile, file_definitions: Sequence[Definition]
) -> Definition | None:
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
        if owner
        and len(list(lines_without_docstrings(source, owner.start, owner.end, file_definitions)))
        <= SHORT_CLASS_LINES
        else None
    )


def _merge_near(spots: Sequence[LineRange]) -> list[LineRange]:
    """Merge spots near each other in a file, at the position of the first of them."""
    merged: list[LineRange] = []
    for spot in spots:
        for index, other in enumerate(merged):
            first, last = min(other.first, spot.first), max(other.last, spot.last)
            gap = max(other.first, spot.first) - min(other.last, spot.last)
            if (
                other.path == spot.path
                and gap <= MERGE_DISTANCE
                and (last - first < MAX_WINDOW_LINES or (first, last) == (other.first, other.last))
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

    site: DefinitionSite
    code: tuple[str, ...]
    callees: list[tuple[str, Definition]]
    whole: Definition | None
    """Its class, where that is shown instead."""
    copies: list[str] = field(default_factory=list)

    def spots(self) -> list[LineRange]:
        """Return its own lines, then those of its callees."""
        remark = (
            f"{self.site.item.bare_name}: near-identical copy at {', '.join(self.copies)}"
            if self.copies
            else ""
        )
        first, last = (self.whole.start, self.whole.end) if self.whole else (self.site.first, self.site.last)
        own = LineRange(path=self.site.path, first=first, last=last, remark=remark)
        by = self.site.item.bare_name
        callees = [
            LineRange(
                path=path, first=callee.start, last=callee.end, remark=f"{callee.bare_name}: called by {by}"
            )
            for path, callee in self.callees
            if path != self.site.path or not first <= callee.start <= last
        ]
        return [own, *callees]


def _with_callees(selections: list[_Selection], clues: IssueTerms) -> list[_Selection]:
    """Keep only a few callees: those sharing words with the issue, then those of likely definitions."""
    shown_keys = {(selection.site.path, selection.site.name) for selection in selections}
    ranked = sorted(
        (
            not any(word in clues.words for word in identifier_terms(callee.bare_name)),
            order,
            callee.start,
            path,
        )
        for order, selection in enumerate(selections)
        for path, callee in selection.callees
        if (path, callee.name) not in shown_keys
    )
    chosen_orders: dict[tuple[str, int], int] = {}
    for is_unrelated, order, start, path in ranked:
        if (not is_unrelated or order < MAX_CALLERS) and len(chosen_orders) < MOST_CALLEES:
            chosen_orders.setdefault((path, start), order)
    for order, selection in enumerate(selections):
        selection.callees = [
            (path, callee)
            for path, callee in selection.callees
            if chosen_orders.get((path, callee.start)) == order
        ]
    return selections


def _load_definitions(workspace: Workspace, path: str) -> tuple[TextFile, tuple[Definition, ...]] | None:
    try:
        relative, source = load_source(workspace, path)
    except ToolError:
        return None
    return source, definitions(relative, source.text)


def _is_near_copy(site: DefinitionSite, code: tuple[str, ...], other: _Selection) -> bool:
    """Tell whether it is the same definition in another file, equal or nearly so."""
    if site.path == other.site.path or site.name != other.site.name:
        return False
    matcher = difflib.SequenceMatcher(
        None,
        "\n".join(code)[:COMPARED_CHARACTERS],
        "\n".join(other.code)[:COMPARED_CHARACTERS],
        autojunk=False,
    )
    return matcher.quick_ratio() >= COPY_SIMILARITY and matcher.ratio() >= COPY_SIMILARITY


def _callees(
    snapshot: IndexSnapshot, site: DefinitionSite, code: Sequence[str], file_definitions: Sequence[Definition]
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
        namesakes = [definition for definition in short_definitions if definition.bare_name == name]
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


def _imported_callees(snapshot: IndexSnapshot, path: str, dotted: str) -> Iterator[tuple[str, Definition]]:
    """Yield the short function of another file that a name refers to here."""
    for place in resolve_name(snapshot, dotted, importer=path)[:1]:
        definition = place.definition
        if (
            definition
            and place.path != path
            and definition.kind in ("function", "method")
            and definition.end - definition.start < LONGEST_CALLEE
        ):
            yield place.path, definition


def lines_without_docstrings(
    source: TextFile, first: int, last: int, file_definitions: Sequence[Definition]
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


def render_excerpts(workspace: Workspace, spots: Sequence[LineRange], room: int) -> Iterator[str]:
    """Yield the source of as many spots as fit, no line twice."""
    covered: dict[str, set[int]] = {}
    count = 0
    for spot in spots:
        shown_lines = covered.setdefault(spot.path, set())
        if count >= MAX_WINDOWS or room < 400:
            return
        if len(shown_lines & set(range(spot.first, spot.last + 1))) * 2 > spot.last - spot.first:
            continue
        block = render_excerpt(workspace, spot, most=room // WINDOW_SHARE)
        if block:
            yield block
            shown_lines |= set(range(spot.first, spot.last + 1))
            room -= len(block) + 2
            count += 1


def render_excerpt(workspace: Workspace, spot: LineRange, *, most: int) -> str:
    """Return one window below the headers of its enclosing definitions, cut to fit.

    Empty where not even its start fits.
    """
    loaded = _load_definitions(workspace, spot.path)
    if loaded is None:
        return ""
    source, file_definitions = loaded
    spot = replace(spot, first=max(1, spot.first), last=min(spot.last, len(source.lines)))
    lines = [
        _line(number, text)
        for number, text in lines_without_docstrings(source, spot.first, spot.last, file_definitions)
    ]
    outer = [
        _line(definition.line, source.lines[definition.line - 1])
        for definition in enclosing_definitions(spot.first, file_definitions)
        if definition.line < spot.first
    ]
    remark = f" ({spot.remark})" if spot.remark else ""
    head = [
        f"{spot.path}, lines {spot.first}-{spot.last} of {len(source.lines)}{remark}",
        *outer,
        *(["      ..."] if outer else []),
    ]
    fitting_lines = lines[:MAX_WINDOW_LINES]
    while fitting_lines and sum(len(line) + 1 for line in [*head, *fitting_lines]) > most - 40:
        fitting_lines.pop()
    if len(fitting_lines) < min(4, len(lines)):
        return ""
    if len(fitting_lines) < len(lines):
        fitting_lines.append(f"      ... {len(lines) - len(fitting_lines)} more")
    workspace.record_place(spot.path, spot.first)
    return "\n".join([*head, *fitting_lines])


def _line(number: int, text: str) -> str:
    return f"{number:>5}| {clip_line(text)}" if number else text
