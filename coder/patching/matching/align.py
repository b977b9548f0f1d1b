"""Find the one place where a hunk fits best although its context is partly wrong: a global alignment with free ends.

What a hunk claims is laid along the file at the least cost, as in sequence alignment (Needleman and Wunsch 1970). A claim that is not
there costs its weight, and so do file lines that the hunk passes over, once for each gap. A place counts only where it is better than
every other by a whole line, where all that is removed is really there, and where enough of the rest is. Removed lines are weighed like
context: where the file has other lines in the right surroundings, that place is the best one, and the hunk is stale.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import add

from coder.patching.dialects.hunk import Hunk, Line, Run
from coder.patching.matching.compare import is_elision, key, plain
from coder.patching.matching.indexed import Indexed

LINE = 1000
"""The weight of a line of text."""
WORDLESS = 250
"""The weight of a short line without a word, such as a bracket."""
WORDLESS_LENGTH = 3
SHIFTED = 1
"""The cost of a line whose indentation differs; costs without it are multiples of `WORDLESS`."""
PARAPHRASED = 250
"""The cost of a comment in other words."""
GAP = LINE
"""The cost of file lines that the hunk passes over, however many."""
SMALL_GAP = 250
"""The same where they are few, as when context was left out."""
FEW = 5
MARGIN = 3
"""By so many times `WORDLESS` must a place be better than one far away."""
BESIDE = 5
"""Another reading of the same place begins at most so many lines, and the hunk's length, away from it."""
LARGEST = 3_000_000
"""Lines of the hunk times lines of the file."""
NEVER = 1 << 30
COMMENT = re.compile(r"\s*(?:#|//|--|/\*)\s*(\S.*)")


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """Where each run of changed lines of a hunk belongs."""

    spots: tuple[int, ...]
    pairs: tuple[tuple[Line, str], ...]
    """Old lines of the hunk that are in the file, and how the file has them."""
    cost: int
    places: tuple[int, ...] = ()
    """Where else the first run would fit nearly as well; empty where the place is certain."""


@dataclass(frozen=True, kw_only=True)
class _Claim:
    line: Line
    weight: int
    costs: dict[int, int]
    """Indices of the file's lines that it may be, and what each costs."""
    joined: bool
    """Nothing may lie between it and the line before it."""
    elides: bool


def align(hunk: Hunk, text: Indexed) -> Alignment | None:
    """Lay the hunk's old lines along the file; None where no place is good enough."""
    if len(hunk.old) * len(text.lines) > LARGEST:
        return None
    claims = _claims(hunk, text)
    if not all(claim.costs for claim in claims if claim.line.mark == "-"):
        return None
    forward, backward = _forward(claims, len(text.lines)), _backward(claims, len(text.lines))
    found = [
        _spot(claims, run, list(map(add, forward[run.end], backward[run.end])), text) for run in hunk.runs
    ]
    spots = [places[0] for places in found if places]
    ends = [spot + len(run.removed) for run, spot in zip(hunk.runs, spots, strict=False)]
    if len(spots) < len(found) or any(end > spot for end, spot in zip(ends, spots[1:], strict=False)):
        return None
    pairs = _pairs(claims, forward, text)
    cost = min(forward[-1])
    found_lines = [line for line, actual in pairs if key(line.text) == key(actual)]
    found_weight = sum(map(_weight, found_lines)) if any(_has_words(line) for line in found_lines) else 0
    if (
        found_weight < LINE
        or 2 * cost > found_weight + LINE
        or 3 * _context(line for line, _ in pairs) < _context(hunk.old)
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
        places=next((places for places in found if len(places) > 1), ()),
    )


def _spot(claims: Sequence[_Claim], run: Run, totals: Sequence[int], text: Indexed) -> tuple[int, ...]:
    """Where a run begins: the best place first, then those that are nearly as good; empty where it is stale.

    `totals` has the cost of the whole hunk if the run ends above each line. Places where other lines stand instead of what is to be
    removed make it stale if they are as good. Where all is there but for the indentation, only
    another such place is as good, or a less perfect one with the right indentation.
    """
    size = len(run.removed)
    firm = claims[run.old_index : run.end]
    whole = {
        at
        for at in range(size, len(totals))
        if all(at - size + index in claim.costs for index, claim in enumerate(firm))
    }
    best = min(whole, key=totals.__getitem__, default=None)
    if best is None:
        return ()
    least, shifts = divmod(totals[best], WORDLESS)
    near: list[int] = []
    for at, total in enumerate(totals):
        beside = abs(at - best) <= len(claims) + BESIDE
        perfect = not least and (not shifts or total % WORDLESS)
        margin = 1 if perfect or beside else MARGIN
        if at != best and total // WORDLESS < least + margin:
            near.append(at - size)
    if any(at + size not in whole for at in near):
        return ()
    return (best - size, *(at for at in near if not _same(run, text.lines, best - size, at)))


def _same(run: Run, lines: Sequence[str], one: int, other: int) -> bool:
    """Is the file the same afterwards whichever of two places is changed, as when one of several blank lines is removed?"""
    first, last, size = min(one, other), max(one, other), len(run.removed)
    added = [line.text for line in run.added]
    return [*added, *lines[first + size : last + size]] == [*lines[first:last], *added]


def _claims(hunk: Hunk, text: Indexed) -> list[_Claim]:
    insertions = {run.old_index for run in hunk.runs if not run.removed}
    starts = {run.old_index for run in hunk.runs}
    claims: list[_Claim] = []
    for index, line in enumerate(hunk.old):
        elides = is_elision(line)
        costs = {
            at: _cost(line, text.lines[at]) for at in text.where.get(key(line.text), ())
        } or _paraphrases(line, text)
        firm = line.mark == "-" and index > 0 and hunk.old[index - 1].mark == "-" and index not in starts
        joined = index > 0 and (firm or index in insertions)
        weight = 0 if elides else _weight(line)
        claims.append(_Claim(line=line, weight=weight, costs=costs, joined=joined, elides=elides))
    return claims


def _paraphrases(line: Line, text: Indexed) -> dict[int, int]:
    """Comments of the file that share most words with a comment in the context."""
    if line.mark != " " or not (said := COMMENT.match(line.text)):
        return {}
    words = set(said[1].lower().split())
    found: dict[int, int] = {}
    for other, places in text.where.items():
        if (match := COMMENT.match(other)) and 2 * len(words.intersection(match[1].lower().split())) > max(
            2, len(words)
        ):
            found |= dict.fromkeys(places, PARAPHRASED)
    return found


def _weight(line: Line) -> int:
    text = line.text.strip()
    return LINE if line.mark == "-" or len(text) > WORDLESS_LENGTH or _has_words(line) else WORDLESS


def _has_words(line: Line) -> bool:
    return any(map(str.isalnum, line.text))


def _context(lines: Iterable[Line]) -> int:
    return sum(_weight(line) for line in lines if line.mark == " " and not is_elision(line))


def _cost(line: Line, actual: str) -> int:
    if not actual.strip() or plain(line.text) == plain(actual):
        return 0
    return 0 if line.mark == " " and plain(f" {line.text}") == plain(actual) else SHIFTED


def _forward(claims: Sequence[_Claim], size: int) -> list[list[int]]:
    """For each number of claims laid down, the least cost with the next line of the file to come being each of its lines."""
    rows = [[0] * (size + 1)]
    for claim in claims:
        before = rows[-1]
        least = list(accumulate(before, min))
        if claim.elides:
            rows.append(least)
            continue
        missed = [cost + claim.weight for cost in before]
        row = [missed[0], *map(min, missed[1:], missed)]
        for at, cost in claim.costs.items():
            reached = (
                before[at]
                if claim.joined
                else min(before[at], min(before[max(0, at - FEW) : at + 1]) + SMALL_GAP, least[at] + GAP)
            )
            row[at + 1] = min(row[at + 1], reached + cost)
        rows.append(row)
    return rows


def _backward(claims: Sequence[_Claim], size: int) -> list[list[int]]:
    """For each number of claims laid down, the least cost of all further ones from each line of the file on."""
    rows = [[0] * (size + 1)]
    for claim in reversed(claims):
        after = rows[-1]
        if claim.elides:
            rows.append(list(accumulate(reversed(after), min))[::-1])
            continue
        missed = [cost + claim.weight for cost in after]
        row = [*map(min, missed, missed[1:]), missed[-1]]
        found = [NEVER] * (size + 1)
        for at, cost in claim.costs.items():
            found[at] = after[at + 1] + cost
        row = list(map(min, row, found))
        if not claim.joined and claim.costs:
            row = [
                min(cost, later + GAP)
                for cost, later in zip(row, list(accumulate(reversed(found), min))[::-1], strict=True)
            ]
            for at in claim.costs:
                for earlier in range(max(0, at - FEW), at):
                    row[earlier] = min(row[earlier], found[at] + SMALL_GAP)
        rows.append(row)
    return rows[::-1]


def _pairs(claims: Sequence[_Claim], rows: Sequence[Sequence[int]], text: Indexed) -> list[tuple[Line, str]]:
    """The claims that were found on one of the cheapest ways."""
    pairs: list[tuple[Line, str]] = []
    at = min(range(len(rows[-1])), key=rows[-1].__getitem__)
    for index in range(len(claims) - 1, -1, -1):
        claim, before, cost = claims[index], rows[index], rows[index + 1][at]
        if claim.elides:
            at = max(earlier for earlier in range(at + 1) if before[earlier] == cost)
            continue
        start = _entered(claim, before, at, cost)
        if start is not None:
            pairs.append((claim.line, text.lines[at - 1]))
            at = start
        elif at and before[at - 1] + claim.weight == cost:
            at -= 1
    return pairs[::-1]


def _entered(claim: _Claim, before: Sequence[int], at: int, cost: int) -> int | None:
    """Up to where the file was used before the claim was found on the line above `at`; None where it was not found there."""
    own = claim.costs.get(at - 1)
    if own is None:
        return None
    if before[at - 1] + own == cost:
        return at - 1
    if claim.joined:
        return None
    ways = (
        earlier
        for earlier in range(at - 1, -1, -1)
        if before[earlier] + (SMALL_GAP if at - 1 - earlier <= FEW else GAP) + own == cost
    )
    return next(ways, None)
