"""Explanation of hunks that do not fit, with the file's actual lines, for the next attempt."""

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence

from coder.patching.dialects.hunk import PatchHunk
from coder.patching.errors import PatchError
from coder.patching.matching.compare import normalize_line
from coder.patching.matching.indexed import LineIndex
from coder.patching.matching.match import MatchResult, Misfit, find_contiguous

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
