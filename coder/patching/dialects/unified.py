"""Parser of unified diffs, git's and plain ones, with damaged headers tolerated."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from coder.patching.dialects.body import Counts, read_body
from coder.patching.dialects.names import (
    DEV_NULL,
    LONGEST_HEADER,
    extract_path_words,
    parse_header_name,
    path_line,
    unquote_name,
)
from coder.patching.dialects.prose import DIFF_PREFIXES, LOOK_ALIKE_SIGNS
from coder.patching.dialects.raw import RawFile, RawHunk
from coder.patching.errors import PatchError

GIT_HEADER = re.compile(r'^diff --git "?(?:a/)?(?P<name>.+?)"? "?(?:b/)?(?P=name)"?\s*$')
GIT_RENAME = re.compile(r"^diff --git a/(?P<old>\S+) b/(?P<new>\S+)\s*$")
HUNK = re.compile(
    r"^@@+ -(?P<start>\d+)(?:,(?P<old>\d+))? "
    r"\+(?P<new_start>\d+)(?:,(?P<new>\d+))?(?: @@+ ?(?P<section>.*)|\s*)$"
)
BARE_HUNK = re.compile(r"^@@+ *(?:[-+,.\d\s]*@@+)? ?(?P<section>.*?)(?: @@+)?$")
METADATA = re.compile(r"(?:new file|deleted file|old|new) mode \d+$|(?:rename|copy) (?:from|to) .+$")
PREFIX = re.compile(r"^[ab]/")
LINES_OF_HINTS = 4


def read_unified(lines: Sequence[str]) -> Iterator[RawFile]:
    """Yield the files of a diff; an empty part yields an empty value."""
    current = RawFile()
    is_header_complete = True  # False while a git header still lacks its --- and +++ lines
    index = 0
    while index < len(lines):
        line, header = lines[index], parse_file_header(lines, index)
        if header:
            if is_header_complete or _names_differ(current, header[:2]):
                yield current
                current = RawFile()
            current, is_header_complete = replace(current, old=header[0], new=header[1]), True
            index += header[2]
            if _starts_body(lines, index):
                hunk, index = _body(lines, index, RawHunk(lines=()))
                current = replace(current, hunks=(hunk,))
        elif line.startswith("@@"):
            if not _has_name(current) and (hints := find_hints_above(lines, index)):
                yield current
                current = RawFile(hints=hints)
            hunk, index = _hunk(lines, index)
            current, is_header_complete = replace(current, hunks=(*current.hunks, hunk)), True
        elif line.startswith("diff --git "):
            yield current
            current, is_header_complete = _from_git_header(line), False
            index += 1
        else:
            if is_header_complete and not current.hunks and not _has_name(current) and METADATA.match(line):
                is_header_complete = False
            current = _with_metadata(current, line) if not is_header_complete else current
            index += 1
    yield current


def parse_file_header(lines: Sequence[str], index: int) -> tuple[str, str, int] | None:
    """Return old name, new name and number of header lines at an index.

    One of ---, +++ may be missing before a hunk.
    """
    line, next_line, third_line = (
        lines[position] if position < len(lines) else "" for position in (index, index + 1, index + 2)
    )
    if line.startswith("--- ") and next_line.startswith("+++ "):
        return parse_header_name(line), parse_header_name(next_line), 2
    if (
        line.startswith(("--- ", "+++ "))
        and next_line.startswith("@@")
        and not third_line.startswith(DIFF_PREFIXES)
    ):
        return parse_header_name(line), parse_header_name(line), 1
    return None


def find_hints_above(lines: Sequence[str], index: int) -> tuple[str, ...]:
    """Return possible file names from the lines right above.

    These are a path on its own line, else words that look like paths.
    """
    above = [line for line in lines[max(0, index - 12) : index] if line.strip("\0 `~\t")][-LINES_OF_HINTS:]
    hints: list[str] = []
    for line in reversed(above):
        if line.startswith(("+", "-", "@@", " ")):
            break
        path = path_line(line)
        hints += [path] if path else extract_path_words(line)
    return tuple(dict.fromkeys(hints))


def _names_differ(file: RawFile, names: tuple[str, str]) -> bool:
    """Tell whether an open git header names other files than the names below it."""
    pairs = [
        (PREFIX.sub("", own), PREFIX.sub("", name))
        for own, name in zip((file.old, file.new), names, strict=True)
    ]
    return any(own != name and own and DEV_NULL not in (own, name) for own, name in pairs)


def _has_name(file: RawFile) -> bool:
    return bool(file.old or file.new or file.renamed_from)


def _starts_body(lines: Sequence[str], index: int) -> bool:
    """Tell whether a hunk without any @@ follows the header."""
    return (
        index < len(lines)
        and lines[index].startswith((" ", "+", "-"))
        and parse_file_header(lines, index) is None
    )


def _from_git_header(line: str) -> RawFile:
    """Parse a git header; it is unambiguous only where both names are the same or contain no space.

    Elsewhere later lines give the names.
    """
    if match := GIT_HEADER.match(line):
        name = unquote_name(f'"{match["name"]}"') if '"' in line else match["name"]
        return RawFile(old=f"a/{name}", new=f"b/{name}")
    if (match := GIT_RENAME.match(line)) and "dev/null" in match.groups():
        return RawFile(
            old=parse_header_name(f"--- {match['old']}"), new=parse_header_name(f"+++ {match['new']}")
        )
    if match:
        return RawFile(renamed_from=match["old"], renamed_to=match["new"])
    return RawFile()


def _with_metadata(file: RawFile, line: str) -> RawFile:
    line = line.rstrip()
    if match := re.match(r"(new file|deleted file|old|new) mode (\d+)$", line):
        if match[1] == "old" or match[1] == "deleted file":
            return replace(file, old_mode=match[2], deletes=file.deletes or match[1] != "old")
        return replace(file, creates=file.creates or match[1] == "new file", mode=match[2])
    if match := re.match(r"(?:rename|copy) (from|to) (.+)$", line):
        if line.startswith("copy"):
            raise PatchError(
                f"{line!r}: copies are not supported. Create the new file with '--- /dev/null' "
                "and its whole content."
            )
        name = unquote_name(match[2])
        return replace(file, renamed_from=name) if match[1] == "from" else replace(file, renamed_to=name)
    if re.match(r"Binary files .* differ$|GIT binary patch$", line):
        return replace(file, binary=True)
    return file


def parse_hunk_header(line: str) -> tuple[RawHunk, Counts]:
    """Return a hunk without lines, and the old and new lengths in its header."""
    header = line[:LONGEST_HEADER].rstrip()
    if match := HUNK.match(header.translate(LOOK_ALIKE_SIGNS)):
        start, new_start, section = (
            int(match["start"]),
            int(match["new_start"]),
            (match["section"] or "").strip(),
        )
        return RawHunk(start=start, new_start=new_start, section=section, lines=()), (
            int(match["old"] or 1),
            int(match["new"] or 1),
        )
    match = BARE_HUNK.match(header)
    return RawHunk(section=match["section"].strip() if match else "", lines=()), None


def _hunk(lines: Sequence[str], index: int) -> tuple[RawHunk, int]:
    """Read the hunk whose header is at `index`; return it and the index of the line after it."""
    hunk, counts = parse_hunk_header(lines[index])
    return _body(lines, index + 1, hunk, counts=counts)


def _body(lines: Sequence[str], index: int, hunk: RawHunk, *, counts: Counts = None) -> tuple[RawHunk, int]:
    body, tail, after = read_body(
        lines, index, counts=counts, ends_at=lambda position: _header_before_hunk(lines, position)
    )
    return replace(hunk, lines=body, tail=tail), after


def _header_before_hunk(lines: Sequence[str], index: int) -> int | None:
    """Count the file header lines at an index if a hunk follows immediately.

    Only such a header ends the hunk before it.

    0 where both lines name one file, or none: removed and added lines do not look like that.
    """
    header = parse_file_header(lines, index)
    if header is None or not "".join(lines[index + header[2] : index + header[2] + 1]).startswith("@@"):
        return None
    old, new, size = header
    is_certain = size == 2 and (
        DEV_NULL in (old, new) or (old.startswith("a/") and old.removeprefix("a/") == new.removeprefix("b/"))
    )
    return 0 if is_certain else size
