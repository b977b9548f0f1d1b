"""Sandbox that reports or removes what its commands leave for other programs."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from coder.core.policy import Policy
from coder.core.ports.sandbox import Execution, Limits, Progress, Sandbox
from coder.sandbox.residue import ResidueFinding, new_findings, remove_finding, survey_worktree


class ResidueSandbox:
    """A Sandbox for a worktree that outlives its commands."""

    def __init__(self, sandbox: Sandbox, tree: Path, report: Callable[[str], None]) -> None:
        """Wrap `sandbox` for the worktree `tree`.

        `report` is called with a sentence on each finding, in the thread that ran the command.
        """
        self._sandbox = sandbox
        self._tree = tree
        self._tell = report
        self._lock = threading.Lock()

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        policy: Policy | None = None,
        limits: Limits | None = None,
        on_line: Progress | None = None,
        private: Path | None = None,
        cut: Event | None = None,
    ) -> Execution:
        with self.check_residue() as removed:
            execution = self._sandbox.run(
                argv,
                cwd=cwd,
                environment=environment,
                policy=policy,
                limits=limits,
                on_line=on_line,
                private=private,
                cut=cut,
            )
        note = "".join(f"\n[{describe_finding(finding)}]" for finding in removed)
        return execution.model_copy(update={"output": execution.output + note}) if note else execution

    def select_builds(self, private: Path, content: str) -> None:
        self._sandbox.select_builds(private, content)

    def share_builds(self, private: Path) -> None:
        self._sandbox.share_builds(private)

    def stop(self) -> None:
        self._sandbox.stop()

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
