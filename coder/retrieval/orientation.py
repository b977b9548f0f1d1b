"""Initial overview for a model: the likeliest lines of the likeliest files, what else is near, and a test."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import NamedTuple

from coder.core.errors import ToolError
from coder.core.paths import is_test_path
from coder.core.verdict import TestResult
from coder.files.ripgrep import escape_path, list_paths
from coder.files.tokenize import WORD, count_terms, identifier_terms
from coder.index import Definition, definitions, enclosing_definitions, find_cases
from coder.index.index import find_uses
from coder.index.snapshot import IndexedPlace, IndexSnapshot
from coder.patching.plan import TextFile
from coder.retrieval.issue_terms import PATH, IssueTerms, TracedCall, extract_issue_terms, is_code_like
from coder.retrieval.ranking import Localization, RankedPlace, file_subject, locate_issue
from coder.workspace.workspace import (
    Workspace,
    clip_line,
    format_count,
    load_source,
    path_category,
)

LAYOUT_FOLDERS = 6
ROOT_FILES = (
    *("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py", "Makefile", "conftest.py"),
    "pytest.ini",
)
SHOWN_FILES = 3
SHARPNESS = 0.5
"""Difference of two scores that makes one place e times as likely as the other."""
MOST_WEIGHED = 10
LEAST_SHARE = 0.2
"""Of the odds of all: a file below it, unless it is the likeliest, is only named."""
SOURCE_CHARACTERS = 6_000
"""Characters of source, shared by the files according to their odds."""
PLACES_PER_FILE = 12
LONGEST_PLACE = 120
"""Lines of a definition that is shown whole, and most lines of a longer one."""
LEAST_PLACE = 10
"""Lines for which there has to be room."""
LINE_CHARACTERS = 45
"""Of a usual line with its number."""
WINDOW_LINES = 4
"""Lines above and below each line of a longer definition that the issue points at."""
LONGEST_DOCSTRING = 3
MOST_CONSTANTS = 2
"""Likeliest definitions of a file whose constants are shown with them."""
MOST_OUTLINED = 20
MOST_NAMED_FILES = 8
MOST_TRIED = 3
"""Places of the likeliest file for which a test is looked for, until one is found."""
MOST_TESTS = 5
LONGEST_TEST = 10
LONGEST_IMPORTS = 300
LEAST_ALIKE, MOST_ALIKE = 0.5, 4
"""A word of a path counts by the inverse root of the number of paths with it."""
COMMON_LINES = 8
"""A word in more lines of a definition than this points at none of them.

In 68 fixes of functions of more than 120 lines a changed line was shown in 33 with 3 lines (10 around each),
in 42 with 8 (6 around each); 57 others, used for choosing: 25 and 42.
"""
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
    raised = filter(None, map(EXAMPLE_PLACE.search, examples))
    ends = [TracedCall(path=match["path"], line=int(match["line"]), function="") for match in raised]
    frames = [*_frames(related_failures(clues, failing)), *ends]
    clues = replace(clues, frames=(*frames, *clues.frames))
    located = locate_issue(snapshot, clues)
    views = list(_view_files(workspace, located, clues, min(SOURCE_CHARACTERS, budget_chars)))
    sections = [_layout(workspace)]
    if views:
        is_pointed_at = any(place.is_pointed_at for place in views[0].places)
        how = "what the issue points at" if is_pointed_at else "found by words, so some will be wrong"
        sections += [f"Likeliest places ({how}):", *(view.render() for view in views)]
        sections.append(_outline(views[0], located))
    shown = {view.path for view in views}
    others = [escape_path(file.path) for file in located.files if file.path not in shown][:MOST_NAMED_FILES]
    sections.append(f"Less likely: {', '.join(others)}" if others else "")
    likeliest = [
        IndexedPlace(path=view.path, definition=place.item)
        for view in views[:1]
        for place in view.places[:MOST_TRIED]
        if place.item
    ]
    tests = (find_reaching_tests(snapshot, [place]) for place in likeliest)
    reaching = next(filter(None, tests), [])
    sections += [_show_test(workspace, snapshot, test) for test in reaching[:1]]
    sections.append(_list_tests_alike(snapshot, views, clues))
    text = "\n\n".join(_fit(filter(None, sections), budget_chars))
    return FirstLook(text, tuple(test.id for test in reaching if "::" in test.id)[:MOST_TESTS])


@dataclass(kw_only=True)
class _FileView:
    """The lines of a file that are shown."""

    path: str
    source: TextFile
    definitions: Sequence[Definition]
    reasons: Sequence[str] = ()
    places: list[RankedPlace] = field(default_factory=list)
    """The places that they belong to, likeliest first."""
    shown: set[int] = field(default_factory=set)

    def lines_of(self, item: Definition, clues: IssueTerms, most: int) -> set[int]:
        """Return the lines of a definition, all or those that the issue points at; headers around it.

        Left out is the inside of long docstrings.
        """
        end = item.end
        if item.kind == "class" and end - item.start >= most:
            inner = (other for other in self.definitions if other.name.startswith(f"{item.name}."))
            end = min((other.start - 1 for other in inner if other.kind != "variable"), default=end)
        inside = {
            number
            for other in self.definitions
            if other.docstring[1] - other.docstring[0] >= LONGEST_DOCSTRING
            for number in range(other.docstring[0] + 1, other.docstring[1] + 1)
        }
        last = min(end, len(self.source.lines))
        numbers = [number for number in range(item.start, last + 1) if number not in inside]
        if len(numbers) > most:
            numbers = _windows(
                item, [(number, self.source.lines[number - 1]) for number in numbers], clues, most
            )
        headers = {outer.line for outer in enclosing_definitions(item.start, self.definitions)}
        return {*numbers, *headers}

    def size(self, numbers: Iterable[int]) -> int:
        return sum(len(clip_line(self.source.lines[number - 1])) + 8 for number in numbers)

    def constants_of(self, item: Definition) -> Iterator[Definition]:
        """Yield the variables of the module that a definition uses."""
        words = {*WORD.findall("\n".join(self.source.lines[item.start - 1 : item.end]))}
        for other in self.definitions:
            if other.kind == "variable" and "." not in other.name and other.name in words:
                yield other

    def render(self) -> str:
        numbers = sorted(self.shown)
        reason = f" [{self.reasons[0]}]" if self.reasons else ""
        parts = [f"{escape_path(self.path)}, {format_count(len(self.source.lines), 'line')}{reason}"]
        before = numbers[0] - 1
        for number in numbers:
            parts += ["      ..."] if number > before + 1 else []
            parts.append(f"{number:>5}| {clip_line(self.source.lines[number - 1])}")
            before = number
        return "\n".join(parts)


def _shares(located: Localization) -> list[tuple[str, float]]:
    """Return the likeliest files, each with its share of the room: the mean of its own odds and those of its
    definitions.
    """
    pointed = {place.path for place in located.symbols if place.is_pointed_at}
    shares: dict[str, float] = defaultdict(float)
    for places in (located.files, located.symbols):
        likely = [place for place in places if place.path in pointed or not pointed][:MOST_WEIGHED]
        odds = [math.exp((place.score - likely[0].score) / SHARPNESS) for place in likely]
        for place, odd in zip(likely, odds, strict=True):
            shares[place.path] += odd / sum(odds) / 2
    best = sorted(shares.items(), key=lambda pair: -pair[1])[:SHOWN_FILES]
    total = sum(share for _, share in best)
    shown = [*best[:1], *((path, share) for path, share in best[1:] if share >= LEAST_SHARE)]
    return [(path, share / total) for path, share in shown]


def _view_files(
    workspace: Workspace, located: Localization, clues: IssueTerms, room: int
) -> Iterator[_FileView]:
    """Yield the likeliest files with the likeliest lines of each, within their shares of the room.

    Where the issue points at places, files that words alone lead to are left out.
    """
    files = {file.path: file for file in located.files}
    for name, share in _shares(located):
        file = files.get(name, RankedPlace(path=name, score=0.0))
        try:
            path, source = load_source(workspace, file.path)
        except ToolError:
            continue
        view = _FileView(path=path, source=source, definitions=definitions(path, source.text))
        left = room * share
        places = [place for place in located.symbols if place.path == file.path]
        places = sorted(places, key=lambda place: not place.is_pointed_at)[:PLACES_PER_FILE]
        view.reasons = places[0].reasons if places else file.reasons
        whole = Definition(name="", kind="module", start=1, line=1, end=len(source.lines), signature="")
        for number, place in enumerate(places or [replace(file, item=whole)]):
            assert place.item is not None
            items = [place.item, *(view.constants_of(place.item) if number < MOST_CONSTANTS else ())]
            for item in items:
                most = min(LONGEST_PLACE, int(left / LINE_CHARACTERS))
                if most < LEAST_PLACE:
                    break
                lines = view.lines_of(item, clues, most) - view.shown
                if (size := view.size(lines)) <= left or not view.shown:
                    view.shown |= lines
                    left -= size
            if place.item.start in view.shown or place.item.line in view.shown:
                view.places.append(place)
        if view.shown:
            yield view


def _windows(item: Definition, lines: Sequence[tuple[int, str]], clues: IssueTerms, most: int) -> list[int]:
    """Return the first line, and the numbers of lines around those that the issue points at."""
    shown = {index for index, (number, _) in enumerate(lines) if number <= item.line}
    for index in _pointed_lines(item, lines, clues) or range(most):
        around = range(max(0, index - WINDOW_LINES), min(len(lines), index + WINDOW_LINES + 1))
        if len(shown | set(around)) <= most:
            shown |= set(around)
    return [lines[index][0] for index in shown]


def _pointed_lines(item: Definition, lines: Sequence[tuple[int, str]], clues: IssueTerms) -> list[int]:
    """Rank lines by traceback frames of the issue, its literals, then its words that few lines have."""
    frames = {frame.line for frame in clues.frames if frame.function == item.bare_name}
    words = [
        {part for word in WORD.findall(text) for part in identifier_terms(word) if part in clues.words}
        for _, text in lines
    ]
    counts = Counter(word for line in words for word in line)
    literals = [f'"{literal}"' for literal in clues.literals]
    quoting = [any(part in text.replace("'", '"').lower() for part in literals) for _, text in lines]
    is_telling = sum(quoting) <= COMMON_LINES
    scores = [
        100.0 * (number in frames)
        + 50.0 * (is_telling and quotes)
        + sum(clues.words[word] / counts[word] for word in sorted(line) if counts[word] <= COMMON_LINES)
        for (number, _), line, quotes in zip(lines, words, quoting, strict=True)
    ]
    return sorted(
        (index for index, score in enumerate(scores) if score), key=lambda index: (-scores[index], index)
    )


def _show_test(workspace: Workspace, snapshot: IndexSnapshot, test: "ReachingTest") -> str:
    """Return the beginning of a test, and the names that its file imports."""
    try:
        path, source = load_source(workspace, test.path)
    except ToolError:
        return ""
    around = enclosing_definitions(test.line, (*find_cases(source.text), *snapshot.definitions(test.path)))
    tests = [item for item in around if item.kind == "test" or item.bare_name.startswith("test")]
    whole = (tests or around)[-1:]
    start, end = (whole[0].start, whole[0].end) if whole else (test.line, len(source.lines))
    shown = set(range(start, min(end, start + LONGEST_TEST - 1) + 1)) | {test.line}
    view = _FileView(path=path, source=source, definitions=(), shown=shown)
    names = ", ".join(dict.fromkeys(name.local_name for name in snapshot.imports(test.path)))
    imports = f"\nThe file imports {names[:LONGEST_IMPORTS]}" if names else ""
    return f"A test of it:\n\n{view.render()}{imports}"


def _list_tests_alike(snapshot: IndexSnapshot, views: Sequence[_FileView], clues: IssueTerms) -> str:
    """Return files of tests and their data whose names say what the likeliest file's or the issue's do."""
    subject = {word for view in views[:1] for word in identifier_terms(file_subject(view.path))}
    wanted = subject | {part for name in clues.distinctive for part in identifier_terms(name)}
    paths = [path for path in snapshot.paths if is_test_path(path)]
    words = {path: {*identifier_terms(PurePath(path).stem)} & wanted for path in paths}
    counts = Counter(word for shared in words.values() for word in shared)
    worth = {path: sum(counts[word] ** -0.5 for word in shared) for path, shared in words.items()}
    best = sorted((path for path in paths if worth[path] >= LEAST_ALIKE), key=lambda path: -worth[path])
    return f"Tests named alike: {', '.join(map(escape_path, best[:MOST_ALIKE]))}" if best else ""


def _outline(view: _FileView, located: Localization) -> str:
    """Return further definitions of a file, the likeliest and longest, with their lines."""
    ranks = {place.name: rank for rank, place in enumerate(located.symbols)}
    others = [
        item
        for item in view.definitions
        if item.kind in ("class", "function", "method") and item.line not in view.shown
    ]

    def order(item: Definition) -> tuple[int, int]:
        return ranks.get(f"{view.path}::{item.name}", len(ranks)), item.start - item.end

    listed = sorted(sorted(others, key=order)[:MOST_OUTLINED], key=lambda item: item.start)
    names, owner = [], ""
    for item in listed:
        around, _, bare = item.name.rpartition(".")
        short = f".{bare}" if around and around == owner else item.name
        names.append(f"{short} {item.start}-{item.end}")
        owner = item.name if item.kind == "class" else around
    more = f" and {len(others) - len(listed)} more" if len(others) > len(listed) else ""
    return f"Also in {escape_path(view.path)}: {', '.join(names)}{more}" if names else ""


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


def _layout(workspace: Workspace) -> str:
    """Describe the directories with most files of source and tests, and the build files of the root."""
    paths = list_paths(workspace.root)
    counts = Counter(path.rpartition("/")[0] for path in paths if "/" in path and path_category(path) < 2)
    folders = [f"{escape_path(folder)}/ ({count})" for folder, count in counts.most_common(LAYOUT_FOLDERS)]
    root_files = [
        escape_path(path)
        for path in paths
        if path in ROOT_FILES or (path.lower().startswith("change") and "/" not in path)
    ]
    entries = ", ".join([*sorted(folders), *root_files])
    return f"Layout: {format_count(len(paths), 'file')}{f'; {entries}' if entries else ''}"


MOST_CALLERS = 12
"""Definitions that use the symbol and whose own tests are searched."""
MOST_NAMESAKES = 3
"""A caller's name shared by more definitions is ignored as ambiguous."""


@dataclass(frozen=True, kw_only=True)
class ReachingTest:
    id: str
    """`path::Class::test`, shorter where the use is outside of any test."""
    path: str
    names: str
    line: int


def find_reaching_tests(snapshot: IndexSnapshot, places: Sequence[IndexedPlace]) -> list[ReachingTest]:
    """Return the tests that reach definitions of one name: direct uses first, in files named alike first."""
    bare = next(place.definition.bare_name for place in places if place.definition)
    stems = {place.path.rpartition("/")[2].partition(".")[0] for place in places}
    tests = {test.id: test for test in _tests_naming(snapshot, places, bare, stems)}
    for caller in _callers(snapshot, places):
        for test in _tests_naming(
            snapshot, (caller,), caller.definition.bare_name if caller.definition else "", stems
        ):
            tests.setdefault(test.id, test)
    return list(tests.values())


def _tests_naming(
    snapshot: IndexSnapshot, places: Sequence[IndexedPlace], bare: str, stems: set[str]
) -> list[ReachingTest]:
    """Return the tests that use a name, ordered by similarity of file names, then by number of uses."""
    tests: dict[str, list[int]] = {}
    paths: dict[str, str] = {}
    for use in find_uses(snapshot, places):
        if path_category(use.path) != 1:
            continue
        file_definitions = snapshot.definitions(use.path)
        for line in use.lines:
            identity = _test_id(use.path, enclosing_definitions(line, file_definitions))
            tests.setdefault(identity, []).append(line)
            paths[identity] = use.path
    order = sorted(
        tests,
        key=lambda test: (
            "::" not in test,
            not any(stem in paths[test] for stem in stems),
            -len(tests[test]),
            test,
        ),
    )
    return [ReachingTest(id=test, path=paths[test], names=bare, line=tests[test][0]) for test in order]


def _test_id(path: str, around: Sequence[Definition]) -> str:
    """Return pytest's id of the test function or class around a line; else the file."""
    tests = [
        definition
        for definition in around
        if definition.kind != "class" and definition.bare_name.startswith("test")
    ]
    classes = [
        definition
        for definition in around
        if definition.kind == "class" and "test" in definition.bare_name.lower()
    ]
    names = [*tests[:1], *classes[-1:]]
    return "::".join([path, *names[0].name.split(".")]) if names else path


def _callers(snapshot: IndexSnapshot, places: Sequence[IndexedPlace]) -> list[IndexedPlace]:
    """Return the definitions outside of tests that use the symbol, where their names are unique enough."""
    callers: dict[str, IndexedPlace] = {}
    for use in find_uses(snapshot, places):
        file_definitions = snapshot.definitions(use.path) if path_category(use.path) == 0 else ()
        for line in use.lines:
            around = enclosing_definitions(line, file_definitions)
            if around and len(callers) < MOST_CALLERS and not around[-1].bare_name.startswith("__"):
                callers.setdefault(around[-1].bare_name, IndexedPlace(path=use.path, definition=around[-1]))
    return [place for name, place in callers.items() if len(snapshot.files_defining(name)) <= MOST_NAMESAKES]
