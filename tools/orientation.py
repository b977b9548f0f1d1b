"""What a model would ask for first, found before it asks: the layout, the likely places, their source, a test like the one to write."""

from collections import Counter
from collections.abc import Sequence

from coder.core.verdict import TestResult
from coder.tools.locating.clues import Clues, clues
from coder.tools.examples import nearest_test
from coder.tools.excerpts import Spot, chosen, windows
from coder.tools.files import ASIDE, SOURCE, counted, standing
from coder.tools.places import name_places
from coder.tools.ripgrep import list_paths, shown
from coder.tools.sites import Site, meant, sites
from coder.tools.suspects import Suspect, suspects
from coder.tools.workspace import Workspace

LAYOUT_FOLDERS = 16
ROOT_FILES = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py", "Makefile", "conftest.py", "pytest.ini")
LISTED_FILES = 6
MOST_NAMED = 4
FAR_LESS = 0.4
"""Of the likeliest definition's score: what scores less is not shown."""
MOST_OF_A_FILE = 4
MOST_OF_A_CLASS = 5
ENOUGH = 0.3
"""Of the likeliest file's score: from here on a file is listed for its words alone."""
FOR_TESTS = 4
"""The part of the budget that is kept for a test to go by, as a divisor."""


def first_look(workspace: Workspace, issue: str, failing: Sequence[TestResult], budget_chars: int) -> str:
    """The project's layout, the likeliest files and definitions with their source, and the nearest existing test, as plain text.

    Everything shown is named, so that `read` may open it. `failing` are tests that are red before anything is changed; those whose
    names or messages the issue shares words with lend their innermost frames.
    """
    told = clues(issue)
    places = [*name_places(workspace, issue), *_frames(workspace, failing, told)]
    ranked = suspects(workspace.root, told, places)
    sources = [suspect for suspect in ranked if standing(suspect.path) == 0] or ranked
    likely = _telling(sites(workspace.root, sources, told), told)
    head = f"{_layout(workspace)}\n\n{_files(workspace, sources, likely)}".strip()
    example = nearest_test(workspace, told, likely, budget_chars // FOR_TESTS)
    blocks = windows(workspace, _spots(workspace, places, likely, told=told), budget_chars - len(head) - len(example) - 100)
    body = "\n\n".join(blocks)
    title = "Source of the likeliest places (found by words alone, so some will be wrong):"
    return "\n\n".join(filter(None, [head, f"{title}\n\n{body}" if body else "", example]))[:budget_chars]


def _telling(found: Sequence[Site], told: Clues) -> list[Site]:
    """Those that are not far less likely than the first, a few of each file; a named long class brings the methods that the issue means."""
    kept: list[Site] = []
    for site in found:
        if site.score < found[0].score * FAR_LESS:
            break
        if site in kept or sum(other.path == site.path for other in kept) >= MOST_OF_A_FILE:
            continue
        kept.append(site)
        if site.shortened:
            kept += [other for other in found if other not in kept and other.is_of(site) and meant(other.item, told)][:MOST_OF_A_CLASS]
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
    """The directories of source and tests with their numbers of files, and the files of the root that say how it is built and tested."""
    paths = list_paths(workspace.root)
    folders: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")[:-1]
        if path.endswith(SOURCE) and not ASIDE & set(parts) and not any(part.startswith(".") for part in parts):
            folders.update("/".join(parts[: depth + 1]) for depth in range(min(2, len(parts))))
    inner = {folder: count for folder, count in folders.items() if not _just_holds(folder, folders)}
    kept = sorted(sorted(inner, key=lambda folder: -inner[folder])[:LAYOUT_FOLDERS])
    top = [path for path in paths if path in ROOT_FILES or (path.lower().startswith("change") and "/" not in path)]
    for path in top:
        workspace.name(path)
    more = [f"{len(inner) - len(kept)} more directories"] if len(inner) > len(kept) else []
    listed = ", ".join([*(f"{shown(folder)}/ ({inner[folder]})" for folder in kept), *more, *map(shown, top)])
    return f"Layout: {counted(len(paths), 'file')}{f'; {listed}' if listed else ''}"


def _just_holds(folder: str, folders: Counter[str]) -> bool:
    """Does a directory hold nothing but one other?"""
    return any(other.startswith(f"{folder}/") and folders[other] == folders[folder] for other in folders)


def _files(workspace: Workspace, ranked: Sequence[Suspect], likely: Sequence[Site]) -> str:
    """The likeliest files, each with why and with its likeliest definitions."""
    lines = []
    listed: dict[str, set[str]] = {}
    for suspect in ranked[:LISTED_FILES]:
        inside = [site for site in likely if site.path == suspect.path][:MOST_NAMED]
        if not inside and not suspect.reasons and suspect.score < ranked[0].score * ENOUGH:
            continue
        workspace.name(suspect.path)
        for site in inside:
            workspace.name(site.path, site.first)
        names = {site.name for site in inside}
        twin = next((path for path, others in listed.items() if len(names) > 1 and names <= others), "")
        listed[suspect.path] = names
        told = f"the same as in {shown(twin)}" if twin else ", ".join(f"{site.name} (line {site.item.line})" for site in inside)
        why = suspect.reasons[:3] or [f"much of {', '.join(suspect.telling[:3])}"]
        lines.append(f"  {shown(suspect.path)}{f': {told}' if told else ''} [{'; '.join(why)}]")
    return "\n".join(["Files that the issue may be about, likeliest first:", *lines]) if lines else ""


def _spots(workspace: Workspace, places: Sequence[tuple[str, int | None]], likely: Sequence[Site], *, told: Clues) -> list[Spot]:
    """What to show: first the lines of source that the issue itself names, then definitions by likelihood."""
    named = [Spot(path=path, first=line - 12, last=line + 12) for path, line in places if line and standing(path) == 0]
    return [*named[:4], *chosen(workspace, likely, told)]
