"""Find the places of a repository that a free text names: paths, lines, traceback frames, modules."""

import re
from collections.abc import Sequence

from coder.tools.ripgrep import list_paths
from coder.tools.workspace import Workspace

FRAME = re.compile(r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)')
LOCATION = re.compile(r"(?<![\w.-])(?P<path>[\w.~+@/\\-]*[\w+-]\.[A-Za-z][A-Za-z0-9]{0,7})(?:(?::|#L|,? line |\()(?P<line>\d+))?(?![\w/])")
DOTTED = re.compile(r"(?<![\w./-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
MOST_PLACES = 300
MOST_NAMESAKES = 3


def places_in(text: str) -> list[tuple[str, int | None]]:
    """Paths as the text writes them, each with its line where it gives one, in order, each once."""
    found = [(match.start(), match["path"], match["line"]) for pattern in (FRAME, LOCATION) for match in pattern.finditer(text)]
    places = [(path.replace("\\", "/"), int(line) if line else None) for _, path, line in sorted(found, key=lambda item: item[0])]
    lined = {path for path, line in places if line}
    return list(dict.fromkeys((path, line) for path, line in places if line or path not in lined))[:MOST_PLACES]


def name_places(workspace: Workspace, text: str) -> list[tuple[str, int | None]]:
    """Name the places of the worktree that a text means, and return them in the text's order.

    A path may come from another machine: the longest end of it that is a file here is meant. A bare file name means up to three
    files; a dotted name means the module that its longest start is.
    """
    known = _Known(list_paths(workspace.root))
    meant: list[tuple[str, int | None]] = []
    for path, line in places_in(text):
        meant += [(file, line) for file in known.files(path)]
    for match in DOTTED.finditer(text):
        meant += [(file, None) for file in known.modules(match[0])]
    meant = list(dict.fromkeys(meant))[:MOST_PLACES]
    for path, named_line in meant:
        workspace.name(path, named_line)
    return meant


class _Known:
    """The files of a worktree, by their last part."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in paths:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def files(self, written: str) -> list[str]:
        """Those that share the longest end with a path: two parts of it, or all of either."""
        parts = [part for part in written.split("/") if part not in ("", ".", "..", "~")]
        namesakes = self._by_name.get(parts[-1], []) if parts else []
        shared = {path: _shared(parts, path.split("/")) for path in namesakes}
        fitting = {path: size for path, size in shared.items() if size >= 2 or size in (len(parts), path.count("/") + 1)}
        best = [path for path, size in fitting.items() if size == max(fitting.values())]
        return best if len(best) <= MOST_NAMESAKES else []

    def modules(self, dotted: str) -> list[str]:
        """The file of the longest start of a dotted name that is a module; a single word means none."""
        parts = dotted.split(".")
        for size in range(len(parts), 1, -1):
            for ending in ([*parts[: size - 1], f"{parts[size - 1]}.py"], [*parts[:size], "__init__.py"]):
                found = [path for path in self._by_name.get(ending[-1], []) if f"/{path}".endswith("/" + "/".join(ending))]
                if found:
                    return found if len(found) <= MOST_NAMESAKES else []
        return []


def _shared(written: Sequence[str], path: Sequence[str]) -> int:
    count = 0
    for left, right in zip(reversed(written), reversed(path), strict=False):
        if left != right:
            break
        count += 1
    return count
