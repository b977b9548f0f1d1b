"""Open a file of the worktree for a tool: a text, or a sentence that says why not and what to do instead."""

import codecs
import difflib
import os
import stat
from pathlib import Path

from coder.core.errors import ToolError
from coder.core.values.paths import is_test_path
from coder.files.ripgrep import list_paths, shown
from coder.patching.applying.source import Source, decode
from coder.patching.applying.tree import Tree
from coder.patching.errors import PatchError
from coder.permissions.private_files import denied
from coder.workspace.workspace import Workspace

SOURCE = (
    *(
        ".py",
        ".pyi",
        ".pyx",
        ".js",
        ".jsx",
        ".ts",
        ".tsx",
        ".go",
        ".rs",
        ".java",
        ".c",
        ".h",
        ".cc",
        ".cpp",
        ".hpp",
    ),
    *(".rb", ".php", ".cs", ".kt", ".swift", ".scala", ".lua", ".sh"),
)
ASIDE = frozenset(
    {
        "docs",
        "doc",
        "examples",
        "example",
        "benchmarks",
        "static",
        "vendor",
        "_vendor",
        "third_party",
        "node_modules",
    }
)
LARGEST_BYTES = 5_000_000
WIDEST = 400


def existing(workspace: Workspace, path: str) -> tuple[Path, str]:
    """What stands at a path, as (absolute path, path relative to the root); a name that `shown` had to escape may be given as shown.

    Raises:
        ToolError: nothing stands there, or it leads out of the worktree.
    """
    absolute, relative = workspace.resolve(path)
    if absolute.exists():
        return absolute, relative
    if "\\" in path and (
        meant := next((other for other in list_paths(workspace.root) if shown(other) == relative), None)
    ):
        return workspace.root / meant, meant
    if absolute.is_symlink():
        raise ToolError(f"{shown(relative)} is a symbolic link that leads nowhere.")
    raise ToolError(f"{shown(relative)} does not exist.{alike(workspace, relative)}")


def load(workspace: Workspace, path: str) -> tuple[str, Source]:
    """The path relative to the root, and the text there; a symbolic link that stays inside the root is followed.

    Raises:
        ToolError: nothing readable stands there.
    """
    absolute, relative = existing(workspace, path)
    if absolute.is_dir():
        raise ToolError(
            f"{shown(relative)} is a directory. See what is in it with list_files(path={relative!r}) or outline(path={relative!r})."
        )
    if (size := absolute.stat().st_size) > LARGEST_BYTES:
        raise ToolError(
            f"{shown(relative)} has {size:,} bytes, too many to open here. Look into it with search(pattern=..., path={relative!r})."
        )
    real = os.path.relpath(os.path.realpath(absolute), os.path.realpath(workspace.root))
    check_readable(workspace, relative, real)
    try:
        found = Tree(workspace.root).read(real)
    except PatchError as error:
        raise ToolError(error.reason) from None
    if found is None:
        raise ToolError(f"{shown(relative)} has just vanished. See what there is with list_files().")
    try:
        return relative, _wide(found[0]) or decode(found[0], relative)
    except PatchError:
        raise ToolError(
            f"{shown(relative)} is a binary file ({size:,} bytes) and cannot be shown as text."
        ) from None


def check_readable(workspace: Workspace, *paths: str) -> None:
    """Raises ToolError where one of the paths, relative to the root, is not for a model to read."""
    for path in paths:
        if not workspace.may_read(path):
            raise ToolError(
                f"{shown(path)} may hold secrets: the person lets nobody read or change it. Go on without it; its example, where there is "
                "one, or the code that reads it says which names it holds."
            )


def _wide(data: bytes) -> Source | None:
    """UTF-16, which to a patch is binary, for reading."""
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    lines = data.decode("utf-16", "replace").splitlines()
    return Source(lines=tuple(lines), ends=("\n",) * len(lines), encoding="utf-16")


def bytes_of(root: Path, path: str) -> bytes:
    """A file's content for looking through it; empty where it is too large or cannot be read."""
    if denied(path):
        return b""
    try:
        with os.fdopen(_opened(root, path), "rb") as file:
            status = os.fstat(file.fileno())
            return file.read() if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_BYTES else b""
    except OSError:
        return b""


def text_of(root: Path, path: str) -> str:
    """A file's text for looking through it, whatever its encoding; empty where it is too large or cannot be read."""
    return decoded(bytes_of(root, path))


def decoded(data: bytes) -> str:
    """What `bytes_of` gave, as text."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if wide else "utf-8-sig", "replace").replace("\r\n", "\n")


def _opened(root: Path, path: str) -> int:
    """A file to read from: waiting for no pipe, and by a symbolic link only where it stays inside the root."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    if not (root / path).is_symlink():
        return os.open(root / path, flags | os.O_NOFOLLOW)
    real = os.path.realpath(root / path)
    if not Path(real).is_relative_to(os.path.realpath(root)):
        raise PermissionError(f"{path} leads out of the repository")
    return os.open(real, flags | os.O_NOFOLLOW)


def alike(workspace: Workspace, path: str) -> str:
    """A sentence that names existing files with the same or a similar name, or none."""
    paths = list_paths(workspace.root)
    name = path.rpartition("/")[2]
    same = [other for other in paths if other.rpartition("/")[2] == name]
    close = difflib.get_close_matches(path, same or paths[:20_000], n=4, cutoff=0.0 if same else 0.7)
    for other in close:
        workspace.name(other)
    return (
        f" Did you mean {' or '.join(map(shown, close))}?"
        if close
        else " See what there is with list_files()."
    )


def clipped(text: str, width: int = WIDEST, *, around: int = 0) -> str:
    """A line no wider than `width`, cut so that the character at `around` stays in view; control characters are made visible."""
    if len(text) <= width:
        return visible(text)
    start = max(0, min(around - width // 3, len(text) - width))
    end = start + width
    more = f"… (+{len(text) - end} characters)" if end < len(text) else ""
    return f"{'…' if start else ''}{visible(text[start:end])}{more}"


def visible(text: str) -> str:
    """One line of text, its control characters replaced: a terminal would obey them."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character == "\t" else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


def numbered(lines: tuple[str, ...], first: int, last: int) -> str:
    """Lines `first` to `last` (from 1, both included) with their numbers."""
    return "\n".join(
        f"{number:>5}| {clipped(lines[number - 1])}"
        for number in range(max(1, first), min(last, len(lines)) + 1)
    )


def counted(number: int, noun: str) -> str:
    """Such as `1 match`, `3 matches`."""
    plural = f"{noun}es" if noun.endswith(("s", "ch", "sh")) else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def standing(path: str) -> int:
    """How likely a path is where the code in question stands: 0 source, 1 tests, 2 documentation, examples and the rest."""
    *folders, name = path.split("/")
    if (
        not path.endswith(SOURCE)
        or ASIDE & set(folders)
        or (folders[-1:] == ["migrations"] and name[:4].isdigit())
    ):
        return 2
    return 1 if is_test_path(path) else 0
