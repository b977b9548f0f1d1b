"""The tool `search`."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from coder.core.errors import ToolError
from coder.files.ripgrep import FileFound, Found, Hit, grep, shown, tally
from coder.index import Definition, definitions, enclosing
from coder.tools.tool import tool
from coder.workspace.files import (
    SOURCE,
    bytes_of,
    check_readable,
    clipped,
    counted,
    decoded,
    existing,
    standing,
)
from coder.workspace.workspace import Workspace

MOST_MATCHES = 80
MOST_LINES = 150
"""With those around the matches."""
FEWER = (8, 3, 1)
MOST_FILES = 25
LOOKED_INTO = 12
"""Of so many of them the first hits are shown."""
A_FILE = 4
VERY_MANY = 20_000
"""Lines, with those around matches: from here on they are only counted."""
WIDEST = 220
LONGEST_PATTERN = 4000
LARGEST_PARSED = 1_000_000
"""Bytes; in a larger file it is not said what a hit stands in."""


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

    Shows `line| text` by file and enclosing definition: 80 matches, 150 lines with context, which shrinks to fit; of more matches
    counts per file and the first. After 20 s it shows what there was. Files over 4 MB are only searched when `path` names one.

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
    _check(pattern, glob)
    options = _options(glob=glob, literal=literal, ignore_case=ignore_case, word=word)
    context = max(0, min(context, 10))
    found = _found(workspace, pattern, where, options=options, context=context)
    if not found.count:
        return _nothing(
            workspace, pattern, where=where, glob=glob, literal=literal, ignore_case=ignore_case, found=found
        )
    for file in found.files:
        workspace.name(file.path)
    return _report(workspace, found, context=context)


def _found(
    workspace: Workspace, pattern: str, where: str, *, options: tuple[str, ...], context: int
) -> Found:
    """All hits; where there are very many, the counts of all files and the first hits of those that will be shown."""
    root, deny_read = workspace.root, workspace.deny_read
    most = VERY_MANY // (1 + 2 * context)
    found = grep(
        root, pattern, path=where, options=(*options, f"--context={context}"), most=most, deny_read=deny_read
    )
    if not found.full:
        return found
    counts, cut = tally(root, pattern, path=where, options=options, deny_read=deny_read)
    shown_of_each = f"--max-count={MOST_MATCHES if len(counts) == 1 else A_FILE}"
    first = grep(
        root,
        pattern,
        path=_ranked(counts)[:LOOKED_INTO],
        options=(*options, shown_of_each),
        deny_read=deny_read,
    )
    records = {file.path: file.records for file in first.files}
    files = (
        FileFound(path=path, count=count, records=records.get(path, b"")) for path, count in counts.items()
    )
    return Found(files=tuple(files), cut=cut)


def _ranked(counts: Mapping[str, int]) -> list[str]:
    """Paths, source and most hits first."""
    return sorted(counts, key=lambda path: (standing(path), -counts[path], path))


def _check(pattern: str, glob: str) -> None:
    if not pattern or "\n" in pattern or "\0" in pattern:
        raise ToolError(
            "A pattern is one line of text that is not empty. Search for the most telling line of it."
        )
    if len(pattern) > LONGEST_PATTERN or len(glob) > LONGEST_PATTERN or "\0" in glob:
        raise ToolError(
            f"A pattern or glob has at most {LONGEST_PATTERN:,} characters and no NUL. Search for a telling part of it."
        )


def checked_path(workspace: Workspace, path: str) -> str:
    """A path to search in, relative to the root.

    Raises:
        ToolError: nothing to search stands there.
    """
    absolute, relative = existing(workspace, path or ".")
    if not absolute.is_dir() and not absolute.is_file():
        raise ToolError(f"{shown(relative)} is neither a file nor a directory and cannot be searched.")
    if absolute.is_file():
        check_readable(workspace, relative)
    return relative


def _options(*, glob: str, literal: bool, ignore_case: bool, word: bool) -> tuple[str, ...]:
    flags = {"--fixed-strings": literal, "--ignore-case": ignore_case, "--word-regexp": word}
    return (*(flag for flag, wanted in flags.items() if wanted), *((f"--glob={glob}",) if glob else ()))


def _report(workspace: Workspace, found: Found, *, context: int) -> str:
    counts = {file.path: file.count for file in found.files}
    files = shown(found.files[0].path) if len(counts) == 1 else counted(len(counts), "file")
    head = f"{counted(found.count, 'match')} in {files}"
    if found.cut:
        head += f" (not all: {found.cut}; narrow it with path= or glob=)"
    if found.count <= MOST_MATCHES:
        hits, fits = _with_context(
            sorted(found.hits, key=lambda hit: (standing(hit.path), hit.path, hit.line)), context
        )
        cut = f"; context={fits}, for {MOST_LINES} lines are the most" if fits < context else ""
        return f"{head}{cut}\n{_located(workspace, hits)}"
    if len(counts) == 1:
        first = found.files[0].first(MOST_MATCHES)
        return f"{head}; the first {len(first)} follow. A longer pattern finds fewer.\n{_located(workspace, first)}"
    paths = _ranked(counts)
    each = "\n".join(f"{counts[path]:>6} {shown(path)}" for path in paths[:MOST_FILES])
    more = f"\n       and {counted(len(paths) - MOST_FILES, 'more file')}" if len(paths) > MOST_FILES else ""
    which = "each file" if len(paths) <= LOOKED_INTO else f"each of the first {LOOKED_INTO} files"
    return (
        f"{head}, too many to show. Narrow it with path=, glob=, word=true or a longer pattern.\n{each}{more}\n"
        f"The first in {which}:\n{_located(workspace, _first_of_each(found, paths))}"
    )


def _with_context(hits: Sequence[Hit], context: int) -> tuple[Sequence[Hit], int]:
    """The hits with as many lines around them as fit, and how many those are."""
    matches = [hit for hit in hits if hit.spans]
    centres: dict[str, list[int]] = {}
    for hit in matches:
        centres.setdefault(hit.path, []).append(hit.line)
    for around in (context, *(fewer for fewer in FEWER if fewer < context)):
        near = {
            (path, line + step)
            for path, lines in centres.items()
            for line in lines
            for step in range(-around, around + 1)
        }
        kept = [hit for hit in hits if (hit.path, hit.line) in near]
        if len(kept) <= MOST_LINES:
            return kept, around
    return matches, 0


def _first_of_each(found: Found, paths: Sequence[str]) -> list[Hit]:
    files = {file.path: file for file in found.files}
    return [hit for path in paths[:LOOKED_INTO] for hit in files[path].first(A_FILE)]


def _located(workspace: Workspace, hits: Sequence[Hit]) -> str:
    """The hits by file and, in each, by the definition that they stand in; a single file's path is left to the heading."""
    blocks = []
    for path, group in groupby(hits, key=lambda hit: hit.path):
        own = list(group)
        for hit in own:
            workspace.name(path, hit.line)
        blocks.append((path, "\n".join(by_definition(own, _defined(workspace, path)))))
    return (
        blocks[0][1] if len(blocks) == 1 else "\n".join(f"{shown(path)}\n{block}" for path, block in blocks)
    )


def _defined(workspace: Workspace, path: str) -> Sequence[Definition]:
    data = bytes_of(workspace.root, path) if path.endswith(SOURCE) else b""
    if not 0 < len(data) <= LARGEST_PARSED:
        return ()
    known = workspace.index.known(path, data)
    return definitions(path, decoded(data)) if known is None else known


def by_definition(hits: Sequence[Hit], found: Sequence[Definition]) -> Iterator[str]:
    """Each run of hits below a line that says what it stands in; lines around a match belong to it."""
    matches = [hit.line for hit in hits if hit.spans]
    around = {line: next(iter(enclosing(line, found)[::-1]), None) for line in matches}
    told = False
    for item, group in groupby(
        hits, key=lambda hit: around[min(matches, key=lambda line: abs(line - hit.line))]
    ):
        if item is not None:
            yield f"  in {item.name} (lines {item.start}-{item.end})"
        elif told:
            yield "  in no definition"
        told = True
        yield _lines(list(group))


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


def _nothing(
    workspace: Workspace,
    pattern: str,
    *,
    where: str,
    glob: str,
    literal: bool,
    ignore_case: bool,
    found: Found,
) -> str:
    place = "" if where == "." else f" in {where}"
    said = f"No match for {pattern!r}{place}{f', in files like {glob}' if glob else ''}."
    if found.cut:
        return f"{said} The search ended early: {found.cut}. Narrow it with path= or glob=."
    hints = []
    similar = _similar(workspace, pattern)
    if similar and not (ignore_case or glob or place):
        loose: Sequence[Hit] = [hit for hit in similar if pattern.casefold() in hit.text.casefold()]
    elif not ignore_case:
        other = _options(glob=glob, literal=literal, ignore_case=True, word=False)
        loose = grep(workspace.root, pattern, path=where, options=other, deny_read=workspace.deny_read).hits
    else:
        loose = ()
    if loose:
        hints.append(
            f"{counted(len(loose), 'match')} with ignore_case=true and word=false, such as {places_of(workspace, loose)}."
        )
    if (glob or place) and not hints:
        wide = grep(
            workspace.root,
            pattern,
            options=("--fixed-strings",) if literal else (),
            deny_read=workspace.deny_read,
        ).hits
        if wide:
            hints.append(
                f"{counted(len(wide), 'match')} elsewhere in the repository, such as {places_of(workspace, wide)}."
            )
    if not hints and (near := _spellings(similar, pattern)):
        hints.append(f"Near spellings that do occur: {', '.join(near)}.")
    return " ".join([said, *(hints or ["Try a shorter or more general pattern."])])


def places_of(workspace: Workspace, hits: Sequence[Hit]) -> str:
    """The first hits of three files as `path:line`, which names them."""
    first = list({hit.path: hit for hit in reversed(hits)}.values())[::-1][:3]
    for hit in first:
        workspace.name(hit.path, hit.line)
    return ", ".join(f"{shown(hit.path)}:{hit.line}" for hit in first)


def _similar(workspace: Workspace, pattern: str) -> tuple[Hit, ...]:
    """Identifiers that share half of this one, whatever the case: a slip of the pen leaves one half of a word as it is."""
    name = pattern.rpartition(".")[2]
    if not re.fullmatch(r"[A-Za-z_]\w{4,60}", name):
        return ()
    middle = (len(name) + 1) // 2
    halves = rf"\w*(?:{name[:middle]}|{name[middle:]})\w*"
    return grep(workspace.root, halves, options=("--ignore-case",), deny_read=workspace.deny_read).hits


def _spellings(similar: Sequence[Hit], pattern: str) -> list[str]:
    import difflib

    words = Counter(hit.text[start:end] for hit in similar for start, end in hit.spans)
    return difflib.get_close_matches(
        pattern.rpartition(".")[2], [word for word, _ in words.most_common(5000)], n=4, cutoff=0.75
    )
