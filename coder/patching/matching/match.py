"""Matching of hunks with exactly one place of a file."""

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
    """For each of the hunk's runs, the index of its first line in the file."""
    pairs: tuple[tuple[Line, str], ...]
    """Old lines of the hunk, each with the file's version."""


@dataclass(frozen=True, kw_only=True)
class Already:
    """A hunk that is already applied: the file has its new lines, not its old ones."""

    hunk: Hunk


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """A hunk that fits nowhere, or in several places that cannot be distinguished."""

    hunk: Hunk
    places: tuple[int, ...] = ()
    """Indices of the lines where it would fit."""


Result = Placed | Already | Misfit


def place(hunks: Sequence[Hunk], lines: Sequence[str]) -> list[Result]:
    """Match each hunk with the lines of the unchanged file, in the order given."""
    text = Indexed(lines)
    results: list[Result] = []
    offset = 0
    for hunk in hunks:
        result = _match_without_prose(hunk, text, offset)
        results.append(result)
        if isinstance(result, Placed) and hunk.start:
            offset = _first(result) - (hunk.start - 1)
    return results


def _match_without_prose(hunk: Hunk, text: Indexed, offset: int) -> Result:
    """Match a hunk whose last lines may be prose; they are not if the file has something that they remove."""
    if not hunk.tail:
        return _match(hunk, text, offset)
    tail = hunk.lines[-hunk.tail :]
    if any(line.mark == "+" or (line.mark == "-" and key(line.text) in text.where) for line in tail):
        return _match(hunk, text, offset)
    result = _match(hunk.without_tail, text, offset)
    return _match(hunk, text, offset) if isinstance(result, Misfit) and not result.places else result


def _match(hunk: Hunk, text: Indexed, offset: int) -> Result:
    if not hunk.old:
        return Misfit(hunk=hunk) if text.lines else Placed(hunk=hunk, spots=(0,), pairs=())
    if positions := standing(hunk.old, text):
        at = choose(hunk, positions, lines=text.lines, offset=offset)
        if _adds_at_an_end(hunk) and any(
            _overlap(at, positions, new, hunk) for new in standing(hunk.new, text)
        ):
            return Already(hunk=hunk)
        if at is None:
            return Misfit(hunk=hunk, places=tuple(positions))
        pairs = tuple(zip(hunk.old, text.lines[at : at + len(hunk.old)], strict=True))
        return Placed(hunk=hunk, spots=tuple(at + run.old_index for run in hunk.runs), pairs=pairs)
    if any(run.added for run in hunk.runs) and standing(hunk.new, text):
        return Already(hunk=hunk)
    return _match_by_alignment(hunk, text, offset)


def _match_by_alignment(hunk: Hunk, text: Indexed, offset: int) -> Result:
    alignment, reverse_alignment = align(hunk, text), None
    if any(run.added for run in hunk.runs) and (
        alignment is None or any(not run.removed for run in hunk.runs)
    ):
        reverse_alignment = align(_reverse(hunk), text)
    if _is_deleted(hunk, text):
        return Already(hunk=hunk)
    if (
        reverse_alignment
        and not reverse_alignment.places
        and (alignment is None or reverse_alignment.cost < alignment.cost)
    ):
        return Already(hunk=hunk)
    if alignment is None or (reverse_alignment and reverse_alignment.cost == alignment.cost):
        return Misfit(hunk=hunk)
    spots = alignment.spots
    if alignment.places:
        starts = [spot - hunk.runs[0].old_index for spot in alignment.places]
        at = choose(hunk, starts, lines=text.lines, offset=offset) if len(hunk.runs) == 1 else None
        if at is None or at != starts[0]:
            return Misfit(
                hunk=hunk, places=tuple(sorted(starts)) if max(starts) - min(starts) > len(hunk.old) else ()
            )
    return Placed(hunk=hunk, spots=spots, pairs=alignment.pairs)


def standing(lines: Sequence[Line], text: Indexed) -> list[int]:
    """Return the positions where the lines occur contiguously, by the strictest comparison with any match."""
    if not lines:
        return []
    before, rarest = min(
        enumerate(text.where.get(key(line.text), ()) for line in lines), key=lambda pair: len(pair[1])
    )
    starts = [index - before for index in rarest if 0 <= index - before <= len(text.lines) - len(lines)]
    for same in COMPARISONS:
        if matches := [at for at in starts if _fits(lines, text.lines, at=at, same=same)]:
            return matches
    return []


def choose(hunk: Hunk, candidates: Collection[int], *, lines: Sequence[str], offset: int) -> int | None:
    """Return the only position, or the only one that the header's line number or function name points at.

    A line number counts only where it matches exactly, shifted by `offset`, the displacement of the hunk
    before.
    """
    if len(candidates) == 1:
        return next(iter(candidates))
    by_number = {at for at in candidates if hunk.start and at - (hunk.start - 1) == offset}
    by_section = {at for at in candidates if hunk.section and _inside(hunk.section, lines, at)}
    if by_number and hunk.section:
        by_section |= {at for at in by_number if _is_git_section(hunk.section, lines, at)}
    hints = [matches for matches in (by_number, by_section) if matches]
    agreed = set.intersection(*hints) if hints else set()
    return agreed.pop() if len(agreed) == 1 else None


def _fits(hunk_lines: Sequence[Line], lines: Sequence[str], *, at: int, same: Same) -> bool:
    return all(same(line, lines[at + index]) for index, line in enumerate(hunk_lines))


def _first(placement: Placed) -> int:
    return placement.spots[0] - placement.hunk.runs[0].old_index


def _adds_at_an_end(hunk: Hunk) -> bool:
    """Tell whether a hunk only adds lines above or below all of its context, where they may exist already."""
    return not any(run.removed for run in hunk.runs) and any(
        run.old_index in (0, len(hunk.old)) for run in hunk.runs
    )


def _is_deleted(hunk: Hunk, text: Indexed) -> bool:
    """Tell whether a hunk only deletes lines, and the lines around them are adjacent in exactly one place."""
    positions = standing(hunk.new, text)
    if len(positions) != 1 or any(run.added for run in hunk.runs):
        return False
    above = hunk.runs[0].old_index > 0 or positions[0] == 0
    below = hunk.runs[-1].end < len(hunk.old) or positions[0] + len(hunk.new) == len(text.lines)
    return above and below and sum(any(map(str.isalnum, line.text)) for line in hunk.new) > 1


def _overlap(at: int | None, positions: Sequence[int], new: int, hunk: Hunk) -> bool:
    """Tell whether the new lines are at a position where the old ones would go."""
    return any(
        new - len(hunk.old) < old < new + len(hunk.new) for old in (positions if at is None else (at,))
    )


def _reverse(hunk: Hunk) -> Hunk:
    marks = {"+": "-", "-": "+"}
    return replace(
        hunk, lines=tuple(replace(line, mark=marks.get(line.mark, line.mark)) for line in hunk.lines)
    )


def _is_git_section(section: str, lines: Sequence[str], at: int) -> bool:
    """Tell whether the section is the last line above in the first column, as in git's hunk headers."""
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
    """Tell whether the line at `at` is in the blocks opened by lines that start like those of `section`."""
    pending = [line.strip() for line in section.split("\n")]
    indent = len(lines[at]) - len(lines[at].lstrip()) if lines[at].strip() else None
    for above in range(at - 1, -1, -1):
        text = lines[above].strip()
        if not text or text.startswith(CLOSERS):
            continue
        depth = len(lines[above]) - len(lines[above].lstrip())
        if indent is None or depth < indent:
            pending = [line for line in pending if not text.startswith(line)]
            if not pending:
                return True
            indent = depth
    return False
