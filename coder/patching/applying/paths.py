"""Which file of the tree a name in a diff means, and which names are refused."""

import re
import unicodedata
from collections.abc import Callable, Sequence

from coder.patching.dialects.names import NOWHERE
from coder.patching.errors import PatchError
from coder.patching.matching.compare import TO_ASCII

PREFIX = re.compile(r"^[abciow]/")
LONGEST_NAME = 255
LONGEST_PATH = 2000


def checked(name: str) -> str:
    """A path relative to the root, in its plainest spelling.

    Raises:
        PatchError: it leads out of the tree, or into git's own files, however spelled.
    """
    if name.startswith(("/", "~")) or re.match(r"^[A-Za-z]:", name) or "\\" in name:
        raise PatchError(
            f"{name!r} is not a path inside the repository. Paths are relative to its root, with forward slashes."
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
    """Would some file system take this for .git? They ignore case, trailing dots and spaces, and invisible characters."""
    visible = "".join(character for character in part if unicodedata.category(character) != "Cf")
    return visible.casefold().split(":")[0].rstrip(" .") in (".git", "git~1")


def existing(old: str, new: str, exists: Callable[[str], bool]) -> str:
    """The file that a header's two names mean, or an empty string where there is none.

    Raises:
        PatchError: the names differ, and it is not only the old one that is missing.
    """
    names = [name for name in (old, new) if name and name != NOWHERE]
    spellings = [[PREFIX.sub("", name) for name in names], names]
    spellings = spellings if _prefixed(names) else spellings[::-1]
    clash: list[str] = []
    for spelled in [*spellings, *([name.translate(TO_ASCII) for name in spelled] for spelled in spellings)]:
        candidates = list(dict.fromkeys(map(checked, spelled)))
        found = [name for name in candidates if exists(name)]
        if found and found == candidates[-1:]:
            return found[0]
        clash = clash or (candidates if found else [])
    if clash:
        raise PatchError(
            f"The header names two files, {clash[0]} and {clash[1]}. Write the same path twice, "
            "or put 'rename from' and 'rename to' lines under a 'diff --git' line."
        )
    return ""


def _prefixed(names: Sequence[str]) -> bool:
    """Do a/ and b/ (or i/ and w/ ...) look like a diff's prefixes, and not like a directory of that name?"""
    starts = {name[:2] for name in names}
    return all(map(PREFIX.match, names)) and (
        len(starts) == 2 or (len(names) == 1 and starts <= {"a/", "b/"})
    )


def renamed(old: str, new: str, exists: Callable[[str], bool]) -> tuple[str, str]:
    """Both names of a renamed file; git writes them without a/ and b/, models at times with them."""
    bare = (old.removeprefix("a/"), new.removeprefix("b/"))
    if bare != (old, new) and not exists(checked(old)) and exists(checked(bare[0])):
        return checked(bare[0]), checked(bare[1])
    return checked(old), checked(new)


def to_create(name: str) -> str:
    """The path of a new file from its header."""
    return checked(re.sub(r"^[ab]/", "", name))
