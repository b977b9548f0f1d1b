"""Initial overview for a model: layout, likely places, their source, and a similar test."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from coder.core.errors import CoderError
from coder.core.paths import SOURCE_SUFFIXES
from coder.core.values import CommitInfo
from coder.core.verdict import TestResult
from coder.files.ripgrep import escape_path, list_paths
from coder.index import Definition, definitions, enclosing_definitions
from coder.index.snapshot import IndexedPlace, IndexSnapshot
from coder.retrieval.corpus import MOST_COMMITS
from coder.retrieval.excerpts import LineRange, choose_line_ranges, render_excerpts
from coder.retrieval.issue_terms import IssueTerms, TracedCall, extract_issue_terms
from coder.retrieval.ranking import DefinitionSite, Localization, RankedPlace, locate_issue, select_sites
from coder.retrieval.repository_map import render_repository_map
from coder.retrieval.test_examples import find_reaching_tests, find_similar_test
from coder.workspace.workspace import (
    NON_SOURCE_DIRECTORIES,
    Workspace,
    format_count,
    path_category,
    record_places,
)

LAYOUT_FOLDERS = 16
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
LISTED_FILES = 6
MOST_NAMED = 4
MAX_FILE_SCORE_GAP = 4.0
"""Files that score so much less than the likeliest are not listed."""
TEST_BUDGET_DIVISOR = 4
"""Divisor: part of the budget reserved for an example test."""
MAP_BUDGET_DIVISOR = 8
"""Divisor: part of the budget reserved for the map."""
MOST_SEEDS = 6
MOST_TESTED = 3
MOST_TESTS = 4


def issue_overview(workspace: Workspace, issue: str, failing: Sequence[TestResult], budget_chars: int) -> str:
    """Return the initial overview of a project for an issue.

    It has the layout, the likeliest files and definitions with their source, a map around them, and the
    nearest test.

    Everything shown is recorded as named, so that `read` may open it. `failing` are tests that fail before
    anything is changed; those whose names or messages share words with the issue contribute their innermost
    frames.
    """
    snapshot = workspace.index.refresh()
    issue_clues = extract_issue_terms(issue)
    frames = _frames(workspace, failing, issue_clues)
    places = [*record_places(workspace, issue), *((frame.path, frame.line) for frame in frames)]
    located = locate_issue(
        snapshot, replace(issue_clues, frames=(*frames, *issue_clues.frames)), _recent(workspace)
    )
    likely = select_sites(snapshot, located.symbols, issue_clues)
    head = f"{_layout(workspace)}\n\n{_files(workspace, located, likely)}".strip()
    example = find_similar_test(workspace, issue_clues, likely, budget_chars // TEST_BUDGET_DIVISOR)
    around = "\n".join(
        filter(
            None,
            (
                _tests(snapshot, workspace, likely),
                _map(snapshot, located, budget_chars // MAP_BUDGET_DIVISOR),
            ),
        )
    )
    room = budget_chars - len(head) - len(example) - len(around) - 100
    body = "\n\n".join(
        render_excerpts(workspace, _spots(workspace, places, likely, issue_clues=issue_clues), room)
    )
    title = "Source of the likeliest places (found by words alone, so some will be wrong):"
    return "\n\n".join(filter(None, [head, f"{title}\n\n{body}" if body else "", around, example]))[
        :budget_chars
    ]


def _recent(workspace: Workspace) -> tuple[CommitInfo, ...]:
    try:
        return workspace.history.recent_commits(count=MOST_COMMITS)
    except CoderError:  # a shallow clone is no reason to stop
        return ()


def _tests(snapshot: IndexSnapshot, workspace: Workspace, likely: Sequence[DefinitionSite]) -> str:
    """List the tests that name the likeliest definitions."""
    lines = []
    first_of_name = {site.name: site for site in reversed(likely[:MOST_TESTED])}
    for site in reversed(first_of_name.values()):
        tests = find_reaching_tests(snapshot, [IndexedPlace(path=site.path, definition=site.item)])
        for test in tests[:MOST_TESTS]:
            workspace.record_place(test.path, test.line)
        if tests:
            more = f", {len(tests) - MOST_TESTS} more" if len(tests) > MOST_TESTS else ""
            lines.append(
                f"  {site.name}: {', '.join(escape_path(test.id) for test in tests[:MOST_TESTS])}{more}"
            )
    return "\n".join(["Tests that reach them:", *lines]) if lines else ""


def _map(snapshot: IndexSnapshot, located: Localization, budget_chars: int) -> str:
    """Map the most referenced definitions around the likeliest files."""
    seeds = {likely.path: 1 / (1 + order) for order, likely in enumerate(located.files[:MOST_SEEDS])}
    text = render_repository_map(snapshot, seeds, budget_chars - 40) if seeds else ""
    return f"Around them, by how much they are used:\n{text}" if text else ""


def _frames(workspace: Workspace, failing: Sequence[TestResult], issue_clues: IssueTerms) -> list[TracedCall]:
    """Return the innermost project frames of failing tests that share words with the issue.

    The innermost is last.
    """
    frames: list[TracedCall] = []
    for result in failing[:20]:
        if result.failure is None or not any(
            name in f"{result.id} {result.failure.text}" for name in list(issue_clues.names)[:15]
        ):
            continue
        project_frames = [frame for frame in result.failure.frames if not frame.path.startswith("/")][-3:]
        frames = [
            *(
                TracedCall(path=frame.path, line=frame.line, function=frame.function)
                for frame in project_frames
            ),
            *frames,
        ]
    for frame in frames:
        workspace.record_place(frame.path, frame.line)
    return frames


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
    for path in root_files:
        workspace.record_place(path)
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


def _files(workspace: Workspace, located: Localization, likely: Sequence[DefinitionSite]) -> str:
    """List the likeliest files, each with reasons and its likeliest definitions."""
    lines = []
    for file in located.files[:LISTED_FILES]:
        file_sites = [site for site in likely if site.path == file.path][:MOST_NAMED]
        if not file_sites and file.score < located.files[0].score - MAX_FILE_SCORE_GAP:
            continue
        workspace.record_place(file.path)
        for site in file_sites:
            workspace.record_place(site.path, site.first)
        definition_list = ", ".join(f"{site.name} (line {site.item.line})" for site in file_sites)
        lines.append(
            f"  {escape_path(file.path)}{f': {definition_list}' if definition_list else ''} "
            f"[{_reasons(file)}]"
        )
    return "\n".join(["Files that the issue may be about, likeliest first:", *lines]) if lines else ""


def _reasons(likely: RankedPlace) -> str:
    return "; ".join(likely.reasons[:2])


def _spots(
    workspace: Workspace,
    places: Sequence[tuple[str, int | None]],
    likely: Sequence[DefinitionSite],
    *,
    issue_clues: IssueTerms,
) -> list[LineRange]:
    """Return the spots to show: source lines that the issue names, then the likely definitions."""
    covered_lines = {(site.path, line) for site in likely for line in range(site.first, site.last + 1)}
    issue_lines = [
        (path, line)
        for path, line in places
        if line and path_category(path) == 0 and (path, line) not in covered_lines
    ]
    return [
        *(LineRange(path=path, first=line - 12, last=line + 12) for path, line in issue_lines[:4]),
        *choose_line_ranges(workspace, likely, issue_clues),
    ]


SOURCES = 15
OTHERS = 5
FILES_WITH_FUNCTIONS = 8
"""Number of files whose functions are listed: each costs a blame."""
FUNCTIONS = 4


def rank_hotspots(workspace: Workspace, path: str | None) -> str:
    """Rank files by the newest commits that changed them, with their most changed functions.

    `path` restricts them to a directory; None is all.
    """
    recent = workspace.history.recent_commits(path=path)
    counts = Counter(
        name
        for change in recent
        for name in change.paths
        if path in (None, ".") or f"{name}/".startswith(f"{path}/")
    )
    if not counts:
        return ""
    ranked = sorted(counts, key=lambda name: (path_category(name) > 0, -counts[name], name))
    sources = [name for name in ranked if path_category(name) == 0][:SOURCES]
    others = [name for name in ranked if path_category(name) > 0][:OTHERS]
    lines = [
        f"Changed by most of the newest {format_count(len(recent), 'commit')} (since {recent[-1].date}):"
    ]
    for index, name in enumerate(sources):
        functions = _functions(workspace, name, recent) if index < FILES_WITH_FUNCTIONS else ""
        lines.append(f"{counts[name]:>6} {escape_path(name)}{f': {functions}' if functions else ''}")
    if others:
        lines += [
            "Tests, documentation and the rest:",
            *(f"{counts[name]:>6} {escape_path(name)}" for name in others),
        ]
    return "\n".join(lines)


def _functions(workspace: Workspace, path: str, recent: Sequence[CommitInfo]) -> str:
    """Return the functions of a file with lines from most of these commits, with the number of commits."""
    text = workspace.history.read_file(path)
    if text is None:
        return "now gone"
    try:
        line_commits = workspace.history.line_commits(path, recent[-1].commit)
    except CoderError:
        return ""
    recent_commits = {change.commit for change in recent}
    file_definitions = definitions(path, text.replace("\r\n", "\n"))
    commits: dict[str, set[str]] = {}
    for line, commit in enumerate(line_commits, 1):
        if commit in recent_commits and (definition := _innermost(line, file_definitions)):
            commits.setdefault(definition.name, set()).add(commit)
    ranked = sorted(commits, key=lambda name: (-len(commits[name]), name))
    return ", ".join(f"{name} {len(commits[name])}" for name in ranked[:FUNCTIONS])


def _innermost(line: int, file_definitions: Sequence[Definition]) -> Definition | None:
    return next(
        (
            definition
            for definition in enclosing_definitions(line, file_definitions)[::-1]
            if definition.kind != "class"
        ),
        None,
    )
