"""Initial overview for a model: layout, likely places, the source of the likeliest, and a similar test."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from coder.core.paths import SOURCE_SUFFIXES
from coder.core.verdict import TestResult
from coder.files.ripgrep import escape_path, list_paths
from coder.files.tokenize import WORD, count_terms
from coder.retrieval.excerpts import Excerpt, load_excerpt, name_lines
from coder.retrieval.issue_terms import IssueTerms, TracedCall, extract_issue_terms, is_code_like
from coder.retrieval.ranking import RankedPlace, locate_issue, select_places
from coder.retrieval.test_examples import find_similar_test
from coder.workspace.workspace import NON_SOURCE_DIRECTORIES, Workspace, format_count

LAYOUT_FOLDERS = 10
ROOT_FILES = (
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "noxfile.py",
    "Makefile",
    "conftest.py",
    "pytest.ini",
)
SHOWN_PLACES = 4
"""On 160 fixes a changed line was among 3 places in 37 % of the cases, among 4 in 44 %, among 6 in 46 %."""
SOURCE_CHARACTERS = 7_500
"""Characters of source from which no further place is shown."""
MOST_SHARING = 10
"""A word that more failing tests share relates none of them to an issue."""


def issue_overview(workspace: Workspace, issue: str, failing: Sequence[TestResult], budget_chars: int) -> str:
    """Return the initial overview of a project for an issue.

    `failing` are tests that fail before anything is changed; those related to the issue contribute their
    innermost frames.
    """
    snapshot = workspace.index.refresh()
    clues = extract_issue_terms(issue)
    frames = _frames(related_failures(clues, failing))
    clues = replace(clues, frames=(*frames, *clues.frames))
    located = locate_issue(snapshot, clues)
    places = select_places(snapshot, located, clues)
    shown = _choose_shown(workspace, places, clues, min(SOURCE_CHARACTERS, budget_chars))
    sections = [_layout(workspace)]
    if shown:
        sources = (_source(excerpt, text, place) for place, excerpt, text in shown)
        sections += ["Likeliest places (found by words, so some will be wrong):", *sources]
    if rest := [place for place in places if not any(place is other for other, *_ in shown)]:
        sections.append("\n".join(["Less likely:", *map(_list_place, rest)]))
    sections.append(find_similar_test(workspace, snapshot, clues, places))
    return "\n\n".join(_fit(filter(None, sections), budget_chars))


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
        functions = (frame.function for frame in result.failure.frames if not frame.path.startswith("/"))
        names += [result.failure.type, result.failure.message, *functions]
    text = " ".join(names)
    return {*WORD.findall(text), *count_terms(text)}


def _frames(related: Sequence[TestResult]) -> list[TracedCall]:
    """Return the innermost project frames of failing tests, the innermost last."""
    frames: list[TracedCall] = []
    for result in related:
        own = (
            [frame for frame in result.failure.frames if not frame.path.startswith("/")]
            if result.failure
            else []
        )
        calls = [TracedCall(path=frame.path, line=frame.line, function=frame.function) for frame in own[-3:]]
        frames = [*calls, *frames]
    return frames


def _choose_shown(
    workspace: Workspace, places: Sequence[RankedPlace], clues: IssueTerms, room: int
) -> list[tuple[RankedPlace, Excerpt, str]]:
    """Return the likeliest places with their source: none that another shows already,
    nearly copies or is called by without more.
    """
    shown: list[tuple[RankedPlace, Excerpt, str]] = []
    for place in places:
        excerpt = load_excerpt(workspace, place.path, place.item) if place.item else None
        if excerpt is None or len(shown) == SHOWN_PLACES:
            continue
        text = excerpt.render(clues)
        is_known = any(
            excerpt.is_near_copy(other)
            or excerpt.is_wrapper_of(other)
            or (place.path == other.path and text.splitlines()[-1] in code)
            for _, other, code in shown
        )
        size = sum(len(code) for *_, code in shown) + len(text)
        if not is_known and (size <= room or not shown):
            shown.append((place, excerpt, text))
    return shown


def _source(excerpt: Excerpt, text: str, place: RankedPlace) -> str:
    """Return a place's source, with the reasons and what it calls nearby."""
    title, _, code = text.partition("\n")
    hidden = [callee for callee in excerpt.callees() if f"\n{callee.line:>5}| " not in text]
    calls = f"\n      {excerpt.item.bare_name} calls {', '.join(map(name_lines, hidden))}" if hidden else ""
    return f"{title}{_reasons(place)}\n{code}{calls}"


def _list_place(place: RankedPlace) -> str:
    name = f":{place.item.line} {place.item.name}" if place.item else ""
    return f"  {escape_path(place.path)}{name}{_reasons(place)}"


def _reasons(place: RankedPlace) -> str:
    return f" [{'; '.join(place.reasons[:1])}]" if place.reasons else ""


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
