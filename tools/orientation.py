"""What a model would ask for first, found before it asks: the layout, the likely places, their source."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coder.core.paths import is_test_path
from coder.core.verdict import TestResult
from coder.tools.clues import Clues, clues
from coder.tools.files import counted, load, standing
from coder.tools.places import name_places
from coder.tools.read import window
from coder.tools.ripgrep import list_paths, shown
from coder.tools.suspects import Site, Suspect, sites, suspects
from coder.tools.symbols import definitions
from coder.tools.tool import ToolError
from coder.tools.workspace import Workspace

LAYOUT_LINES = 24
LISTED_FILES = 8
LISTED_TESTS = 4
LONGEST_WINDOW = 60
FAR_LESS = 0.4
"""Of the likeliest definition's score: what scores less is not shown."""
MOST_WINDOWS = 8
MOST_OF_A_FILE = 4
SHARE_OF_ONE = 3
"""One window takes at most this part of the characters that are left, as a divisor."""


def first_look(workspace: Workspace, issue: str, failing: Sequence[TestResult], budget_chars: int) -> str:
    """The project's layout, the files and definitions that the issue is likely about, and the source of the likeliest, as plain text.

    Everything shown is named, so that `read` may open it. `failing` are tests that are red before anything is changed; those whose
    names or messages the issue shares words with lend their innermost frames.
    """
    told = clues(issue)
    places = [*name_places(workspace, issue), *_frames(workspace, failing, told)]
    ranked = suspects(workspace.root, told, places)
    sources = [suspect for suspect in ranked if standing(suspect.path) == 0] or ranked
    likely = _telling(sites(workspace.root, sources, told))
    head = f"{_layout(workspace)}\n\n{_files(workspace, sources, likely)}\n{_tests(workspace, ranked)}".strip()
    room = budget_chars - len(head)
    blocks = list(_windows(workspace, _spots(places, likely), room))
    body = "\n\n".join(["Source of the likeliest places (found by words alone, so some will be wrong):", *blocks]) if blocks else ""
    return f"{head}\n\n{body}".strip()[:budget_chars]


def _telling(found: Sequence[Site]) -> list[Site]:
    """Those that are not far less likely than the first, a few of each file."""
    kept: list[Site] = []
    for site in found:
        if site.score >= found[0].score * FAR_LESS and sum(other.path == site.path for other in kept) < MOST_OF_A_FILE:
            kept.append(site)
    return kept


def _frames(workspace: Workspace, failing: Sequence[TestResult], told: Clues) -> list[tuple[str, int | None]]:
    """The innermost frames inside the project of failing tests that have words in common with the issue."""
    found: list[tuple[str, int | None]] = []
    for result in failing[:20]:
        if result.failure is None or not any(name in f"{result.id} {result.failure.text}" for name in list(told.names)[:15]):
            continue
        inside = [frame for frame in result.failure.frames if not frame.path.startswith("/")]
        found += [(frame.path, frame.line) for frame in reversed(inside[-3:])]
    for path, line in found:
        workspace.name(path, line)
    return found


def _layout(workspace: Workspace) -> str:
    """The first two levels of directories with their numbers of files, and the files of the root."""
    paths = list_paths(workspace.root)
    folders: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")[:-1]
        folders.update("/".join(parts[: depth + 1]) for depth in range(min(2, len(parts))))
    shown_folders = sorted(folder for folder, _ in folders.most_common(LAYOUT_LINES))
    lines = [f"  {shown(folder)}/ ({counted(folders[folder], 'file')})" for folder in shown_folders]
    rest = f"  and {len(folders) - len(lines)} more" if len(folders) > len(lines) else ""
    top = [path for path in paths if "/" not in path and not path.startswith(".")]
    for path in top:
        workspace.name(path)
    files = f"  {', '.join(map(shown, top[:20]))}" if top else ""
    return "\n".join(filter(None, [f"Layout: {counted(len(paths), 'file')}", *lines, rest, files]))


def _files(workspace: Workspace, ranked: Sequence[Suspect], likely: Sequence[Site]) -> str:
    """The likeliest files, each with why and with its likeliest definitions."""
    lines = []
    for suspect in ranked[:LISTED_FILES]:
        workspace.name(suspect.path)
        inside = [site for site in likely[:40] if site.path == suspect.path][:3]
        for site in inside:
            workspace.name(site.path, site.first)
        names = f": {', '.join(f'{site.name} (line {site.first})' for site in inside)}" if inside else ""
        reasons = f" [{'; '.join(suspect.reasons[:3])}]" if suspect.reasons else ""
        lines.append(f"  {shown(suspect.path)}{names}{reasons}")
    return "\n".join(["Files that the issue may be about, likeliest first:", *lines]) if lines else ""


def _tests(workspace: Workspace, ranked: Sequence[Suspect]) -> str:
    paths = [suspect.path for suspect in ranked if is_test_path(suspect.path)][:LISTED_TESTS]
    for path in paths:
        workspace.name(path)
    return f"Tests about the same words: {', '.join(map(shown, paths))}" if paths else ""


@dataclass(frozen=True, kw_only=True)
class _Spot:
    """Lines to show."""

    path: str
    first: int
    last: int


def _spots(places: Sequence[tuple[str, int | None]], likely: Sequence[Site]) -> list[_Spot]:
    """What to show: first the lines of source that the issue itself names, then definitions by likelihood."""
    named = [_Spot(path=path, first=line - 12, last=line + 12) for path, line in places if line and standing(path) == 0]
    return [*named[:4], *(_Spot(path=site.path, first=site.first, last=site.last) for site in likely[: 3 * MOST_WINDOWS])]


def _windows(workspace: Workspace, spots: Sequence[_Spot], room: int) -> Iterator[str]:
    """The source of as many spots as there is room for, none twice."""
    covered: dict[str, set[int]] = {}
    count = 0
    for spot in spots:
        seen = covered.setdefault(spot.path, set())
        if count >= MOST_WINDOWS or room < 400:
            return
        if seen & set(range(spot.first, spot.last + 1)):
            continue
        block = _block(workspace, spot, most=room // SHARE_OF_ONE)
        if block:
            yield block
            seen |= set(range(spot.first, spot.last + 1))
            room -= len(block) + 2
            count += 1


def _block(workspace: Workspace, spot: _Spot, *, most: int) -> str:
    try:
        path, source = load(workspace, spot.path)
    except ToolError:
        return ""
    found = definitions(path, source.text)
    first = max(1, spot.first)
    last = min(spot.last, len(source.lines), first + LONGEST_WINDOW - 1)
    text = window(source, path, first=first, last=last, found=found)
    while len(text) > most and last > first + 8:
        last -= max(1, (last - first) // 5)
        text = window(source, path, first=first, last=last, found=found)
    workspace.name(path, first)
    return text if len(text) <= most else ""
