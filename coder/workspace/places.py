"""Find the places of a repository that a free text names: paths, lines, traceback frames, modules."""

import re
from collections.abc import Iterator, Sequence

from coder.files.ripgrep import list_paths
from coder.workspace.workspace import Workspace

FRAME = re.compile(r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)')
TOKEN = re.compile(r"[\w.~+@/\\-]+")
LINE = re.compile(r"(?::|#L|,? line |\()(\d{1,7})(?!\w)")
FILE_NAME = re.compile(r"[\w+@-][\w.+@-]*\.[A-Za-z][A-Za-z0-9]{0,7}")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
LONGEST = 400
MOST_PARTS = 12
MOST_PLACES = 300
MOST_NAMESAKES = 3


def places_in(text: str) -> list[tuple[str, int | None]]:
    """Paths as the text writes them, each with its line where it gives one, in order, each once."""
    found = [(match.start(), match["path"], int(match["line"])) for match in FRAME.finditer(text)]
    places: list[tuple[int, str, int | None]] = [*found]
    for start, end, token in _tokens(text):
        if FILE_NAME.fullmatch(token.replace("\\", "/").rpartition("/")[2]):
            line = LINE.match(text, end)
            places.append((start, token, int(line[1]) if line else None))
    ordered = [
        (path.replace("\\", "/"), line) for _, path, line in sorted(places, key=lambda place: place[0])
    ]
    lined = {path for path, line in ordered if line}
    return list(dict.fromkeys((path, line) for path, line in ordered if line or path not in lined))[
        :MOST_PLACES
    ]


def _tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """Runs of characters that paths and dotted names are made of, with start and end, without a sentence's last dot."""
    for match in TOKEN.finditer(text):
        token = match[0].rstrip(".")
        if 2 < len(token) <= LONGEST:
            yield match.start(), match.start() + len(token), token


def name_places(workspace: Workspace, text: str) -> list[tuple[str, int | None]]:
    """Name the places of the worktree that a text means, and return them in the text's order.

    A path may come from another machine: the longest end of it that is a file here is meant. A bare file name means up to three
    files; a dotted name means the module that its longest start is.
    """
    known = Known(list_paths(workspace.root))
    meant: list[tuple[str, int | None]] = []
    for path, line in places_in(text):
        meant += [(file, line) for file in known.files(path)]
    meant += [(file, None) for name in dotted_names(text) for file in known.modules(name)]
    meant = list(dict.fromkeys(meant))[:MOST_PLACES]
    for path, named_line in meant:
        workspace.name(path, named_line)
    return meant


def dotted_names(text: str) -> list[str]:
    """Such as `shop.cart.Cart.total`, each once, in order."""
    return list(dict.fromkeys(token for _, _, token in _tokens(text) if DOTTED.fullmatch(token)))[
        : 10 * MOST_PLACES
    ]


class Known:
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
        fitting = {
            path: size
            for path, size in shared.items()
            if size >= 2 or size in (len(parts), path.count("/") + 1)
        }
        best = [path for path, size in fitting.items() if size == max(fitting.values())]
        return best if len(best) <= MOST_NAMESAKES else []

    def modules(self, dotted: str) -> list[str]:
        """The file of the longest start of a dotted name that is a module; a single word means none."""
        parts = dotted.split(".")[:MOST_PARTS]
        for size in range(len(parts), 1, -1):
            for ending in ([*parts[: size - 1], f"{parts[size - 1]}.py"], [*parts[:size], "__init__.py"]):
                found = [
                    path
                    for path in self._by_name.get(ending[-1], [])
                    if f"/{path}".endswith("/" + "/".join(ending))
                ]
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
