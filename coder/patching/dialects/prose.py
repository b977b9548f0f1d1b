"""Extraction of a diff from chat text: removal of fences, indentation and quotation marks around it."""

import re

DIFF_PREFIXES = (
    "--- ",
    "+++ ",
    "@@",
    "diff --git ",
    "*** Begin Patch",
    "*** Update File",
    "*** Add File",
    "*** Delete File",
)
PROSE_MARK = "\0"
"""Prefix of each line that is certainly outside of the diff."""
FENCE = re.compile(r"([ \t>]*)(`{3,}|~{3,})[^`]*$")
INDENTED = re.compile(
    r"([ \t>]*)(?:--- \S|\+\+\+ \S|@@|diff --git |\*\*\* (?:Begin Patch|Update|Add|Delete)|<{5,9} ?[A-Z])"
)
LOOK_ALIKE_SIGNS = str.maketrans({"\u2212": "-", "\u2013": "-", "\u2010": "-", "\u2011": "-", "\u00a0": " "})


def split_lines(text: str) -> list[str]:
    """Return the lines of the text, without their CRs where even the headers have them."""
    lines = text.removeprefix("\ufeff").removesuffix("\n").split("\n")
    headers = [line for line in lines if line.lstrip(" \t>").startswith((*DIFF_PREFIXES, "<<<<<"))]
    if headers and all(line.endswith("\r") for line in headers):
        return [line.removesuffix("\r") for line in lines]
    return lines


def unfence(lines: list[str]) -> list[str]:
    """Mark lines outside of fenced blocks as prose, if a fenced block holds a diff; remove indentation."""
    first = next((index for index, line in enumerate(lines) if INDENTED.match(line)), len(lines))
    if not any(map(FENCE.match, lines[:first])):
        return dedent_diff(lines)
    result: list[str] = []
    block: list[str] = []
    opened = ""
    for line in lines:
        fence = FENCE.match(line)
        if not opened:
            opened = fence[1] + fence[2] if fence else ""
            result.append(PROSE_MARK + line)
        elif (
            fence
            and line.rstrip().startswith(opened)
            and not line.rstrip().removeprefix(opened).strip(opened[-1])
        ):
            result += [*_block(block), PROSE_MARK]
            block, opened = [], ""
        else:
            block.append(line)
    result += _block(block)
    return result if any(line.startswith(DIFF_PREFIXES) for line in result) else dedent_diff(lines)


def _block(lines: list[str]) -> list[str]:
    """Return the lines of a fenced block; one without a diff is prose."""
    return dedent_diff(lines) if any(map(INDENTED.match, lines)) else [PROSE_MARK + line for line in lines]


def dedent_diff(lines: list[str]) -> list[str]:
    """Remove the indentation of the least indented header from all lines."""
    indents = [match[1] for line in lines if (match := INDENTED.match(line))]
    indent = min(indents, key=len, default="")
    if not indent:
        return lines
    blank = indent.rstrip()
    return [
        line.removeprefix(indent) if line.startswith(indent) else "" if line.rstrip() in ("", blank) else line
        for line in lines
    ]
