"""Facts about a project's suite that earlier runs showed, kept per repository."""

import json
from contextlib import suppress
from pathlib import Path

from coder.core.values import Value
from coder.files.regular_files import replace_text


class SuiteFacts(Value):
    """Facts about the suite as one command runs it."""

    seconds: float | None = None
    """Wall-clock time of the newest whole run; None if none has ended."""
    is_serial: bool = False
    """True if a test failed in a parallel run and passed alone."""


class SuiteHistory:
    """File of facts by test command; what cannot be read counts as unknown."""

    def __init__(self, file: Path | None, command: str) -> None:
        """Use `file`; None remembers nothing."""
        self._file = file
        self._command = command

    def read(self) -> SuiteFacts:
        return self._all().get(self._command, SuiteFacts())

    def write(self, facts: SuiteFacts) -> None:
        """Store facts; a file that cannot be written is left as it is."""
        if self._file is None or facts == self.read():
            return
        entries = {**self._all(), self._command: facts}
        document = {command: entry.model_dump() for command, entry in entries.items()}
        with suppress(OSError):
            replace_text(self._file, json.dumps(document))

    def _all(self) -> dict[str, SuiteFacts]:
        try:
            document = json.loads(self._file.read_text(encoding="utf-8")) if self._file else {}
            return {str(command): SuiteFacts(**entry) for command, entry in document.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}
