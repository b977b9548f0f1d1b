"""Hunks of a git diff: how they are numbered, and the diff that a choice of them makes."""

import re
from collections.abc import Collection, Iterator
from itertools import groupby, pairwise

from coder.core.value import Value

_FILE = "diff --git "
_RANGES = re.compile(r"@@ -(?P<old>\d+)(?:,(?P<minus>\d+))? \+(?P<new>\d+)(?:,(?P<plus>\d+))? @@")
_NAMES = ("+++ b/", "--- a/", "rename to ", "copy to ")


class Hunk(Value):
    """The smallest part of a diff that can be accepted or rejected."""

    path: str
    """The file's new name; its old one where it is deleted."""
    header: str
    """The file's lines before its first `@@`, the same for all hunks of the file."""
    body: str
    """From `@@` to the last line; empty where the file changes without a hunk (a rename, a mode, an empty or a binary file)."""


def hunks(diff: str) -> tuple[Hunk, ...]:
    """Split a diff as git writes it.

    A hunk's number is its position here, from 0. A file that changes without a hunk counts as one.
    """
    return tuple(hunk for section in _pieces(diff, _FILE) for hunk in _of_file(section))


def rebuilt(diff: str, accepted: Collection[int]) -> str:
    """The diff of the accepted hunks alone, by number.

    All of them give `diff` back, none an empty text. A file without an accepted hunk is left out, with its rename or mode. What is left
    fits where `diff` did, unless one file makes room for another (two that swap names, a file that becomes a link): apply it to know.
    """
    parts: list[str] = []
    for header, of_file in groupby(enumerate(hunks(diff)), key=lambda numbered: numbered[1].header):
        kept, rejected_lines = [], 0
        for number, hunk in of_file:
            if number in accepted:
                kept.append(_moved(hunk.body, -rejected_lines))
            else:
                rejected_lines += _growth(hunk.body)
        parts += [header, *kept] if kept else []
    return "".join(parts)


def blocks(hunk: Hunk) -> Iterator[int]:
    """The lines of the new file, from 1, at which the hunk's runs of changed lines begin."""
    ranges = _RANGES.match(hunk.body)
    line = int(ranges["new"]) if ranges else 0
    line += ranges is not None and ranges["plus"] == "0"  # then git names the line before
    inside = False
    for text in hunk.body.split("\n")[1:-1]:
        if text[:1] in "+-" and not inside:
            yield line
        inside = text[:1] in ("+", "-", "\\") and (inside or text[:1] != "\\")
        line += text[:1] in ("+", " ")


def _of_file(section: str) -> Iterator[Hunk]:
    header, *bodies = _pieces(section, "@@ ")
    lines = header.split("\n")
    names = [line.removeprefix(prefix) for prefix in _NAMES for line in lines if line.startswith(prefix)]
    path = names[0] if names else lines[0].rpartition(" b/")[2]
    return (Hunk(path=path.strip('\t"'), header=header, body=body) for body in bodies or [""])


def _pieces(text: str, start: str) -> list[str]:
    """The text cut before each line that begins with `start`; in a diff, a file's own lines never do: they have a sign before them."""
    cuts = [0, *(match.start() for match in re.finditer(rf"^{re.escape(start)}", text, re.MULTILINE) if match.start()), len(text)]
    return [text[first:last] for first, last in pairwise(cuts) if first < last]


def _growth(body: str) -> int:
    """Lines that a hunk adds, less those it removes."""
    ranges = _RANGES.match(body)
    return int(ranges["plus"] or 1) - int(ranges["minus"] or 1) if ranges else 0


def _moved(body: str, lines: int) -> str:
    """A hunk whose new lines are counted from elsewhere: the hunks before it are no longer all applied."""
    ranges = _RANGES.match(body)
    if not ranges:
        return body
    return f"{body[: ranges.start('new')]}{int(ranges['new']) + lines}{body[ranges.end('new') :]}"
