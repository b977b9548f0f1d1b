"""Extraction of repository places from free text: paths, lines, traceback frames, modules."""

import re
from collections.abc import Iterator, Sequence

from coder.files.ripgrep import escape_path, list_paths
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


def extract_places(text: str) -> list[tuple[str, int | None]]:
    """Return the paths in a text as written, each with its line if given, in order, without duplicates."""
    frames = [(match.start(), match["path"], int(match["line"])) for match in FRAME.finditer(text)]
    places: list[tuple[int, str, int | None]] = [*frames]
    for start, end, token in _tokens(text):
        if FILE_NAME.fullmatch(token.replace("\\", "/").rpartition("/")[2]):
            line = LINE.match(text, end)
            places.append((start, token, int(line[1]) if line else None))
    ordered = [
        (path.replace("\\", "/"), line) for _, path, line in sorted(places, key=lambda place: place[0])
    ]
    paths_with_line = {path for path, line in ordered if line}
    return list(dict.fromkeys((path, line) for path, line in ordered if line or path not in paths_with_line))[
        :MOST_PLACES
    ]


def _tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield runs of path and dotted-name characters, with start and end, without a trailing dot."""
    for match in TOKEN.finditer(text):
        token = match[0].rstrip(".")
        if 2 < len(token) <= LONGEST:
            yield match.start(), match.start() + len(token), token


def record_places(workspace: Workspace, text: str) -> list[tuple[str, int | None]]:
    """Resolve the places that a text mentions, record them as named, and return them in the text's order.

    A path may come from another machine: its longest suffix that is a file here is used. A bare file name
    matches up to three files; a dotted name matches the module of its longest prefix.
    """
    places = _find_places(FileIndex(list_paths(workspace.root)), text)
    for path, place_line in places:
        workspace.record_place(path, place_line)
    return places


def is_named(workspace: Workspace, path: str) -> bool:
    """Tell whether a tool's answer or any message to the model has named a file of the worktree."""
    if path in workspace.named:
        return True
    names = "|".join(map(re.escape, dict.fromkeys((path, escape_path(path)))))
    literal = re.compile(rf"(?<![\w/.-])(?:{names})(?![\w/-]|\.\w)")
    if any(literal.search(text) for text in workspace.shown_texts()):
        return True
    files = FileIndex(list_paths(workspace.root))
    return any(path == file for text in workspace.shown_texts() for file, _line in _find_places(files, text))


def _find_places(files: "FileIndex", text: str) -> list[tuple[str, int | None]]:
    places = [(file, line) for path, line in extract_places(text) for file in files.files_with_suffix(path)]
    places += [(file, None) for name in extract_dotted_names(text) for file in files.module_files(name)]
    return list(dict.fromkeys(places))[:MOST_PLACES]


def extract_dotted_names(text: str) -> list[str]:
    """Return dotted names such as `shop.cart.Cart.total`, in order, without duplicates."""
    return list(dict.fromkeys(token for _, _, token in _tokens(text) if DOTTED.fullmatch(token)))[
        : 10 * MOST_PLACES
    ]


class FileIndex:
    """Files of a worktree, indexed by their last part."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in paths:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def files_with_suffix(self, written: str) -> list[str]:
        """Return the files that share the longest suffix with a path: two parts or more, or all of either."""
        parts = [part for part in written.split("/") if part not in ("", ".", "..", "~")]
        namesakes = self._by_name.get(parts[-1], []) if parts else []
        shared = {path: _common_suffix_length(parts, path.split("/")) for path in namesakes}
        matches = {
            path: size
            for path, size in shared.items()
            if size >= 2 or size in (len(parts), path.count("/") + 1)
        }
        best = [path for path, size in matches.items() if size == max(matches.values())]
        return best if len(best) <= MOST_NAMESAKES else []

    def module_files(self, dotted: str) -> list[str]:
        """Return the file of the longest prefix of a dotted name that is a module; none for a single word."""
        parts = dotted.split(".")[:MOST_PARTS]
        for size in range(len(parts), 1, -1):
            for ending in ([*parts[: size - 1], f"{parts[size - 1]}.py"], [*parts[:size], "__init__.py"]):
                paths = [
                    path
                    for path in self._by_name.get(ending[-1], [])
                    if f"/{path}".endswith("/" + "/".join(ending))
                ]
                if paths:
                    return paths if len(paths) <= MOST_NAMESAKES else []
        return []


def _common_suffix_length(written: Sequence[str], path: Sequence[str]) -> int:
    count = 0
    for left, right in zip(reversed(written), reversed(path), strict=False):
        if left != right:
            break
        count += 1
    return count
