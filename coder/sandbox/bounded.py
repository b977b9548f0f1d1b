"""Sandboxes around a sandbox: commands that all end at once, so that several tools share one time limit."""

from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

from coder.core.errors import SandboxError
from coder.core.ports import Execution, Sandbox


class SandboxWrapper:
    """A Sandbox that passes all on to another one."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Wrap a sandbox."""
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
        """Bound the commands of a sandbox by an event."""
        super().__init__(sandbox)
        self._cut = cut

    def run(self, argv: Sequence[str], **options: Any) -> Execution:
        if self._cut.is_set():
            raise SandboxError("the time for this is over")
        return super().run(argv, **{**options, "cut": options.get("cut") or self._cut})
