"""Stored test reports, each of the same tests on the same content, and facts about whole suites."""

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from coder.core.text import parse_json
from coder.core.values import EventValue
from coder.core.verdict import TestReport
from coder.files.regular_files import replace_text

LONGEST_SECONDS = 24 * 3600.0
"""Age from which a report no longer counts: tests may depend on the date, or on what nobody sees."""
MOST_REPORTS = 300


class RunStore:
    """Reports of test runs in a directory, by what was run."""

    def __init__(
        self, directory: Path | None, environment: str, *, mask: Callable[[str], str] = lambda text: text
    ) -> None:
        """Keep reports in a directory, which may not exist yet; None keeps nothing.

        `environment` describes all that results depend on beside what differs from the base: the base's own
        tree, interpreter, packages, command, sandbox. `mask` hides secrets in what tests print.
        """
        self._mask = mask
        self._directory = directory
        self._environment = environment

    def change_environment(self, fact: str) -> None:
        """Forget, for this session, reports from before a change of the environment."""
        if self._directory is not None:
            self._environment = f"{self._environment}\n{fact}"

    def recall(
        self,
        key: Iterable[str],
        run: Callable[[], TestReport],
        *,
        keeps: Callable[[TestReport], bool] = lambda _report: True,
    ) -> TestReport:
        """Return the stored report of a run; else run, and store the report if it is complete and `keeps` it.

        `key` is the tested content, the purpose of the run, and its tests.
        """
        if self._directory is None:
            return run()
        digest = sha256("\0".join((self._environment, *key)).encode("utf-8", "surrogateescape")).hexdigest()
        file = self._directory / f"{digest[:40]}.json"
        with suppress(OSError, ValueError):
            if time.time() - file.stat().st_mtime < LONGEST_SECONDS:
                report = TestReport.model_validate_json(file.read_bytes())
                return report.model_copy(update={"stored": True})
        report = run()
        if report.is_complete and keeps(report):
            with suppress(OSError):
                self._directory.mkdir(parents=True, exist_ok=True)
                replace_text(file, self._without_secrets(report).model_dump_json())
                self._remove_oldest()
        return report

    def _without_secrets(self, report: TestReport) -> TestReport:
        results = tuple(result.with_texts(self._mask) for result in report.results)
        return report.model_copy(update={"results": results, "output": self._mask(report.output)})

    def _remove_oldest(self) -> None:
        files = [*self._directory.glob("*.json")] if self._directory else []
        if len(files) > MOST_REPORTS:
            for file in sorted(files, key=lambda file: file.stat().st_mtime)[: len(files) // 2]:
                file.unlink(missing_ok=True)


NO_STORE = RunStore(None, "")


def content_key(root: Path, paths: Sequence[str] = ()) -> str:
    """Return what identifies the content of a checkout that differs from the base at most at some paths."""
    digest = sha256()
    for path in sorted(paths):
        file = root / path
        content, mode = b"", 0
        with suppress(OSError):
            mode = file.lstat().st_mode & 0o170111  # kind and permission to execute
            content = os.fsencode(file.readlink()) if file.is_symlink() else file.read_bytes()
        digest.update(f"\0{path}\0{mode:o}\0".encode("utf-8", "surrogateescape") + sha256(content).digest())
    return digest.hexdigest()


class SuiteFacts(EventValue):
    """Facts about the suite as one command runs it."""

    seconds: float | None = None
    """Wall-clock time of the newest whole run; None if none has ended."""
    is_serial: bool = False
    """True if a test failed in a parallel run and passed alone."""
    shares_ports: bool = False
    """True if tests found a port taken by a run beside theirs: these go one after the other since."""


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
            document = parse_json(self._file.read_text(encoding="utf-8")) if self._file else {}
            return {str(command): SuiteFacts(**entry) for command, entry in document.items()}
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return {}


NO_HISTORY = SuiteHistory(None, "")
