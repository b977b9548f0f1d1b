"""A stand-in for a repository's shared git directory: the same objects and refs, a configuration that starts and redirects nothing."""

import os
import shutil
import tempfile
import weakref
from functools import cached_property
from pathlib import Path

from coder.files.regular_files import read_regular
from coder.permissions.git_configuration import entries, inert

SHARED = ("HEAD", "objects", "refs", "packed-refs", "shallow", "worktrees")
"""Seen as they are, also once they come to be; no hooks, no includes, no info/attributes with filters."""
ONLY_IF_THERE = ("logs", "reftable")
"""A dangling link in their place would make git fail."""
NO_FILTERS = b"\n* !filter\n"
"""In info/attributes, which outranks each .gitattributes: no path has a filter, whoever configured one."""


class InertDirectory:
    """What GIT_COMMON_DIR names while git works on a repository; removed with the last object that holds it."""

    def __init__(self, common: Path, git_dir: Path) -> None:
        """`git_dir` is the checkout's own; its config.worktree counts where the repository says so."""
        self.common = common
        self._place = Path(tempfile.mkdtemp(prefix="coder-git-"))
        weakref.finalize(self, shutil.rmtree, self._place, ignore_errors=True)
        self.text = _text(common / "config")
        settings = dict(entries(self.text))
        if settings.get("extensions.worktreeconfig", "").lower() in ("true", "yes", "on", "1"):
            self.text += "\n" + _text(git_dir / "config.worktree")
        self.is_bare = common == git_dir and settings.get("core.bare", "").lower() in (
            "true",
            "yes",
            "on",
            "1",
        )
        self.path = self._filled("plain", NO_FILTERS)

    @cached_property
    def with_filters(self) -> Path:
        """The same with the `filter` attribute in sight, to ask for attributes; nothing may be checked out or staged with it."""
        return self._filled("filters", b"")

    def _filled(self, name: str, attributes: bytes) -> Path:
        made = self._place / name
        (made / "info").mkdir(parents=True)
        for shared in (*SHARED, *(other for other in ONLY_IF_THERE if (self.common / other).is_dir())):
            (made / shared).symlink_to(self.common / shared)
        (made / "config").write_bytes(os.fsencode(inert(self.text)))
        for file, more in (("attributes", attributes), ("exclude", b"")):
            content = read_regular(self.common / "info" / file, within=self.common) or b""
            (made / "info" / file).write_bytes(content + more)
        return made


def _text(config: Path) -> str:
    return os.fsdecode(read_regular(config) or b"")
