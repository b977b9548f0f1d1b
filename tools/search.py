"""The tool `search`."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from coder.tools.files import alike, clipped, counted, standing
from coder.tools.ripgrep import Found, Hit, grep, shown
from coder.tools.tool import ToolError, tool
from coder.tools.workspace import Workspace

MOST_LINES = 80
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
    """Search the repository's files for a regular expression, line by line, with ripgrep.

    Shows `line| text` grouped by file, at most 80 lines; with more hits than that, counts per file and the first hits of each. Files
    that git ignores, binary files and files over 4 MB are left out. What it finds may then be opened with `read`.

    Args:
        pattern: Regular expression (Rust syntax, no look-around, no backreferences), or plain text with literal=true.
        path: A file or directory to search in; empty is the whole repository.
        glob: Only files like this, such as `*.py` or `src/**/*.html`; a leading ! leaves them out instead.
        literal: Take the pattern as plain text.
        ignore_case: Treat upper and lower case alike.
        word: Match whole words only.
        context: Lines shown before and after each hit, 0 to 10.
    """
    where = checked_path(workspace, path)
    if not pattern or "\n" in pattern or "\0" in pattern:
        raise ToolError("A pattern is one line of text that is not empty. Search for the most telling line of it.")
    options = _options(glob=glob, literal=literal, ignore_case=ignore_case, word=word)
    found = grep(workspace.root, pattern, path=where, options=(*options, f"--context={max(0, min(context, 10))}"))
    matches = [hit for hit in found.hits if hit.spans]
    if not matches:
        return _nothing(workspace, pattern, where=where, glob=glob, literal=literal, ignore_case=ignore_case, found=found)
    for hit in matches:
        workspace.name(hit.path, hit.line)
    return _report(found, matches, where=where)


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


def _report(found: Found, matches: Sequence[Hit], *, where: str) -> str:
    counts = Counter(hit.path for hit in matches)
    head = f"{counted(len(matches), 'match')} in {counted(len(counts), 'file')}"
    head += f" below {where}" if where != "." else ""
    if found.cut:
        head += f" (not all: {found.cut})"
    if len(found.hits) <= MOST_LINES:
        return f"{head}\n{grouped(found.hits)}"
    paths = sorted(counts, key=lambda path: (standing(path), -counts[path], path))
    listed = "\n".join(f"{counts[path]:>6} {shown(path)}" for path in paths[:MOST_FILES])
    more = f"\n       and {counted(len(paths) - MOST_FILES, 'more file')}" if len(paths) > MOST_FILES else ""
    kept = _first_of_each(matches, paths)
    return (
        f"{head}, too many to show. Narrow it with path=, glob=, word=true or a longer pattern.\n{listed}{more}\n"
        f"The first of each file:\n{grouped(kept)}"
    )


def _first_of_each(matches: Sequence[Hit], paths: Sequence[str]) -> list[Hit]:
    room = MOST_LINES - min(len(paths), MOST_FILES)
    each = max(A_FILE, room) if len(paths) == 1 else A_FILE
    by_path = {path: list(hits)[:each] for path, hits in groupby(matches, key=lambda hit: hit.path)}
    return [hit for path in paths for hit in by_path[path]][:room]


def grouped(hits: Sequence[Hit]) -> str:
    """Each path, below it `line| text` for each of its hits."""
    blocks = []
    for path, group in groupby(hits, key=lambda hit: hit.path):
        lines = [shown(path)]
        previous = 0
        for hit in group:
            if previous and hit.line > previous + 1 and not hit.spans:
                lines.append("      ...")
            around = hit.spans[0][0] if hit.spans else 0
            lines.append(f"{hit.line:>6}| {clipped(hit.text, WIDEST, around=around)}")
            previous = hit.line
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def _nothing(workspace: Workspace, pattern: str, *, where: str, glob: str, literal: bool, ignore_case: bool, found: Found) -> str:
    place = "" if where == "." else f" below {where}"
    said = f"No match for {pattern!r}{place}{f' in files like {glob}' if glob else ''}."
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
