"""Say why a hunk does not fit, with the real lines, so that the next try succeeds."""

import difflib
from collections import Counter
from collections.abc import Sequence

from coder.tools.patching.match import Misfit, Placed
from coder.tools.patching.parse import Hunk, Line

AROUND = 3
MOST_LINES = 28
LONGEST = 160
COMPARED_LINES = 4
COMPARED_WITH = 5_000


def explained(path: str, results: Sequence[Placed | Misfit], lines: Sequence[str]) -> str:
    """One paragraph for each hunk of a file that does not fit, and which of them do."""
    wrong = [result for result in results if isinstance(result, Misfit)]
    parts = [_misfit(path, misfit, lines=lines, total=len(results)) for misfit in wrong[:2]]
    if len(wrong) > 2:
        parts.append(f"{path}: hunks {', '.join(str(misfit.hunk.number) for misfit in wrong[2:])} do not fit either.")
    if fine := [str(result.hunk.number) for result in results if isinstance(result, Placed)]:
        parts.append(f"{path}: hunk{'s' if len(fine) > 1 else ''} {', '.join(fine)} would fit.")
    return "\n".join(parts)


def _misfit(path: str, misfit: Misfit, *, lines: Sequence[str], total: int) -> str:
    head = f"{path}, hunk {misfit.hunk.number} of {total}: "
    if misfit.places:
        return head + _ambiguous(misfit.places)
    if not misfit.hunk.old:
        return head + "it has no context, so its place is unknown. Add one or more unchanged lines before or after what it adds."
    if _stands(misfit.hunk.new, lines):
        return head + "what it adds is there already. Leave this hunk out."
    at = nearest(misfit.hunk, lines)
    if at is None:
        return head + f"none of its context and removed lines is in the file. Read {path} before patching it."
    return head + _difference(misfit.hunk, lines, at)


def _ambiguous(places: Sequence[int]) -> str:
    shown = ", ".join(str(place + 1) for place in places[:8]) + (", ..." if len(places) > 8 else "")
    return (
        f"it fits {len(places)} places equally well (lines {shown}). Add context lines that only the right place has, "
        "or name the enclosing function after the second @@."
    )


def _stands(wanted: Sequence[Line], lines: Sequence[str]) -> bool:
    """Are the hunk's new lines in the file as they are?"""
    texts = [line.text.rstrip() for line in wanted]
    return bool(texts) and any([line.rstrip() for line in lines[at : at + len(texts)]] == texts for at in range(len(lines)))


def nearest(hunk: Hunk, lines: Sequence[str]) -> int | None:
    """The index where most of the hunk's old lines stand, white space aside; by the most alike line where none does."""
    stripped = [line.strip() for line in lines]
    where: dict[str, list[int]] = {}
    for index, text in enumerate(stripped):
        where.setdefault(text, []).append(index)
    votes: Counter[int] = Counter()
    for index, line in enumerate(hunk.old):
        found = where.get(line.text.strip(), []) if line.text.strip() else []
        for at in found[:50]:
            votes[at - index] += len(line.text.strip())
    if votes:
        return max(0, max(votes, key=lambda at: (votes[at], -abs(at - (hunk.start - 1)))))
    longest = sorted(enumerate(hunk.old), key=lambda pair: -len(pair[1].text.strip()))[:COMPARED_LINES]
    candidates = [text for text in where if text and len(text) < LONGEST][:COMPARED_WITH]
    for index, line in longest:
        if alike := difflib.get_close_matches(line.text.strip()[:LONGEST], candidates, n=1, cutoff=0.6):
            return max(0, where[alike[0]][0] - index)
    return None


def _difference(hunk: Hunk, lines: Sequence[str], at: int) -> str:
    missing = next((line for index, line in enumerate(hunk.old) if not _same(line, lines, at + index)), hunk.old[0])
    first, last = max(0, at - AROUND), min(len(lines), at + len(hunk.old) + AROUND)
    last = min(last, first + MOST_LINES)
    shown = "\n".join(f"{number + 1:>6}| {lines[number][:LONGEST]}" for number in range(first, last))
    return f"its line {(missing.mark + missing.text)[:LONGEST]!r} is not there. The file has, nearest to it:\n{shown}"


def _same(line: Line, lines: Sequence[str], index: int) -> bool:
    return index < len(lines) and line.text.rstrip() == lines[index].rstrip()
