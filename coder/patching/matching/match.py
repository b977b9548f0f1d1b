"""Matching of hunks with exactly one place of a file."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from coder.patching.dialects.hunk import HunkLine, PatchHunk
from coder.patching.matching.align import Alignment, align_hunk
from coder.patching.matching.compare import COMPARISONS, LineComparison, normalize_line
from coder.patching.matching.indexed import LineIndex

HIDDEN_LINE = "\0"
"""Line that no hunk has, in place of those that are out of the question."""
CLOSERS = (")", "]", "}", "{", "@", "#")


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A hunk and the one place where it fits."""

    hunk: PatchHunk
    spots: tuple[int, ...]
    """For each of the hunk's runs, the index of its first line in the file."""
    pairs: tuple[tuple[HunkLine, str], ...]
    """Old lines of the hunk, each with the file's version."""


@dataclass(frozen=True, kw_only=True)
class AlreadyApplied:
    """A hunk that is already applied: the file has its new lines, not its old ones."""

    hunk: PatchHunk


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """A hunk that fits nowhere, or in several places that cannot be distinguished."""

    hunk: PatchHunk
    places: tuple[int, ...] = ()
    """Indices of the lines where it would fit."""


MatchResult = Placement | AlreadyApplied | Misfit


def place_hunks(hunks: Sequence[PatchHunk], lines: Sequence[str]) -> list[MatchResult]:
    """Match each hunk with the lines of the unchanged file, in the order given."""
    text = LineIndex(lines)
    results: list[MatchResult] = []
    offset = 0
    for hunk in hunks:
        result = _match_without_prose(hunk, text, offset)
        results.append(result)
        if isinstance(result, Placement) and hunk.start:
            offset = _first(result) - (hunk.start - 1)
    return results


def _match_without_prose(hunk: PatchHunk, text: LineIndex, offset: int) -> MatchResult:
    """Match a hunk whose last lines may be prose; they are not if the file has something that they remove."""
    if not hunk.tail:
        return _match(hunk, text, offset)
    tail = hunk.lines[-hunk.tail :]
    if any(
        line.mark == "+" or (line.mark == "-" and normalize_line(line.text) in text.positions_by_key)
        for line in tail
    ):
        return _match(hunk, text, offset)
    result = _match(hunk.without_tail, text, offset)
    return _match(hunk, text, offset) if isinstance(result, Misfit) and not result.places else result


def _match(hunk: PatchHunk, text: LineIndex, offset: int) -> MatchResult:
    if not hunk.old_lines:
        return Misfit(hunk=hunk) if text.lines else Placement(hunk=hunk, spots=(0,), pairs=())
    if positions := find_contiguous(hunk.old_lines, text):
        at = choose_position(hunk, positions, lines=text.lines, offset=offset)
        if _adds_at_an_end(hunk) and any(
            _overlap(at, positions, new, hunk) for new in find_contiguous(hunk.new_lines, text)
        ):
            return AlreadyApplied(hunk=hunk)
        if at is None:
            return Misfit(hunk=hunk, places=tuple(positions))
        pairs = tuple(zip(hunk.old_lines, text.lines[at : at + len(hunk.old_lines)], strict=True))
        return Placement(hunk=hunk, spots=tuple(at + run.old_index for run in hunk.runs), pairs=pairs)
    if any(run.added for run in hunk.runs) and find_contiguous(hunk.new_lines, text):
        return AlreadyApplied(hunk=hunk)
    return _match_by_alignment(hunk, text, offset)


def _match_by_alignment(hunk: PatchHunk, text: LineIndex, offset: int) -> MatchResult:
    alignment, reverse_alignment = align_hunk(hunk, text), None
    if any(run.added for run in hunk.runs) and (
        alignment is None or any(not run.removed for run in hunk.runs)
    ):
        reverse_alignment = align_hunk(_reverse(hunk), text)
    if _is_deleted(hunk, text):
        return AlreadyApplied(hunk=hunk)
    if (
        reverse_alignment
        and not reverse_alignment.places
        and (alignment is None or reverse_alignment.cost < alignment.cost)
    ):
        return AlreadyApplied(hunk=hunk)
    if alignment is None or (reverse_alignment and reverse_alignment.cost == alignment.cost):
        return Misfit(hunk=hunk)
    if not alignment.places:
        return Placement(hunk=hunk, spots=alignment.spots, pairs=alignment.pairs)
    starts = [spot - hunk.runs[0].old_index for spot in alignment.places]
    at = choose_position(hunk, starts, lines=text.lines, offset=offset) if len(hunk.runs) == 1 else None
    chosen = alignment if at == starts[0] else _align_from(at, hunk, text)
    if chosen is None or chosen.cost != alignment.cost:
        return Misfit(
            hunk=hunk,
            places=tuple(sorted(starts)) if max(starts) - min(starts) > len(hunk.old_lines) else (),
        )
    return Placement(hunk=hunk, spots=chosen.spots, pairs=chosen.pairs)


def _align_from(at: int | None, hunk: PatchHunk, text: LineIndex) -> Alignment | None:
    """Align the hunk with the lines from `at` on alone; None if it does not begin there."""
    if at is None or at < 0:
        return None
    end = at + len(hunk.old_lines)
    window = [line if at <= number < end else HIDDEN_LINE for number, line in enumerate(text.lines)]
    alignment = align_hunk(hunk, LineIndex(window))
    begins_there = alignment is not None and alignment.spots[0] - hunk.runs[0].old_index == at
    return alignment if begins_there else None


def find_contiguous(lines: Sequence[HunkLine], text: LineIndex) -> list[int]:
    """Return the positions where the lines occur contiguously, by the strictest comparison with any match."""
    if not lines:
        return []
    before, rarest = min(
        enumerate(text.positions_by_key.get(normalize_line(line.text), ()) for line in lines),
        key=lambda pair: len(pair[1]),
    )
    starts = [index - before for index in rarest if 0 <= index - before <= len(text.lines) - len(lines)]
    for same in COMPARISONS:
        if matches := [at for at in starts if _fits(lines, text.lines, at=at, same=same)]:
            return matches
    return []


def choose_position(
    hunk: PatchHunk, candidates: Collection[int], *, lines: Sequence[str], offset: int
) -> int | None:
    """Return the only position, or the only one that the header's line number or function name points at.

    A line number counts only where it matches exactly: shifted by `offset`, the displacement of the hunk
    before, or as it is where that fits none.
    """
    if len(candidates) == 1:
        return next(iter(candidates))
    stated = {hunk.start - 1} if hunk.start else set()
    by_number = {at for at in candidates if at - offset in stated} or stated.intersection(candidates)
    by_section = {at for at in candidates if hunk.section and _inside(hunk.section, lines, at)}
    if by_number and hunk.section:
        by_section |= {at for at in by_number if _is_git_section(hunk.section, lines, at)}
    hints = [matches for matches in (by_number, by_section) if matches]
    agreed = set.intersection(*hints) if hints else set()
    return agreed.pop() if len(agreed) == 1 else None


def _fits(hunk_lines: Sequence[HunkLine], lines: Sequence[str], *, at: int, same: LineComparison) -> bool:
    return all(same(line, lines[at + index]) for index, line in enumerate(hunk_lines))


def _first(placement: Placement) -> int:
    return placement.spots[0] - placement.hunk.runs[0].old_index


def _adds_at_an_end(hunk: PatchHunk) -> bool:
    """Tell whether a hunk only adds lines above or below all of its context, where they may exist already."""
    return not any(run.removed for run in hunk.runs) and any(
        run.old_index in (0, len(hunk.old_lines)) for run in hunk.runs
    )


def _is_deleted(hunk: PatchHunk, text: LineIndex) -> bool:
    """Tell whether a hunk only deletes lines, and the lines around them are adjacent in exactly one place."""
    positions = find_contiguous(hunk.new_lines, text)
    if len(positions) != 1 or any(run.added for run in hunk.runs):
        return False
    above = hunk.runs[0].old_index > 0 or positions[0] == 0
    below = hunk.runs[-1].old_end < len(hunk.old_lines) or positions[0] + len(hunk.new_lines) == len(
        text.lines
    )
    return above and below and sum(any(map(str.isalnum, line.text)) for line in hunk.new_lines) > 1


def _overlap(at: int | None, positions: Sequence[int], new: int, hunk: PatchHunk) -> bool:
    """Tell whether the new lines are at a position where the old ones would go."""
    return any(
        new - len(hunk.old_lines) < old < new + len(hunk.new_lines)
        for old in (positions if at is None else (at,))
    )


def _reverse(hunk: PatchHunk) -> PatchHunk:
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
