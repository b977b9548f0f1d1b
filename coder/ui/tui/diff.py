"""Diffs on the screen: colors and line numbers."""

from collections.abc import Iterator
from itertools import groupby, pairwise

from textual.content import Content
from textual.highlight import guess_language, highlight
from textual.widgets import Static

from coder.core.text import sanitize_text
from coder.core.values import Hunk
from coder.patching.git_hunks import split_git_diff

KINDS = {"+": "added", "-": "removed", " ": "kept", "": "kept"}


def render_diff(diff: str) -> Iterator[Static]:
    """Yield widgets for a whole diff, with the names of its files."""
    for path, of_file in groupby(split_git_diff(diff), key=lambda hunk: hunk.path):
        yield Static(sanitize_text(path), classes="path", markup=False)
        for hunk in of_file:
            yield from render_hunk(hunk)


def render_hunk(hunk: Hunk) -> Iterator[Static]:
    """Yield widgets for the lines of a hunk; for git's header if there are none."""
    return render_diff_lines(hunk.body or hunk.header.partition("\n")[2], path=hunk.path)


def render_diff_lines(diff: str, *, path: str) -> Iterator[Static]:
    """Yield a widget for each run of lines with the same sign; an empty path disables code highlighting."""
    for kind, run in groupby(colour_lines(diff, path=path), key=lambda line: line[0]):
        yield Static(Content("\n").join(line for _, line in run), classes=kind)


def colour_lines(diff: str, *, path: str) -> list[tuple[str, Content]]:
    """Return the kind of each line (added, removed, kept or about) and its text with highlighted code."""
    lines = [sanitize_text(line).expandtabs(4) for line in diff.removesuffix("\n").split("\n")]
    kinds = [KINDS.get(line[:1], "about") for line in lines]
    if not diff.startswith("@@ "):
        for number, (line, following) in enumerate(pairwise(lines)):
            if line.startswith("--- ") and following.startswith("+++ "):
                kinds[number : number + 2] = ["about", "about"]
    return [*zip(kinds, _highlight_lines([*zip(kinds, lines, strict=True)], path), strict=True)]


def _highlight_lines(lines: list[tuple[str, str]], path: str) -> list[Content]:
    """Highlight each line as part of its own side of the change, where strings and brackets are complete."""
    contents = [Content(line) for _, line in lines]
    if not path:
        return contents
    language = guess_language("", path)
    for sign_kind, side in (("removed", ("removed", "kept")), ("added", ("added", "kept"))):
        numbers = [number for number, (kind, _) in enumerate(lines) if kind in side]
        texts = [lines[number][1][1:] for number in numbers]
        code = highlight("\n".join(texts), language=language)
        # `highlight` drops blank lines at the end of a side.
        for number, content in zip(numbers, code.split("\n", allow_blank=True), strict=False):
            if lines[number][0] in (sign_kind, "kept"):
                contents[number] = Content(lines[number][1][:1]) + content
    return contents
