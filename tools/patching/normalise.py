"""Find the diff in what a model wrote, and say plainly which lines belong to which hunk of which file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from coder.tools.patching.body import read_body
from coder.tools.patching.errors import PatchError

FENCE = re.compile(r"^(```+|~~~+)\s*[\w.+-]*\s*$")
FOREIGN = re.compile(r"^[ \t]*(\*\*\* (?:Begin Patch|Update File|Add File)|<{5,9} ?SEARCH)", re.MULTILINE)
GIT_HEADER = re.compile(r'^diff --git "?a/(?P<name>.+?)"? "?b/(?P=name)"?\s*$')
HUNK = re.compile(r"^@@+ -(?P<start>\d+)(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))?(?: @@+ ?(?P<section>.*)|\s*)$")
BARE_HUNK = re.compile(r"^@@+ *(?:[-+,.\d\s]*@@+)? ?(?P<section>.*?)(?: @@+)?$")
TIMESTAMP = re.compile(r"(?:\t.*|\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*)$")
ESCAPED = re.compile(r'\\([0-7]{3}|[abfnrtv"\\])')
ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, '"': 34, "\\": 92}
WANTED = "Send a unified diff: '--- a/path', '+++ b/path', then hunks that start with '@@'."
LONGEST_HEADER = 2_000
STARTS = ("--- ", "+++ ", "@@", "diff --git ")


@dataclass(frozen=True, kw_only=True)
class RawHunk:
    """One hunk, every line with its mark; the counts of its header are forgotten."""

    start: int
    """The line of the old file that the header names; 0 where it names none."""
    section: str
    """What the header says after the second @@."""
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RawFile:
    """One file's part of a diff, names as written but without timestamps and quotes."""

    old: str = ""
    new: str = ""
    renamed_from: str = ""
    renamed_to: str = ""
    mode: str = ""
    """git's octal mode after the change, where given."""
    creates: bool = False
    deletes: bool = False
    binary: bool = False
    hunks: tuple[RawHunk, ...] = ()


def normalise(text: str) -> tuple[RawFile, ...]:
    """Split a diff into files and hunks, leaving out the prose and the fences around it.

    Raises:
        PatchError: there is no unified diff in it, or a hunk belongs to no file.
    """
    if (found := FOREIGN.search(text)) and not re.search(r"^(---|\+\+\+) ", text, re.MULTILINE):
        raise PatchError(f"{found[1]!r} starts another patch format. {WANTED}")
    files = [file for file in _files(_unfenced(_lines(text))) if file != RawFile()]
    if not files:
        raise PatchError(f"There is no unified diff in this text. {WANTED}")
    return tuple(files)


def _lines(text: str) -> list[str]:
    """The lines of the text, without their CRs where even the headers have them."""
    lines = text.split("\n")
    headers = [line for line in lines if line.startswith(STARTS)]
    if headers and all(line.endswith("\r") for line in headers):
        return [line.removesuffix("\r") for line in lines]
    return lines


def _unfenced(lines: list[str]) -> list[str]:
    """The content of the fenced blocks that hold diffs, or all lines where no fence stands before the first header."""
    first = next((index for index, line in enumerate(lines) if line.startswith(STARTS)), len(lines))
    if not any(FENCE.match(line) for line in lines[:first]):
        return lines
    kept: list[str] = []
    block: list[str] | None = None
    for line in [*lines, "```"]:
        if not FENCE.match(line):
            if block is not None:
                block.append(line)
        elif block is None:
            block = []
        else:
            kept += block if any(inner.startswith(STARTS) for inner in block) else []
            block = None
    return kept


def _files(lines: list[str]) -> Iterator[RawFile]:
    current = RawFile()
    unnamed = False  # a git header has been read, its --- and +++ lines have not
    index = 0
    while index < len(lines):
        line, header = lines[index], file_header(lines, index)
        if header:
            if not unnamed:
                yield current
                current = RawFile()
            current, unnamed = replace(current, old=header[0], new=header[1]), False
            index += header[2]
        elif line.startswith("@@"):
            hunk, index = _hunk(lines, index)
            if not (current.old or current.new):
                raise PatchError(f"The hunk {line[:60]!r} belongs to no file. Put '--- a/path' and '+++ b/path' above it.")
            current, unnamed = replace(current, hunks=(*current.hunks, hunk)), False
        elif line.startswith("diff --git "):
            yield current
            current, unnamed = _from_git_header(line), True
            index += 1
        else:
            current = _with_metadata(current, line) if unnamed else current
            index += 1
    yield current


def _from_git_header(line: str) -> RawFile:
    """The names stand here unambiguously only where both are the same; elsewhere later lines give them."""
    match = GIT_HEADER.match(line)
    name = _unquoted(f'"{match["name"]}"') if match and '"' in line else match["name"] if match else ""
    return RawFile(old=f"a/{name}", new=f"b/{name}") if match else RawFile()


def file_header(lines: list[str], index: int) -> tuple[str, str, int] | None:
    """The old name, the new name and the number of header lines at this place; one of ---, +++ may be lost before a hunk."""
    here, after, then = (lines[position] if position < len(lines) else "" for position in (index, index + 1, index + 2))
    if here.startswith("--- ") and after.startswith("+++ "):
        return _name(here), _name(after), 2
    if here.startswith(("--- ", "+++ ")) and after.startswith("@@") and not then.startswith(STARTS):
        return _name(here), _name(here), 1
    return None


def _name(line: str) -> str:
    return _unquoted(TIMESTAMP.sub("", line[4:LONGEST_HEADER].rstrip("\r")).strip())


def _unquoted(name: str) -> str:
    """Undo git's C-style quoting of unusual names."""
    if not (len(name) > 1 and name.startswith('"') and name.endswith('"')):
        return name
    data = re.sub(
        ESCAPED,
        lambda match: chr(int(match[1], 8) if match[1].isdigit() else ESCAPES[match[1]]),
        name[1:-1].encode("utf-8").decode("latin-1"),
    )
    return data.encode("latin-1").decode("utf-8", "surrogateescape")


def _with_metadata(file: RawFile, line: str) -> RawFile:
    line = line.rstrip()
    if match := re.match(r"(new file|deleted file|new) mode (\d+)$", line):
        return replace(
            file,
            creates=file.creates or match[1] == "new file",
            deletes=file.deletes or match[1] == "deleted file",
            mode="" if match[1] == "deleted file" else match[2],
        )
    if match := re.match(r"(?:rename|copy) (from|to) (.+)$", line):
        if line.startswith("copy"):
            raise PatchError(f"{line!r}: copies are not supported. Create the new file with '--- /dev/null' and its whole content.")
        name = _unquoted(match[2])
        return replace(file, renamed_from=name) if match[1] == "from" else replace(file, renamed_to=name)
    if re.match(r"Binary files .* differ$|GIT binary patch$", line):
        return replace(file, binary=True)
    return file


def _hunk(lines: list[str], index: int) -> tuple[RawHunk, int]:
    """Read the hunk whose header stands at `index`; returns it and the index of the line after it."""
    header = lines[index][:LONGEST_HEADER].rstrip()
    start, counts, section = 0, None, ""
    if match := HUNK.match(header):
        start, section = int(match["start"]), match["section"] or ""
        counts = (int(match["old"] or 1), int(match["new"] or 1))
    elif match := BARE_HUNK.match(header):
        section = match["section"]
    body, after = read_body(lines, index + 1, counts=counts, header_at=lambda position: _header_before_hunk(lines, position))
    return RawHunk(start=start, section=section.strip(), lines=body), after


def _header_before_hunk(lines: list[str], index: int) -> int:
    """The number of file header lines at this place that a hunk follows at once; only such a header ends the hunk before it."""
    size = (file_header(lines, index) or ("", "", 0))[2]
    return size if size and "".join(lines[index + size : index + size + 1]).startswith("@@") else 0
