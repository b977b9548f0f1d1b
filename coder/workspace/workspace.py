"""Workspace of a tool call: one candidate's worktree, the available ports, and the places named so far."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from coder.core.errors import ToolError
from coder.core.policy import Policy
from coder.core.ports.repository import History
from coder.core.ports.sandbox import Progress, Sandbox
from coder.core.values.proposal import SuspectRanking
from coder.core.values.verdict import TestReport
from coder.index.index import SymbolIndex
from coder.permissions.private_files import DENY_READ, is_read_denied
from coder.permissions.secrets import Secrets

LONGEST_NAME = 255
NO_TRACE = SuspectRanking(problem="No test can be traced here.")
LONGEST_PATH = 2000


def matches_path(path: str, pattern: str) -> bool:
    """Tell whether a path is the one named, below it, or matched by it as a glob."""
    name = pattern.rstrip("/")
    return path == name or path.startswith(f"{name}/") or fnmatch(path, pattern)


@dataclass(kw_only=True)
class Workspace:
    """One candidate's view of the repository; its only mutable state is what was named."""

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
    suspects: Callable[[tuple[str, ...], Progress], SuspectRanking] = lambda _tests, _progress: NO_TRACE
    """Traces failing tests in this worktree, to rank functions that they execute and passing ones do not."""
    policy: Policy = Policy()  # noqa: RUF009 (a frozen value)
    """Access policy for the commands of the current call."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of commands, such as the import path that puts this worktree before an installed copy."""
    deny_read: tuple[str, ...] = DENY_READ
    """Patterns of files whose content is not shown, as in `coder.permissions.private_files`."""
    secrets: Secrets = Secrets()  # noqa: RUF009 (a frozen value)
    """Masks what the model sees, and restores it in the file that a patch changes."""
    read_only: bool = False
    """Whether nothing may be written."""
    only: tuple[str, ...] = ()
    """Paths or globs that may be written; empty is all."""
    progress: Progress = field(default=lambda _line: None)
    named: dict[str, set[int]] = field(default_factory=dict)
    """Paths that a tool's answer has mentioned, with the lines mentioned in each."""
    shown_texts: Callable[[], Iterable[str]] = tuple
    """Returns all that the model was shown so far, newest first."""
    failed_hunks: Counter[str] = field(default_factory=Counter)
    """How often each hunk of a patch was refused, by its fingerprint."""

    def record_place(self, path: str, line: int | None = None) -> None:
        """Record that a tool's answer has mentioned this place."""
        self.named.setdefault(path, set()).update(() if line is None else (line,))

    def resolve_path(self, path: str) -> tuple[Path, str]:
        """Resolve a model's path to (absolute path, path relative to the root with forward slashes).

        Raises:
            ToolError: it leads out of the worktree, or into git's own files.
        """
        text = path.strip()
        relative = PurePosixPath(
            text[len(str(self.root)) :].lstrip("/") if text.startswith(f"{self.root}/") else text
        )
        parts = [part for part in relative.parts if part != "."]
        if relative.is_absolute() or ".." in parts:
            raise ToolError(
                f"{path!r} is outside the repository. Paths are relative to its root, such as 'src/name.py'."
            )
        if any(part.lower() == ".git" for part in parts):
            raise ToolError(f"{path!r} belongs to git itself and cannot be read or changed here.")
        absolute = self.root.joinpath(*parts)
        if (
            "\0" in text
            or any(len(part.encode("utf-8", "replace")) > LONGEST_NAME for part in parts)
            or len(text) > LONGEST_PATH
        ):
            raise ToolError(f"{path[:100]!r} is no path: it is too long, or holds a NUL character.")
        if not Path(os.path.realpath(absolute)).is_relative_to(os.path.realpath(self.root)):
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
