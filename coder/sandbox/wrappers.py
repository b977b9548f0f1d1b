"""Sandboxes around a sandbox: one ends its commands at once, one reports or removes what they leave."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from threading import Event
from typing import Any, Literal

from coder.core.errors import SandboxError
from coder.core.ports import Execution, Sandbox
from coder.core.values import Value


class SandboxWrapper:
    """A Sandbox that passes all on to another one."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def run(self, argv: Sequence[str], **options: Any) -> Execution:
        return self._sandbox.run(argv, **options)

    def select_builds(self, private: Path, content: str) -> None:
        self._sandbox.select_builds(private, content)

    def share_builds(self, private: Path) -> None:
        self._sandbox.share_builds(private)

    def stop(self) -> None:
        self._sandbox.stop()


class BoundedSandbox(SandboxWrapper):
    """A Sandbox whose commands end as at their time limit once an event is set; none starts after it."""

    def __init__(self, sandbox: Sandbox, cut: Event) -> None:
        super().__init__(sandbox)
        self._cut = cut

    def run(self, argv: Sequence[str], **options: Any) -> Execution:
        if self._cut.is_set():
            raise SandboxError("the time for this is over")
        return super().run(argv, **{**options, "cut": options.get("cut") or self._cut})


FindingKind = Literal["repository", "link", "runs later"]


class ResidueFinding(Value):
    """One file, link or repository that a command left."""

    kind: FindingKind
    path: str
    """Relative to the worktree."""
    text: str
    """A phrase for the user."""

    @property
    def must_be_removed(self) -> bool:
        return self.kind != "runs later"


class ResidueSandbox(SandboxWrapper):
    """A Sandbox for a worktree that outlives its commands."""

    def __init__(self, sandbox: Sandbox, tree: Path, report: Callable[[str], None]) -> None:
        """Wrap `sandbox` for the worktree `tree`.

        `report` is called with a sentence on each finding, in the thread that ran the command.
        """
        super().__init__(sandbox)
        self._tree = tree
        self._tell = report
        self._lock = threading.Lock()

    def run(self, argv: Sequence[str], **options: Any) -> Execution:
        with self.check_residue() as removed:
            execution = super().run(argv, **options)
        note = "".join(f"\n[{describe_finding(finding)}]" for finding in removed)
        return execution.model_copy(update={"output": execution.output + note}) if note else execution

    @contextmanager
    def check_residue(self) -> Iterator[list[ResidueFinding]]:
        """Survey the worktree before and after the block.

        On exit the list holds the findings that were removed.
        """
        removed: list[ResidueFinding] = []
        with self._lock:
            pointer = _pointer_content(self._tree / ".git")
            before = survey_worktree(self._tree)
            try:
                yield removed
            finally:
                _restore_pointer(self._tree / ".git", pointer)
                for finding in new_findings(before, survey_worktree(self._tree)):
                    if finding.must_be_removed:
                        remove_finding(self._tree, finding)
                        removed.append(finding)
                    self._tell(describe_finding(finding))


def describe_finding(finding: ResidueFinding) -> str:
    """Describe a finding and what was done about it, as a sentence."""
    if finding.must_be_removed:
        return f"A command made {finding.path}, {finding.text}; it was removed."
    return f"A command wrote {finding.path}: {finding.text}."


def _pointer_content(pointer: Path) -> bytes | None:
    return pointer.read_bytes() if pointer.is_file() and not pointer.is_symlink() else None


def _restore_pointer(pointer: Path, content: bytes | None) -> None:
    """Restore a worktree's pointer to its repository, which some backends cannot protect."""
    if content is None or _pointer_content(pointer) == content:
        return
    remove_finding(pointer.parent, ResidueFinding(kind="repository", path=pointer.name, text=""))
    pointer.write_bytes(content)


AUTORUN_FILES = {
    ".envrc": "direnv runs it when somebody enters the directory",
    ".pre-commit-config.yaml": "pre-commit runs what it names",
    ".gitmodules": "git fetches what it names",
    ".gitattributes": "git runs the filters that it names",
    ".lfsconfig": "git-lfs sends files where it says",
    ".mcp.json": "assistants start what it names",
    "Makefile": "make runs it",
    "conftest.py": "pytest runs it before every test",
    "sitecustomize.py": "Python runs it whenever it starts",
    "usercustomize.py": "Python runs it whenever it starts",
    "setup.py": "pip runs it",
    "noxfile.py": "nox runs it",
    "tasks.py": "invoke runs it",
    "package.json": "npm runs the scripts that it names",
}
AUTORUN_DIRECTORIES = {
    ".github/workflows": "GitHub runs it",
    ".circleci": "CircleCI runs it",
    ".husky": "git hooks run it",
    ".githooks": "git hooks run it",
    ".vscode": "the editor may run what it names",
    ".idea": "the editor may run what it names",
    ".devcontainer": "the editor may run what it names",
}
AUTORUN_ROOT_FILES = {
    ".gitlab-ci.yml": "GitLab runs it",
    ".travis.yml": "Travis runs it",
    "Jenkinsfile": "Jenkins runs it",
    "tox.ini": "tox runs it",
}
ENVIRONMENTS = frozenset({".venv", "venv", "env", "node_modules", ".tox", ".nox", "__pycache__"})
"""Directories that contain links and programs by design, and that are part of no change."""
FileStamp = tuple[int, int, int]
"""A file stamp that changes with every write: inode, size, change time in nanoseconds."""


def survey_worktree(tree: Path) -> Mapping[str, tuple[ResidueFinding, FileStamp]]:
    return {finding.path: (finding, _file_stamp(tree / finding.path)) for finding in _find_residue(tree)}


def new_findings(
    before: Mapping[str, tuple[ResidueFinding, FileStamp]],
    after: Mapping[str, tuple[ResidueFinding, FileStamp]],
) -> tuple[ResidueFinding, ...]:
    """Return the findings that are new or changed between two surveys."""
    return tuple(
        finding for path, (finding, mark) in sorted(after.items()) if before.get(path) != (finding, mark)
    )


def remove_finding(tree: Path, finding: ResidueFinding) -> None:
    """Remove a finding.

    No symbolic link on the way is followed, since the survey followed none.
    """
    path = tree / finding.path
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _find_residue(tree: Path) -> Iterator[ResidueFinding]:
    root = os.path.realpath(tree)
    for directory, folders, files in os.walk(tree):
        relative = PurePosixPath(os.path.relpath(directory, tree))
        if relative.parts and {"HEAD", "objects", "refs"} <= {*folders, *files}:
            yield ResidueFinding(
                kind="repository", path=str(relative), text="a bare git repository inside of the worktree"
            )
            folders.clear()
            continue
        for name in (*folders, *files):
            path = relative / name
            if name == ".git":
                if relative.parts:
                    yield ResidueFinding(
                        kind="repository", path=str(path), text="a git repository inside of the worktree"
                    )
            elif (tree / path).is_symlink():
                yield from _check_link(tree, path, root)
            elif name in files and (reason := _execution_reason(path)):
                yield ResidueFinding(kind="runs later", path=str(path), text=reason)
        folders[:] = [name for name in folders if name != ".git" and name not in ENVIRONMENTS]


def _check_link(tree: Path, path: PurePosixPath, root: str) -> Iterator[ResidueFinding]:
    target = os.path.realpath(tree / path)
    if target != root and not target.startswith(f"{root}/"):
        yield ResidueFinding(
            kind="link", path=str(path), text=f"a symbolic link that leads out of the worktree, to {target}"
        )


def _execution_reason(path: PurePosixPath) -> str:
    reason = AUTORUN_FILES.get(path.name) or (
        AUTORUN_ROOT_FILES.get(path.name) if len(path.parts) == 1 else ""
    )
    return reason or next(
        (
            explanation
            for directory, explanation in AUTORUN_DIRECTORIES.items()
            if path.is_relative_to(directory)
        ),
        "",
    )


def _file_stamp(path: Path) -> FileStamp:
    status = path.lstat()
    return status.st_ino, status.st_size, status.st_ctime_ns
