"""Parser of `*** Begin Patch` envelopes, the format of OpenAI's apply_patch tool."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from coder.patching.dialects.body import read_body
from coder.patching.dialects.prose import PROSE_MARK
from coder.patching.dialects.raw import RawFile, RawHunk
from coder.patching.dialects.unified import parse_file_header, parse_hunk_header
from coder.patching.errors import PatchError

FILE = re.compile(r"\*\*\* (Update|Add|Delete) File:? *(.+?)\s*$")
MOVE = re.compile(r"\*\*\* (?:Move|Rename)(?: File)? to:? *(.+?)\s*$")
END = "*** End of File"


def read_envelope(lines: Sequence[str]) -> Iterator[RawFile]:
    """Yield the files of an envelope; anything outside of its sections is prose.

    Raises:
        PatchError: a line cannot be part of a file.
    """
    index = 0
    while index < len(lines):
        if not (match := FILE.match(lines[index])):
            index += 1
            continue
        end = next((later for later in range(index + 1, len(lines)) if _is_end(lines[later])), len(lines))
        yield _file(match[1], match[2].strip("`'\""), lines[index + 1 : end])
        index = end


def _is_end(line: str) -> bool:
    return bool(FILE.match(line)) or line.startswith(("*** End Patch", "*** Begin Patch", PROSE_MARK))


def _file(verb: str, name: str, lines: Sequence[str]) -> RawFile:
    if verb == "Delete":
        return RawFile(old=name, new=name, deletes=True)
    if verb == "Add":
        return RawFile(old="/dev/null", new=name, hunks=(_new_file(name, lines),))
    file = RawFile(old=name, new=name)
    if lines and (match := MOVE.match(lines[0])):
        file, lines = replace(file, renamed_from=name, renamed_to=match[1]), lines[1:]
    while lines and (header := parse_file_header(lines, 0)):
        lines = lines[header[2] :]
    return replace(file, hunks=tuple(_hunks(lines)))


def _new_file(name: str, lines: Sequence[str]) -> RawHunk:
    body = [line for line in lines if line not in ("@@", END)]
    while body and not body[-1].strip():
        body.pop()
    if stray := next((line for line in body if line.strip() and not line.startswith("+")), None):
        raise PatchError(f"{name}: every line below '*** Add File' starts with '+', unlike {stray[:80]!r}.")
    return RawHunk(lines=tuple(line if line.strip() else "+" for line in body))


def _hunks(lines: Sequence[str]) -> Iterator[RawHunk]:
    """Yield hunks.

    Each starts at @@, optional above the first. Successive @@ lines name a class and a function in it.
    """
    index, headers = 0, list[RawHunk]()
    while index < len(lines):
        if lines[index].startswith("@@"):
            headers.append(parse_hunk_header(lines[index])[0])
            index += 1
        elif lines[index].startswith(("*** ", "diff --git ")):
            index += 1
        else:
            body, tail, index = read_body(
                lines, index, ends_at=lambda position: 0 if lines[position].startswith("*** ") else None
            )
            header = headers[-1] if headers else RawHunk(lines=())
            section = "\n".join(hunk.section for hunk in headers if hunk.section)
            yield replace(header, lines=body, tail=tail, section=section)
            headers = []
