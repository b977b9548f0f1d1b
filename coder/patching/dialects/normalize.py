"""Detection of the diff and its dialect in a model's text, and splitting into files and hunks."""

import re
from collections.abc import Iterator

from coder.patching.dialects.envelope import read_envelope
from coder.patching.dialects.prose import dedent_diff, split_lines, unfence
from coder.patching.dialects.raw import RawFile
from coder.patching.dialects.search_replace import read_search_replace
from coder.patching.dialects.unified import read_unified
from coder.patching.errors import PatchError

ENVELOPE = re.compile(r"^[ \t>]*\*\*\* (?:Begin Patch|(?:Update|Add|Delete) File)", re.MULTILINE)
BLOCK = re.compile(r"^[ \t>]*<{5,9} ?(?:SEARCH|ORIGINAL)\b", re.MULTILINE)
UNIFIED = re.compile(r"^[ \t>]*(?:diff --git |--- \S.*\n[ \t>]*\+\+\+ )", re.MULTILINE)
MOST_HUNKS = 5_000
EXPECTED_FORMAT = "Send a unified diff: '--- a/path', '+++ b/path', then hunks that start with '@@'."


def split_diff(text: str) -> tuple[RawFile, ...]:
    """Split a diff into files and hunks, dropping the prose and fences around it.

    Raises:
        PatchError: there is no diff in it, or it is too large.
    """
    if (hunks := text.count("\n@@")) > MOST_HUNKS:
        raise PatchError(f"The patch has {hunks:,} hunks; more than {MOST_HUNKS:,} are not taken at once.")
    headers = {
        pattern: match.start() for pattern in (UNIFIED, ENVELOPE, BLOCK) if (match := pattern.search(text))
    }
    first = min(headers, key=lambda pattern: headers[pattern], default=UNIFIED)
    files = tuple(
        file for file in _read(first, split_lines(text)) if file.hunks or file != RawFile(hints=file.hints)
    )
    if not files:
        raise PatchError(f"There is no diff in this text. {EXPECTED_FORMAT}")
    return files


def _read(dialect: re.Pattern[str], lines: list[str]) -> Iterator[RawFile]:
    if dialect is BLOCK:  # it may contain fences, and its file name is outside of the fence around it
        return read_search_replace(dedent_diff(lines))
    return (read_envelope if dialect is ENVELOPE else read_unified)(unfence(lines))
