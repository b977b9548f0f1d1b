"""Initial overview for a model: layout, likely places, the source of the likeliest, and a test of it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from coder.core.paths import SOURCE_SUFFIXES
from coder.core.verdict import TestResult
from coder.files.ripgrep import escape_path, list_paths
from coder.files.tokenize import WORD, count_terms
from coder.index import Definition, enclosing_definitions
from coder.index.snapshot import IndexedPlace, IndexSnapshot
from coder.retrieval.excerpts import LONGEST_SECOND, Excerpt, load_excerpt, name_lines
from coder.retrieval.issue_terms import PATH, IssueTerms, TracedCall, extract_issue_terms, is_code_like
from coder.retrieval.ranking import Localization, RankedPlace, locate_issue, select_places
from coder.retrieval.test_examples import ReachingTest, find_reaching_tests
from coder.workspace.workspace import (
    NON_SOURCE_DIRECTORIES,
    Workspace,
    clip_line,
    format_count,
    path_category,
    read_text_or_empty,
)

LAYOUT_FOLDERS = 10
ROOT_FILES = (
    *("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py", "Makefile", "conftest.py"),
    "pytest.ini",
)
SHOWN_PLACES = 3
"""On 52 fixes a changed line was shown in 25 with 3 places, in 26 with 4, which cost 170 tokens more."""
MOST_OUTLINED = 20
"""Definitions of the likeliest file that are listed.

On 52 fixes the changed function was named in 45 first messages with 20 as with 40, in 43 with 10.
"""
SOURCE_CHARACTERS = 7_500
"""Characters of source from which no further place is shown."""
MOST_NAMED = 2
"""Functions that the issue names and that precede what words find."""
MOST_CALLING_TESTS = 5
MOST_OUTSIDE_CALLS = 4
LONGEST_TEST = 10
LONGEST_IMPORTS = 300
NAMED_IN_CODE = re.compile(r"`(?:[\w.]*\.)?([A-Za-z_]\w{2,})(?:\([^`\n]*\))?`")
EXAMPLE_PLACE = re.compile(r", in (?P<path>\S+):(?P<line>\d+)\Z")
"""End of the sentence on an example that raises an error."""
MOST_SHARING = 10
"""A word that more failing tests share relates none of them to an issue."""


class FirstLook(NamedTuple):
    """Overview of a project for an issue."""

    text: str
    tests: tuple[str, ...] = ()
    """Ids of tests that use the likeliest place."""


def issue_overview(
    workspace: Workspace,
    issue: str,
    failing: Sequence[TestResult],
    budget_chars: int,
    examples: Sequence[str] = (),
) -> FirstLook:
    """Return the initial overview of a project for an issue.

    `failing` are tests that fail before anything is changed; those related to the issue contribute their
    innermost frames, and `examples`, what the issue's examples give, the places that they end with.
    """
    snapshot = workspace.index.refresh()
    clues = extract_issue_terms(issue)
    frames = [*_frames(related_failures(clues, failing)), *_example_frames(examples)]
    clues = replace(clues, frames=(*frames, *clues.frames))
    located = locate_issue(snapshot, clues)
    named = find_named_functions(snapshot, clues)
    found = {place.name: place for place in (*named, *select_places(snapshot, located, clues))}
    places = list(found.values())
    shown = _choose_shown(workspace, places, clues, min(SOURCE_CHARACTERS, budget_chars))
    sections = [_layout(workspace)]
    if shown:
        sources = (_source(snapshot, excerpt, text, place) for place, excerpt, text in shown)
        how = (
            "what the issue points at"
            if shown[0][0].is_pointed_at
            else "found by words, so some will be wrong"
        )
        sections += [f"Likeliest places ({how}):", *sources]
    excerpts = [excerpt for _, excerpt, _ in shown]
    if rest := [
        place for place in places if not any(one.contains(place.path, place.item) for one in excerpts)
    ]:
        sections.append("\n".join(["Less likely:", *map(_list_place, rest)]))
    sections.append(_outline(snapshot, located, places))
    sections += [_list_calling_tests(workspace, snapshot, place, clues) for place in named]
    likeliest = [IndexedPlace(path=place.path, definition=place.item) for place, *_ in shown[:1]]
    reaching = find_reaching_tests(snapshot, likeliest) if likeliest else ()
    tests = [test for test in reaching if "::" in test.id][:MOST_CALLING_TESTS]
    sections += [_show_test(workspace, snapshot, test) for test in tests[:1]]
    text = "\n\n".join(_fit(filter(None, sections), budget_chars))
    return FirstLook(text, tuple(test.id for test in tests))


def _show_test(workspace: Workspace, snapshot: IndexSnapshot, test: ReachingTest) -> str:
    """Return the beginning of a test, and the names that its file imports."""
    item = enclosing_definitions(test.line, snapshot.definitions(test.path))[-1]
    excerpt = load_excerpt(workspace, test.path, item)
    names = ", ".join(dict.fromkeys(name.local_name for name in snapshot.imports(test.path)))
    imports = f"\nThe file imports {names[:LONGEST_IMPORTS]}" if names else ""
    return f"A test of it:\n\n{excerpt.render_start(LONGEST_TEST)}{imports}" if excerpt else ""


def _outline(snapshot: IndexSnapshot, located: Localization, places: Sequence[RankedPlace]) -> str:
    """Return the definitions of the likeliest file that are no places, with their lines."""
    if not located.files or path_category(path := located.files[0].path) != 0:
        return ""
    ranks = {place.name: rank for rank, place in enumerate(located.symbols)}
    known = {place.item.name for place in places if place.item and place.path == path}
    others = [
        item
        for item in snapshot.definitions(path)
        if item.kind in ("class", "function", "method") and item.name not in known
    ]

    def order(item: Definition) -> tuple[int, int]:
        return ranks.get(f"{path}::{item.name}", len(ranks)), item.start - item.end

    listed = sorted(sorted(others, key=order)[:MOST_OUTLINED], key=lambda item: item.start)
    names, owner = [], ""
    for item in listed:
        around, _, bare = item.name.rpartition(".")
        short = f".{bare}" if around and around == owner else item.name
        names.append(f"{short} {item.start}-{item.end}")
        owner = item.name if item.kind == "class" else around
    more = f" and {len(others) - len(listed)} more" if len(others) > len(listed) else ""
    return f"Also in {escape_path(path)}: {', '.join(names)}{more}" if names else ""


def find_named_functions(snapshot: IndexSnapshot, clues: IssueTerms) -> list[RankedPlace]:
    found = []
    for name in dict.fromkeys(NAMED_IN_CODE.findall(clues.text)):
        places = [
            (place.path, place.definition)
            for place in snapshot.definitions_named(name)
            if place.definition and place.definition.kind != "variable" and path_category(place.path) == 0
        ]
        if len(places) == 1 and places[0][1].kind in ("function", "method"):
            path, item = places[0]
            reasons = ("named in the issue",)
            found.append(RankedPlace(path=path, item=item, score=0.0, reasons=reasons, is_pointed_at=True))
    return found[:MOST_NAMED]


def _list_calling_tests(
    workspace: Workspace, snapshot: IndexSnapshot, place: RankedPlace, clues: IssueTerms
) -> str:
    """Return the lines in which tests call a function, those with most names of the issue first."""
    assert place.item is not None
    name = place.item.bare_name
    lines: dict[str, int] = {}
    for test in find_reaching_tests(snapshot, [IndexedPlace(path=place.path, definition=place.item)]):
        if test.names == name and "::" in test.id:
            source = read_text_or_empty(workspace.root, test.path).split("\n")
            text = clip_line(source[test.line - 1].strip()) if test.line <= len(source) else ""
            shared = {*WORD.findall(text)} & {*clues.names}
            lines[f"  {escape_path(test.path)}:{test.line} {text}"] = len(shared)
    best = sorted(lines, key=lambda line: -lines[line])[:MOST_CALLING_TESTS]
    return "\n".join([f"Tests that call {name}:", *best]) if best else ""


def _fit(sections: Iterator[str], room: int) -> Iterator[str]:
    """Yield the sections that fit; the first is cut."""
    for number, section in enumerate(sections):
        text = section if number else section[:room]
        room -= len(text) + 2
        if room >= -2:
            yield text


def related_failures(clues: IssueTerms, failing: Sequence[TestResult]) -> list[TestResult]:
    """Return the failing tests that share a distinctive word with the issue.

    Tests that fail for want of a dependency, or with a newer library, do so in numbers and for one reason:
    what many of them say relates none of them.
    """
    stems = count_terms(" ".join(word for word in clues.distinctive if not is_code_like(word)))
    words = [_failure_words(result) & {*clues.distinctive, *stems} for result in failing]
    counts = Counter(word for shared in words for word in shared)
    return [
        result
        for result, shared in zip(failing, words, strict=True)
        if any(counts[word] <= MOST_SHARING for word in shared)
    ]


def _failure_words(result: TestResult) -> set[str]:
    names = [result.id.partition("::")[2]]
    if result.failure is not None:
        functions = (frame.function for frame in result.failure.own_frames)
        names += [result.failure.type, PATH.sub(" ", result.failure.message), *functions]
    text = " ".join(names)
    return {*WORD.findall(text), *count_terms(text)}


def _frames(related: Sequence[TestResult]) -> list[TracedCall]:
    """Return the innermost project frames of failing tests, the innermost last."""
    frames: list[TracedCall] = []
    for result in related:
        own = result.failure.own_frames if result.failure else ()
        calls = [TracedCall(path=frame.path, line=frame.line, function=frame.function) for frame in own[-3:]]
        frames = [*calls, *frames]
    return frames


def _example_frames(examples: Sequence[str]) -> Iterator[TracedCall]:
    """Yield the places in which examples of the issue raise an error."""
    for match in filter(None, map(EXAMPLE_PLACE.search, examples)):
        yield TracedCall(path=match["path"], line=int(match["line"]), function="")


def _choose_shown(
    workspace: Workspace, places: Sequence[RankedPlace], clues: IssueTerms, room: int
) -> list[tuple[RankedPlace, Excerpt, str]]:
    """Return the likeliest places with their source.

    Left out is what another shows as a part of it. Where the issue points at places, what words alone lead to
    is left out, too.
    """
    shown: list[tuple[RankedPlace, Excerpt, str]] = []
    pointed = [place for place in places if place.is_pointed_at]
    for place in pointed or places:
        excerpt = load_excerpt(workspace, place.path, place.item) if place.item else None
        if excerpt is None or any(other.contains(excerpt.path, excerpt.shown_item) for _, other, _ in shown):
            continue
        inside = [
            n for n, (_, other, _) in enumerate(shown) if excerpt.contains(other.path, other.shown_item)
        ]
        if shown and not inside:
            excerpt = replace(excerpt, longest=LONGEST_SECOND)
        others = [entry for index, entry in enumerate(shown) if index not in inside]
        text = excerpt.render(clues)
        size = sum(len(code) for *_, code in others) + len(text)
        if len(others) < SHOWN_PLACES and (size <= room or not others):
            others.insert(min(inside, default=len(others)), (place, excerpt, text))
            shown = others
    return shown


def _source(snapshot: IndexSnapshot, excerpt: Excerpt, text: str, place: RankedPlace) -> str:
    """Return a place's source, with the strongest reason and what it calls nearby and in other files."""
    title, _, code = text.partition("\n")
    near = [callee for callee in excerpt.callees() if f"\n{callee.line:>5}| " not in text]
    far = islice(_find_sole_definitions(snapshot, excerpt.find_outside_calls()), MOST_OUTSIDE_CALLS)
    called = [*map(name_lines, near), *far]
    calls = f"\n      {excerpt.item.bare_name} calls {', '.join(called)}" if called else ""
    reason = f" [{place.reasons[0]}]" if place.reasons else ""
    return f"{title}{reason}\n{code}{calls}"


def _find_sole_definitions(snapshot: IndexSnapshot, names: Sequence[str]) -> Iterator[str]:
    """Yield the names that one source file defines, with their places."""
    for name in names:
        places = [place for place in snapshot.definitions_named(name) if path_category(place.path) == 0]
        if len(places) == 1 and (item := places[0].definition) and item.kind in ("class", "function"):
            yield f"{item.name} {escape_path(places[0].path)}:{item.start}-{item.end}"


def _list_place(place: RankedPlace) -> str:
    name = f":{place.item.line} {place.item.name}" if place.item else ""
    return f"  {escape_path(place.path)}{name}"


def _layout(workspace: Workspace) -> str:
    """Describe the directories of source and tests with file counts, and the build files of the root."""
    paths = list_paths(workspace.root)
    folders: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")[:-1]
        if (
            path.endswith(SOURCE_SUFFIXES)
            and not NON_SOURCE_DIRECTORIES & set(parts)
            and not any(part.startswith(".") for part in parts)
        ):
            folders.update("/".join(parts[: depth + 1]) for depth in range(min(2, len(parts))))
    inner = {folder: count for folder, count in folders.items() if not _only_contains_one(folder, folders)}
    listed_folders = sorted(sorted(inner, key=lambda folder: -inner[folder])[:LAYOUT_FOLDERS])
    root_files = [
        path
        for path in paths
        if path in ROOT_FILES or (path.lower().startswith("change") and "/" not in path)
    ]
    more = (
        [f"{len(inner) - len(listed_folders)} more directories"] if len(inner) > len(listed_folders) else []
    )
    entries = ", ".join(
        [
            *(f"{escape_path(folder)}/ ({inner[folder]})" for folder in listed_folders),
            *more,
            *map(escape_path, root_files),
        ]
    )
    return f"Layout: {format_count(len(paths), 'file')}{f'; {entries}' if entries else ''}"


def _only_contains_one(folder: str, folders: Counter[str]) -> bool:
    """Tell whether a directory contains nothing but one other."""
    return any(other.startswith(f"{folder}/") and folders[other] == folders[folder] for other in folders)
