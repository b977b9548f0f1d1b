"""A sandbox whose commands are looked after: what they left for other programs is told, or taken away."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from coder.core.policy import Policy
from coder.core.ports.sandbox import Execution, Limits, Progress, Sandbox
from coder.sandbox.residue import Finding, findings, remove, survey


class Surveyed:
    """The Sandbox for one worktree that outlives its commands."""

    def __init__(self, sandbox: Sandbox, tree: Path, tell: Callable[[str], None]) -> None:
        """`tell` hears a sentence on each finding, in the thread that ran the command."""
        self._sandbox = sandbox
        self._tree = tree
        self._tell = tell
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
    ) -> Execution:
        with self.looking() as removed:
            done = self._sandbox.run(
                argv,
                cwd=cwd,
                environment=environment,
                policy=policy,
                limits=limits,
                on_line=on_line,
                private=private,
            )
        told = "".join(f"\n[{sentence(finding)}]" for finding in removed)
        return done.model_copy(update={"output": done.output + told}) if told else done

    def stop(self) -> None:
        self._sandbox.stop()

    @contextmanager
    def looking(self) -> Iterator[list[Finding]]:
        """Survey the worktree before and after; what was taken away is in the list then."""
        removed: list[Finding] = []
        with self._lock:
            pointer = _content(self._tree / ".git")
            before = survey(self._tree)
            try:
                yield removed
            finally:
                _restore(self._tree / ".git", pointer)
                for finding in findings(before, survey(self._tree)):
                    if finding.refused:
                        remove(self._tree, finding)
                        removed.append(finding)
                    self._tell(sentence(finding))


def sentence(finding: Finding) -> str:
    """What was found, and what became of it."""
    if finding.refused:
        return f"A command made {finding.path}, {finding.text}; it was removed."
    return f"A command wrote {finding.path}: {finding.text}."


def _content(pointer: Path) -> bytes | None:
    return pointer.read_bytes() if pointer.is_file() and not pointer.is_symlink() else None


def _restore(pointer: Path, content: bytes | None) -> None:
    """Put a worktree's pointer to its repository back, where walls could not keep it."""
    if content is None or _content(pointer) == content:
        return
    remove(pointer.parent, Finding(kind="repository", path=pointer.name, text=""))
    pointer.write_bytes(content)
