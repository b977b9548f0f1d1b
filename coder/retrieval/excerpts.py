"""Show definitions for a first look: docstrings left out, what they call beside them, a copy only once."""

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
"""One window takes at most this part of the characters that are left, as a divisor."""
MOST_WINDOWS = 10
LONGEST_DOCSTRING = 3
LIKENESS = 0.85
COMPARED = 1500
"""Characters of two definitions."""
BARE = 2
"""A long class that shows no more lines than this above its methods is not shown by itself."""
CALL = re.compile(r"(?P<of>\w+\.)?(?P<name>[A-Za-z_]\w{3,})\(")
CALLERS = 3
"""Of so many likeliest definitions the callees are shown; of others those that share words with the issue."""
MOST_CALLEES = 4
LONGEST_CALLEE = 30
NEAR = 6
"""Windows so few lines apart are one."""
WHOLE_CLASSES = 2
"""Of so many likeliest methods the whole class is shown, if it is short."""
SHORT_CLASS = 70


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Lines to show, and what is to be said of them."""

    path: str
    first: int
    last: int
    remark: str = ""


def chosen(workspace: Workspace, likely: Sequence[Site], clues: Clues) -> list[Spot]:
    """The definitions to show, likeliest first, each followed by what it calls; a near-identical copy is only remarked on."""
    snapshot = workspace.index.current()
    kept: list[_Kept] = []
    for site in likely:
        opened = _opened(workspace, site.path)
        if opened is None:
            continue
        source, found = opened
        code = tuple(
            line.strip()
            for number, line in code_lines(source, site.first, site.last, found)
            if number and line.strip()
        )
        if site.shortened and len(code) <= BARE:
            continue
        twin = next((other for other in kept if _alike(site, code, other)), None)
        if twin is not None:
            twin.copies.append(f"{site.path}:{site.item.line}")
        else:
            whole = _class_of(site, source, found) if len(kept) < WHOLE_CLASSES else None
            kept.append(
                _Kept(site=site, code=code, callees=list(_callees(snapshot, site, code, found)), whole=whole)
            )
    return _joined([spot for callee in _with_callees(kept, clues) for spot in callee.spots()])


def _class_of(site: Site, source: Source, found: Sequence[Definition]) -> Definition | None:
    """The class of a method, where it is short enough to be shown whole."""
    owner = next(
        (item for item in found if item.kind == "class" and item.name == site.name.rpartition(".")[0]), None
    )
    return (
        owner
        if owner and len(list(code_lines(source, owner.start, owner.end, found))) <= SHORT_CLASS
        else None
    )


def _joined(spots: Sequence[Spot]) -> list[Spot]:
    """The same, those near each other in a file as one, where the first of them stands."""
    joined: list[Spot] = []
    for spot in spots:
        for index, other in enumerate(joined):
            first, last = min(other.first, spot.first), max(other.last, spot.last)
            gap = max(other.first, spot.first) - min(other.last, spot.last)
            if (
                other.path == spot.path
                and gap <= NEAR
                and (last - first < LONGEST or (first, last) == (other.first, other.last))
            ):
                remark = "; ".join(filter(None, (other.remark, spot.remark)))
                joined[index] = replace(other, first=first, last=last, remark=remark)
                break
        else:
            joined.append(spot)
    return joined


@dataclass(kw_only=True)
class _Kept:
    """A definition that will be shown."""

    site: Site
    code: tuple[str, ...]
    callees: list[tuple[str, Definition]]
    whole: Definition | None
    """Its class, where that is shown instead."""
    copies: list[str] = field(default_factory=list)

    def spots(self) -> list[Spot]:
        remark = (
            f"{self.site.item.bare}: near-identical copy at {', '.join(self.copies)}" if self.copies else ""
        )
        first, last = (self.whole.start, self.whole.end) if self.whole else (self.site.first, self.site.last)
        own = Spot(path=self.site.path, first=first, last=last, remark=remark)
        by = self.site.item.bare
        called = [
            Spot(path=path, first=item.start, last=item.end, remark=f"{item.bare}: called by {by}")
            for path, item in self.callees
            if path != self.site.path or not first <= item.start <= last
        ]
        return [own, *called]


def _with_callees(kept: list[_Kept], clues: Clues) -> list[_Kept]:
    """The same, with the few callees that tell most: those the issue shares words with, then those of the likeliest definitions."""
    shown = {(entry.site.path, entry.site.name) for entry in kept}
    ranked = sorted(
        (not any(word in clues.words for word in parts(item.bare)), order, item.start, path)
        for order, one in enumerate(kept)
        for path, item in one.callees
        if (path, item.name) not in shown
    )
    telling: dict[tuple[str, int], int] = {}
    for alien, order, start, path in ranked:
        if (not alien or order < CALLERS) and len(telling) < MOST_CALLEES:
            telling.setdefault((path, start), order)
    for order, one in enumerate(kept):
        one.callees = [(path, item) for path, item in one.callees if telling.get((path, item.start)) == order]
    return kept


def _opened(workspace: Workspace, path: str) -> tuple[Source, tuple[Definition, ...]] | None:
    try:
        relative, source = load(workspace, path)
    except ToolError:
        return None
    return source, definitions(relative, source.text)


def _alike(site: Site, code: tuple[str, ...], other: _Kept) -> bool:
    """Is it the same definition in another file, word for word or nearly?"""
    if site.path == other.site.path or site.name != other.site.name:
        return False
    matcher = difflib.SequenceMatcher(
        None, "\n".join(code)[:COMPARED], "\n".join(other.code)[:COMPARED], autojunk=False
    )
    return matcher.quick_ratio() >= LIKENESS and matcher.ratio() >= LIKENESS


def _callees(
    snapshot: Snapshot, site: Site, code: Sequence[str], found: Sequence[Definition]
) -> Iterator[tuple[str, Definition]]:
    """Short functions, methods of the same class or of the only one that has such, and classes held by its attributes, that it calls."""
    if site.item.kind == "class":
        return
    owner = site.name.rpartition(".")[0]
    short = [item for item in found if item.end - item.start < LONGEST_CALLEE and item.name != site.name]
    called = dict.fromkeys(
        (match["of"] or "", match["name"]) for line in code for match in CALL.finditer(line)
    )
    for of, name in called:
        own = of in ("self.", "cls.")
        named = [item for item in short if item.bare == name]
        meant = f"{owner}.{name}" if own else name
        exact = (
            [item for item in named if item.name == meant and item.kind in ("function", "method")]
            if own or not of
            else []
        )
        held = sorted(
            (item for item in named if own and item.kind == "class"), key=lambda item: item.end - item.start
        )[:1]
        only = [item for item in named if of and item.kind == "method"] if len(named) == 1 else []
        here = exact or held or only
        yield from ((site.path, item) for item in here)
        if not here and not own:
            yield from _imported(snapshot, site.path, f"{of}{name}")


def _imported(snapshot: Snapshot, path: str, dotted: str) -> Iterator[tuple[str, Definition]]:
    """A short function of another file that a name means here."""
    for place in resolve(snapshot, dotted, importer=path)[:1]:
        item = place.definition
        if (
            item
            and place.path != path
            and item.kind in ("function", "method")
            and item.end - item.start < LONGEST_CALLEE
        ):
            yield place.path, item


def code_lines(
    source: Source, first: int, last: int, found: Sequence[Definition]
) -> Iterator[tuple[int, str]]:
    """The numbered lines of a window without the inside of its long docstrings; what is left out is number 0 and says so."""
    hidden: dict[int, int] = {}
    for item in found:
        start, end = item.docstring
        if first <= start <= last and end - start >= LONGEST_DOCSTRING:
            opening = source.lines[start - 1].strip().lstrip("rRuUbB").strip("\"'")
            hidden[start + (1 if opening else 2)] = end
    number = first
    while number <= min(last, len(source.lines)):
        if number in hidden:
            yield 0, f"      ... docstring, to line {hidden[number]}"
            number = hidden[number] + 1
            continue
        yield number, source.lines[number - 1]
        number += 1


def windows(workspace: Workspace, spots: Sequence[Spot], room: int) -> Iterator[str]:
    """The source of as many spots as there is room for, no line twice."""
    covered: dict[str, set[int]] = {}
    count = 0
    for spot in spots:
        seen = covered.setdefault(spot.path, set())
        if count >= MOST_WINDOWS or room < 400:
            return
        if len(seen & set(range(spot.first, spot.last + 1))) * 2 > spot.last - spot.first:
            continue
        block = excerpt(workspace, spot, most=room // SHARE_OF_ONE)
        if block:
            yield block
            seen |= set(range(spot.first, spot.last + 1))
            room -= len(block) + 2
            count += 1


def excerpt(workspace: Workspace, spot: Spot, *, most: int) -> str:
    """One window below the headers of what encloses it, cut at its end to fit; empty where not even its start fits."""
    opened = _opened(workspace, spot.path)
    if opened is None:
        return ""
    source, found = opened
    spot = replace(spot, first=max(1, spot.first), last=min(spot.last, len(source.lines)))
    lines = [_line(number, text) for number, text in code_lines(source, spot.first, spot.last, found)]
    outer = [
        _line(item.line, source.lines[item.line - 1])
        for item in enclosing(spot.first, found)
        if item.line < spot.first
    ]
    remark = f" ({spot.remark})" if spot.remark else ""
    head = [
        f"{spot.path}, lines {spot.first}-{spot.last} of {len(source.lines)}{remark}",
        *outer,
        *(["      ..."] if outer else []),
    ]
    kept = lines[:LONGEST]
    while kept and sum(len(line) + 1 for line in [*head, *kept]) > most - 40:
        kept.pop()
    if len(kept) < min(4, len(lines)):
        return ""
    if len(kept) < len(lines):
        kept.append(f"      ... {len(lines) - len(kept)} more")
    workspace.name(spot.path, spot.first)
    return "\n".join([*head, *kept])


def _line(number: int, text: str) -> str:
    return f"{number:>5}| {clipped(text)}" if number else text
