"""Selection of the test command of a project: the first with which a sample of its tests can run."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from coder.core.paths import is_test_path, test_file_of
from coder.core.ports import TestRunner
from coder.core.values import Value
from coder.core.verdict import RunProblem, TestReport, TestResult
from coder.files.regular_files import replace_text
from coder.verify.impact.test_selection import find_tests
from coder.verify.project.configuration import pytest_options
from coder.verify.project.project import Project
from coder.verify.results.failure_reasons import ASSERTIONS, failure_headline, frames_in_tree

SAMPLE_FILES, SAMPLE_TESTS = 12, 40
"""A sample ends with so many test files, or the first file that brings it to so many tests."""
SAMPLE_SECONDS = 20.0
LEAST_TESTS, SHARE = 20, 0.8
"""From so many tests on, a reason shared by this part of them is the fault of the command."""
SETUP_FAILURES = ("ImproperlyConfigured", "AppRegistryNotReady")
"""Exceptions of Django without settings: the command is wrong however few tests there are."""
MISSING_MODULE = "ModuleNotFoundError"


class Rejection(Value):
    """Why a command was not selected."""

    command: str
    reason: str
    is_unusable: bool
    """True if its results say nothing about the code; False if only packages or time are missing."""


class CommandSelection:
    """Candidates for the test command of one repository, and the selected one."""

    def __init__(
        self, candidates: Sequence[Project], *, make_runner: Callable[[Project], TestRunner], memory: Path
    ) -> None:
        """`candidates` are ordered, likeliest first; `memory` is the file for the accepted command."""
        self._candidates = candidates
        self._make_runner = make_runner
        self._memory = memory
        self._lock = threading.Lock()
        accepted = accepted_candidate(candidates, memory)
        self.is_settled = accepted is not None
        self.project = accepted or candidates[0]

    def settle(self, tree: Path) -> None:
        """Select the command by running a sample of the tests in `tree`, a checkout; once, and if needed.

        A single command is tried too, where enough tests exist to tell a wrong command from a bug; pytest is
        not where the project configures it.
        """
        with self._lock:
            if self.is_settled:
                return
            self.is_settled = True
            if not self.project.command.is_recorded:  # it cannot run a part of the tests
                return
            if self.project.command.is_pytest and pytest_options(tree)[0]:
                return
            if len(self._candidates) == 1 and len(find_tests(tree)) < LEAST_TESTS:
                return
            files = sample_files(tree)
            if not files:  # tests such as those of a `test.py` are not known before they run
                usable = (project for project in self._candidates if project.problem is None)
                self.project = next(usable, self.project)
            rejections: list[Rejection] = []
            for project in self._candidates if files else ():
                rejection = self._try(project, tree, files)
                if rejection is None:
                    self._accept(project, rejections)
                    return
                rejections.append(rejection)
            if rejections and all(rejection.is_unusable for rejection in rejections):
                self._reject_all(rejections)

    def _try(self, project: Project, tree: Path, files: Sequence[str]) -> Rejection | None:
        """Return why the sample says that a command cannot be used, None if it can."""
        if project.problem is not None:
            return Rejection(command=project.command.text, reason=project.problem.text, is_unusable=False)
        report = self._make_runner(project).run(tree, files, timeout_seconds=SAMPLE_SECONDS)
        reason, is_unusable = "", False
        if shared := shared_failure(report):
            reason, is_unusable = shared, not is_missing_module(report)
        elif report.problem is not None and not any(result.green for result in report.results):
            reason = report.problem.text
        return Rejection(command=report.command, reason=reason, is_unusable=is_unusable) if reason else None

    def _accept(self, project: Project, rejections: Sequence[Rejection]) -> None:
        others = [f"`{rejection.command}` does not work: {rejection.reason}" for rejection in rejections]
        self.project = project.model_copy(update={"why": (*project.why, *others)})
        with suppress(OSError):
            replace_text(self._memory, json.dumps(memory_record(project, self._candidates)))

    def _reject_all(self, rejections: Sequence[Rejection]) -> None:
        tried = "; ".join(f"`{rejection.command}`: {rejection.reason}" for rejection in rejections)
        text = f"No test command of the project works here. {tried}. Name the command with --test."
        problem = RunProblem(kind="unusable", text=text)
        self.project = self._candidates[0].model_copy(update={"problem": problem})


def accepted_candidate(candidates: Sequence[Project], memory: Path) -> Project | None:
    """Return the candidate that was accepted earlier; None if there is none, or the candidates changed."""
    try:
        record = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    for project in candidates:
        if project.problem is None and record == memory_record(project, candidates):
            sentence = "Test command remembered: a sample of its tests could run."
            return project.model_copy(update={"why": (*project.why, sentence)})
    return None


def memory_record(project: Project, candidates: Sequence[Project]) -> dict[str, object]:
    """Return what is stored about an accepted command, which counts only among the same candidates."""
    return {
        "interpreter": str(project.interpreter),
        "command": project.command.text,
        "candidates": [candidate.command.text for candidate in candidates],
    }


def shared_failure(report: TestReport) -> str:
    """Return the reason for which nearly all tests of a report fail, if the command is at fault; else empty.

    Assertions, and exceptions raised by the project's own code, are bugs.
    """
    ran = [result for result in report.results if result.outcome != "skipped"]
    reasons = Counter(_headline(result) for result in ran if result.red)
    if not reasons:
        return ""
    (headline, count), *_ = reasons.most_common(1)
    if count < SHARE * len(ran):
        return ""
    example = next(result for result in ran if result.red and _headline(result) == headline)
    is_certain = headline.startswith((*SETUP_FAILURES, MISSING_MODULE))
    if not is_certain and (len(ran) < LEAST_TESTS or _is_bug(example)):
        return ""
    return f"{count} of {len(ran)} tests fail with {headline}"


def is_missing_module(report: TestReport) -> bool:
    """Tell whether tests lack a module, which can be installed."""
    return any(_headline(result).startswith(MISSING_MODULE) for result in report.failures)


def sample_files(tree: Path) -> tuple[str, ...]:
    """Return small test files of a tree, of different directories first."""
    by_directory: dict[str, list[tuple[int, str]]] = {}
    for path, tests in sorted(Counter(map(test_file_of, find_tests(tree))).items()):
        by_directory.setdefault(path.rpartition("/")[0], []).append((tests, path))
    queues = [sorted(files) for _, files in sorted(by_directory.items())]
    ordered = [
        queue[index]
        for index in range(max(map(len, queues), default=0))
        for queue in queues
        if index < len(queue)
    ]
    sample: list[str] = []
    total = 0
    for tests, path in ordered:
        if total >= SAMPLE_TESTS or len(sample) >= SAMPLE_FILES:
            break
        sample.append(path)
        total += tests
    return tuple(sample)


def _headline(result: TestResult) -> str:
    return failure_headline(result.failure) if result.failure else ""


def _is_bug(result: TestResult) -> bool:
    failure = result.failure
    if failure is None or failure.type in ASSERTIONS:
        return True
    frames = frames_in_tree(failure)
    return bool(frames) and not is_test_path(frames[-1].path)
