"""Damage to the lines of hunks."""

import re
from random import Random

from benchmarks.patching.cases import Case, Hunk, Row, enclosing_line
from benchmarks.patching.certainty import fold
from benchmarks.patching.damage import Table

LINES = Table()
SIGNS = ("+", "-", "@@", "\\", "diff ", "*** ", "<<<<", ">>>>", "====", "```", "~~~")
LOOKS = {"'": "\u2019", '"': "\u201c", " - ": " \u2013 ", "...": "\u2026"}
INVENTED = (
    "# Handle the remaining cases.",
    "logger.debug('about to continue')",
    "# NOTE: keep in sync",
    "result = None",
)
ELLIPSES = ("...", "    ...", "# ...", "    # ... existing code ...", "# ... rest of the code ...")
WORDS = re.compile(r"[A-Za-z]{3,}")


@LINES.add("lost leading space", stage=1, group="white space")
def drop_leading_space(case: Case, random: Random) -> bool:
    rows = [row for row in _context(case) if row.text.strip() and not row.text.startswith(SIGNS)]
    if len(rows) > 1 and random.random() < 0.5:
        rows = random.sample(rows, len(rows) // 2)
    for row in rows:
        row.marked = False
    return bool(rows) and case.dialect == "unified"


@LINES.add("blank context without its space", stage=1)
def blank_out_context(case: Case, random: Random) -> bool:
    rows = [row for row in _context(case) if not row.text]
    for row in rows:
        row.marked = False
    return bool(rows)


@LINES.add("trailing white space stripped", stage=1, group="trailing")
def strip_trailing_space(case: Case, random: Random) -> bool:
    """Give some lines of the file trailing white space, which the diff has not."""
    if any(hunk.applied for hunk in case.hunks):
        return False
    result = False
    for part in case.changed:
        for row in (row for hunk in part.hunks for row in hunk.rows if row.mark != "+" and row.ends):
            if random.random() < 0.3 and not row.text[-1:].isspace():
                before, after = case.before[part.path], case.after[part.target]
                if row.mark == " ":
                    offset = sum(
                        (other.mark == "+") - (other.mark == "-") for other in _rows_above(part.hunks, row)
                    )
                    after.lines[row.at + offset] += "  "
                before.lines[row.at] += "  "
                result = True
    return result


@LINES.add("trailing white space added", stage=1, group="trailing")
def add_trailing_space(case: Case, random: Random) -> bool:
    """Add trailing white space, only if no added line ends in white space, which would be
    indistinguishable.
    """
    if any(row.mark == "+" and row.text[-1:].isspace() for hunk in case.hunks for row in hunk.rows):
        return False
    rows = [row for hunk in case.hunks for row in hunk.old if row.ends and random.random() < 0.4]
    for row in rows:
        row.text += random.choice((" ", "  ", "\t"))
    return bool(rows)


@LINES.add("spaces for tabs", stage=1, group="white space")
def replace_tabs_by_spaces(case: Case, random: Random) -> bool:
    """Indent the file by tabs and the diff by spaces."""
    return _reindent(case, in_file="\t", in_diff="    ")


@LINES.add("tabs for spaces", stage=1, group="white space")
def replace_spaces_by_tabs(case: Case, random: Random) -> bool:
    return _reindent(case, in_file="    ", in_diff="\t")


@LINES.add("re-indented block", stage=1, group="white space")
def change_indentation(case: Case, random: Random) -> bool:
    rows = [row for hunk in case.hunks for row in hunk.rows if row.text.strip()]
    hollow = any(not any(row.text.strip() for row in hunk.old) for hunk in case.hunks)
    if not rows or hollow or any(row.text.startswith("\t") for row in rows):
        return False
    least = min(len(row.text) - len(row.text.lstrip(" ")) for row in rows)
    amount = random.choice((1, 2, 4, 8, *([-min(least, 4)] * 4 if least else [])))
    for row in rows:
        row.text = " " * amount + row.text if amount > 0 else row.text[-amount:]
    return True


@LINES.add("extra space after the mark", stage=1, group="white space")
def add_space(case: Case, random: Random) -> bool:
    changed_only = random.random() < 0.5
    for hunk in case.hunks:
        if not any(row.mark == "-" and row.text.strip() for row in hunk.rows):
            return False
        for row in hunk.rows:
            if row.text.strip() and not (changed_only and row.mark == " "):
                row.text = " " + row.text
    return bool(case.hunks)


@LINES.add("+ before -", stage=2)
def put_plus_before_minus(case: Case, random: Random) -> bool:
    if case.dialect == "blocks":
        return False
    result = False
    for hunk in case.hunks:
        rows: list[Row] = []
        for row in hunk.rows:
            run = next((index for index in range(len(rows), 0, -1) if rows[index - 1].mark == " "), 0)
            if (
                row.mark == "+"
                and any(other.mark == "-" for other in rows[run:])
                and all(other.ends for other in (*rows[run:], row))
            ):
                rows.insert(next(index for index in range(run, len(rows)) if rows[index].mark == "-"), row)
                result = True
            else:
                rows.append(row)
        hunk.rows = rows
    return result


@LINES.add("context repeated as a change", stage=2)
def repeat_context_as_change(case: Case, random: Random) -> bool:
    if case.dialect == "blocks":
        return False
    result = False
    for hunk in case.hunks:
        places = [
            index
            for index, row in enumerate(hunk.rows)
            if row.mark == " " and row.marked and row.ends and row.at >= 0
        ]
        for index in sorted(random.sample(places, min(len(places), random.randint(1, 2))), reverse=True):
            row = hunk.rows[index]
            hunk.rows[index : index + 1] = [
                Row(mark="-", text=row.text, at=row.at),
                Row(mark="+", text=row.text, at=row.at + 1),
            ]
            result = True
    return result


@LINES.add("elided context", stage=2, group="rows")
def elide_context(case: Case, random: Random) -> bool:
    """Replace the lines between two changes by an ellipsis; if hunks have no such lines, join two hunks
    around it.
    """
    if case.dialect == "blocks":
        return False
    result = False
    for part in case.changed:
        for hunk in part.hunks:
            middle = [
                index
                for index in range(1, len(hunk.rows) - 1)
                if all(row.mark == " " for row in hunk.rows[index - 1 : index + 2])
            ]
            runs = [index for index in middle if index + 1 in middle]
            if runs:
                first = random.choice(runs)
                hunk.rows[first : first + 2] = [Row(mark=" ", text=random.choice(ELLIPSES), at=-1)]
                result = True
        if not result and len(part.hunks) > 1:
            first_hunk, second = part.hunks[:2]
            first_hunk.rows += [Row(mark=" ", text=random.choice(ELLIPSES), at=-1), *second.rows]
            del part.hunks[1]
            result = True
    return result


@LINES.add("missing context", stage=2, group="rows")
def drop_context(case: Case, random: Random) -> bool:
    if case.dialect == "blocks":
        return False
    rows = random.sample(context := _context(case), min(len(context), random.randint(1, 3)))
    for hunk in case.hunks:
        remaining = [row for row in hunk.rows if not any(row is gone for gone in rows)]
        hunk.rows = remaining if any(row.mark != "+" for row in remaining) else hunk.rows
    return bool(rows)


@LINES.add("extra context", stage=2, group="rows")
def add_context(case: Case, random: Random) -> bool:
    """Put the line that opens the function above the hunk as if it were its neighbour, or repeat a context
    line.
    """
    if case.dialect == "blocks":
        return False
    result = False
    for part in case.changed:
        lines = case.before[part.path].lines
        for hunk in part.hunks:
            opener = enclosing_line(lines, hunk.rows[0].at)
            twice = [
                index
                for index, row in enumerate(hunk.rows)
                if row.mark == " " and row.text.strip() and row.at >= 0
            ]
            if opener >= 0 and opener != hunk.rows[0].at - 1 and random.random() < 0.6:
                hunk.rows.insert(0, Row(mark=" ", text=lines[opener], at=-1))
            elif twice:
                index = random.choice(twice)
                hunk.rows.insert(index, Row(mark=" ", text=hunk.rows[index].text, at=-1))
            else:
                continue
            result = True
    return result


@LINES.add("invented context", stage=2, group="rows")
def invent_context(case: Case, random: Random) -> bool:
    if case.dialect == "blocks":
        return False
    hunk = random.choice(case.hunks) if case.hunks else Hunk(rows=[], start=0, new_start=0)
    places = [index for index, row in enumerate(hunk.rows) if row.mark == " " and row.text.strip()]
    text = random.choice(INVENTED)
    if not places or any(
        fold(text) in fold(line) for part in case.changed for line in case.before[part.path].lines
    ):
        return False
    index = random.choice(places)
    indent = hunk.rows[index].text[: -len(hunk.rows[index].text.lstrip())]
    hunk.rows.insert(index + random.choice((0, 1)), Row(mark=" ", text=indent + text, at=-1))
    return True


@LINES.add("paraphrased comment", stage=1, group="rows")
def paraphrase_comment(case: Case, random: Random) -> bool:
    result = False
    scripts = [hunk for part in case.changed if part.path.endswith(".py") for hunk in part.hunks]
    for row in (row for hunk in scripts for row in hunk.rows if row.mark == " " and row.at >= 0):
        code, sign, comment = row.text.rpartition("# ")
        words = WORDS.findall(comment)
        if not sign or len(words) < 3 or set(row.text) & {"'", '"'}:
            continue
        word = random.choice(words)
        new_comment = comment.replace(word, random.choice(("the", "each", "every", "some")) + f" {word}s", 1)
        row.text = (
            code
            + sign
            + random.choice((new_comment, comment.removesuffix(word).rstrip(), new_comment.capitalize()))
        )
        result = True
    return result


@LINES.add("look-alike punctuation in old lines", stage=1, group="looks")
def replace_by_look_alikes(case: Case, random: Random) -> bool:
    return _use_look_alikes([row for hunk in case.hunks for row in hunk.old])


@LINES.add("look-alike punctuation everywhere", stage=1, group="looks")
def replace_everywhere_by_look_alikes(case: Case, random: Random) -> bool:
    """Replace signs by look-alikes, only if the old lines of a hunk show each replacement made to its new
    lines.
    """
    for hunk in case.hunks:
        old, new = (
            "\n".join(row.text for row in hunk.rows if (row.mark == "+") is added) for added in (False, True)
        )
        if any(sign in new and sign not in old for sign in LOOKS) or any(
            look in new + old for look in LOOKS.values()
        ):
            return False
    return _use_look_alikes([row for hunk in case.hunks for row in hunk.rows])


@LINES.add("look-alike punctuation that is meant", stage=1, group="looks")
def write_look_alikes(case: Case, random: Random) -> bool:
    """Let the change itself write such signs; the old lines are as the file has them."""
    if any(hunk.applied for hunk in case.hunks):
        return False
    result = False
    for part in case.changed:
        after = case.after[part.target]
        for row in (row for hunk in part.hunks for row in hunk.new if row.mark == "+" and "'" in row.text):
            offset = sum((other.mark == "+") - (other.mark == "-") for other in _rows_above(part.hunks, row))
            index = row.at + offset
            if after.lines[index] != row.text:
                return False
            row.text = after.lines[index] = row.text.replace("'", LOOKS["'"])
            result = True
    return result


def _context(case: Case) -> list[Row]:
    return [row for hunk in case.hunks for row in hunk.rows if row.mark == " " and row.at >= 0]


def _rows_above(hunks: list[Hunk], row: Row) -> list[Row]:
    rows = [other for hunk in sorted(hunks, key=lambda hunk: hunk.rows[0].at) for other in hunk.rows]
    return rows[: next(index for index, other in enumerate(rows) if other is row)]


def _reindent(case: Case, *, in_file: str, in_diff: str) -> bool:
    for part in case.changed:
        before, after = case.before[part.path], case.after[part.target]
        if any("\t" in line for line in (*before.lines, *after.lines)):
            return False
        if in_file == "\t":
            before.lines, after.lines = (
                [_reindent_line(line, "\t") for line in text.lines] for text in (before, after)
            )
        for hunk in part.hunks:
            if not any(
                _depth(row.text) and _depth(row.text) % 4 == 0 for row in hunk.old if row.text.strip()
            ):
                return False  # nothing shows which sign was replaced
            for row in hunk.rows:
                row.text = _reindent_line(row.text, in_diff)
    return bool(case.changed)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _reindent_line(line: str, unit: str) -> str:
    """Return a line indented by spaces, indented by another unit for every four."""
    body = line.lstrip(" ")
    depth = _depth(line)
    return unit * (depth // 4) + " " * (depth % 4) + body if body else line


def _use_look_alikes(rows: list[Row]) -> bool:
    result = False
    for row in rows:
        for sign, look in LOOKS.items():
            result = result or sign in row.text
            row.text = row.text.replace(sign, look)
    return result
