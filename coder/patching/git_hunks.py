"""Hunks of a git diff: numbering, and the diff of a selection of them; unidiff parses them.

`parse.py` reads what models write, and drops prose, fences and whatever git does not need; here every byte of
a diff stays, also what cannot be read.
"""

import re
from collections.abc import Collection, Iterator
from itertools import groupby, islice
from typing import TYPE_CHECKING, NamedTuple

from coder.core.values import Hunk

if TYPE_CHECKING:
    from unidiff.patch import Hunk as ParsedHunk

_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NEW_START = re.compile(r"(?<= \+)\d+")
_NAMES = ("+++ b/", "--- a/", "rename to ", "copy to ")


def split_git_diff(diff: str) -> tuple[Hunk, ...]:
    """Split a diff as git writes it; the hunks together contain every byte of it, including binary sections.

    A hunk's number is its position here, from 0. A file that changes without a hunk counts as one.
    """
    return tuple(hunk for section in _FILE.split(diff) if section for hunk in _file_hunks(section))


class DiffLine(NamedTuple):
    sign: str
    """`+` if it is added, `-` if it is removed, a space if it stays."""
    text: str
    """The line with its newline, if it has one."""


def rebuild_diff(diff: str, accepted: Collection[int]) -> str:
    """Return the diff of the accepted hunks alone, by number.

    All of them give `diff` back, none an empty text. A file without an accepted hunk is dropped, with its
    rename or mode. The result applies where `diff` did, unless one file makes room for another (two that swap
    names, a file that becomes a link): apply it to find out.
    """
    parts: list[str] = []
    for header, file_hunks in groupby(
        enumerate(split_git_diff(diff)), key=lambda numbered: numbered[1].header
    ):
        accepted_bodies, missing_lines = [], 0
        for number, hunk in file_hunks:
            if number in accepted:
                accepted_bodies.append(_shift(hunk.body, -missing_lines))
            else:
                parsed = parse_hunks(hunk.body)
                missing_lines += sum(part.target_length - part.source_length for part in parsed)
        if accepted_bodies:
            parts += [header, *accepted_bodies]
    return "".join(parts)


def hunk_lines(body: str) -> tuple[DiffLine, ...]:
    """Return the lines of a hunk; none if it has no lines, or other ones than its heading counts."""
    return tuple(line for parsed in parse_hunks(body) for line in diff_lines(parsed))


def diff_lines(parsed: "ParsedHunk") -> list[DiffLine]:
    lines: list[DiffLine] = []
    for line in parsed:
        if line.line_type != "\\":
            lines.append(DiffLine(line.line_type, line.value))
        elif lines:
            lines[-1] = lines[-1]._replace(text=lines[-1].text.removesuffix("\n"))
    return lines


def changed_line_starts(hunk: Hunk) -> Iterator[int]:
    """Yield the lines of the new file, from 1, at which the hunk's runs of changed lines begin."""
    for parsed in parse_hunks(hunk.body):
        line = parsed.target_start + (parsed.target_length == 0)  # then git names the line before
        for changed, run in groupby(parsed, key=lambda hunk_line: not hunk_line.is_context):
            if changed:
                yield line
            line += sum(not hunk_line.is_removed and hunk_line.line_type != "\\" for hunk_line in run)


def _file_hunks(section: str) -> Iterator[Hunk]:
    start = section.find("\n@@ ") + 1 or len(section)
    header, text = section[:start], section[start:]
    lines = header.split("\n")
    names = [line.removeprefix(prefix) for prefix in _NAMES for line in lines if line.startswith(prefix)]
    path = names[0] if names else lines[0].rpartition(" b/")[2]
    return (Hunk(path=path.strip('\t"'), header=header, body=body) for body in _bodies(text) or [""])


def _bodies(text: str) -> list[str]:
    """Return the text of each hunk; it is all one where the counts are wrong, as around a masked secret."""
    lines = iter(_LINE.findall(text))
    return ["".join(islice(lines, 1 + len(parsed))) for parsed in parse_hunks(text)] or [text]


def parse_hunks(text: str) -> "tuple[ParsedHunk, ...]":
    """Parse the hunks of one file; empty where they cannot be read, or leave out a line of the text."""
    if not text:
        return ()
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    try:
        hunks = tuple(PatchSet(f"--- a/file\n+++ b/file\n{text}")[0])
    except UnidiffParseError:
        return ()
    return hunks if sum(1 + len(hunk) for hunk in hunks) == len(_LINE.findall(text)) else ()


def _shift(body: str, lines: int) -> str:
    """Shift a hunk's new start line, because not all hunks before it are applied."""
    return _NEW_START.sub(lambda start: str(int(start[0]) + lines), body, count=1) if lines else body
