"""Folder of a batch: a folder for each finished issue, and the logs of those that run."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from coder.core.errors import UserError
from coder.files.regular_files import lock_file
from coder.wiring.elsewhere import IssueResult, Package

RUNNING, RESULT = "running", "result.json"
DRAFT_SUFFIX = ".draft"
LOCK = ".lock"
LOST_LOG = "lost-{}.jsonl"
"""Log of an attempt whose worker died, as far as it arrived."""


class BatchFolder:
    """Results of a batch on disk; an issue is done once its folder is there, which appears as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._running = path / RUNNING

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from working on the same batch.

        Raises:
            UserError: one does already.
        """
        self._running.mkdir(parents=True, exist_ok=True)
        with (self.path / LOCK).open("w") as file:
            if lock_file(file.fileno(), wait=False) is False:
                raise UserError(f"Another coder batch is at work in {self.path}.")
            for draft in self._running.glob(f"*{DRAFT_SUFFIX}"):
                shutil.rmtree(draft, ignore_errors=True)
            for log in self.running_logs():
                if (self.path / log.name.rpartition("+")[0] / RESULT).exists():
                    log.unlink()
            yield

    def read_results(self) -> dict[str, IssueResult]:
        """Return the stored results by id; folders without a readable one are ignored."""
        results = {}
        for path in sorted(self.path.glob(f"*/{RESULT}")):
            try:
                result = IssueResult.model_validate_json(path.read_bytes())
            except (OSError, ValidationError):
                continue
            results[path.parent.name] = result
        return results

    def store(self, package: Package[IssueResult]) -> None:
        """Store a result: its folder appears under its name when all its files are written.

        Raises:
            OSError: they cannot be written; nothing is left of them.
        """
        identity = package.result.id
        draft = self._running / f"{identity}{DRAFT_SUFFIX}"
        contents = {
            **package.contents,
            **{
                LOST_LOG.format(number): log.read_bytes()
                for number, log in enumerate(self.running_logs(identity)[:-1], 1)
            },
            RESULT: f"{package.result.model_dump_json(indent=2)}\n".encode(),
        }
        try:
            for name, content in contents.items():
                (draft / name).parent.mkdir(parents=True, exist_ok=True)
                with (draft / name).open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            shutil.rmtree(self.path / identity, ignore_errors=True)  # of an issue that has been changed since
            draft.replace(self.path / identity)
        except OSError:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        for log in self.running_logs(identity):
            log.unlink()

    def remove_empty_logs(self, identity: str) -> None:
        """Remove the logs of attempts that ended before their session began."""
        for log in self.running_logs(identity):
            if log.stat().st_size == 0:
                log.unlink()

    def start_log(self, identity: str) -> Path:
        """Return the file for the log of an attempt at an issue that begins now."""
        return self._running / f"{identity}+{len(self.running_logs(identity)) + 1:03}.jsonl"

    def running_logs(self, identity: str = "*") -> list[Path]:
        """Return the logs of attempts that have not ended, or were interrupted, oldest first."""
        return sorted(self._running.glob(f"{identity}+*.jsonl"))

    def lost_logs(self) -> list[Path]:
        """Return the logs of attempts that came to no result, also those inside of results."""
        return [*self.running_logs(), *sorted(self.path.glob(f"*/{LOST_LOG.format('*')}"))]
