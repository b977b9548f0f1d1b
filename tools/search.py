"""The tool `search`."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby

from coder.core.errors import ToolError
from coder.core.paths import SOURCE_SUFFIXES, is_test_path
from coder.files.ripgrep import Hit, SearchResult, escape_path, grep
from coder.index import Definition, definitions, find_cases
from coder.tools.support.listing import list_directory
from coder.tools.support.symbols import describe_reach, describe_symbol, group_by_definition
from coder.tools.tool import tool
from coder.workspace.workspace import (
    Workspace,
    check_readable,
    format_count,
    path_category,
    read_text_or_empty,
    resolve_existing,
)

MOST_MATCHES = 80
MOST_LINES = 150
"""Including context lines."""
FALLBACK_CONTEXT_LINES = (8, 3, 1, 0)
MOST_FILES = 25
MAX_FILES_WITH_HITS = 12
"""Number of files whose first hits are shown."""
HITS_PER_FILE = 4
NAME = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::)[^\W\d][\w$]*)*(?:\(\))?")
"""A bare or dotted name."""
QUESTION = re.compile(rf"(?:(?P<who>who depends on)|tests that run) (?P<name>{NAME.pattern})\??")
LONGEST_PATTERN = 4000
LARGEST_PARSED = 1_000_000
"""Characters; in a larger file the enclosing definition of a hit is not shown."""


@tool()
def search(
    workspace: Workspace,
    pattern: str,
    path: str = "",
    glob: str = "",
    literal: bool = False,
    ignore_case: bool = False,
    context: int = 0,
) -> str:
    """Search the code. A name alone, bare or dotted (`parse`, `Parser.parse`), gives its definitions and its uses in code by enclosing function; `who depends on NAME` its callers, `tests that run NAME` the tests that reach it; anything else is a regular expression for one line of text.

    Args:
        pattern: Name or regular expression (Rust syntax, `\\b` for whole words); empty lists the files.
        path: A file or directory; empty is all.
        glob: Such as `*.py`, `src/**/*.html`.
        literal: It is plain text.
        ignore_case: Ignore case.
        context: Lines around each match, 0 to 10.
    """
    where = _validate_path(workspace, path)
    if not pattern:
        return list_directory(workspace, where, glob)
    _check(pattern, glob)
    if question := QUESTION.fullmatch(pattern):
        return describe_reach(workspace, question["name"], of_tests=question["who"] is None)
    is_alone = not (path or glob or literal or ignore_case or context)
    if is_alone and NAME.fullmatch(pattern) and (answer := describe_symbol(workspace, pattern)):
        return answer
    options = _options(glob=glob, literal=literal, ignore_case=ignore_case)
    find = partial(grep, workspace.root, pattern, path=where, deny_read=workspace.deny_read)
    result, context = find(options=options), max(0, min(context, 10))
    if context and 0 < result.count <= MOST_MATCHES:
        result = find(options=(*options, f"--context={context}"))
    if result.count:
        return _report(workspace, result, context=context)
    return _no_match_message(workspace, pattern, where=where, glob=glob, result=result)


def _rank_paths(counts: Mapping[str, int]) -> list[str]:
    """Rank paths: source first, then by number of hits."""
    return sorted(counts, key=lambda path: (path_category(path), -counts[path], path))


def _check(pattern: str, glob: str) -> None:
    if not pattern or "\n" in pattern or "\0" in pattern:
        raise ToolError(
            "A pattern is one line of text that is not empty. Search for the most telling line of it."
        )
    if len(pattern) > LONGEST_PATTERN or len(glob) > LONGEST_PATTERN or "\0" in glob:
        raise ToolError(
            f"A pattern or glob has at most {LONGEST_PATTERN:,} characters and no NUL. Search "
            "for a telling part of it."
        )


def _validate_path(workspace: Workspace, path: str) -> str:
    """Return a path to search in, relative to the root.

    Raises:
        ToolError: it is neither a file nor a directory.
    """
    absolute, relative = resolve_existing(workspace, path or ".")
    if not absolute.is_dir() and not absolute.is_file():
        raise ToolError(f"{escape_path(relative)} is neither a file nor a directory and cannot be searched.")
    if absolute.is_file():
        check_readable(workspace, relative)
    return relative


def _options(*, glob: str, literal: bool, ignore_case: bool) -> tuple[str, ...]:
    flags = {"--fixed-strings": literal, "--ignore-case": ignore_case}
    return (*(flag for flag, is_set in flags.items() if is_set), *((f"--glob={glob}",) if glob else ()))


def _report(workspace: Workspace, result: SearchResult, *, context: int) -> str:
    counts = {file.path: file.count for file in result.files}
    files = escape_path(result.files[0].path) if len(counts) == 1 else format_count(len(counts), "file")
    head = f"{format_count(result.count, 'match')} in {files}"
    if result.cut:
        head += f" (not all: {result.cut}; narrow it with path= or glob=)"
    if result.count <= MOST_MATCHES:
        hits, cut = _with_context(
            sorted(result.hits, key=lambda hit: (path_category(hit.path), hit.path, hit.line)), context
        )
        return f"{head}{cut}\n{_group_by_file(workspace, hits)}"
    if len(counts) == 1:
        first = result.files[0].first_hits(MOST_MATCHES)
        return (
            f"{head}; the first {len(first)} follow. A longer pattern finds fewer.\n"
            f"{_group_by_file(workspace, first)}"
        )
    paths = _rank_paths(counts)
    count_lines = "\n".join(f"{counts[path]:>6} {escape_path(path)}" for path in paths[:MOST_FILES])
    more = (
        f"\n       and {format_count(len(paths) - MOST_FILES, 'more file')}"
        if len(paths) > MOST_FILES
        else ""
    )
    scope = (
        "each file" if len(paths) <= MAX_FILES_WITH_HITS else f"each of the first {MAX_FILES_WITH_HITS} files"
    )
    return (
        f"{head}, too many to show. Narrow it with path=, glob= or a longer "
        f"pattern.\n{count_lines}{more}\n"
        f"The first in {scope}:\n{_group_by_file(workspace, _first_hits(result, paths), counts)}"
    )


def _with_context(hits: Sequence[Hit], context: int) -> tuple[Sequence[Hit], str]:
    """Return the hits with as much context as fits, and a note where that is less than was asked for."""
    matches = [hit for hit in hits if hit.spans]
    for around in (context, *(fewer for fewer in FALLBACK_CONTEXT_LINES if fewer < context)):
        shown = _around(hits, matches, around)
        if len(shown) <= MOST_LINES:
            break
    return shown, f"; context={around}, for {MOST_LINES} lines are the most" if around < context else ""


def _around(hits: Sequence[Hit], centres: Sequence[Hit], lines: int) -> list[Hit]:
    visible = {(hit.path, hit.line + step) for hit in centres for step in range(-lines, lines + 1)}
    return [hit for hit in hits if (hit.path, hit.line) in visible]


def _first_hits(result: SearchResult, paths: Sequence[str]) -> list[Hit]:
    files = {file.path: file for file in result.files}
    return [hit for path in paths[:MAX_FILES_WITH_HITS] for hit in files[path].first_hits(HITS_PER_FILE)]


def _group_by_file(workspace: Workspace, hits: Sequence[Hit], counts: Mapping[str, int] | None = None) -> str:
    """Group hits by file and enclosing definition; a single file's path is only in the heading.

    `counts` are all hits of each file, where those given may be fewer.
    """
    blocks = []
    for path, group in groupby(hits, key=lambda hit: hit.path):
        file_hits = list(group)
        omitted = (counts or {}).get(path, len(file_hits)) - len(file_hits)
        more = [f"      ... {omitted:,} more in this file"] if omitted > 0 else []
        lines = group_by_definition(file_hits, _file_definitions(workspace, path))
        blocks.append((path, "\n".join([*lines, *more])))
    return (
        blocks[0][1]
        if len(blocks) == 1
        else "\n".join(f"{escape_path(path)}\n{block}" for path, block in blocks)
    )


def _file_definitions(workspace: Workspace, path: str) -> Sequence[Definition]:
    text = read_text_or_empty(workspace.root, path) if path.endswith(SOURCE_SUFFIXES) else ""
    cases = find_cases(text) if is_test_path(path) else ()
    found = definitions(path, text) if len(text) <= LARGEST_PARSED else ()
    return sorted((*found, *cases), key=lambda item: (item.start, -item.end))


def _no_match_message(
    workspace: Workspace, pattern: str, *, where: str, glob: str, result: SearchResult
) -> str:
    place = "" if where == "." else f" in {where}"
    message = f"No match for {pattern!r}{place}{f', in files like {glob}' if glob else ''}."
    if result.cut:
        return f"{message} The search ended early: {result.cut}. Narrow it with path= or glob=."
    name = pattern.rpartition(".")[2]
    if name.isidentifier() and (near := workspace.index.refresh().similar_names(name, 4)):
        return f"{message} Near names that are defined: {', '.join(near)}."
    return f"{message} Try a shorter or more general pattern, ignore_case=true, or all of the repository."
