"""Find the one place where a hunk fits best although its context is partly wrong: a global alignment with free ends.

What a hunk claims is laid along the file at the least cost, as in sequence alignment (Needleman and Wunsch 1970). A claim that is not
there costs its weight, and so do file lines that the hunk passes over, once for each gap. A place counts only where it is better than
every other by a whole line, where all that is removed is really there, and where enough of the rest is. Removed lines are weighed like
context: where the file has other lines in the right surroundings, that place is the best one, and the hunk is stale.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import add

from coder.tools.patching.compare import is_elision, key, plain
from coder.tools.patching.hunk import Hunk, Line
from coder.tools.patching.indexed import Indexed

LINE = 4
"""The weight of a line of text."""
SLIGHT = 1
"""The weight of a line without a word, and the cost of an indentation that differs."""
GAP = LINE
LARGEST = 3_000_000
"""Lines of the hunk times lines of the file."""
NEVER = 1 << 30


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
    if not all(claim.costs for claim in claims if claim.line.mark in "-="):
        return None
    forward, backward = _forward(claims, len(text.lines)), _backward(claims, len(text.lines))
    cost = min(forward[-1])
    pairs = _pairs(claims, forward, text)
    if 2 * cost > sum(_weight(line) for line, _ in pairs) + LINE:
        return None
    spots: list[int] = []
    others: list[int] = []
    for run in hunk.runs:
        size = len(run.removed)
        after = run.old_index + size
        totals = list(map(add, forward[after], backward[after]))
        near = [at for at, total in enumerate(totals) if total < cost + LINE]
        spots.append(totals.index(cost) - size)
        others = others or ([at - size for at in near] if len(near) > 1 else [])
        if any(spots[-1] + index not in claims[run.old_index + index].costs for index in range(size)):
            return None
    if any(claim.line.mark == "=" and not any(line is claim.line for line, _ in pairs) for claim in claims):
        return None
    return Alignment(spots=tuple(spots), pairs=tuple(pairs), cost=cost, places=tuple(others))


def _claims(hunk: Hunk, text: Indexed) -> list[_Claim]:
    insertions = {run.old_index for run in hunk.runs if not run.removed}
    claims: list[_Claim] = []
    for index, line in enumerate(hunk.old):
        elides = is_elision(line)
        costs = {at: _cost(line, text.lines[at]) for at in text.where.get(key(line.text), ())}
        firm = index > 0 and line.mark in "-=" and hunk.old[index - 1].mark in "-="
        joined = index > 0 and (firm or index in insertions)
        weight = 0 if elides else _weight(line)
        claims.append(_Claim(line=line, weight=weight, costs=costs, joined=joined, elides=elides))
    return claims


def _weight(line: Line) -> int:
    return LINE if line.mark in "-=" or any(character.isalnum() for character in line.text) else SLIGHT


def _cost(line: Line, actual: str) -> int:
    if not actual.strip() or plain(line.text) == plain(actual):
        return 0
    return 0 if line.mark == " " and plain(f" {line.text}") == plain(actual) else SLIGHT


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
            reached = before[at] if claim.joined else min(before[at], least[at] + GAP)
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
            row = [min(cost, later + GAP) for cost, later in zip(row, list(accumulate(reversed(found), min))[::-1], strict=True)]
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
    if claim.joined or min(before[:at]) + GAP + own != cost:
        return None
    return max(earlier for earlier in range(at) if before[earlier] + GAP + own == cost)
