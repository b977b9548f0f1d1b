"""The tool `search`."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from coder.tools.files import alike, clipped, counted, standing
from coder.tools.ripgrep import Found, Hit, grep, shown
from coder.tools.tool import ToolError, tool
from coder.tools.workspace import Workspace

MOST_MATCHES = 80
MOST_LINES = 150
"""With those around the matches."""
FEWER = (8, 3, 1)
MOST_FILES = 25
A_FILE = 4
WIDEST = 220


@tool
def search(
    workspace: Workspace,
    pattern: str,
    path: str = "",
    glob: str = "",
    literal: bool = False,
    ignore_case: bool = False,
    word: bool = False,
    context: int = 0,
) -> str:
    """Search files that git does not ignore for a regular expression, with ripgrep.

    Shows `line| text` by file: 80 matches, 150 lines with context, which shrinks to fit; of more matches counts per file and the first.

    Args:
        pattern: Regular expression (Rust syntax, no look-around) for one line.
        path: A file or directory; empty is all.
        glob: Only such files: `*.py`, `src/**/*.html`; `!` in front leaves them out.
        literal: The pattern is plain text.
        ignore_case: Ignore case.
        word: Whole words only.
        context: Lines around each match, 0 to 10.
    """
    where = checked_path(workspace, path)
    if not pattern or "\n" in pattern or "\0" in pattern:
        raise ToolError("A pattern is one line of text that is not empty. Search for the most telling line of it.")
    options = _options(glob=glob, literal=literal, ignore_case=ignore_case, word=word)
    context = max(0, min(context, 10))
    found = grep(workspace.root, pattern, path=where, options=(*options, f"--context={context}"))
    matches = [hit for hit in found.hits if hit.spans]
    if not matches:
        return _nothing(workspace, pattern, where=where, glob=glob, literal=literal, ignore_case=ignore_case, found=found)
    for hit in matches:
        workspace.name(hit.path, hit.line)
    return _report(found, matches, context=context)


def checked_path(workspace: Workspace, path: str) -> str:
    """A path to search in, relative to the root.

    Raises:
        ToolError: nothing to search stands there.
    """
    absolute, relative = workspace.resolve(path or ".")
    if not absolute.exists():
        raise ToolError(f"{relative} does not exist.{alike(workspace, relative)}")
    if not absolute.is_dir() and not absolute.is_file():
        raise ToolError(f"{relative} is neither a file nor a directory and cannot be searched.")
    return relative


def _options(*, glob: str, literal: bool, ignore_case: bool, word: bool) -> tuple[str, ...]:
    flags = {"--fixed-strings": literal, "--ignore-case": ignore_case, "--word-regexp": word}
    return (*(flag for flag, wanted in flags.items() if wanted), *((f"--glob={glob}",) if glob else ()))


def _report(found: Found, matches: Sequence[Hit], *, context: int) -> str:
    counts = Counter(hit.path for hit in matches)
    files = shown(matches[0].path) if len(counts) == 1 else counted(len(counts), "file")
    head = f"{counted(len(matches), 'match')} in {files}" + (f" (not all: {found.cut})" if found.cut else "")
    listed = _lines if len(counts) == 1 else grouped
    if len(matches) <= MOST_MATCHES:
        hits, fits = _with_context(found.hits, matches, context)
        cut = f"; context={fits}, for {MOST_LINES} lines are the most" if fits < context else ""
        return f"{head}{cut}\n{listed(hits)}"
    if len(counts) == 1:
        return f"{head}; the first {MOST_MATCHES} follow. A longer pattern finds fewer.\n{listed(matches[:MOST_MATCHES])}"
    paths = sorted(counts, key=lambda path: (standing(path), -counts[path], path))
    each = "\n".join(f"{counts[path]:>6} {shown(path)}" for path in paths[:MOST_FILES])
    more = f"\n       and {counted(len(paths) - MOST_FILES, 'more file')}" if len(paths) > MOST_FILES else ""
    return (
        f"{head}, too many to show. Narrow it with path=, glob=, word=true or a longer pattern.\n{each}{more}\n"
        f"The first of each file:\n{grouped(_first_of_each(matches, paths))}"
    )


def _with_context(hits: Sequence[Hit], matches: Sequence[Hit], context: int) -> tuple[Sequence[Hit], int]:
    """The hits with as many lines around them as fit, and how many those are."""
    centres: dict[str, list[int]] = {}
    for hit in matches:
        centres.setdefault(hit.path, []).append(hit.line)
    for around in (context, *(fewer for fewer in FEWER if fewer < context)):
        near = {(path, line + step) for path, lines in centres.items() for line in lines for step in range(-around, around + 1)}
        kept = [hit for hit in hits if (hit.path, hit.line) in near]
        if len(kept) <= MOST_LINES:
            return kept, around
    return matches, 0


def _first_of_each(matches: Sequence[Hit], paths: Sequence[str]) -> list[Hit]:
    by_path = {path: list(hits)[:A_FILE] for path, hits in groupby(matches, key=lambda hit: hit.path)}
    return [hit for path in paths for hit in by_path[path]][: MOST_MATCHES - min(len(paths), MOST_FILES)]


def grouped(hits: Sequence[Hit]) -> str:
    """Each path, below it `line| text` for each of its hits."""
    return "\n".join(f"{shown(path)}\n{_lines(list(group))}" for path, group in groupby(hits, key=lambda hit: hit.path))


def _lines(hits: Sequence[Hit]) -> str:
    lines: list[str] = []
    previous = 0
    for hit in hits:
        if previous and hit.line > previous + 1 and not hit.spans:
            lines.append("      ...")
        around = hit.spans[0][0] if hit.spans else 0
        lines.append(f"{hit.line:>6}| {clipped(hit.text, WIDEST, around=around)}")
        previous = hit.line
    return "\n".join(lines)


def _nothing(workspace: Workspace, pattern: str, *, where: str, glob: str, literal: bool, ignore_case: bool, found: Found) -> str:
    place = "" if where == "." else f" in {where}"
    said = f"No match for {pattern!r}{place}{f', in files like {glob}' if glob else ''}."
    if found.cut:
        return f"{said} The search ended early: {found.cut}. Narrow it with path= or glob=."
    hints = []
    if not ignore_case and (other := _options(glob=glob, literal=literal, ignore_case=True, word=False)):
        loose = grep(workspace.root, pattern, path=where, options=other).hits
        if loose:
            hints.append(f"{counted(len(loose), 'match')} with ignore_case=true and word=false, such as {places_of(workspace, loose)}.")
    if (glob or place) and not hints:
        wide = grep(workspace.root, pattern, options=("--fixed-strings",) if literal else ()).hits
        if wide:
            hints.append(f"{counted(len(wide), 'match')} elsewhere in the repository, such as {places_of(workspace, wide)}.")
    if not hints and (near := near_spellings(workspace, pattern)):
        hints.append(f"Near spellings that do occur: {', '.join(near)}.")
    return " ".join([said, *(hints or ["Try a shorter or more general pattern."])])


def places_of(workspace: Workspace, hits: Sequence[Hit]) -> str:
    """The first hits of three files as `path:line`, which names them."""
    first = list({hit.path: hit for hit in reversed(hits)}.values())[::-1][:3]
    for hit in first:
        workspace.name(hit.path, hit.line)
    return ", ".join(f"{shown(hit.path)}:{hit.line}" for hit in first)


def near_spellings(workspace: Workspace, name: str) -> list[str]:
    """Identifiers of the repository that look like this one: a slip of the pen leaves one half of a word as it is."""
    import difflib

    bare = name.rpartition(".")[2]
    if not re.fullmatch(r"[A-Za-z_]\w{4,60}", bare):
        return []
    middle = (len(bare) + 1) // 2
    hits = grep(workspace.root, rf"\w*(?:{bare[:middle]}|{bare[middle:]})\w*", options=("--ignore-case",)).hits
    words = Counter(hit.text[start:end] for hit in hits for start, end in hit.spans)
    return difflib.get_close_matches(bare, [word for word, _ in words.most_common(5000)], n=4, cutoff=0.75)
