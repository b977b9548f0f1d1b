"""Damage to whole hunks and files: their order, their number, and the encoding of the file."""

from copy import deepcopy
from random import Random

from benchmarks.patching.cases import NOWHERE, Case, Hunk, Part, Row, apply_hunks, enclosing_line, shift
from benchmarks.patching.certainty import starts
from benchmarks.patching.damage import Table

FILES = Table()


@FILES.add("CRLF file", stage=0, group="file")
def use_crlf_in_file(case: Case, random: Random) -> bool:
    for part in case.changed:
        case.before[part.path].end = case.after[part.target].end = "\r\n"
    return bool(case.changed)


@FILES.add("byte order mark", stage=0, group="file")
def add_byte_order_mark(case: Case, random: Random) -> bool:
    for part in case.changed:
        case.before[part.path].encoding = case.after[part.target].encoding = "utf-8-sig"
    return bool(case.changed)


@FILES.add("Latin-1 file", stage=0, group="file")
def encode_as_latin_1(case: Case, random: Random) -> bool:
    """Put characters that are not ASCII into a line of the file, and into one of the diff if there is any."""
    for part in case.changed:
        before, after = case.before[part.path], case.after[part.target]
        if (
            not all(line.isascii() for line in (*before.lines, *after.lines))
            or not before.lines
            or not after.lines
        ):
            return False
        before.encoding = after.encoding = "latin-1"
        before.lines.append("# café")
        after.lines.append("# café")
        if (
            any(row.at >= len(before.lines) - 1 for row in part.hunks[-1].rows)
            or not before.final
            or not after.final
        ):
            return False
    return bool(case.changed)


@FILES.add("executable file", stage=0, group="file")
def make_executable(case: Case, random: Random) -> bool:
    for part in case.changed:
        if any(line.startswith(("old mode", "new mode")) for line in part.git):
            return False
        case.before[part.path].executable = case.after[part.target].executable = True
    return bool(case.changed)


@FILES.add("no line end at the end, marker lost", stage=0, group="end")
def drop_no_newline_marker(case: Case, random: Random) -> bool:
    """Cut the file after its last hunk, without a line end there before and after; the diff does not say
    so.
    """
    for part in case.changed:
        rows = part.hunks[-1].rows
        before, after = case.before[part.path], case.after[part.target]
        behind = len(before.lines) - (rows[-1].at + (rows[-1].mark != "+"))
        if rows[-1].mark != " " or behind >= len(after.lines):
            return False
        before.lines, after.lines = (
            before.lines[: len(before.lines) - behind],
            after.lines[: len(after.lines) - behind],
        )
        before.final = after.final = False
        for row in rows:
            row.ends = True
        if not before.lines[-1] or not after.lines[-1]:
            return False
    return bool(case.changed)


@FILES.add("hunks out of order", stage=2, group="order")
def shuffle_hunks(case: Case, random: Random) -> bool:
    for part in case.parts:
        random.shuffle(part.hunks)
    return any(_sort(part.hunks) != part.hunks for part in case.changed)


@FILES.add("two hunks as one", stage=2, group="order")
def join_hunks(case: Case, random: Random) -> bool:
    part = next((part for part in case.changed if len(part.hunks) > 1), None)
    if (
        part is None
        or case.dialect == "blocks"
        or part.hunks[1].rows[0].mark != " "
        or part.hunks[0].rows[-1].mark != " "
    ):
        return False
    part.hunks[0].rows += part.hunks[1].rows
    del part.hunks[1]
    return True


@FILES.add("one file in two sections", stage=2, group="order")
def split_section(case: Case, random: Random) -> bool:
    part = next((part for part in case.changed if len(part.hunks) > 1), None)
    if part is None:
        return False
    at = random.randrange(1, len(part.hunks))
    second = Part(
        path=part.path,
        target=part.target,
        git=list(part.git),
        old=part.old,
        new=part.new,
        hunks=part.hunks[at:],
    )
    part.hunks = part.hunks[:at]
    case.parts.append(second)
    return True


@FILES.add("the same hunk twice", stage=2, group="order")
def repeat_hunk(case: Case, random: Random) -> bool:
    if not case.changed:
        return False
    part = random.choice(case.changed)
    index = random.randrange(len(part.hunks))
    part.hunks.insert(random.choice((index + 1, len(part.hunks))), deepcopy(part.hunks[index]))
    return True


@FILES.add("a hunk applied already", stage=0, group="end")
def apply_beforehand(case: Case, random: Random) -> bool:
    part = next((part for part in case.changed if len(part.hunks) > 1), None)
    if part is None or any(not row.ends for hunk in part.hunks for row in hunk.rows):
        return False
    before = case.before[part.path]
    hunk = part.hunks.pop(random.randrange(len(part.hunks)))
    before.lines = apply_hunks(before.lines, [hunk])
    growth = len(hunk.new) - len(hunk.old)
    numbers = [(other.start, other.new_start) for other in part.hunks]
    shift(part.hunks, start=hunk.old[-1].at + 1, by=growth)
    for other, (start, new_start) in zip(part.hunks, numbers, strict=True):
        other.start, other.new_start = start, new_start  # the diff is of the file as it was
    at = hunk.rows[0].at
    for row in hunk.rows:
        row.at = -1 if row.mark == "-" else at
        at += row.mark != "-"
    hunk.applied = True
    part.hunks = sorted([*part.hunks, hunk], key=lambda other: other.start)
    return (
        apply_hunks(before.lines, [other for other in part.hunks if not other.applied])
        == case.after[part.target].lines
    )


@FILES.add("twins told apart by line number", stage=0, group="twins")
def add_twin_by_number(case: Case, random: Random) -> bool:
    if not (hunk := plant_copy(case, random)):
        return False
    hunk.pinned = all(other.start == other.old[0].at + 1 for part in case.changed for other in part.hunks)
    return hunk.pinned


@FILES.add("twins told apart by function", stage=0, group="twins")
def add_twin_by_function(case: Case, random: Random) -> bool:
    """Repeat the lines in another function; the hunk's header names the right one, and no line number."""
    hunk = plant_copy(case, random, in_function=True)
    if not hunk:
        return False
    lines = case.before[case.changed[0].path].lines
    hunk.header, hunk.start, hunk.pinned = (
        f"@@ {lines[enclosing_line(lines, hunk.old[0].at)].strip()}",
        0,
        True,
    )
    if random.random() < 0.5:
        hunk.header = (
            hunk.header.replace("@@", "@@ -0,0 +0,0 @@", 1) if random.random() < 0.3 else f"{hunk.header} @@"
        )
    return True


@FILES.add("new file, sloppily", stage=4, group="names")
def turn_into_creation(case: Case, random: Random) -> bool:
    parts = [
        part for part in case.parts if not part.path and part.hunks and not case.after[part.target].executable
    ]
    for part in parts:
        part.git = (
            []
            if random.random() < 0.7 and all(part.hunks for part in case.parts)
            else [f"diff --git a/{part.target} b/{part.target}"]
        )
        part.old = random.choice(
            (NOWHERE, NOWHERE, f"a/{part.target}", "/dev/null\t1970-01-01 00:00:00", "a/dev/null")
        )
        part.new = random.choice((f"b/{part.target}", part.target))
        part.hunks[0].header = random.choice(("@@", "@@ -0,0 +1 @@", "@@ -1,0 +1,999 @@", None))
        for row in part.hunks[0].rows[:-1]:
            row.marked = bool(row.text) or random.random() < 0.5
    return bool(parts) and case.dialect == "unified"


@FILES.add("deleted file, sloppily", stage=4, group="names")
def turn_into_deletion(case: Case, random: Random) -> bool:
    parts = [part for part in case.parts if not part.target and part.hunks]
    form = random.randrange(3)
    if form != 1 and not all(part.hunks for part in case.parts):
        return False
    for part in parts:
        part.git = (
            [] if form != 1 else [f"diff --git a/{part.path} b/{part.path}", "deleted file mode 100644"]
        )
        if form == 1:
            part.hunks = []
        else:
            part.old, part.new = random.choice((f"a/{part.path}", part.path)), NOWHERE
            part.hunks[0].header = random.choice(("@@", None, "@@ -1 +0,0 @@"))
    return bool(parts) and case.dialect == "unified"


@FILES.add("renamed file, sloppily", stage=4, group="names")
def turn_into_rename(case: Case, random: Random) -> bool:
    parts = [part for part in case.parts if part.path and part.target and part.path != part.target]
    for part in parts:
        git = [line for line in part.git if not line.startswith(("similarity", "index"))]
        prefixed = [line.replace(" from ", " from a/").replace(" to ", " to b/") for line in git]
        bare = [line for line in git if not line.startswith("diff --git")]
        part.git = random.choice((git, prefixed, bare if len(case.parts) == 1 else git))
    return bool(parts) and case.dialect == "unified"


def plant_copy(case: Case, random: Random, *, in_function: bool = False) -> Hunk | None:
    """Put a copy of a hunk's old lines elsewhere in the file, before and after; return the hunk, or None
    if that could not be done.
    """
    part = case.changed[0] if case.changed else None
    if part is None or (in_function and len(part.hunks) > 1):
        return None
    before, after = case.before[part.path], case.after[part.target]
    hunk = random.choice(part.hunks)
    texts = [row.text for row in hunk.old]
    if (
        not texts
        or not any(text.strip() for text in texts)
        or len(starts(texts, before.lines)) != 1
        or not all(row.ends for row in hunk.rows)
    ):
        return None
    places = (
        _function_places(before.lines, hunk)
        if in_function
        else [at for at, line in enumerate(before.lines) if not line]
    )
    occupied = {at for other in part.hunks for row in other.rows for at in range(row.at - 1, row.at + 3)}
    if not (places := [at for at in places if at not in occupied]):
        return None
    _plant(part, random.choice(places), texts, before=before.lines, after=after.lines)
    return (
        hunk
        if len(starts(texts, before.lines)) == 2 and apply_hunks(before.lines, part.hunks) == after.lines
        else None
    )


def _plant(part: Part, at: int, texts: list[str], *, before: list[str], after: list[str]) -> None:
    rows: list[Row] = [row for hunk in part.hunks for row in hunk.rows if row.at < at]
    offset = sum((row.mark == "+") - (row.mark == "-") for row in rows)
    before[at:at] = texts
    after[at + offset : at + offset] = texts
    shift(part.hunks, start=at, by=len(texts))


def _function_places(lines: list[str], hunk: Hunk) -> list[int]:
    """Return the places below the first lines of other functions whose bodies are indented alike, if the
    hunk lies within one function.
    """
    opener = enclosing_line(lines, hunk.old[0].at)
    if opener < 0 or not lines[opener].endswith(":"):
        return []
    depth = _depth(lines[opener])
    if (
        any(row.text.strip() and _depth(row.text) <= depth for row in hunk.rows)
        or [line.strip() for line in lines].count(lines[opener].strip()) > 1
    ):
        return []
    openers = [
        at
        for at, line in enumerate(lines)
        if line.strip().startswith("def ") and line.endswith(":") and _depth(line) == depth and at != opener
    ]
    return [at + 1 for at in openers]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _sort(hunks: list[Hunk]) -> list[Hunk]:
    return sorted(hunks, key=lambda hunk: hunk.rows[0].at)
