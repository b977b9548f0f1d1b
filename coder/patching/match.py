"""Search for the place of a hunk in a file, and adaptation of its added lines to the style there."""

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from operator import add

from coder.core.errors import PatchError
from coder.patching.parse import ChangedRun, HunkLine, PatchHunk

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
    text = LineIndex(lines)
    results: list[MatchResult] = []
    offset = 0
    for hunk in hunks:
        result = _match_without_prose(hunk, text, offset)
        results.append(result)
        if isinstance(result, Placement) and hunk.start:
            offset = _first(result) - (hunk.start - 1)
    return results


@dataclass(frozen=True)
class LineIndex:
    lines: Sequence[str]

    @cached_property
    def positions_by_key(self) -> dict[str, list[int]]:
        where: dict[str, list[int]] = {}
        for index, line in enumerate(self.lines):
            where.setdefault(normalize_line(line), []).append(index)
        return where

    @cached_property
    def places(self) -> dict[tuple[HunkLine, ...], list[int]]:
        """Positions that were looked up: a diff may have thousands of equal hunks."""
        return {}


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
        reverse_alignment = align_hunk(replace(hunk, lines=hunk.reversed_lines), text)
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


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """The aligned position of each run of changed lines of a hunk."""

    spots: tuple[int, ...]
    pairs: tuple[tuple[HunkLine, str], ...]
    """Old lines of the hunk found in the file, each with the file's version."""
    cost: int
    places: tuple[int, ...] = ()
    """Other positions where the first run fits nearly as well; empty where the place is certain."""


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
    key = tuple(lines)
    if key not in text.places:
        text.places[key] = _find_contiguous(lines, text)
    return text.places[key]


def _find_contiguous(lines: Sequence[HunkLine], text: LineIndex) -> list[int]:
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
    if not hunk.start and not hunk.section:
        return None
    stated = {hunk.start - 1} if hunk.start else set()
    by_number = {at for at in candidates if at - offset in stated} or stated.intersection(candidates)
    by_section = {at for at in candidates if hunk.section and _inside(hunk.section, lines, at)}
    hints = [matches for matches in (by_number, by_section) if matches]
    agreed = set.intersection(*hints) if hints else set()
    return agreed.pop() if len(agreed) == 1 else None


LineComparison = Callable[[HunkLine, str], bool]


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


LINE_WEIGHT = 1000
WORDLESS_WEIGHT = 250
"""The weight of a short line without a word, such as a bracket."""
WORDLESS_LENGTH = 3
INDENTATION_COST = 1
"""The cost of a line whose indentation differs; costs without it are multiples of `WORDLESS_WEIGHT`."""
PARAPHRASE_COST = 250
"""The cost of a reworded comment."""
GAP_COST = LINE_WEIGHT
"""The cost of skipped file lines, however many."""
SMALL_GAP_COST = 250
"""The cost of few skipped lines, as when context was left out."""
SMALL_GAP_LINES = 5
MARGIN = 3
"""Multiple of `WORDLESS_WEIGHT` by which a place must beat one far away."""
NEARBY_LINES = 5
"""Lines, besides the hunk's length, within which another start counts as the same place."""
MAX_CELLS = 3_000_000
"""Limit of the hunk's lines times the file's lines."""
INFINITE_COST = 1 << 30
COMMENT = re.compile(r"\s*(?:#|//|--|/\*)\s*(\S.*)")


@dataclass(frozen=True, kw_only=True)
class _Claim:
    """An old line of the hunk and its possible positions in the file."""

    line: HunkLine
    weight: int
    costs: dict[int, int]
    """Cost of each file line that it may match, by index."""
    joined: bool
    """No line may come between it and the line before it."""
    elides: bool


def align_hunk(hunk: PatchHunk, text: LineIndex) -> Alignment | None:
    """Align the hunk's old lines with the file; None where no place is good enough."""
    if len(hunk.old_lines) * len(text.lines) > MAX_CELLS:
        return None
    claims = _claims(hunk, text)
    if not all(claim.costs for claim in claims if claim.line.mark == "-"):
        return None
    forward, backward = _forward(claims, len(text.lines)), _backward(claims, len(text.lines))
    candidates = [
        _run_starts(claims, run, list(map(add, forward[run.old_end], backward[run.old_end])))
        for run in hunk.runs
    ]
    spots = [places[0] for places in candidates if places]
    ends = [spot + len(run.removed) for run, spot in zip(hunk.runs, spots, strict=False)]
    if len(spots) < len(candidates) or any(end > spot for end, spot in zip(ends, spots[1:], strict=False)):
        return None
    pairs = _pairs(claims, forward, text)
    cost = min(forward[-1])
    found_lines = [line for line, actual in pairs if normalize_line(line.text) == normalize_line(actual)]
    found_weight = sum(map(_weight, found_lines)) if any(_has_words(line) for line in found_lines) else 0
    if (
        found_weight < LINE_WEIGHT
        or 2 * cost > found_weight + LINE_WEIGHT
        or 3 * _context(line for line, _ in pairs) < _context(hunk.old_lines)
    ):
        return None
    removed = [
        (line, text.lines[spot + index])
        for run, spot in zip(hunk.runs, spots, strict=True)
        for index, line in enumerate(run.removed)
    ]
    pairs = [pair for pair in pairs if pair[0].mark != "-"] + removed
    return Alignment(
        spots=tuple(spots),
        pairs=tuple(pairs),
        cost=cost,
        places=next((places for places in candidates if len(places) > 1), ()),
    )


def _run_starts(claims: Sequence[_Claim], run: ChangedRun, totals: Sequence[int]) -> tuple[int, ...]:
    """Return possible starts of a run: the best first, then those nearly as good; empty where it is stale.

    `totals` has the cost of the whole hunk if the run ends above each line. Places with other lines instead
    of the removed ones make it stale if they are as good. Where everything matches but for the indentation,
    only another such place is as good, or a less perfect one with the right indentation.
    """
    size = len(run.removed)
    run_claims = claims[run.old_index : run.old_end]
    complete_ends = {
        at
        for at in range(size, len(totals))
        if all(at - size + index in claim.costs for index, claim in enumerate(run_claims))
    }
    best_end = min(complete_ends, key=totals.__getitem__, default=None)
    if best_end is None:
        return ()
    least, shifts = divmod(totals[best_end], WORDLESS_WEIGHT)
    alternatives: list[int] = []
    for at, total in enumerate(totals):
        is_beside = abs(at - best_end) <= len(claims) + NEARBY_LINES
        is_perfect = not least and (not shifts or total % WORDLESS_WEIGHT)
        margin = 1 if is_perfect or is_beside else MARGIN
        if at != best_end and total // WORDLESS_WEIGHT < least + margin:
            alternatives.append(at - size)
    if any(at + size not in complete_ends for at in alternatives):
        return ()
    return best_end - size, *alternatives


def _claims(hunk: PatchHunk, text: LineIndex) -> list[_Claim]:
    insertions = {run.old_index for run in hunk.runs if not run.removed}
    starts = {run.old_index for run in hunk.runs}
    claims: list[_Claim] = []
    for index, line in enumerate(hunk.old_lines):
        is_elided = is_elision(line)
        costs = {
            at: _cost(line, text.lines[at]) for at in text.positions_by_key.get(normalize_line(line.text), ())
        } or _paraphrases(line, text)
        follows_removed = (
            line.mark == "-" and index > 0 and hunk.old_lines[index - 1].mark == "-" and index not in starts
        )
        is_joined = index > 0 and (follows_removed or index in insertions)
        weight = 0 if is_elided else _weight(line)
        claims.append(_Claim(line=line, weight=weight, costs=costs, joined=is_joined, elides=is_elided))
    return claims


def _paraphrases(line: HunkLine, text: LineIndex) -> dict[int, int]:
    """Return comments of the file that share most words with a comment in the context, with their cost."""
    if line.mark != " " or not (comment := COMMENT.match(line.text)):
        return {}
    words = set(comment[1].lower().split())
    costs: dict[int, int] = {}
    for other, places in text.positions_by_key.items():
        if (match := COMMENT.match(other)) and 2 * len(words.intersection(match[1].lower().split())) > max(
            2, len(words)
        ):
            costs |= dict.fromkeys(places, PARAPHRASE_COST)
    return costs


def _weight(line: HunkLine) -> int:
    text = line.text.strip()
    return (
        LINE_WEIGHT
        if line.mark == "-" or len(text) > WORDLESS_LENGTH or _has_words(line)
        else WORDLESS_WEIGHT
    )


def _has_words(line: HunkLine) -> bool:
    return any(map(str.isalnum, line.text))


def _context(lines: Iterable[HunkLine]) -> int:
    return sum(_weight(line) for line in lines if line.mark == " " and not is_elision(line))


def _cost(line: HunkLine, actual: str) -> int:
    if not actual.strip() or to_ascii(line.text) == to_ascii(actual):
        return 0
    return 0 if line.mark == " " and to_ascii(f" {line.text}") == to_ascii(actual) else INDENTATION_COST


def _forward(claims: Sequence[_Claim], size: int) -> list[list[int]]:
    """Compute, for each number of aligned claims, the least cost at each next line of the file."""
    rows = [[0] * (size + 1)]
    for claim in claims:
        before = rows[-1]
        least = list(accumulate(before, min))
        if claim.elides:
            rows.append(least)
            continue
        skip_costs = [cost + claim.weight for cost in before]
        row = [skip_costs[0], *map(min, skip_costs[1:], skip_costs)]
        for at, cost in claim.costs.items():
            entry_cost = (
                before[at]
                if claim.joined
                else min(
                    before[at],
                    min(before[max(0, at - SMALL_GAP_LINES) : at + 1]) + SMALL_GAP_COST,
                    least[at] + GAP_COST,
                )
            )
            row[at + 1] = min(row[at + 1], entry_cost + cost)
        rows.append(row)
    return rows


def _backward(claims: Sequence[_Claim], size: int) -> list[list[int]]:
    """Compute, for each number of aligned claims, the least cost of the rest from each file line on."""
    rows = [[0] * (size + 1)]
    for claim in reversed(claims):
        after = rows[-1]
        if claim.elides:
            rows.append(list(accumulate(reversed(after), min))[::-1])
            continue
        skip_costs = [cost + claim.weight for cost in after]
        row = [*map(min, skip_costs, skip_costs[1:]), skip_costs[-1]]
        match_costs = [INFINITE_COST] * (size + 1)
        for at, cost in claim.costs.items():
            match_costs[at] = after[at + 1] + cost
        row = list(map(min, row, match_costs))
        if not claim.joined and claim.costs:
            row = [
                min(cost, later + GAP_COST)
                for cost, later in zip(row, list(accumulate(reversed(match_costs), min))[::-1], strict=True)
            ]
            for at in claim.costs:
                for earlier in range(max(0, at - SMALL_GAP_LINES), at):
                    row[earlier] = min(row[earlier], match_costs[at] + SMALL_GAP_COST)
        rows.append(row)
    return rows[::-1]


def _pairs(
    claims: Sequence[_Claim], rows: Sequence[Sequence[int]], text: LineIndex
) -> list[tuple[HunkLine, str]]:
    """Return the claims that match on one of the cheapest alignments, with the file's lines."""
    pairs: list[tuple[HunkLine, str]] = []
    at = min(range(len(rows[-1])), key=rows[-1].__getitem__)
    for index in range(len(claims) - 1, -1, -1):
        claim, before, cost = claims[index], rows[index], rows[index + 1][at]
        if claim.elides:
            at = max(earlier for earlier in range(at + 1) if before[earlier] == cost)
            continue
        start = _entry_position(claim, before, at, cost)
        if start is not None:
            pairs.append((claim.line, text.lines[at - 1]))
            at = start
        elif at and before[at - 1] + claim.weight == cost:
            at -= 1
    return pairs[::-1]


def _entry_position(claim: _Claim, before: Sequence[int], at: int, cost: int) -> int | None:
    """Return the file position before a claim that matches the line above `at`.

    None where it does not match there.
    """
    match_cost = claim.costs.get(at - 1)
    if match_cost is None:
        return None
    if before[at - 1] + match_cost == cost:
        return at - 1
    if claim.joined:
        return None
    positions = (
        earlier
        for earlier in range(at - 1, -1, -1)
        if before[earlier]
        + (SMALL_GAP_COST if at - 1 - earlier <= SMALL_GAP_LINES else GAP_COST)
        + match_cost
        == cost
    )
    return next(positions, None)


LOOK_ALIKES = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\u3000", " "),
    **dict.fromkeys("\u200b\u2060\ufeff", ""),
    "\u2026": "...",
}
"""Punctuation and spaces that readers and models mistake for ASCII characters."""
TO_ASCII = str.maketrans(LOOK_ALIKES)
ELLIPSIS = re.compile(
    r"(?:#|//|--|/\*+|<!--|;|%|\[|\()?\s*(?:\.{3,}|\u2026)"
    r"(?:[\w ,'-]*\b(?:code|lines?|rest|existing|unchanged|omitted|same|before|file"
    r"|method|function)\b[\w ,'-]*)?"
    r"(?:\.{3,}|\u2026)?\s*(?:\*/|-->|\]|\))?"
)


def normalize_line(text: str) -> str:
    """Normalize a line for the most lenient comparison: invisible differences are dropped."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.translate(TO_ASCII))
    return " ".join(text.split())


def to_ascii(text: str) -> str:
    """Return the line in ASCII punctuation, without trailing white space."""
    return (
        text.rstrip() if text.isascii() else unicodedata.normalize("NFC", text.translate(TO_ASCII)).rstrip()
    )


def equal_exactly(line: HunkLine, actual: str) -> bool:
    return line.text == actual


def equal_ignoring_trailing_space(line: HunkLine, actual: str) -> bool:
    return line.text.rstrip() == actual.rstrip()


def equal_ignoring_lost_mark(line: HunkLine, actual: str) -> bool:
    """Tell whether the lines are equal if a context line's first space was taken for its lost mark."""
    return equal_ignoring_trailing_space(line, actual) or (
        line.mark == " " and f" {line.text}".rstrip() == actual.rstrip()
    )


def equal_ignoring_look_alikes(line: HunkLine, actual: str) -> bool:
    return to_ascii(line.text) == to_ascii(actual)


COMPARISONS: Sequence[LineComparison] = (
    equal_exactly,
    equal_ignoring_trailing_space,
    equal_ignoring_lost_mark,
    equal_ignoring_look_alikes,
)


def is_elision(line: HunkLine) -> bool:
    """Tell whether a context line only stands for omitted lines."""
    return line.mark == " " and ELLIPSIS.fullmatch(line.text.strip()) is not None


AROUND = 3
MORE_AROUND = 8
"""Further lines for each time that the hunk has failed before."""
MOST_SHOWN = 28
LONGEST = 160
MOST_MISFITS = 2
MOST_MISSING = 3
COMPARED_LINES = 4
COMPARED_WITH = 5_000


def explain_misfits(
    path: str,
    results: Sequence[MatchResult],
    lines: Sequence[str],
    *,
    failed_before: Mapping[str, int],
    most_lines: int,
) -> PatchError:
    """Return an error with a paragraph for each hunk that does not fit, and the hunks that do."""
    misfits = [result for result in results if isinstance(result, Misfit)]
    text = LineIndex(lines)
    room = most_lines // min(len(misfits), MOST_MISFITS) - 4
    parts = []
    for misfit in misfits[:MOST_MISFITS]:
        times = failed_before.get(misfit.hunk.fingerprint, 0)
        max_lines = min(room, MOST_SHOWN if not times else most_lines)
        repeat_note = " It was sent before and has not changed." if times else ""
        reason = _reason(path, misfit, text=text, around=AROUND + MORE_AROUND * times, most_lines=max_lines)
        parts.append(f"{path}, hunk {misfit.hunk.number} of {len(results)}:{repeat_note} {reason}")
    if len(misfits) > MOST_MISFITS:
        parts.append(f"{path}: {_hunk_numbers(misfits[MOST_MISFITS:])} would not fit either.")
    if fitting := [result for result in results if not isinstance(result, Misfit)]:
        parts.append(f"{path}: {_hunk_numbers(fitting)} would fit.")
    return PatchError("\n".join(parts), failed=[misfit.hunk.fingerprint for misfit in misfits])


def _hunk_numbers(results: Sequence[MatchResult]) -> str:
    return f"hunk{'s' if len(results) > 1 else ''} {', '.join(str(result.hunk.number) for result in results)}"


def _reason(path: str, misfit: Misfit, *, text: LineIndex, around: int, most_lines: int) -> str:
    if misfit.places:
        return _ambiguous(misfit.places)
    if not misfit.hunk.old_lines:
        return (
            "it has no context, so its place is unknown. Add one or more unchanged lines "
            "before or after what it adds."
        )
    if find_contiguous(misfit.hunk.new_lines, text):
        return "what it adds is there already. Leave this hunk out."
    at = nearest_position(misfit.hunk, text)
    if at is None:
        return f"none of its context and removed lines is in the file. Read {path} before patching it."
    return _difference(misfit.hunk, text.lines, at, around=around, most_lines=most_lines)


def _ambiguous(places: Sequence[int]) -> str:
    line_numbers = ", ".join(str(max(0, place) + 1) for place in places[:8]) + (
        ", ..." if len(places) > 8 else ""
    )
    return (
        f"it fits {len(places)} places equally well (lines {line_numbers}). Add context lines "
        "that only the right place has, "
        "or name the enclosing function after the second @@."
    )


def nearest_position(hunk: PatchHunk, text: LineIndex) -> int | None:
    """Return the index where most of the hunk's old lines are, ignoring white space.

    Else that of the most similar line.
    """
    votes: Counter[int] = Counter()
    for index, line in enumerate(hunk.old_lines):
        line_key = normalize_line(line.text)
        for at in text.positions_by_key.get(line_key, [])[:50] if line_key else []:
            votes[at - index] += len(line_key)
    if votes:
        return max(0, max(votes, key=lambda at: (votes[at], -abs(at - (hunk.start - 1)))))
    longest = sorted(enumerate(hunk.old_lines), key=lambda pair: -len(normalize_line(pair[1].text)))[
        :COMPARED_LINES
    ]
    candidates = [text for text in text.positions_by_key if text and len(text) < LONGEST][:COMPARED_WITH]
    for index, line in longest:
        if matches := difflib.get_close_matches(
            normalize_line(line.text)[:LONGEST], candidates, n=1, cutoff=0.6
        ):
            return max(0, text.positions_by_key[matches[0]][0] - index)
    return None


def _difference(hunk: PatchHunk, lines: Sequence[str], at: int, *, around: int, most_lines: int) -> str:
    around = max(0, min(around, (most_lines - len(hunk.old_lines)) // 2))
    first, last = max(0, at - around), min(len(lines), at + len(hunk.old_lines) + around)
    last = min(last, first + most_lines)
    file_keys = {normalize_line(line) for line in lines[first:last]}
    missing = [line for line in hunk.old_lines if normalize_line(line.text) not in file_keys]
    excerpt = "\n".join(f"{number + 1:>6}| {lines[number][:LONGEST]}" for number in range(first, last))
    if not missing:
        return f"its context and removed lines do not stand together as it says. The file has:\n{excerpt}"
    quoted = " and ".join(repr((line.mark + line.text)[:LONGEST]) for line in missing[:MOST_MISSING])
    subject = f"its line {quoted} is" if len(missing) < 2 else f"its lines {quoted} are"
    return f"{subject} not there. The file has, nearest to it:\n{excerpt}"


Pairs = Sequence[tuple[HunkLine, str]]


@dataclass(frozen=True, kw_only=True)
class Style:
    """Differences between how a hunk and the file write the same lines."""

    indents: Mapping[str, str]
    """The file's leading white space for each that occurs in the hunk; empty: the same."""
    signs: Mapping[str, str]
    """The file's character for each look-alike in the hunk."""
    carried: Pairs
    """Lines that the hunk removes and that the file has with other characters."""


def learn_style(pairs: Pairs) -> Style | None:
    """Learn the style from pairs of a hunk's line and the file's; None where they contradict each other."""
    if all(line.text == actual for line, actual in pairs):
        return Style(indents={}, signs={}, carried=())
    words = [(line, actual) for line, actual in pairs if line.text.strip()]
    indents = _indents(words)
    if indents is None:
        return None
    different = [(line, actual) for line, actual in words if line.text.split() != actual.split()]
    return Style(
        indents=indents,
        signs=_look_alikes(different),
        carried=[(line, actual) for line, actual in different if line.mark == "-"],
    )


def restyle_run(run: ChangedRun, style: Style) -> tuple[HunkLine, ...] | None:
    """Return the run's added lines in the file's style; None where their indentation cannot be determined."""
    result = []
    for line in run.added:
        text = line.text.removesuffix("\r")
        text = "".join(style.signs.get(sign, sign) for sign in text)
        text = _restore_characters(text, style.carried) if style.carried else text
        indented = _reindent(text, style.indents)
        if indented is None:
            return None
        result.append(HunkLine(mark="+", text=indented, ends=line.ends))
    return tuple(result)


def _depth(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def _indents(pairs: Pairs) -> dict[str, str] | None:
    """Map each indentation of the hunk to the file's, from its removed lines, else from its context.

    A context line that is one space short has lost its mark, and is ignored.
    """
    removed = {(_depth(line.text), _depth(actual)) for line, actual in pairs if line.mark == "-"}
    context = {(_depth(line.text), _depth(actual)) for line, actual in pairs if line.mark == " "}
    same = all(hunk_indent == file_indent for hunk_indent, file_indent in context)
    if removed and _is_function(removed) and (same or not _is_function(removed | context)):
        context = set()
    elif not removed or all(hunk_indent == file_indent for hunk_indent, file_indent in removed):
        context = {
            (hunk_indent, file_indent)
            for hunk_indent, file_indent in context
            if file_indent != f" {hunk_indent}"
        }
    mapping = removed | context
    if all(hunk_indent == file_indent for hunk_indent, file_indent in mapping):
        return {}
    return dict(mapping) if _is_function(mapping) else None


def _is_function(pairs: set[tuple[str, str]]) -> bool:
    """Tell whether the pairs map each first element to only one second element."""
    return len({hunk_indent for hunk_indent, _ in pairs}) == len(pairs)


def _reindent(text: str, indents: Mapping[str, str]) -> str | None:
    """Return the text with the file's indentation, extrapolated from the nearest known one.

    None where impossible.
    """
    own_indent = _depth(text)
    if not indents or not text.strip():
        return "" if indents and text == " " else text
    if own_indent in indents:
        return indents[own_indent] + text[len(own_indent) :]
    if all(
        _convert_tabs(hunk_indent, indents) == file_indent for hunk_indent, file_indent in indents.items()
    ):
        return _convert_tabs(own_indent, indents) + text[len(own_indent) :]
    shorter = max(
        (hunk_indent for hunk_indent in indents if own_indent.startswith(hunk_indent)), key=len, default=None
    )
    if shorter is not None:
        return indents[shorter] + _convert_tabs(own_indent[len(shorter) :], indents) + text[len(own_indent) :]
    longer = min(
        (hunk_indent for hunk_indent in indents if hunk_indent.startswith(own_indent)), key=len, default=None
    )
    if longer is None:
        return None
    rest = _convert_tabs(longer[len(own_indent) :], indents)
    return (
        indents[longer].removesuffix(rest) + text[len(own_indent) :]
        if indents[longer].endswith(rest)
        else None
    )


def _convert_tabs(space: str, indents: Mapping[str, str]) -> str:
    """Convert tabs to spaces or spaces to tabs, where the file differs from the hunk in that way."""
    for hunk_indent, file_indent in indents.items():
        tabs, spaces = (hunk_indent, file_indent) if "\t" in hunk_indent else (file_indent, hunk_indent)
        if not (tabs.strip("\t") or spaces.strip(" ")) and tabs and spaces and len(spaces) % len(tabs) == 0:
            unit = " " * (len(spaces) // len(tabs))
            return space.replace("\t", unit) if tabs is hunk_indent else space.replace(unit, "\t")
    return space


def _look_alikes(pairs: Pairs) -> dict[str, str]:
    """Map the hunk's look-alikes to the ASCII characters that the file has."""
    return {
        sign: LOOK_ALIKES[sign]
        for line, actual in pairs
        for sign in set(line.text) - set(actual)
        if sign in LOOK_ALIKES
    }


def _restore_characters(text: str, pairs: Pairs) -> str:
    """Return the text with the file's own characters where it repeats a removed line."""
    best, actual = max(
        ((line.text, actual) for line, actual in pairs),
        key=lambda pair: difflib.SequenceMatcher(None, pair[0], text).ratio(),
    )
    if len(best.strip()) != len(actual.strip()) or to_ascii(best.strip()) != to_ascii(actual.strip()):
        return text
    lead, shift = len(_depth(best)), len(_depth(actual)) - len(_depth(best))
    result = list(text)
    for start, new_start, size in difflib.SequenceMatcher(
        None, best, text, autojunk=False
    ).get_matching_blocks():
        for index in range(max(0, lead - start), size):
            result[new_start + index] = (
                actual[start + index + shift]
                if start + index + shift < len(actual)
                else text[new_start + index]
            )
    return "".join(result)
