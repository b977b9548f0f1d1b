"""A diff in colour: runs of added, removed and kept lines, the code in them highlighted."""

from collections.abc import Iterator
from itertools import groupby, pairwise

from textual.content import Content
from textual.highlight import guess_language, highlight
from textual.widgets import Static

from coder.core.values.hunk import Hunk
from coder.core.values.text import printable
from coder.patching.git_hunks import hunks

KINDS = {"+": "added", "-": "removed", " ": "kept", "": "kept"}


def diff_of(diff: str) -> Iterator[Static]:
    """A whole diff, its files named."""
    for path, of_file in groupby(hunks(diff), key=lambda hunk: hunk.path):
        yield Static(printable(path), classes="path", markup=False)
        for hunk in of_file:
            yield from body_of(hunk)


def body_of(hunk: Hunk) -> Iterator[Static]:
    """The lines of a hunk; what git says of the file, where there are none."""
    return lines_of(hunk.body or hunk.header.partition("\n")[2], path=hunk.path)


def lines_of(diff: str, *, path: str) -> Iterator[Static]:
    """A widget for each run of lines with the same sign; an empty path leaves the code as it is."""
    lines = printable(diff).removesuffix("\n").expandtabs(4).split("\n")
    kinds = [KINDS.get(line[:1], "about") for line in lines]
    for number, (line, following) in enumerate(pairwise(lines)):
        if line.startswith("--- ") and following.startswith("+++ "):
            kinds[number : number + 2] = ["about", "about"]
    coloured = _coloured([*zip(kinds, lines, strict=True)], path)
    for kind, run in groupby(zip(kinds, coloured, strict=True), key=lambda line: line[0]):
        yield Static(Content("\n").join(line for _, line in run), classes=kind)


def _coloured(lines: list[tuple[str, str]], path: str) -> list[Content]:
    """Each line with its code highlighted as part of its own side of the change, where strings and brackets are whole."""
    done = [Content(line) for _, line in lines]
    if not path:
        return done
    language = guess_language("", path)
    for shown, side in (("removed", ("removed", "kept")), ("added", ("added", "kept"))):
        numbers = [number for number, (kind, _) in enumerate(lines) if kind in side]
        code = highlight("\n".join(lines[number][1][1:] for number in numbers), language=language)
        # Blank lines at the end of a side come back as none.
        for number, content in zip(numbers, code.split("\n", allow_blank=True), strict=False):
            if lines[number][0] in (shown, "kept"):
                done[number] = Content(lines[number][1][:1]) + content
    return done
