"""Find where a hunk belongs: exactly one place, or none."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from coder.patching.dialects.hunk import Hunk, Line
from coder.patching.matching.align import align
from coder.patching.matching.compare import COMPARISONS, Same, key
from coder.patching.matching.indexed import Indexed

CLOSERS = (")", "]", "}", "{", "@", "#")


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A hunk and the one place where it fits."""

    hunk: Hunk
    spots: tuple[int, ...]
    """For each of the hunk's runs, the index of the file's line where it begins."""
    pairs: tuple[tuple[Line, str], ...]
    """Old lines of the hunk, and how the file has them."""


@dataclass(frozen=True, kw_only=True)
class Already:
    """A hunk whose work is done: the file has what it makes, and not what it makes it from."""

    hunk: Hunk


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """A hunk that fits nowhere, or in several places with nothing to tell them apart."""

    hunk: Hunk
    places: tuple[int, ...] = ()
    """Indices of the lines where it would fit."""


Result = Placed | Already | Misfit


def place(hunks: Sequence[Hunk], lines: Sequence[str]) -> list[Result]:
    """Place each hunk on the lines of the untouched file, in the order given."""
    text = Indexed(lines)
    results: list[Result] = []
    offset = 0
    for hunk in hunks:
        result = _placed_with_or_without_prose(hunk, text, offset)
        results.append(result)
        if isinstance(result, Placed) and hunk.start:
            offset = _first(result) - (hunk.start - 1)
    return results


def _placed_with_or_without_prose(hunk: Hunk, text: Indexed, offset: int) -> Result:
    """Lines at the end that may be prose are none where something that they remove is in the file."""
    if not hunk.tail:
        return _placed(hunk, text, offset)
    tail = hunk.lines[-hunk.tail :]
    if any(line.mark == "+" or (line.mark == "-" and key(line.text) in text.where) for line in tail):
        return _placed(hunk, text, offset)
    without = _placed(hunk.without_tail, text, offset)
    return _placed(hunk, text, offset) if isinstance(without, Misfit) and not without.places else without


def _placed(hunk: Hunk, text: Indexed, offset: int) -> Result:
    if not hunk.old:
        return Misfit(hunk=hunk) if text.lines else Placed(hunk=hunk, spots=(0,), pairs=())
    if found := standing(hunk.old, text):
        at = choose(hunk, found, lines=text.lines, offset=offset)
        if _adds_at_an_end(hunk) and any(_overlap(at, found, new, hunk) for new in standing(hunk.new, text)):
            return Already(hunk=hunk)
        if at is None:
            return Misfit(hunk=hunk, places=tuple(found))
        pairs = tuple(zip(hunk.old, text.lines[at : at + len(hunk.old)], strict=True))
        return Placed(hunk=hunk, spots=tuple(at + run.old_index for run in hunk.runs), pairs=pairs)
    if any(run.added for run in hunk.runs) and standing(hunk.new, text):
        return Already(hunk=hunk)
    return _aligned(hunk, text, offset)


def _aligned(hunk: Hunk, text: Indexed, offset: int) -> Result:
    found, done = align(hunk, text), None
    if any(run.added for run in hunk.runs) and (found is None or any(not run.removed for run in hunk.runs)):
        done = align(_reversed(hunk), text)
    if _is_deleted(hunk, text):
        return Already(hunk=hunk)
    if done and not done.places and (found is None or done.cost < found.cost):
        return Already(hunk=hunk)
    if found is None or (done and done.cost == found.cost):
        return Misfit(hunk=hunk)
    spots = found.spots
    if found.places:
        starts = [spot - hunk.runs[0].old_index for spot in found.places]
        at = choose(hunk, starts, lines=text.lines, offset=offset) if len(hunk.runs) == 1 else None
        if at is None or at != starts[0]:
            return Misfit(
                hunk=hunk, places=tuple(sorted(starts)) if max(starts) - min(starts) > len(hunk.old) else ()
            )
    return Placed(hunk=hunk, spots=spots, pairs=found.pairs)


def standing(wanted: Sequence[Line], text: Indexed) -> list[int]:
    """Where the lines stand one below the other, by the strictest comparison that finds any place."""
    if not wanted:
        return []
    before, rarest = min(
        enumerate(text.where.get(key(line.text), ()) for line in wanted), key=lambda pair: len(pair[1])
    )
    starts = [index - before for index in rarest if 0 <= index - before <= len(text.lines) - len(wanted)]
    for same in COMPARISONS:
        if found := [at for at in starts if _fits(wanted, text.lines, at=at, same=same)]:
            return found
    return []


def choose(hunk: Hunk, found: Collection[int], *, lines: Sequence[str], offset: int) -> int | None:
    """The one place meant: the only one, or the only one that the line number, or the function named in the header, points at.

    A line number counts only where it hits exactly, moved by `offset`, the distance of the hunk before it.
    """
    if len(found) == 1:
        return next(iter(found))
    by_number = {at for at in found if hunk.start and at - (hunk.start - 1) == offset}
    by_section = {at for at in found if hunk.section and _inside(hunk.section, lines, at)}
    if by_number and hunk.section:
        by_section |= {at for at in by_number if _headed(hunk.section, lines, at)}
    pointed = [only for only in (by_number, by_section) if only]
    meant = set.intersection(*pointed) if pointed else set()
    return meant.pop() if len(meant) == 1 else None


def _fits(wanted: Sequence[Line], lines: Sequence[str], *, at: int, same: Same) -> bool:
    return all(same(line, lines[at + index]) for index, line in enumerate(wanted))


def _first(placed: Placed) -> int:
    return placed.spots[0] - placed.hunk.runs[0].old_index


def _adds_at_an_end(hunk: Hunk) -> bool:
    """Does a hunk only add, and above or below all of its context, so that what it adds may be there already?"""
    return not any(run.removed for run in hunk.runs) and any(
        run.old_index in (0, len(hunk.old)) for run in hunk.runs
    )


def _is_deleted(hunk: Hunk, text: Indexed) -> bool:
    """Does a hunk only delete, and do the lines around what it deletes stand together, in one place?"""
    found = standing(hunk.new, text)
    if len(found) != 1 or any(run.added for run in hunk.runs):
        return False
    above = hunk.runs[0].old_index > 0 or found[0] == 0
    below = hunk.runs[-1].end < len(hunk.old) or found[0] + len(hunk.new) == len(text.lines)
    return above and below and sum(any(map(str.isalnum, line.text)) for line in hunk.new) > 1


def _overlap(at: int | None, found: Sequence[int], new: int, hunk: Hunk) -> bool:
    """Do the new lines stand where the old ones would go?"""
    return any(new - len(hunk.old) < old < new + len(hunk.new) for old in (found if at is None else (at,)))


def _reversed(hunk: Hunk) -> Hunk:
    marks = {"+": "-", "-": "+"}
    return replace(
        hunk, lines=tuple(replace(line, mark=marks.get(line.mark, line.mark)) for line in hunk.lines)
    )


def _headed(section: str, lines: Sequence[str], at: int) -> bool:
    """Is it the last line above that starts in the first column, as git chooses what it writes after the second @@?"""
    above = next(
        (
            lines[index]
            for index in range(at - 1, -1, -1)
            if lines[index][:1].isalpha() or lines[index][:1] in ("_", "$")
        ),
        "",
    )
    return above.startswith(section.split("\n")[0].strip())


def _inside(section: str, lines: Sequence[str], at: int) -> bool:
    """Does the line at `at` stand in the blocks that lines starting like those of `section` open?"""
    wanted = [line.strip() for line in section.split("\n")]
    indent = len(lines[at]) - len(lines[at].lstrip()) if lines[at].strip() else None
    for above in range(at - 1, -1, -1):
        text = lines[above].strip()
        if not text or text.startswith(CLOSERS):
            continue
        depth = len(lines[above]) - len(lines[above].lstrip())
        if indent is None or depth < indent:
            wanted = [line for line in wanted if not text.startswith(line)]
            if not wanted:
                return True
            indent = depth
    return False
