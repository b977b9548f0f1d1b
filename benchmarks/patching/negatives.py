"""Diffs that must be refused because of their lines."""

import re
from copy import deepcopy
from random import Random

from benchmarks.patching.cases import Case, Hunk, Part, Row, apply_hunks, enclosing_line
from benchmarks.patching.certainty import fold, starts
from benchmarks.patching.damage import Table
from benchmarks.patching.damaged_files import apply_beforehand, plant_copy

REFUSED_LINES = Table()
SAFE = (
    "undamaged",
    "wrong counts",
    "no a/ and b/",
    "Markdown fence",
    "prose around",
    "CRLF diff",
    "blank context without its space",
)
"""Damages that do not affect the place."""
WORD = re.compile(r"[A-Za-z_]{2,}|[0-9]+")


@REFUSED_LINES.add("removes what is not there", stage=0)
def make_stale(case: Case, random: Random) -> bool:
    """Replace a word in the file, in one of the lines to be removed."""
    row, part = _removed_row(case, random)
    if row is None or part is None:
        return False
    lines = case.before[part.path].lines
    lines[row.at] = reword(lines[row.at], random)
    case.note = f"The file has {lines[row.at]!r} for {row.text!r}."
    gone = fold(row.text) not in map(fold, lines) and fold(lines[row.at]) not in {
        fold(line) for line in case.after[part.target].lines
    }
    return gone and fold(lines[row.at]) != fold(row.text)


@REFUSED_LINES.add("removes what was deleted", stage=0)
def remove_old_line(case: Case, random: Random) -> bool:
    row, part = _removed_row(case, random)
    if row is None or part is None:
        return False
    lines = case.before[part.path].lines
    del lines[row.at]
    case.note = f"The file has no {row.text!r}."
    hunk = next(hunk for hunk in part.hunks if any(other is row for other in hunk.rows))
    return fold(row.text) not in map(fold, lines) and not starts([other.text for other in hunk.new], lines)


@REFUSED_LINES.add("made for another version", stage=0)
def use_other_version(case: Case, random: Random) -> bool:
    """Replace the diff's file by a neighbour that does not contain the lines to be removed."""
    row, part = _removed_row(case, random)
    others = [text for path, text in case.before.items() if part and path != part.path and text.lines]
    if row is None or part is None or not others:
        return False
    case.before[part.path] = deepcopy(random.choice(others))
    return fold(row.text) not in map(fold, case.before[part.path].lines)


@REFUSED_LINES.add("inserts beside what is not there", stage=0)
def make_insertion_stale(case: Case, random: Random) -> bool:
    part = random.choice(case.changed) if case.changed else None
    hunks = [hunk for hunk in part.hunks if all(row.mark != "-" for row in hunk.rows)] if part else []
    if part is None or not hunks:
        return False
    lines = case.before[part.path].lines
    hunk = random.choice(hunks)
    for row in hunk.old:
        lines[row.at] = (
            reword(reword(lines[row.at], random), random) + "_"
            if WORD.search(lines[row.at])
            else lines[row.at]
        )
    texts = [row.text for row in hunk.old if WORD.search(row.text)]
    return bool(texts) and not any(fold(text) in map(fold, lines) for text in texts)


@REFUSED_LINES.add("twins, nothing tells", stage=0)
def add_twins(case: Case, random: Random) -> bool:
    hunk = plant_copy(case, random)
    if hunk:
        hunk.header, hunk.start = random.choice(("@@", "@@ @@", "@@ ... @@")), 0
    return bool(hunk)


@REFUSED_LINES.add("twins, a line number beside", stage=0)
def add_nearby_twins(case: Case, random: Random) -> bool:
    hunk = plant_copy(case, random)
    if not hunk:
        return False
    positions = starts([row.text for row in hunk.old], case.before[case.changed[0].path].lines)
    hunk.start, hunk.section = hunk.start + random.choice((-3, -2, -1, 1, 2, 3)), ""
    return hunk.start > 0 and hunk.start - 1 not in positions and len(case.changed[0].hunks) == 1


@REFUSED_LINES.add("twins in one function", stage=0)
def add_twins_in_function(case: Case, random: Random) -> bool:
    """Put both copies into the function that the header names."""
    part = case.changed[0] if case.changed else None
    if part is None or len(part.hunks) != 1 or not part.hunks[0].old:
        return False
    hunk, lines = part.hunks[0], case.before[part.path].lines
    texts = [row.text for row in hunk.old]
    opener = enclosing_line(lines, hunk.old[0].at)
    shallow = opener < 0 or any(
        text.strip() and len(text) - len(text.lstrip()) <= _depth(lines[opener]) for text in texts
    )
    if (
        shallow
        or not lines[opener].endswith(":")
        or len(starts(texts, lines)) != 1
        or not WORD.search(" ".join(texts))
    ):
        return False
    hunk.header, hunk.start = f"@@ {lines[opener].strip()}", 0
    lines[opener + 1 : opener + 1] = texts
    return len(starts(texts, lines)) == 2 and opener + 1 + len(texts) < hunk.old[0].at + len(texts)


@REFUSED_LINES.add("twins by basename", stage=0)
def add_same_basename(case: Case, random: Random) -> bool:
    """Give only the file's own name, and add a second file of that name with the same content."""
    if len(case.changed) != 1 or len(case.parts) != 1 or "/" not in case.parts[0].path:
        return False
    part = case.parts[0]
    name = part.path.rpartition("/")[2]
    part.git, part.old, part.new = [], f"a/{name}", f"b/{name}"
    case.before[f"other/{name}"] = deepcopy(case.before[part.path])
    return name not in case.before and f"other/{name}" != part.path


@REFUSED_LINES.add("hunks that contradict", stage=0)
def contradict_rows(case: Case, random: Random) -> bool:
    matches = [
        (part, hunk)
        for part in case.changed
        for hunk in part.hunks
        if {"+", "-"} <= {row.mark for row in hunk.rows}
    ]
    if not matches:
        return False
    part, hunk = random.choice(matches)
    other = deepcopy(hunk)
    row = next(row for row in other.rows if row.mark == "+")
    row.text = reword(row.text, random) if WORD.search(row.text) else row.text + " other"
    part.hunks.insert(part.hunks.index(hunk) + 1, other)
    return fold(row.text) not in {fold(row.text) for row in hunk.rows}


@REFUSED_LINES.add("applied already", stage=0)
def apply_all_beforehand(case: Case, random: Random) -> bool:
    case.parts = case.changed
    for part in case.parts:
        case.before[part.path].lines = apply_hunks(case.before[part.path].lines, part.hunks)
        lines = case.before[part.path].lines
        if any(starts([row.text for row in hunk.old], lines) or not hunk.old for hunk in part.hunks):
            return False
    return bool(case.parts)


@REFUSED_LINES.add("one hunk of several is stale", stage=0)
def make_partly_stale(case: Case, random: Random) -> bool:
    return len(case.hunks) > 1 and make_stale(case, random)


@REFUSED_LINES.add("stale beside an applied hunk", stage=0)
def make_stale_and_applied(case: Case, random: Random) -> bool:
    if not apply_beforehand(case, random):
        return False
    applied = [hunk for hunk in case.hunks if hunk.applied]
    return make_stale(case, random) and not any(
        hunk is not other and not hunk.applied for hunk in applied for other in applied
    )


@REFUSED_LINES.add("added lines alone, no place", stage=0)
def drop_place(case: Case, random: Random) -> bool:
    matches = [part for part in case.changed if case.before[part.path].lines]
    if not matches:
        return False
    part = random.choice(matches)
    part.hunks = [
        Hunk(rows=[Row(mark="+", text="import something", at=0)], start=0, new_start=0, header="@@")
    ]
    return True


def _removed_row(case: Case, random: Random) -> tuple[Row | None, Part | None]:
    """Return a removed line with a word in it, and its part."""
    matches = [
        (row, part)
        for part in case.changed
        for hunk in part.hunks
        if not hunk.applied
        for row in hunk.rows
        if row.mark == "-" and WORD.search(row.text)
    ]
    return random.choice(matches) if matches else (None, None)


def reword(line: str, random: Random) -> str:
    """Return the line with another word or number in it."""
    words = list(WORD.finditer(line))
    if not words:
        return line
    word = random.choice(words)
    other = (
        str(int(word[0]) + 1)
        if word[0].isdigit()
        else random.choice((f"{word[0]}_old", f"not_{word[0]}", word[0][::-1] + "x"))
    )
    return line[: word.start()] + other + line[word.end() :]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
