"""Stand-in for a repository's shared git directory: same objects and refs, but an inert configuration."""

import os
import weakref
from functools import cached_property
from pathlib import Path

from coder.files.regular_files import read_regular
from coder.files.scratch import ScratchDirectory
from coder.permissions.git_configuration import parse_configuration, safe_configuration

LINKED_ENTRIES = ("HEAD", "objects", "refs", "packed-refs", "shallow", "worktrees")
"""Linked, even before they exist; no hooks, no includes, no info/attributes with filters."""
OPTIONAL_ENTRIES = ("logs", "reftable")
"""Linked only if they exist: a dangling link would make git fail."""
NO_FILTERS = b"\n* !filter\n"
"""Content of info/attributes, which overrides every .gitattributes: no path has a filter."""


class InertDirectory:
    """Temporary directory for GIT_COMMON_DIR, removed with the last reference to this object."""

    def __init__(self, common: Path, git_dir: Path) -> None:
        """Create the directory.

        `git_dir` is the checkout's own; its config.worktree is read if the repository enables it.
        """
        self.common = common
        scratch = ScratchDirectory()
        weakref.finalize(self, scratch.close)
        self._place = scratch.path
        self.text = _read_config(common / "config")
        settings = dict(parse_configuration(self.text))
        if settings.get("extensions.worktreeconfig", "").lower() in ("true", "yes", "on", "1"):
            self.text += "\n" + _read_config(git_dir / "config.worktree")
        self.is_bare = common == git_dir and settings.get("core.bare", "").lower() in (
            "true",
            "yes",
            "on",
            "1",
        )
        self.path = self._make_directory("plain", NO_FILTERS)

    @cached_property
    def path_with_filters(self) -> Path:
        """The same directory with `filter` attributes visible.

        It serves to query attributes; nothing may be checked out or staged with it.
        """
        return self._make_directory("filters", b"")

    def _make_directory(self, name: str, attributes: bytes) -> Path:
        directory = self._place / name
        (directory / "info").mkdir(parents=True)
        for shared in (
            *LINKED_ENTRIES,
            *(optional for optional in OPTIONAL_ENTRIES if (self.common / optional).is_dir()),
        ):
            (directory / shared).symlink_to(self.common / shared)
        (directory / "config").write_bytes(os.fsencode(safe_configuration(self.text)))
        for file, addition in (("attributes", attributes), ("exclude", b"")):
            content = read_regular(self.common / "info" / file, within=self.common) or b""
            (directory / "info" / file).write_bytes(content + addition)
        return directory


def _read_config(config: Path) -> str:
    return os.fsdecode(read_regular(config) or b"")
