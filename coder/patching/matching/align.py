"""Alignment of a hunk with partly wrong context: global alignment with free ends.

The hunk's old lines ("claims") are aligned with the file's lines at the least cost, as in sequence alignment
(Needleman and Wunsch 1970). A claim that is missing from the file costs its weight, and skipped file lines
cost a gap penalty. A place counts only where it is better than every other by a whole line, where all removed
lines are present, and enough of the rest. Removed lines are weighted like context: where the file has other
lines in the right surroundings, that place is the best one, and the hunk is stale.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import add

from coder.patching.dialects.hunk import ChangedRun, HunkLine, PatchHunk
from coder.patching.matching.compare import is_elision, normalize_line, to_ascii
from coder.patching.matching.indexed import LineIndex

LINE_WEIGHT = 1000
"""The weight of a line of text."""
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
class Alignment:
    """The aligned position of each run of changed lines of a hunk."""

    spots: tuple[int, ...]
    pairs: tuple[tuple[HunkLine, str], ...]
    """Old lines of the hunk found in the file, each with the file's version."""
    cost: int
    places: tuple[int, ...] = ()
    """Other positions where the first run fits nearly as well; empty where the place is certain."""


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
        _run_starts(claims, run, list(map(add, forward[run.old_end], backward[run.old_end])), text)
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


def _run_starts(
    claims: Sequence[_Claim], run: ChangedRun, totals: Sequence[int], text: LineIndex
) -> tuple[int, ...]:
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
    return (
        best_end - size,
        *(at for at in alternatives if not _is_equivalent(run, text.lines, best_end - size, at)),
    )


def _is_equivalent(run: ChangedRun, lines: Sequence[str], place: int, other_place: int) -> bool:
    """Tell whether a change at either of two places gives the same file.

    An example is the removal of one of several blank lines.
    """
    first, last, size = min(place, other_place), max(place, other_place), len(run.removed)
    added = [line.text for line in run.added]
    return [*added, *lines[first + size : last + size]] == [*lines[first:last], *added]


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
