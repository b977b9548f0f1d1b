"""Resolution of file names in a diff to paths of the tree, and refusal of unsafe names."""

import re
import unicodedata
from collections.abc import Callable, Sequence

from coder.patching.dialects.names import DEV_NULL
from coder.patching.errors import PatchError
from coder.patching.matching.compare import TO_ASCII

PREFIX = re.compile(r"^[abciow]/")
LONGEST_NAME = 255
LONGEST_PATH = 2000


def normalize_path(name: str) -> str:
    """Normalize a name to a path relative to the root.

    Raises:
        PatchError: it leads out of the tree, or into git's own files, however spelled.
    """
    if name.startswith(("/", "~")) or re.match(r"^[A-Za-z]:", name) or "\\" in name:
        raise PatchError(
            f"{name!r} is not a path inside the repository. Paths are relative to its root, "
            "with forward slashes."
        )
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise PatchError(
            f"The path {name!r} holds control or undecodable characters; such files cannot be changed here."
        )
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise PatchError(
            f"{name!r} leads out of the repository. Paths are relative to its root and never contain '..'."
        )
    if any(_is_git(part) for part in parts):
        raise PatchError(f"{name!r} belongs to git itself and cannot be changed.")
    if any(len(part.encode("utf-8")) > LONGEST_NAME for part in parts) or len(name) > LONGEST_PATH:
        raise PatchError(f"{name[:100]!r}... is too long for a path.")
    if not parts:
        raise PatchError(f"{name!r} names no file.")
    return "/".join(parts)


def _is_git(part: str) -> bool:
    """Tell whether some file system would take a name for .git.

    File systems may ignore case, trailing dots and spaces, and invisible characters.
    """
    visible = "".join(character for character in part if unicodedata.category(character) != "Cf")
    return visible.casefold().split(":")[0].rstrip(" .") in (".git", "git~1")


def find_existing_path(old: str, new: str, exists: Callable[[str], bool]) -> str:
    """Return the existing file that a header's two names refer to; empty where there is none.

    Raises:
        PatchError: the names differ, and it is not only the old one that is missing.
    """
    names = [name for name in (old, new) if name and name != DEV_NULL]
    spellings = [[PREFIX.sub("", name) for name in names], names]
    spellings = spellings if _has_prefixes(names) else spellings[::-1]
    clashing: list[str] = []
    for spelling in [
        *spellings,
        *([name.translate(TO_ASCII) for name in spelling] for spelling in spellings),
    ]:
        candidates = list(dict.fromkeys(map(normalize_path, spelling)))
        existing_names = [name for name in candidates if exists(name)]
        if existing_names and existing_names == candidates[-1:]:
            return existing_names[0]
        clashing = clashing or (candidates if existing_names else [])
    if clashing:
        raise PatchError(
            f"The header names two files, {clashing[0]} and {clashing[1]}. Write the same path twice, "
            "or put 'rename from' and 'rename to' lines under a 'diff --git' line."
        )
    return ""


def _has_prefixes(names: Sequence[str]) -> bool:
    """Tell whether a/ and b/ (or i/ and w/ ...) are a diff's prefixes and not a directory's name."""
    starts = {name[:2] for name in names}
    return all(map(PREFIX.match, names)) and (
        len(starts) == 2 or (len(names) == 1 and starts <= {"a/", "b/"})
    )


def resolve_rename(old: str, new: str, exists: Callable[[str], bool]) -> tuple[str, str]:
    """Return both names of a renamed file; git writes them without a/ and b/, models sometimes with them."""
    stripped = (old.removeprefix("a/"), new.removeprefix("b/"))
    if stripped != (old, new) and not exists(normalize_path(old)) and exists(normalize_path(stripped[0])):
        return normalize_path(stripped[0]), normalize_path(stripped[1])
    return normalize_path(old), normalize_path(new)


def new_file_path(name: str) -> str:
    """Return the path of a new file from its header."""
    return normalize_path(re.sub(r"^[ab]/", "", name))
