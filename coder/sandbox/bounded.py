"""A sandbox whose commands all end at once, so that several tools share one time limit."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event

from coder.core.errors import SandboxError
from coder.core.phases import Policy
from coder.core.ports import Execution, Limits, Progress, Sandbox


class BoundedSandbox:
    """A Sandbox whose commands end as at their time limit once an event is set; none starts after it."""

    def __init__(self, sandbox: Sandbox, cut: Event) -> None:
        """Bound the commands of a sandbox by an event."""
        self._sandbox = sandbox
        self._cut = cut

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
        if self._cut.is_set():
            raise SandboxError("the time for this is over")
        return self._sandbox.run(
            argv,
            cwd=cwd,
            environment=environment,
            policy=policy,
            limits=limits,
            on_line=on_line,
            private=private,
            cut=cut or self._cut,
        )

    def select_builds(self, private: Path, content: str) -> None:
        self._sandbox.select_builds(private, content)

    def share_builds(self, private: Path) -> None:
        self._sandbox.share_builds(private)

    def stop(self) -> None:
        self._sandbox.stop()
