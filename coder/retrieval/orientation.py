"""What a model would ask for first, found before it asks: the layout, the likely places, their source, a test like the one to write."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from coder.core.errors import CoderError
from coder.core.values.history import Change
from coder.core.values.verdict import TestResult
from coder.files.ripgrep import list_paths, shown
from coder.index.snapshot import Place, Snapshot
from coder.retrieval.excerpts import Spot, chosen, windows
from coder.retrieval.locating.commit_history import MOST_COMMITS
from coder.retrieval.locating.issue_terms import Clues, TracedCall, clues
from coder.retrieval.locating.ranking import Likely, Located, locate
from coder.retrieval.locating.sites import Site, sites
from coder.retrieval.reaching_tests import reaching
from coder.retrieval.repository_map import repository_map
from coder.retrieval.test_examples import nearest_test
from coder.workspace.files import ASIDE, SOURCE, counted, standing
from coder.workspace.places import name_places
from coder.workspace.workspace import Workspace

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
ENOUGH = 4.0
"""A file that scores so much less than the likeliest one is not listed."""
FOR_TESTS = 4
"""The part of the budget that is kept for a test to go by, as a divisor."""
FOR_MAP = 8
"""And for the map."""
MOST_SEEDS = 6
MOST_TESTED = 3
MOST_TESTS = 4


def first_look(workspace: Workspace, issue: str, failing: Sequence[TestResult], budget_chars: int) -> str:
    """The project's layout, the likeliest files and definitions with their source, a map of what is around them, and the nearest test.

    Everything shown is named, so that `read` may open it. `failing` are tests that are red before anything is changed; those whose
    names or messages the issue shares words with lend their innermost frames.
    """
    snapshot = workspace.index.current()
    told = clues(issue)
    frames = _frames(workspace, failing, told)
    places = [*name_places(workspace, issue), *((frame.path, frame.line) for frame in frames)]
    located = locate(snapshot, replace(told, frames=(*frames, *told.frames)), _recent(workspace))
    likely = sites(snapshot, located.symbols, told)
    head = f"{_layout(workspace)}\n\n{_files(workspace, located, likely)}".strip()
    example = nearest_test(workspace, told, likely, budget_chars // FOR_TESTS)
    around = "\n".join(
        filter(None, (_tests(snapshot, workspace, likely), _map(snapshot, located, budget_chars // FOR_MAP)))
    )
    room = budget_chars - len(head) - len(example) - len(around) - 100
    body = "\n\n".join(windows(workspace, _spots(workspace, places, likely, told=told), room))
    title = "Source of the likeliest places (found by words alone, so some will be wrong):"
    return "\n\n".join(filter(None, [head, f"{title}\n\n{body}" if body else "", around, example]))[
        :budget_chars
    ]


def _recent(workspace: Workspace) -> tuple[Change, ...]:
    try:
        return workspace.history.recent(count=MOST_COMMITS)
    except CoderError:  # a clone without all of its history is no reason to stop
        return ()


def _tests(snapshot: Snapshot, workspace: Workspace, likely: Sequence[Site]) -> str:
    """The tests that name the likeliest definitions."""
    lines = []
    first_of_name = {site.name: site for site in reversed(likely[:MOST_TESTED])}
    for site in reversed(first_of_name.values()):
        found = reaching(snapshot, [Place(path=site.path, definition=site.item)])
        for test in found[:MOST_TESTS]:
            workspace.name(test.path, test.line)
        if found:
            more = f", {len(found) - MOST_TESTS} more" if len(found) > MOST_TESTS else ""
            lines.append(f"  {site.name}: {', '.join(shown(test.id) for test in found[:MOST_TESTS])}{more}")
    return "\n".join(["Tests that reach them:", *lines]) if lines else ""


def _map(snapshot: Snapshot, located: Located, budget_chars: int) -> str:
    """What is most referred to around the likeliest files."""
    seeds = {likely.path: 1 / (1 + order) for order, likely in enumerate(located.files[:MOST_SEEDS])}
    drawn = repository_map(snapshot, seeds, budget_chars - 40) if seeds else ""
    return f"Around them, by how much they are used:\n{drawn}" if drawn else ""


def _frames(workspace: Workspace, failing: Sequence[TestResult], told: Clues) -> list[TracedCall]:
    """The innermost frames inside the project of failing tests that have words in common with the issue, innermost last."""
    found: list[TracedCall] = []
    for result in failing[:20]:
        if result.failure is None or not any(
            name in f"{result.id} {result.failure.text}" for name in list(told.names)[:15]
        ):
            continue
        inside = [frame for frame in result.failure.frames if not frame.path.startswith("/")][-3:]
        found = [
            *(TracedCall(path=frame.path, line=frame.line, function=frame.function) for frame in inside),
            *found,
        ]
    for frame in found:
        workspace.name(frame.path, frame.line)
    return found


def _layout(workspace: Workspace) -> str:
    """The directories of source and tests with their numbers of files, and the files of the root that say how it is built and tested."""
    paths = list_paths(workspace.root)
    folders: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")[:-1]
        if (
            path.endswith(SOURCE)
            and not ASIDE & set(parts)
            and not any(part.startswith(".") for part in parts)
        ):
            folders.update("/".join(parts[: depth + 1]) for depth in range(min(2, len(parts))))
    inner = {folder: count for folder, count in folders.items() if not _just_holds(folder, folders)}
    kept = sorted(sorted(inner, key=lambda folder: -inner[folder])[:LAYOUT_FOLDERS])
    top = [
        path
        for path in paths
        if path in ROOT_FILES or (path.lower().startswith("change") and "/" not in path)
    ]
    for path in top:
        workspace.name(path)
    more = [f"{len(inner) - len(kept)} more directories"] if len(inner) > len(kept) else []
    listed = ", ".join([*(f"{shown(folder)}/ ({inner[folder]})" for folder in kept), *more, *map(shown, top)])
    return f"Layout: {counted(len(paths), 'file')}{f'; {listed}' if listed else ''}"


def _just_holds(folder: str, folders: Counter[str]) -> bool:
    """Does a directory hold nothing but one other?"""
    return any(other.startswith(f"{folder}/") and folders[other] == folders[folder] for other in folders)


def _files(workspace: Workspace, located: Located, likely: Sequence[Site]) -> str:
    """The likeliest files, each with why and with its likeliest definitions."""
    lines = []
    for file in located.files[:LISTED_FILES]:
        inside = [site for site in likely if site.path == file.path][:MOST_NAMED]
        if not inside and file.score < located.files[0].score - ENOUGH:
            continue
        workspace.name(file.path)
        for site in inside:
            workspace.name(site.path, site.first)
        told = ", ".join(f"{site.name} (line {site.item.line})" for site in inside)
        lines.append(f"  {shown(file.path)}{f': {told}' if told else ''} [{_why(file)}]")
    return "\n".join(["Files that the issue may be about, likeliest first:", *lines]) if lines else ""


def _why(one: Likely) -> str:
    return "; ".join(one.reasons[:2])


def _spots(
    workspace: Workspace, places: Sequence[tuple[str, int | None]], likely: Sequence[Site], *, told: Clues
) -> list[Spot]:
    """What to show: first the lines of source that the issue names outside of the likely definitions, then these."""
    inside = {(site.path, line) for site in likely for line in range(site.first, site.last + 1)}
    named = [
        (path, line) for path, line in places if line and standing(path) == 0 and (path, line) not in inside
    ]
    return [
        *(Spot(path=path, first=line - 12, last=line + 12) for path, line in named[:4]),
        *chosen(workspace, likely, told),
    ]
