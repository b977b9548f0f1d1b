"""Damage to hunk headers, names, and the surrounding text."""

import re
from random import Random

from benchmarks.patching.cases import NOWHERE, Case, enclosing_line
from benchmarks.patching.damage import Table

LAYOUT = Table()
ABOVE = (
    "Sure! The problem is in how the value is looked up.",
    "Here is the patch:",
    "I've changed two things - see below.",
    "1. First:",
)
BELOW = ("This keeps the old behaviour for everybody else.", "Let me know if you'd like tests, too!", "Done.")


@LAYOUT.add("undamaged", stage=0)
def keep_undamaged(case: Case, random: Random) -> bool:
    return True


@LAYOUT.add("wrong line numbers", stage=3)
def corrupt_numbers(case: Case, random: Random) -> bool:
    for hunk in case.hunks:
        if hunk.header is not None or hunk.pinned:
            return False
        hunk.start = max(1, hunk.start + random.choice((-40, -7, -2, -1, 1, 3, 12, 200)))
        hunk.new_start = max(1, hunk.start + random.choice((-1, 0, 0, 2)))
    return bool(case.hunks) and case.dialect == "unified"


@LAYOUT.add("wrong counts", stage=3)
def corrupt_counts(case: Case, random: Random) -> bool:
    for hunk in case.hunks:
        if hunk.header is not None:
            return False
        old, new = len(hunk.old), len(hunk.new)
        hunk.counts = random.choice(
            ((old + 1, new + 1), (old, new + 2), (max(1, old - 1), new), (1, 1), (old + 7, new), (new, old))
        )
    return bool(case.hunks) and case.dialect == "unified"


@LAYOUT.add("hunk header without ranges", stage=3)
def strip_header(case: Case, random: Random) -> bool:
    return _set_headers(case, [random.choice(("@@", "@@ @@", "@@ ... @@", "@@ -,+ @@"))] * len(case.hunks))


@LAYOUT.add("hunk header with only a function name", stage=3)
def name_function_in_header(case: Case, random: Random) -> bool:
    headers = []
    for part in case.changed:
        lines = case.before[part.path].lines
        for hunk in part.hunks:
            place = next((row.at for row in hunk.rows if row.at >= 0), 0)
            opener = enclosing_line(lines, min(place, len(lines) - 1))
            if opener < 0:
                return False
            headers.append(random.choice(("@@ {} @@", "@@ {}")).format(lines[opener].strip()))
    return _set_headers(case, headers)


@LAYOUT.add("no a/ and b/", stage=4, group="names")
def drop_prefixes(case: Case, random: Random) -> bool:
    for part in case.parts:
        part.old, part.new = (re.sub(r"^[ab]/", "", name) for name in (part.old, part.new))
        part.git = (
            [line for line in part.git if not line.startswith("diff --git")]
            if random.random() < 0.7
            else part.git
        )
    return all(part.hunks for part in case.parts) and case.dialect == "unified" and bool(case.changed)


@LAYOUT.add("no --- line", stage=4, group="names")
def drop_old_name(case: Case, random: Random) -> bool:
    return _drop_names(case, old=True, new=False)


@LAYOUT.add("no +++ line", stage=4, group="names")
def drop_new_name(case: Case, random: Random) -> bool:
    return _drop_names(case, old=False, new=True)


@LAYOUT.add("neither, under diff --git", stage=4, group="names")
def keep_only_git_line(case: Case, random: Random) -> bool:
    result = _drop_names(case, old=True, new=True)
    for part in case.parts:
        part.git = [f"diff --git a/{part.path} b/{part.path}"]
    return result


@LAYOUT.add("neither, under the path on a line", stage=4, group="names")
def keep_only_path(case: Case, random: Random) -> bool:
    """Keep only the path, for one file: the last lines of one part and the path of the next would run
    together.
    """
    if not _drop_names(case, old=True, new=True) or len(case.parts) != 1:
        return False
    path = case.parts[0].path
    case.parts[0].git = []
    case.above = [
        *case.above,
        random.choice((path, f"**{path}**", f"`{path}`:", f"In `{path}`:", f"### {path}")),
    ]
    return True


@LAYOUT.add("only the file's own name", stage=4, group="names")
def keep_only_basename(case: Case, random: Random) -> bool:
    names = [path.rpartition("/")[2] for path in case.before]
    if len(case.changed) != len(case.parts) or any(
        names.count(part.path.rpartition("/")[2]) > 1 for part in case.parts
    ):
        return False
    prefixes = random.choice((("a/", "b/"), ("", "")))
    for part in case.parts:
        name = part.path.rpartition("/")[2]
        part.git, part.old, part.new = [], prefixes[0] + name, prefixes[1] + name
    return any("/" in part.path for part in case.parts) and case.dialect == "unified"


@LAYOUT.add("timestamps", stage=4, group="names")
def add_timestamps(case: Case, random: Random) -> bool:
    stamp = random.choice(
        (
            "\t2024-03-01 12:00:00.000000000 +0100",
            "   2024-03-01 12:00:00",
            "\tFri Mar  1 12:00:00 2024",
            "\t(revision 12)",
        )
    )
    for part in case.parts:
        part.git = [line for line in part.git if not line.startswith("diff --git")]
        part.old, part.new = (
            name.split("\t")[0] + stamp if name != NOWHERE else name for name in (part.old, part.new)
        )
    return len(case.changed) == len(case.parts) and case.dialect == "unified"


@LAYOUT.add("git's lines missing", stage=4, group="names")
def drop_git_lines(case: Case, random: Random) -> bool:
    for part in case.parts:
        if (
            (part.path and part.target and part.path != part.target)
            or any("mode 100755" in line for line in part.git)
            or not part.hunks
        ):
            return False
        part.git = []
    return case.dialect == "unified"


@LAYOUT.add("Markdown fence", stage=5, group="around")
def add_fence(case: Case, random: Random) -> bool:
    if any(line.lstrip().startswith(("```", "~~~")) for line in case.text.split("\n")):
        return False
    fence = random.choice(("```", "```", "~~~", "````"))
    case.above, case.below = (
        [*case.above, fence + random.choice(("diff", "", "patch", "python"))],
        [fence, *case.below],
    )
    return True


@LAYOUT.add("prose around", stage=5)
def add_prose(case: Case, random: Random) -> bool:
    above, below = random.sample(ABOVE, random.randint(1, 2)), random.sample(BELOW, random.randint(1, 2))
    # A fence ends the diff; elsewhere a blank line must, or the text below reads as a removed line.
    inside = bool(case.below)
    below += ["- it is faster,", "- it is shorter."] if inside else []
    case.above, case.below = [*above, "", *case.above], [*case.below, *([] if inside else [""]), *below]
    return True


@LAYOUT.add("indented diff", stage=5)
def indent_diff(case: Case, random: Random) -> bool:
    case.indent = random.choice(("  ", "    ", "\t"))
    case.all_indented = random.random() < 0.5
    return True


@LAYOUT.add("CRLF diff", stage=5)
def use_crlf_in_diff(case: Case, random: Random) -> bool:
    case.end = "\r\n"
    return all(text.end == "\n" for text in case.before.values())


@LAYOUT.add("diff without its last line end", stage=5)
def drop_final_newline(case: Case, random: Random) -> bool:
    case.closed = False
    return True


@LAYOUT.add("*** Begin Patch", stage=0, group="names")
def use_envelope_format(case: Case, random: Random) -> bool:
    if any(hunk.pinned for hunk in case.hunks) or any(
        not row.ends for part in case.parts for hunk in part.hunks for row in hunk.rows
    ):
        return False
    if any(text.executable for text in (*case.before.values(), *case.after.values())):
        return False
    if random.random() < 0.5 and not name_function_in_header(case, random):
        return False
    case.dialect = "envelope"
    for part in case.parts:
        for hunk in part.hunks:
            hunk.start, hunk.header = 0, "@@" if hunk.header is None else hunk.header.removesuffix(" @@")
    return all(part.hunks or not part.target for part in case.parts) and bool(case.parts)


@LAYOUT.add("SEARCH/REPLACE", stage=0, group="names")
def use_block_format(case: Case, random: Random) -> bool:
    case.dialect = "blocks"
    if any(hunk.pinned for hunk in case.hunks):
        return False
    for part in case.parts:
        for hunk in part.hunks:
            hunk.start, hunk.header = 0, ""
            if any(
                not row.ends or row.text.startswith(("<<<<<<<", "=======", ">>>>>>>", "```"))
                for row in hunk.rows
            ):
                return False
    return len(case.changed) == len(case.parts) and bool(case.parts) and all(hunk.old for hunk in case.hunks)


def _set_headers(case: Case, headers: list[str]) -> bool:
    for hunk, header in zip(case.hunks, headers, strict=True):
        if hunk.header is not None or hunk.pinned:
            return False
        hunk.start, hunk.header = 0, header
    return bool(case.hunks) and case.dialect == "unified"


def _drop_names(case: Case, *, old: bool, new: bool) -> bool:
    for part in case.parts:
        part.git = []
        part.old, part.new = "" if old else part.old, "" if new else part.new
    return len(case.changed) == len(case.parts) and bool(case.parts) and case.dialect == "unified"
