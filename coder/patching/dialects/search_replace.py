"""Parser of SEARCH/REPLACE blocks, the format of aider: lines to find, a divider, their replacement."""

import difflib
import re
from collections.abc import Iterator, Sequence

from coder.patching.dialects.names import DEV_NULL
from coder.patching.dialects.raw import RawFile, RawHunk
from coder.patching.dialects.unified import find_hints_above
from coder.patching.errors import PatchError

SEARCH = re.compile(r"<{5,9} ?(?:SEARCH|ORIGINAL)\b")
DIVIDER = re.compile(r"={5,9}\s*$")
REPLACE = re.compile(r">{5,9} ?(?:REPLACE|UPDATED)\b")


def read_search_replace(lines: Sequence[str]) -> Iterator[RawFile]:
    """Yield each block as a hunk from one side to the other; the file name is above it.

    A block without a name belongs to the file of the block before it.

    Raises:
        PatchError: a block has no divider or no end.
    """
    hints: tuple[str, ...] = ()
    index = last_end = 0
    while index < len(lines):
        if not SEARCH.match(lines[index]):
            index += 1
            continue
        hints = find_hints_above(lines[last_end:index], index - last_end) or hints
        divider = _find_marker(lines, index, DIVIDER, "=======")
        end = _find_marker(lines, divider, REPLACE, ">>>>>>> REPLACE")
        removed, added = lines[index + 1 : divider], lines[divider + 1 : end]
        body = tuple(_body(removed, added))
        names = (DEV_NULL, hints[0]) if hints and not any(line.strip() for line in removed) else ("", "")
        yield RawFile(old=names[0], new=names[1], hints=hints, hunks=(RawHunk(lines=body),))
        index = last_end = end + 1


def _body(removed: Sequence[str], added: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a hunk; lines on both sides are context."""
    matcher = difflib.SequenceMatcher(None, removed, added, autojunk=False)
    for tag, first, last, new_first, new_last in matcher.get_opcodes():
        yield from (f"{' ' if tag == 'equal' else '-'}{line}" for line in removed[first:last])
        yield from (f"+{line}" for line in added[new_first:new_last] if tag != "equal")


def _find_marker(lines: Sequence[str], start: int, mark: re.Pattern[str], name: str) -> int:
    for index in range(start + 1, len(lines)):
        if mark.match(lines[index]):
            return index
        if SEARCH.match(lines[index]):
            break
    raise PatchError(
        f"The block that starts with {lines[start][:60]!r} has no line {name!r} after it. "
        "Send the block again, whole."
    )
