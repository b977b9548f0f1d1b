"""Workspace of a tool call: one candidate's worktree, and the available ports."""

import codecs
import difflib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from coder.core.errors import PatchError, ToolError
from coder.core.paths import SOURCE_SUFFIXES, is_test_path, split_path
from coder.core.ports import History, Progress, Sandbox
from coder.core.values import Policy
from coder.core.verdict import TestReport
from coder.files.regular_files import is_within, read_regular, read_regular_text
from coder.files.ripgrep import escape_path, list_paths
from coder.index.index import SymbolIndex
from coder.patching.plan import ConfinedTree, TextFile, decode_source
from coder.permissions.secrets import DENY_READ, Secrets, is_read_denied


def matches_path(path: str, pattern: str) -> bool:
    """Tell whether a path is the one named, below it, or matched by it as a glob."""
    name = pattern.rstrip("/")
    return path == name or path.startswith(f"{name}/") or fnmatch(path, pattern)


@dataclass(kw_only=True)
class Workspace:
    """One candidate's view of the repository; its only mutable state is what was refused."""

    root: Path
    """The candidate's worktree."""
    sandbox: Sandbox
    history: History
    run: Callable[[tuple[str, ...], Progress], TestReport]
    """Runs tests (none: the suite) in this worktree."""
    baseline: Callable[[tuple[str, ...], Progress], TestReport]
    """Returns the known results on the untouched base, once these tests (none: the suite) have run there."""
    index: SymbolIndex
    """Definitions and uses in the worktree."""
    policy: Policy = Policy()  # noqa: RUF009 (a frozen value)
    """Access policy for the commands of the current call."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of commands, such as the import path that puts this worktree before an installed copy."""
    deny_read: tuple[str, ...] = DENY_READ
    """Patterns of files whose content is not shown, as in `coder.permissions.secrets`."""
    secrets: Secrets = Secrets()  # noqa: RUF009 (a frozen value)
    """Masks what the model sees, and restores it in the file that a patch changes."""
    read_only: bool = False
    """Whether nothing may be written."""
    only: tuple[str, ...] = ()
    """Paths or globs that may be written; empty is all."""
    is_named: Callable[[str], bool] = field(default=lambda _path: True)
    """Tells whether the conversation has named a path: a search, a trace, an import or the user."""
    skills: Mapping[str, Path] = field(default_factory=dict)
    """Directories of the skills that the session has, by their names."""
    progress: Progress = field(default=lambda _line: None)
    failed_hunks: Counter[str] = field(default_factory=Counter)
    """How often each hunk of a patch was refused, by its fingerprint."""

    def resolve_path(self, path: str) -> tuple[Path, str]:
        """Resolve a model's path to (absolute path, path relative to the root with forward slashes).

        Raises:
            ToolError: it leads out of the worktree, or into git's own files.
        """
        text = path.strip()
        try:
            parts = split_path(text.removeprefix(f"{self.root}/"))
        except ValueError as error:
            raise ToolError(str(error)) from None
        absolute = self.root.joinpath(*parts)
        if not is_within(absolute, self.root):
            raise ToolError(
                f"{path!r} is a symbolic link that leads out of the repository; nothing was opened."
            )
        return absolute, "/".join(parts) or "."

    def may_read(self, path: str) -> bool:
        """Tell whether a model may see the content of this path, relative to the root."""
        return not is_read_denied(path, self.deny_read)

    def may_write(self, path: str) -> bool:
        """Tell whether this path, relative to the root, may be changed; --only may restrict it."""
        if self.read_only:
            return False
        return not self.only or any(matches_path(path, allowed) for allowed in self.only)


VENDOR_DIRECTORIES = frozenset({"vendor", "_vendor", "vendored", "third_party", "node_modules"})
NON_SOURCE_DIRECTORIES = VENDOR_DIRECTORIES | {
    "docs",
    "doc",
    "examples",
    "example",
    "benchmarks",
    "static",
    "website",
}
BUILT_DIRECTORIES = frozenset({"dist"})
SCRIPT_SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
BUNDLES = (".min.js", ".bundle.js", "_pb2.py", ".pb.go")
DECLARATIONS = (".d.ts", ".d.mts", ".d.cts", ".flow", ".pyi")
LARGEST_BYTES = 5_000_000
MAX_LINE_WIDTH = 400


def resolve_existing(workspace: Workspace, path: str) -> tuple[Path, str]:
    """Return what exists at a path, as (absolute path, path relative to the root).

    A name that `shown` had to escape may be passed in its escaped form.

    Raises:
        ToolError: the path does not exist, or leads out of the worktree.
    """
    absolute, relative = workspace.resolve_path(path)
    if absolute.exists():
        return absolute, relative
    if "\\" in path and (
        unescaped := next(
            (other for other in list_paths(workspace.root) if escape_path(other) == relative), None
        )
    ):
        return workspace.root / unescaped, unescaped
    if absolute.is_symlink():
        raise ToolError(f"{escape_path(relative)} is a symbolic link that leads nowhere.")
    raise ToolError(f"{escape_path(relative)} does not exist.{suggest_paths(workspace, relative)}")


def load_source(workspace: Workspace, path: str) -> tuple[str, TextFile]:
    """Return the path relative to the root, and the text there; symbolic links inside the root are followed.

    Raises:
        ToolError: it is not a readable text file.
    """
    absolute, relative = resolve_existing(workspace, path)
    if absolute.is_dir():
        raise ToolError(
            f"{escape_path(relative)} is a directory. What is in it, read(path={relative!r}) shows."
        )
    if (size := absolute.stat().st_size) > LARGEST_BYTES:
        raise ToolError(
            f"{escape_path(relative)} has {size:,} bytes, too many to open here. Look into it with "
            f"search(pattern=..., path={relative!r})."
        )
    real = os.path.relpath(os.path.realpath(absolute), os.path.realpath(workspace.root))
    check_readable(workspace, relative, real)
    try:
        content = ConfinedTree(workspace.root).read(real)
    except PatchError as error:
        raise ToolError(error.reason) from None
    if content is None:
        raise ToolError(f"{escape_path(relative)} has just vanished. See what there is with search().")
    try:
        return relative, _decode_utf16(content[0]) or decode_source(content[0], relative)
    except PatchError:
        raise ToolError(
            f"{escape_path(relative)} is a binary file ({size:,} bytes) and cannot be shown as text."
        ) from None


SKILL_PREFIX = "skill:"
"""Begins the paths of a skill's files, which lie beside the worktree."""


def load_skill_file(workspace: Workspace, path: str) -> tuple[str, TextFile]:
    """Return the path and the text of a skill's file, such as `skill:NAME/FILE`; without one its SKILL.md.

    Raises:
        ToolError: there is no such skill or file, or it leads out of the skill's directory.
    """
    name, _, file = path.strip().removeprefix(SKILL_PREFIX).partition("/")
    directory = workspace.skills.get(name)
    if directory is None:
        known = ", ".join(workspace.skills) or "none"
        raise ToolError(f"There is no skill {name[:100]!r}. There are: {known}.")
    relative = f"{SKILL_PREFIX}{name}/{file or 'SKILL.md'}"
    check_readable(workspace, relative)
    try:
        real = os.path.realpath(directory / (file or "SKILL.md"))
        check_readable(workspace, real)
        data = read_regular(Path(real), within=directory)
        if data is None:
            names = ", ".join(sorted(list_paths(directory))[:50])
            raise ToolError(f"{escape_path(relative)} is no file of the skill. It has: {names}.")
        return relative, _decode_utf16(data) or decode_source(data, relative)
    except (PatchError, ValueError):
        raise ToolError(f"{escape_path(relative)} cannot be shown as text.") from None


def check_readable(workspace: Workspace, *paths: str) -> None:
    """Raise ToolError where a model may not read one of the paths, which are relative to the root."""
    for path in paths:
        if not workspace.may_read(path):
            raise ToolError(
                f"{escape_path(path)} may hold secrets: it may be neither read nor changed. Go on "
                "without it; its example, where there is "
                "one, or the code that reads it says which names it holds."
            )


def _decode_utf16(data: bytes) -> TextFile | None:
    """Decode UTF-16 for reading, which patches treat as binary; None for other encodings."""
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    lines = data.decode("utf-16", "replace").splitlines()
    return TextFile(lines=tuple(lines), ends=("\n",) * len(lines), encoding="utf-16")


def read_text_or_empty(root: Path, path: str) -> str:
    """Return a file's text for searching; empty where it is too large or unreadable."""
    return "" if is_read_denied(path) else read_regular_text(root / path, within=root).replace("\r\n", "\n")


def suggest_paths(workspace: Workspace, path: str) -> str:
    """Return a sentence that suggests existing files with the same or a similar name."""
    paths = list_paths(workspace.root)
    name = path.rpartition("/")[2]
    namesakes = [other for other in paths if other.rpartition("/")[2] == name]
    suggestions = difflib.get_close_matches(
        path, namesakes or paths[:20_000], n=4, cutoff=0.0 if namesakes else 0.7
    )
    return (
        f" Did you mean {' or '.join(map(escape_path, suggestions))}?"
        if suggestions
        else " See what there is with search()."
    )


def clip_line(text: str, width: int = MAX_LINE_WIDTH, *, around: int = 0) -> str:
    """Clip a line to `width` so that the character at `around` stays in view.

    Control characters are made visible.
    """
    if len(text) <= width:
        return replace_control_characters(text)
    start = max(0, min(around - width // 3, len(text) - width))
    end = start + width
    suffix = f"… (+{len(text) - end} characters)" if end < len(text) else ""
    return f"{'…' if start else ''}{replace_control_characters(text[start:end])}{suffix}"


def replace_control_characters(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character == "\t" else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


def number_lines(lines: tuple[str, ...], first: int, last: int) -> str:
    """Return lines `first` to `last` (from 1, both included) with their numbers."""
    return "\n".join(
        f"{number:>5}| {clip_line(lines[number - 1])}"
        for number in range(max(1, first), min(last, len(lines)) + 1)
    )


def format_count(number: int, noun: str) -> str:
    """Format a count with its noun, such as `1 match`, `3 matches`."""
    plural = f"{noun}es" if noun.endswith(("s", "ch", "sh")) else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def path_category(path: str) -> int:
    """Classify a path by its likely relevance: 0 source, 1 tests, 2 documentation, examples and the rest."""
    *folders, name = path.split("/")
    if (
        not path.endswith(SOURCE_SUFFIXES)
        or NON_SOURCE_DIRECTORIES & set(folders)
        or (folders[-1:] == ["migrations"] and name[:4].isdigit())
        or is_derived(path)
    ):
        return 2
    return 1 if is_test_path(path) else 0


def is_derived(path: str) -> bool:
    """Tell whether a file is made from others or copied, or declares what others hold."""
    *folders, name = path.split("/")
    is_built = not BUILT_DIRECTORIES.isdisjoint(folders) and name.endswith(SCRIPT_SUFFIXES)
    return is_built or not VENDOR_DIRECTORIES.isdisjoint(folders) or name.endswith((*DECLARATIONS, *BUNDLES))


def is_declaration(path: str) -> bool:
    """Tell whether a file only declares types for code in other files."""
    return path.endswith(DECLARATIONS)


FRAME = re.compile(r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)')
QUOTED_MENTION = re.compile(r'(?<![\w@./-])@"([^"\n]+)"')
TOKEN = re.compile(r"[\w.~+@/\\-]+")
LINE = re.compile(r"(?::|#L|,? line |\()(\d{1,7})(?!\w)")
FILE_NAME = re.compile(r"[\w+@-][\w.+@-]*\.[A-Za-z][A-Za-z0-9]{0,7}")
LONGEST = 400
MOST_PLACES = 300
MOST_NAMESAKES = 3


def extract_places(text: str) -> list[tuple[str, int | None]]:
    """Return the paths in a text as written, each with its line if given, in order, without duplicates."""
    frames = [(match.start(), match["path"], int(match["line"])) for match in FRAME.finditer(text)]
    mentions = [(match.start(), match[1], None) for match in QUOTED_MENTION.finditer(text)]
    places: list[tuple[int, str, int | None]] = [*frames, *mentions]
    for start, end, token in _tokens(QUOTED_MENTION.sub(lambda match: " " * len(match[0]), text)):
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


class FileIndex:
    """Files of a worktree, indexed by their last part."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in paths:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def files_with_suffix(self, written: str) -> list[str]:
        """Return the files that share the longest suffix with a path: two parts or more, or all of either.

        The @ of a mention, as in `@src/box.py`, is no part of the path.
        """
        parts = [part for part in written.split("/") if part not in ("", ".", "..", "~")]
        namesakes = self._by_name.get(parts[-1], []) if parts else []
        shared = {path: _common_suffix_length(parts, path.split("/")) for path in namesakes}
        matches = {
            path: size
            for path, size in shared.items()
            if size >= 2 or size in (len(parts), path.count("/") + 1)
        }
        best = [path for path, size in matches.items() if size == max(matches.values())]
        if not best and written.startswith("@"):
            return self.files_with_suffix(written[1:])
        return best if len(best) <= MOST_NAMESAKES else []


def _common_suffix_length(written: Sequence[str], path: Sequence[str]) -> int:
    count = 0
    for left, right in zip(reversed(written), reversed(path), strict=False):
        if left != right:
            break
        count += 1
    return count
