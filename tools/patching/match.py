"""Find where a hunk belongs: exactly one place, or none."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from coder.tools.patching.parse import Hunk, Line

CLOSERS = (")", "]", "}", "{", "@", "#")


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A hunk and the one place where it fits."""

    hunk: Hunk
    at: int
    """Index of the file's line that the hunk's first old line is."""


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """A hunk that fits nowhere, or in several places with nothing to tell them apart."""

    hunk: Hunk
    places: tuple[int, ...] = ()
    """Indices of the lines where it would fit."""


def place(hunks: Sequence[Hunk], lines: Sequence[str]) -> list[Placed | Misfit]:
    """Place each hunk on the lines of the untouched file, in the order given."""
    results: list[Placed | Misfit] = []
    offset = 0
    where: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        where.setdefault(line.strip(), []).append(index)
    for hunk in hunks:
        found = places(hunk, lines, where)
        at = choose(hunk, found, lines=lines, offset=offset)
        if at is None:
            results.append(Misfit(hunk=hunk, places=tuple(found)))
            continue
        results.append(Placed(hunk=hunk, at=at))
        offset = at - (hunk.start - 1) if hunk.start else offset
    return results


def places(hunk: Hunk, lines: Sequence[str], where: Mapping[str, Sequence[int]]) -> list[int]:
    """Where the hunk's old lines stand, by the strictest comparison that finds any; without old lines, only in an empty file.

    `where` has the indices of each line, stripped; only those of the hunk's rarest line are looked at.
    """
    old = hunk.old
    if not old:
        return [] if lines else [0]
    offset, rarest = min(enumerate(where.get(line.text.strip(), ()) for line in old), key=lambda pair: len(pair[1]))
    starts = [index - offset for index in rarest if 0 <= index - offset <= len(lines) - len(old)]
    for same in (_exactly, _but_for_trailing_space, _but_for_a_lost_mark):
        if found := [at for at in starts if _fits(old, lines, at=at, same=same)]:
            return found
    return []


def choose(hunk: Hunk, found: Sequence[int], *, lines: Sequence[str], offset: int) -> int | None:
    """The one place meant: the only one, or the only one that the line number, or the function named in the header, points at.

    A line number counts only where it hits exactly, as written or moved by `offset`, the distance of the hunk before it.
    """
    if len(found) == 1:
        return found[0]
    by_number = {at for at in found if hunk.start and at - (hunk.start - 1) in (0, offset)}
    by_section = {at for at in found if hunk.section and _inside(hunk.section, lines, at)}
    pointed = [only for only in (by_number, by_section) if only]
    meant = set.intersection(*pointed) if pointed else set()
    return meant.pop() if len(meant) == 1 else None


def _fits(old: Sequence[Line], lines: Sequence[str], *, at: int, same: Callable[[Line, str], bool]) -> bool:
    return all(same(line, lines[at + index]) for index, line in enumerate(old))


def _exactly(line: Line, actual: str) -> bool:
    return line.text == actual


def _but_for_trailing_space(line: Line, actual: str) -> bool:
    return line.text.rstrip() == actual.rstrip()


def _but_for_a_lost_mark(line: Line, actual: str) -> bool:
    """An indented context line whose mark was lost has given its first space away as the mark."""
    return _but_for_trailing_space(line, actual) or (line.mark == " " and f" {line.text}".rstrip() == actual.rstrip())


def _inside(section: str, lines: Sequence[str], at: int) -> bool:
    """Does the line at `at` stand in the block that a line starting with `section` opens?"""
    indent = len(lines[at]) - len(lines[at].lstrip()) if lines[at].strip() else None
    for above in range(at - 1, -1, -1):
        text = lines[above].strip()
        if not text or text.startswith(CLOSERS):
            continue
        depth = len(lines[above]) - len(lines[above].lstrip())
        if indent is None or depth < indent:
            if text.startswith(section.strip()):
                return True
            indent = depth
    return False
