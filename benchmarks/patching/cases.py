"""Cases: files before and after a real change, and its diff in a form that can be damaged in parts."""

import re
from dataclasses import dataclass, field, replace

NOWHERE = "/dev/null"
NO_NEWLINE = "\\ No newline at end of file"


@dataclass
class Text:
    """One file."""

    lines: list[str]
    end: str = "\n"
    final: bool = True
    """A line end follows the last line."""
    encoding: str = "utf-8"
    executable: bool = False

    @property
    def data(self) -> bytes:
        text = self.end.join(self.lines) + (self.end if self.final and self.lines else "")
        return text.encode(self.encoding)


@dataclass
class Row:
    """One line of a hunk."""

    mark: str
    text: str
    at: int
    """Index of its line in the file before, or of the line it is added before; -1: no such line."""
    ends: bool = True
    marked: bool = True
    """False: written without its mark."""


@dataclass
class Hunk:
    rows: list[Row]
    start: int
    """The old line number as written, from 1; 0: none is written."""
    new_start: int
    section: str = ""
    header: str | None = None
    """Written instead of the true one."""
    counts: tuple[int, int] | None = None
    """Written instead of the true ones."""
    pinned: bool = False
    """The header selects one of several places."""
    applied: bool = False
    """The file holds this change already."""

    @property
    def old(self) -> list[Row]:
        return [row for row in self.rows if row.mark != "+"]

    @property
    def new(self) -> list[Row]:
        return [row for row in self.rows if row.mark != "-"]

    @property
    def first_line(self) -> str:
        if self.header is not None:
            return self.header
        old, new = self.counts or (len(self.old), len(self.new))
        ranges = [
            f"{start},{count}" if count != 1 else f"{start}"
            for start, count in ((self.start, old), (self.new_start, new))
        ]
        return f"@@ -{ranges[0]} +{ranges[1]} @@" + (f" {self.section}" if self.section else "")


@dataclass
class Part:
    """The changes to one file in a diff."""

    path: str
    """Its place before the change; empty for a new file."""
    target: str
    """Its place after the change; empty for a deleted file."""
    git: list[str]
    """Git's header lines above the names."""
    old: str
    """The name after ---; empty: the line is missing."""
    new: str
    hunks: list[Hunk]

    @property
    def changes_only(self) -> bool:
        return bool(self.path) and self.path == self.target

    @property
    def lines(self) -> list[str]:
        names = [
            f"{sign} {name}" for sign, name in (("---", self.old), ("+++", self.new)) if name and self.hunks
        ]
        return [
            *self.git,
            *names,
            *(line for hunk in self.hunks for line in (hunk.first_line, *write_rows(hunk.rows))),
        ]


@dataclass
class Case:
    """A diff, the files it is for, and their expected content afterwards."""

    before: dict[str, Text]
    after: dict[str, Text]
    parts: list[Part]
    label: str = ""
    dialect: str = "unified"
    above: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    indent: str = ""
    all_indented: bool = False
    """The lines above and below are indented too."""
    end: str = "\n"
    closed: bool = True
    """The text ends with a line end."""
    links: dict[str, str] = field(default_factory=dict)
    """Symbolic links: path to target."""
    outside: dict[str, Text] = field(default_factory=dict)
    """Files beside the tree."""
    note: str = ""
    refused: bool = False
    """Nothing may be written."""

    @property
    def changed(self) -> list[Part]:
        """Parts that change a file and neither create, rename nor delete it."""
        return [part for part in self.parts if part.changes_only and part.hunks]

    @property
    def hunks(self) -> list[Hunk]:
        return [hunk for part in self.changed for hunk in part.hunks]

    @property
    def text(self) -> str:
        body = [line for part in self.parts for line in RENDERED[self.dialect](self, part)]
        if self.dialect == "envelope":
            body = ["*** Begin Patch", *body, "*** End Patch"]
        above, below = self.above, self.below
        if self.all_indented:
            body, above, below = [*above, *body, *below], [], []
        text = self.end.join(
            [*above, *(f"{self.indent}{line}" if line.strip() else line for line in body), *below]
        )
        return text + (self.end if self.closed else "")


def write_rows(rows: list[Row]) -> list[str]:
    lines = []
    for row in rows:
        lines.append(f"{row.mark}{row.text}" if row.marked else row.text)
        lines += [] if row.ends else [NO_NEWLINE]
    return lines


def _unified(case: Case, part: Part) -> list[str]:
    return part.lines


def _envelope(case: Case, part: Part) -> list[str]:
    """Return the format of OpenAI's `apply_patch`."""
    if not part.path:
        return [f"*** Add File: {part.target}", *(f"+{row.text}" for hunk in part.hunks for row in hunk.rows)]
    if not part.target:
        return [f"*** Delete File: {part.path}"]
    moved = [f"*** Move to: {part.target}"] if part.target != part.path else []
    rows = [
        line
        for hunk in part.hunks
        for line in (hunk.first_line, *write_rows([replace(row, ends=True) for row in hunk.rows]))
    ]
    return [f"*** Update File: {part.path}", *moved, *rows]


def _blocks(case: Case, part: Part) -> list[str]:
    """Return SEARCH/REPLACE blocks, each under the name of its file."""
    lines = []
    for hunk in part.hunks:
        search, put = ([row.text for row in rows] for rows in (hunk.old, hunk.new))
        lines += [
            part.target,
            "```python",
            "<<<<<<< SEARCH",
            *search,
            "=======",
            *put,
            ">>>>>>> REPLACE",
            "```",
            "",
        ]
    return lines


RENDERED = {"unified": _unified, "envelope": _envelope, "blocks": _blocks}


def apply_hunks(lines: list[str], hunks: list[Hunk]) -> list[str]:
    """Return the lines after the hunks, by the places their rows are known to have."""
    result, position = [], 0
    for row in (row for hunk in sorted(hunks, key=lambda hunk: hunk.rows[0].at) for row in hunk.rows):
        result += lines[position : row.at]
        position = max(position, row.at)
        if row.mark == "+":
            result.append(row.text)
        elif row.mark == "-":
            position = row.at + 1
    return result + lines[position:]


def shift(hunks: list[Hunk], *, start: int, by: int) -> None:
    """Move the places of rows from a line of the file on, after lines were inserted or removed above."""
    for hunk in hunks:
        if hunk.rows[0].at >= start:
            hunk.start, hunk.new_start = hunk.start + by, hunk.new_start + by
        for row in hunk.rows:
            row.at += by if row.at >= start else 0


def enclosing_line(lines: list[str], at: int) -> int:
    """Return the line that opens the function or class around a line, or -1."""
    depth = next((len(line) - len(line.lstrip()) for line in lines[at:] if line.strip()), 0)
    for index in range(at - 1, -1, -1):
        line = lines[index]
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent < depth:
            if re.match(r"\s*(async def|def|class) ", line):
                return index
            depth = indent
    return -1
