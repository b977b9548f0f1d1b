"""Parsing of diffs in the dialects that models write, and of messages that contain them."""

import difflib
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from coder.core.errors import PatchError


@dataclass(frozen=True, kw_only=True)
class HunkLine:
    mark: str
    """A space: context; + or -: added or removed."""
    text: str
    ends: bool = True
    """False: the diff says that no line end follows."""


@dataclass(frozen=True, kw_only=True)
class ChangedRun:
    """Adjacent added or removed lines of a hunk; a removed line after an added one may begin another run."""

    old_index: int
    """Number of the hunk's old lines before it."""
    removed: tuple[HunkLine, ...]
    added: tuple[HunkLine, ...]

    @property
    def old_end(self) -> int:
        """Number of the hunk's old lines up to its end."""
        return self.old_index + len(self.removed)


@dataclass(frozen=True, kw_only=True)
class PatchHunk:
    number: int = 0
    """From 1, within its file."""
    start: int = 0
    """The line of the old file in the header, from 1; 0 where there is none."""
    new_start: int = 0
    """The line of the new file in the header."""
    section: str = ""
    """The header's text after the second @@; several lines name a class and a function in it."""
    lines: tuple[HunkLine, ...] = ()
    tail: int = 0
    """Number of last lines that may be prose below the diff."""

    @cached_property
    def old_lines(self) -> tuple[HunkLine, ...]:
        """Old lines expected in the file: context and removed lines."""
        return tuple(line for line in self.lines if line.mark != "+")

    @cached_property
    def new_lines(self) -> tuple[HunkLine, ...]:
        """New lines: context and added lines."""
        return tuple(line for line in self.lines if line.mark != "-")

    @cached_property
    def runs(self) -> tuple[ChangedRun, ...]:
        runs: list[ChangedRun] = []
        run: list[HunkLine] = []
        before = 0
        for line in (*self.lines, HunkLine(mark=" ", text="")):
            if run and (
                line.mark not in "+-" or (line.mark == "-" and run[0].mark == "-" and run[-1].mark == "+")
            ):
                removed = tuple(run_line for run_line in run if run_line.mark == "-")
                runs.append(
                    ChangedRun(
                        old_index=before,
                        removed=removed,
                        added=tuple(run_line for run_line in run if run_line.mark == "+"),
                    )
                )
                before += len(removed)
                run = []
            if line.mark in "+-":
                run.append(line)
            else:
                before += 1
        return tuple(runs)

    @property
    def reversed_lines(self) -> tuple[HunkLine, ...]:
        """Lines that take the change back."""
        marks = {"+": "-", "-": "+", " ": " "}
        return tuple(replace(line, mark=marks[line.mark]) for line in self.lines)

    @property
    def fingerprint(self) -> str:
        """Hash of the lines, independent of the header."""
        return hashlib.sha256(
            "\n".join(f"{line.mark}{line.text}" for line in self.lines).encode("utf-8", "replace")
        ).hexdigest()[:16]

    @property
    def without_tail(self) -> "PatchHunk":
        """The hunk without the lines that may be prose."""
        return replace(self, lines=self.lines[: len(self.lines) - self.tail], tail=0)


@dataclass(frozen=True, kw_only=True)
class FilePatch:
    """One file's part of a diff, names as written but without timestamps and quotes."""

    old: str = ""
    new: str = ""
    renamed_from: str = ""
    renamed_to: str = ""
    copies: bool = False
    """True if `renamed_from` stays, as in `copy from`."""
    mode: str = ""
    """git's octal mode after the change, where present."""
    old_mode: str = ""
    creates: bool = False
    deletes: bool = False
    binary: bool = False
    hints: tuple[str, ...] = ()
    """Words above the hunks that may name the file, nearest first, where no header does."""
    hunks: tuple[PatchHunk, ...] = ()


def parse_diff(text: str) -> tuple[FilePatch, ...]:
    """Parse the diff in a model's text.

    Raises:
        PatchError: there is none.
    """
    return tuple(map(_with_changes, split_diff(text)))


def _with_changes(file: FilePatch) -> FilePatch:
    """Return a file's patch with its hunks numbered, without those that change nothing."""
    if file.binary:
        raise PatchError(
            f"{file.new or file.old}: binary patches are not supported. Only text files can be changed."
        )
    numbered = enumerate((hunk for hunk in file.hunks if hunk.lines), 1)
    hunks = (replace(hunk, number=number) for number, hunk in numbered)
    return replace(file, hunks=tuple(hunk for hunk in hunks if hunk.runs))


def read_lines(marked: Iterable[str]) -> tuple[HunkLine, ...]:
    """Return the lines of a hunk, of which each has its mark."""
    lines: list[HunkLine] = []
    for line in marked:
        if line != NO_NEWLINE:
            lines.append(HunkLine(mark=line[0], text=line[1:]))
        elif lines:
            lines[-1] = replace(lines[-1], ends=False)
    return tuple(lines)


GIT_HEADER = re.compile(r'^diff --git "?(?:a/)?(?P<name>.+?)"? "?(?:b/)?(?P=name)"?\s*$')
GIT_PREFIXES = re.compile(
    r'^diff --git "?(?P<old>[abciow])/(?P<name>.+?)"? "?(?!(?P=old))(?P<new>[abciow])/(?P=name)"?\s*$'
)
"""Also what diff.mnemonicPrefix and `git diff -R` put before names, unlike the directories of two names."""
GIT_RENAME = re.compile(r"^diff --git a/(?P<old>\S+) b/(?P<new>\S+)\s*$")
HUNK = re.compile(
    r"^@@+ -(?P<start>\d+)(?:,(?P<old>\d+))? "
    r"\+(?P<new_start>\d+)(?:,(?P<new>\d+))?(?: @@+ ?(?P<section>.*)|\s*)$"
)
BARE_HUNK = re.compile(r"^@@+ *(?:[-+,.\d\s]*@@+)? ?(?P<section>.*?)(?: @@+)?$")
METADATA = re.compile(r"(?:new file|deleted file|old|new) mode \d+$|(?:rename|copy) (?:from|to) .+$")
PREFIX = re.compile(r"^[abciow]/")
LINES_OF_HINTS = 4


def read_unified(lines: Sequence[str]) -> Iterator[FilePatch]:
    """Yield the files of a diff; an empty part yields an empty value."""
    current, prefixes = FilePatch(), None
    is_header_complete = True  # False while a git header still lacks its --- and +++ lines
    index = 0
    while index < len(lines):
        line, header = lines[index], parse_file_header(lines, index)
        if header:
            if is_header_complete or _names_differ(current, header[:2]):
                yield current
                current, prefixes = FilePatch(), None
            if prefixes and not current.renamed_from:
                header = (
                    header[0].replace(f"{prefixes['old']}/", "a/", 1),
                    header[1].replace(f"{prefixes['new']}/", "b/", 1),
                    header[2],
                )
            current, is_header_complete = replace(current, old=header[0], new=header[1]), True
            index += header[2]
            if _starts_body(lines, index):
                hunk, index = _read_unified(lines, index, PatchHunk())
                current = replace(current, hunks=(hunk,))
        elif line.startswith("@@"):
            if not _has_name(current) and (hints := find_hints_above(lines, index)):
                yield current
                current = FilePatch(hints=hints)
            hunk, index = _hunk(lines, index)
            current, is_header_complete = replace(current, hunks=(*current.hunks, hunk)), True
        elif line.startswith("diff --git "):
            yield current
            current, is_header_complete = _from_git_header(line), False
            prefixes = GIT_PREFIXES.match(line)
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


def _names_differ(file: FilePatch, names: tuple[str, str]) -> bool:
    """Tell whether an open git header names other files than the names below it."""
    pairs = [
        (PREFIX.sub("", own), PREFIX.sub("", name))
        for own, name in zip((file.old, file.new), names, strict=True)
    ]
    return any(own != name and own and DEV_NULL not in (own, name) for own, name in pairs)


def _has_name(file: FilePatch) -> bool:
    return bool(file.old or file.new or file.renamed_from)


def _starts_body(lines: Sequence[str], index: int) -> bool:
    """Tell whether a hunk without any @@ follows the header."""
    return (
        index < len(lines)
        and lines[index].startswith((" ", "+", "-"))
        and parse_file_header(lines, index) is None
    )


def _from_git_header(line: str) -> FilePatch:
    """Parse a git header; it is unambiguous only where both names are the same or contain no space.

    Elsewhere later lines give the names.
    """
    if match := GIT_PREFIXES.match(line) or GIT_HEADER.match(line):
        name = unquote_name(f'"{match["name"]}"') if '"' in line else match["name"]
        return FilePatch(old=f"a/{name}", new=f"b/{name}")
    if (match := GIT_RENAME.match(line)) and "dev/null" in match.groups():
        return FilePatch(
            old=parse_header_name(f"--- {match['old']}"), new=parse_header_name(f"+++ {match['new']}")
        )
    if match:
        return FilePatch(renamed_from=match["old"], renamed_to=match["new"])
    return FilePatch()


def _with_metadata(file: FilePatch, line: str) -> FilePatch:
    line = line.rstrip()
    if match := re.match(r"(new file|deleted file|old|new) mode (\d+)$", line):
        if match[1] == "old" or match[1] == "deleted file":
            return replace(file, old_mode=match[2], deletes=file.deletes or match[1] != "old")
        return replace(file, creates=file.creates or match[1] == "new file", mode=match[2])
    if match := re.match(r"(?:rename|copy) (from|to) (.+)$", line):
        name = unquote_name(match[2])
        file = replace(file, copies=line.startswith("copy"))
        return replace(file, renamed_from=name) if match[1] == "from" else replace(file, renamed_to=name)
    if re.match(r"Binary files .* differ$|GIT binary patch$", line):
        return replace(file, binary=True)
    return file


Counts = tuple[int, int] | None
"""The old and the new length in a hunk's header."""


def parse_hunk_header(line: str) -> tuple[PatchHunk, Counts]:
    """Return a hunk without lines, and the old and new lengths in its header."""
    header = line[:LONGEST_HEADER].rstrip()
    if match := HUNK.match(header):
        start, new_start, section = (
            int(match["start"]),
            int(match["new_start"]),
            (match["section"] or "").strip(),
        )
        return PatchHunk(start=start, new_start=new_start, section=section), (
            int(match["old"] or 1),
            int(match["new"] or 1),
        )
    match = BARE_HUNK.match(header)
    return PatchHunk(section=match["section"].strip() if match else ""), None


def _hunk(lines: Sequence[str], index: int) -> tuple[PatchHunk, int]:
    """Read the hunk whose header is at `index`; return it and the index of the line after it."""
    hunk, counts = parse_hunk_header(lines[index])
    return _read_unified(lines, index + 1, hunk, counts=counts)


def _read_unified(
    lines: Sequence[str], index: int, hunk: PatchHunk, *, counts: Counts = None
) -> tuple[PatchHunk, int]:
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


def reverse_patch(patch: FilePatch) -> FilePatch:
    """Return the reversed patch.

    Raises:
        PatchError: it deletes a file without its old content.
    """
    if patch.copies:
        return FilePatch(old=patch.renamed_to, new=DEV_NULL, deletes=True)
    if (patch.deletes or patch.new == DEV_NULL) and not patch.hunks:
        raise PatchError(
            f"{patch.old}: the patch does not say what was in the file that it deletes, so "
            "it cannot be taken back."
        )
    return replace(
        patch,
        old=patch.new,
        new=patch.old,
        renamed_from=patch.renamed_to,
        renamed_to=patch.renamed_from,
        mode=patch.old_mode,
        old_mode=patch.mode,
        creates=patch.deletes,
        deletes=patch.creates,
        hunks=tuple(
            replace(hunk, start=hunk.new_start, new_start=hunk.start, lines=hunk.reversed_lines)
            for hunk in patch.hunks
        ),
    )


MARKS = (" ", "+", "-", "\\ ")
NO_NEWLINE = "\\ No newline at end of file"
SIGNATURE = re.compile(r"\d+\.\d+[.\w]*")
"""The git version that `git format-patch` writes below its last line, `-- `."""
UNUSUAL_MARKS = {"\u00a0": " ", "\u2212": "-"}
EndsAt = Callable[[int], int | None]
"""Tells whether the hunk ends above an index: None, no; 0, certainly; n, unless the header's counts include n
further lines."""


def read_body(
    lines: Sequence[str], start: int, *, counts: Counts = None, ends_at: EndsAt
) -> tuple[tuple[HunkLine, ...], int, int]:
    """Return the marked lines of the hunk, how many of the last may be prose, and the next index.

    An unmarked line between marked ones is context whose leading space was lost. `counts` only settle
    ambiguities: whether `--- x` ends the hunk or removes the line `-- x`, and whether unmarked lines at the
    end are context. No line that starts with + or - is ever dropped.
    """
    index = start
    while index < len(lines) and not _ends_body(
        lines, index, body_start=start, counts=counts, ends_at=ends_at
    ):
        index += 1
    body = [UNUSUAL_MARKS.get(line[:1], line[:1]) + line[1:] for line in lines[start:index]]
    marked_size = next(
        (position + 1 for position in range(len(body) - 1, -1, -1) if body[position].startswith(MARKS)), 0
    )
    exact_size = next(
        (size for size in range(marked_size, len(body) + 1) if counts and _counts(body[:size]) == counts), 0
    )
    end = exact_size or len(body)
    while end > marked_size and not exact_size and not body[end - 1].strip():
        end -= 1
    tail = 0 if exact_size else end - marked_size
    return read_lines(map(_add_mark, body[:end])), tail, index


def _add_mark(line: str) -> str:
    if line.startswith("\\ "):
        return NO_NEWLINE
    return line if line.startswith(MARKS) else f" {line}"


def _ends_body(lines: Sequence[str], index: int, *, body_start: int, counts: Counts, ends_at: EndsAt) -> bool:
    if lines[index].startswith(("@@", "diff --git ", PROSE_MARK)):
        return True
    if (
        lines[index].rstrip() == "--"
        and index + 1 < len(lines)
        and SIGNATURE.fullmatch(lines[index + 1].strip())
    ):
        return True
    size = ends_at(index)
    return size == 0 or (size is not None and _counts(lines[body_start : index + size]) != counts)


def _counts(body: Sequence[str]) -> tuple[int, int]:
    """Return the old and the new length of a hunk with these lines."""
    return sum(not line.startswith(("+", "\\ ")) for line in body), sum(
        not line.startswith(("-", "\\ ")) for line in body
    )


FILE = re.compile(r"\*\*\* (Update|Add|Delete) File:? *(.+?)\s*$")
MOVE = re.compile(r"\*\*\* (?:Move|Rename)(?: File)? to:? *(.+?)\s*$")
END = "*** End of File"


def read_envelope(lines: Sequence[str]) -> Iterator[FilePatch]:
    """Yield the files of an envelope; anything outside of its sections is prose.

    Raises:
        PatchError: a line cannot be part of a file.
    """
    index = 0
    while index < len(lines):
        if not (match := FILE.match(lines[index])):
            index += 1
            continue
        end = next((later for later in range(index + 1, len(lines)) if _ends_file(lines[later])), len(lines))
        yield _envelope_file(match[1], match[2].strip("`'\""), lines[index + 1 : end])
        index = end


def _ends_file(line: str) -> bool:
    return bool(FILE.match(line)) or line.startswith(("*** End Patch", "*** Begin Patch", PROSE_MARK))


def _envelope_file(verb: str, name: str, lines: Sequence[str]) -> FilePatch:
    if verb == "Delete":
        return FilePatch(old=name, new=name, deletes=True)
    if verb == "Add":
        return FilePatch(old="/dev/null", new=name, hunks=(_new_file(name, lines),))
    file = FilePatch(old=name, new=name)
    if lines and (match := MOVE.match(lines[0])):
        file, lines = replace(file, renamed_from=name, renamed_to=match[1]), lines[1:]
    while lines and (header := parse_file_header(lines, 0)):
        lines = lines[header[2] :]
    return replace(file, hunks=tuple(_hunks(lines)))


def _new_file(name: str, lines: Sequence[str]) -> PatchHunk:
    body = [line for line in lines if line not in ("@@", END)]
    while body and not body[-1].strip():
        body.pop()
    if stray := next((line for line in body if line.strip() and not line.startswith("+")), None):
        raise PatchError(f"{name}: every line below '*** Add File' starts with '+', unlike {stray[:80]!r}.")
    return PatchHunk(lines=read_lines(line if line.strip() else "+" for line in body))


def _hunks(lines: Sequence[str]) -> Iterator[PatchHunk]:
    """Yield hunks.

    Each starts at @@, optional above the first. Successive @@ lines name a class and a function in it.
    """
    index, headers = 0, list[PatchHunk]()
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
            header = headers[-1] if headers else PatchHunk()
            section = "\n".join(hunk.section for hunk in headers if hunk.section)
            yield replace(header, lines=body, tail=tail, section=section)
            headers = []


SEARCH = re.compile(r"<{5,9} ?(?:SEARCH|ORIGINAL)\b")
DIVIDER = re.compile(r"={5,9}\s*$")
REPLACE = re.compile(r">{5,9} ?(?:REPLACE|UPDATED)\b")


def read_search_replace(lines: Sequence[str]) -> Iterator[FilePatch]:
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
        body = read_lines(_search_replace_body(removed, added))
        names = (DEV_NULL, hints[0]) if hints and not any(line.strip() for line in removed) else ("", "")
        yield FilePatch(old=names[0], new=names[1], hints=hints, hunks=(PatchHunk(lines=body),))
        index = last_end = end + 1


def _search_replace_body(removed: Sequence[str], added: Sequence[str]) -> Iterator[str]:
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


TIMESTAMP = re.compile(r"(?:\t.*|\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*)$")
ESCAPED = re.compile(r'\\([0-7]{3}|[abfnrtv"\\])')
ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, '"': 34, "\\": 92}
LONGEST_HEADER = 2_000
DEV_NULL = "/dev/null"
PATH = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*\.\w+|[\w.@+-]+(?:/[\w.@+-]+)+|[A-Z]\w+file")
SURROUNDING_CHARACTERS = "`*'\"()[]<>,;:#"


def parse_header_name(line: str) -> str:
    """Return the name after `--- ` or `+++ `, without a timestamp and quotes."""
    name = unquote_name(TIMESTAMP.sub("", line[4:LONGEST_HEADER].rstrip("\r")).strip())
    return DEV_NULL if name in ("a/dev/null", "b/dev/null", "dev/null") else name.strip("`")


def unquote_name(name: str) -> str:
    """Undo git's C-style quoting of unusual names."""
    name = name.strip()
    if not (len(name) > 1 and name.startswith('"') and name.endswith('"')):
        return name
    data = re.sub(
        ESCAPED,
        lambda match: chr(int(match[1], 8) if match[1].isdigit() else ESCAPES[match[1]]),
        name[1:-1].encode("utf-8").decode("latin-1"),
    )
    return data.encode("latin-1").decode("utf-8", "surrogateescape")


def path_line(line: str) -> str:
    """Return the path that is all of a line, apart from Markdown and a colon.

    Empty where there is more or less.
    """
    text = line.lstrip("\0").strip().strip(SURROUNDING_CHARACTERS + " ")
    return text if text and len(text) < LONGEST_HEADER and not re.search(r"\s", text) else ""


def extract_path_words(line: str) -> list[str]:
    words = [word.strip(SURROUNDING_CHARACTERS) for word in line.lstrip("\0")[:LONGEST_HEADER].split()]
    return [word for word in (word.rstrip(".") for word in words) if PATH.fullmatch(word)]


ENVELOPE = re.compile(r"^[ \t>]*\*\*\* (?:Begin Patch|(?:Update|Add|Delete) File)", re.MULTILINE)
BLOCK = re.compile(r"^[ \t>]*<{5,9} ?(?:SEARCH|ORIGINAL)\b", re.MULTILINE)
UNIFIED = re.compile(r"^[ \t>]*(?:diff --git |--- \S.*\n[ \t>]*\+\+\+ )", re.MULTILINE)
COLORED_DIFF = re.compile(r"^(?:\x1b\[[\d;:]*[mK])+(?:diff --git |--- |\+\+\+ |@@)", re.MULTILINE)
"""A header that begins with a color: a terminal's own output, and not a file that holds escape sequences."""
ESCAPE_SEQUENCE = re.compile(r"\x1b\[[\d;:]*[mK]|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)")
ENCODED_MAIL = re.compile(
    r"\s*(?:From \S.*\n)?(?:(?:[a-z][\w-]*:|[ \t]).*\n)*?Content-"
    r"(?:Transfer-Encoding:\s*(?:quoted-printable|base64)"
    r"|Type:\s*(?:multipart/|.*(?:\n[ \t].*)*format=\"?flowed))",
    re.IGNORECASE,
)
"""The header of a mail whose lines are not as the author of the diff wrote them."""
COMBINED = re.compile(r"^[ \t>]*(?:diff --(?:cc|combined) |@@@ -\d)", re.MULTILINE)
FORMS = {
    UNIFIED: "a unified diff",
    ENVELOPE: "a patch of `*** Update File`",
    BLOCK: "a block of search and replace",
}
BLOCK_BODY = re.compile(
    r"(?<=SEARCH|IGINAL)\n.*?^[ \t>]*>{5,9} ?(?:REPLACE|UPDATED)\b", re.MULTILINE | re.DOTALL
)
"""Texts of a block: the one to find, and its replacement."""
OTHER_DIFF = re.compile(r"^[ \t>]*(?:\*{15}$|\d+(?:,\d+)?[acd]\d+(?:,\d+)?\n[<>] )", re.MULTILINE)
MOST_HUNKS = 5_000
EXPECTED_FORMAT = "Send a unified diff: '--- a/path', '+++ b/path', then hunks that start with '@@'."


def split_diff(text: str) -> tuple[FilePatch, ...]:
    """Split a diff into files and hunks, dropping the prose and fences around it.

    Raises:
        PatchError: there is no diff in it, or it is too large.
    """
    text = ESCAPE_SEQUENCE.sub("", text) if COLORED_DIFF.search(text) else text
    if ENCODED_MAIL.match(text):
        raise PatchError(
            "This is a mail that encodes its text (quoted-printable, base64 or flowed). Decode it first: "
            "`git mailinfo msg patch < MAIL`, or save the attachment alone."
        )
    if COMBINED.search(text):
        raise PatchError(
            "This is a combined diff of a merge (`diff --cc`), which compares with several files at once. "
            "Send the diff against one side: `git diff HEAD`, or `git show -m --first-parent` of a merge."
        )
    if (hunks := text.count("\n@@")) > MOST_HUNKS:
        raise PatchError(f"The patch has {hunks:,} hunks; more than {MOST_HUNKS:,} are not taken at once.")
    headers = {
        pattern: match.start() for pattern in (UNIFIED, ENVELOPE, BLOCK) if (match := pattern.search(text))
    }
    first = min(headers, key=lambda pattern: headers[pattern], default=UNIFIED)
    outside = BLOCK_BODY.sub("", text) if first is BLOCK else text
    for pattern, form in FORMS.items():
        if pattern is first or (first is ENVELOPE and pattern is UNIFIED):  # its headers may stand in that
            continue
        if any(not match[0][0].isspace() for match in pattern.finditer(outside)):
            raise PatchError(f"A part of this text is {FORMS[first]}, another {form}. Send all in one form.")
    files = tuple(
        file
        for file in _read_as(first, split_lines(text))
        if file.hunks or file != FilePatch(hints=file.hints)
    )
    if not files:
        other = "It is a context or normal diff (without -u). " if OTHER_DIFF.search(text) else ""
        raise PatchError(f"There is no diff in this text. {other}{EXPECTED_FORMAT}")
    return files


def _read_as(dialect: re.Pattern[str], lines: list[str]) -> Iterator[FilePatch]:
    if dialect is BLOCK:  # it may contain fences, and its file name is outside of the fence around it
        return read_search_replace(dedent_diff(lines))
    return (read_envelope if dialect is ENVELOPE else read_unified)(unfence(lines))
