"""Cold test runs, in one process or one for each core; stored reports, and facts about whole suites."""

import hashlib
import json
import os
import re
import shutil
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from coder.core.errors import SandboxError
from coder.core.paths import is_test_path, test_file_of
from coder.core.ports import Execution, Limits, Progress, RunOptions, Sandbox
from coder.core.text import parse_json
from coder.core.values import EventValue
from coder.core.verdict import (
    EXIT_CODE,
    DeniedResource,
    Failure,
    RunProblem,
    TestReport,
    TestResult,
)
from coder.files.regular_files import project_files, read_regular, replace_text
from coder.verify.launch import (
    CRASHED,
    REPORT,
    Recording,
    RecordPipe,
    prepare_cold_launch,
    prepare_launch,
    prepare_plain_launch,
    run_problem,
    wrong_code_problem,
)
from coder.verify.layout import PackageRun, module_name, option_words, pytest_options, source_roots
from coder.verify.project import Project, install_advice
from coder.verify.results import NEVER_ENDING, mark_sandbox_failures, merge_lines, merge_reports
from coder.verify.runners.adapter import Invocation, Run, collection_failure, parse_reports
from coder.verify.runners.javascript import describe_missing_program
from coder.verify.runners.registry import (
    find_adapter,
    missing_results_problem,
    output_tail,
    prepare_run,
    read_results,
    select_results,
)
from coder.verify.select import find_tests

OUTPUT_TAIL = 4000
PRINTED_BYTES = 64 << 20
"""Output limit for commands other than pytest: their report may be in the output, one line per test."""
MOST_OBSERVED = 200
"""With more tests named, only pytest's own outcome is recorded, since observing test bodies takes time."""
FORGED = RunProblem(
    kind="forged",
    text="Something in the test process wrote records that are not the recorder's, "
    "so the results say nothing: look at what it executes.",
)
CUT_SHORT = RunProblem(kind="timeout", text="The user asked to deliver now.")
OUT_OF_TIME = RunProblem(kind="timeout", text="The time for the tests that use the changed code is over.")
MOST_PATHS = 500
"""With more files named, everything is collected and the plugin selects."""
TEST_SECONDS, ENDLESS_AGAIN_SECONDS, TIMES, ENDLESS_SHARE = 60.0, 5.0, 20.0, 3.0
"""Limits of processor time after which a test counts as endless, and is red.

A test may use TEST_SECONDS (AGAIN_SECONDS once a test did not end), or TIMES as much as the longest one that
ended; in any case no more than the limit of the run divided by SHARE.
"""


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
        digest = hashlib.sha256(
            "\0".join((self._environment, *key)).encode("utf-8", "surrogateescape")
        ).hexdigest()
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
    digest = hashlib.sha256()
    for path in sorted(paths):
        file = root / path
        content, mode = b"", 0
        with suppress(OSError):
            mode = file.lstat().st_mode & 0o170111  # kind and permission to execute
            content = os.fsencode(file.readlink()) if file.is_symlink() else file.read_bytes()
        digest.update(
            f"\0{path}\0{mode:o}\0".encode("utf-8", "surrogateescape") + hashlib.sha256(content).digest()
        )
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


_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)


def _has_run(output: str, count: int) -> bool:
    """Tell whether the output of unittest, or of Django, says that so many tests ran."""
    ran = sum(int(number) for number in _RAN.findall(output))
    return ran == count and "unittest.loader._FailedTest" not in output


class RecordedCalls(NamedTuple):
    """Answers to the calls of tests, as `coder_calls.py` writes them."""

    answers: list[Mapping[str, Any]]
    problem: RunProblem | None
    red: frozenset[str]
    """The tests that failed."""


class PytestRunner:
    """`SelectiveTestRunner` of one project.

    Results of pytest, unittest and Django come from our recorder, those of runners with an adapter from
    their own report. The result of any other command is read from a report that it writes, or else from its
    exit code alone. A suite in which a test fails in company and passes alone runs in one process afterwards.
    """

    def __init__(
        self,
        *,
        project: Project,
        sandbox: Sandbox,
        scratch: Path,
        limits: Limits,
        denied: Collection[DeniedResource] = (),
        history: SuiteHistory = NO_HISTORY,
        cores: int | None = None,
    ) -> None:
        """Prepare to run, large suites on so many `cores`; None is all that this process may use.

        `scratch` is a directory outside of any tree that sandboxed commands may write; `denied` are the
        resources that the sandbox keeps from tests.
        """
        self.project = project
        self.command = project.command.text
        self.is_recorded = project.command.is_recorded
        self.is_selective = project.command.is_selective
        self.collects_file_by_file = project.command.is_pytest
        self._sandbox = sandbox
        self._scratch = scratch
        self._limits = limits
        self._denied = denied
        self._adapter = None if self.is_recorded else find_adapter(project.command.runner)
        self._longest = 0.0
        self._is_endless = False
        self._history = history
        self._cores = min(MOST_CORES, cores or processor_count())
        self._seconds: dict[str, float] = {}
        """Seconds of test files, as far as they ran."""

    def run(
        self,
        tree: Path,
        tests: Sequence[str] = (),
        *,
        shard: int | None = None,
        stream: bool = False,
        **options: Unpack[RunOptions],
    ) -> TestReport:
        """Run the suite, or only `tests`, in `tree` and return the report.

        With `shard`, an index, only that core's share of the files is run. To `observe` doubles the time of
        quick tests. With `stream`, pytest collects one file after another.
        """
        more: dict[str, Any] = {}
        if shard is not None:
            more = {"shard": (shard, self._cores), "weights": self._seconds}
        is_observed = options.get("observe", False) and len(tests) <= MOST_OBSERVED
        more |= {"observe": is_observed, "stream": stream and bool(tests), "lines": options.get("lines", {})}
        report = self._run(tree, tests, more, options)
        if shard is None:  # all shards are to know the same
            self._learn(report)
        return report

    def collect(
        self,
        tree: Path,
        tests: Sequence[str] = (),
        *,
        timeout_seconds: float | None = None,
        progress: Progress | None = None,
    ) -> TestReport:
        options: RunOptions = {"timeout_seconds": timeout_seconds, "progress": progress}
        return self._run(tree, tests, {"collect": True, "stream": bool(tests)}, options)

    def record_calls(
        self, tree: Path, tests: Sequence[str], request: Mapping[str, Any], *, timeout_seconds: float
    ) -> RecordedCalls:
        """Run `tests` in `tree` and return the answers to their calls.

        The results of such a run are never judged; its problem tells why answers are missing.
        """
        answers: list[Mapping[str, Any]] = []
        options: RunOptions = {"timeout_seconds": timeout_seconds}
        report = self._run(tree, tests, {"calls": request}, options, answers=answers)
        red = frozenset(result.id for result in report.failures)
        failed = [result for result in report.failures if result.when == "collect"]
        if report.problem or not failed:
            return RecordedCalls(answers, report.problem, red)
        failure = failed[0].failure
        why = f"{failure.type}: {failure.message}" if failure else "an error"
        problem = RunProblem(kind="unusable", text=f"{failed[0].id} cannot be collected: {why}")
        return RecordedCalls(answers, problem, red)

    def run_parallel(
        self, tree: Path, tests: Sequence[str] = (), **options: Unpack[RunOptions]
    ) -> TestReport:
        if not self._is_worth_splitting(tree, tests):
            return self.run(tree, tests, stream=True, **options)
        progress, lines = options.get("progress"), dict[int, str]()

        def run_shard(index: int) -> TestReport:
            def tell(line: str) -> None:
                lines[index] = line
                if progress is not None:
                    progress(" | ".join(lines[number] for number in sorted(lines)))

            shard_options: RunOptions = {**options, "progress": tell}
            return self.run(tree, tests, **shard_options, shard=index, stream=True)

        with ThreadPoolExecutor(self._cores) as pool:
            report = merge_shards(list(pool.map(run_shard, range(self._cores))))
        self._learn(report)
        return self._repeat_failures(report, tree, tests, **options)

    def _is_worth_splitting(self, tree: Path, tests: Sequence[str]) -> bool:
        if self._cores < 2 or self._history.read().is_serial:
            return False
        words = option_words(pytest_options(tree)[1].get("addopts", ""))
        words += self.project.command.argv[1:]
        if not self.is_recorded or any(word.startswith(XDIST_OPTIONS) for word in words):
            return self.is_recorded
        single = sum("::" in test for test in tests)
        whole = [test for test in tests if "::" not in test]
        counts = Counter(map(test_file_of, find_tests(tree, whole if tests else None)))
        if not single and counts and counts.keys() <= self._seconds.keys():
            return sum(self._seconds[file] for file in counts) >= LEAST_SECONDS
        return single + counts.total() >= LEAST_TESTS

    def _repeat_failures(
        self, report: TestReport, tree: Path, tests: Sequence[str], **options: Unpack[RunOptions]
    ) -> TestReport:
        """Run what failed again in one process; that result counts."""
        reds = [result.id for result in report.failures if result.when != "collect"]
        if not reds or report.problem is not None:
            return report
        again = self.run(tree, reds if len(reds) <= MOST_REPEATED else tests, **options)
        if any(result.green for result in again.results if result.id in frozenset(reds)):
            self._history.write(self._history.read().model_copy(update={"is_serial": True}))
        return merge_reports(report, again).model_copy(update={"problem": again.problem})

    def _learn(self, report: TestReport) -> None:
        """Remember the seconds of each file, to spread files evenly over the cores."""
        seconds: dict[str, float] = defaultdict(float)
        for result in report.results:
            seconds[test_file_of(result.id)] += result.seconds
        self._seconds |= seconds

    def run_plainly(
        self,
        tree: Path,
        tests: Sequence[str],
        *,
        timeout_seconds: float | None,
        cut: threading.Event | None = None,
    ) -> int | None:
        """Run tests in `tree` as the project does, without our plugin; return the exit code.

        None where it did not end by itself, not all tests ran, or they are of several packages.
        """
        tree = tree.resolve()
        parts = self.project.command.divide(tree, normalize_test_ids(tests, tree))
        if not self.is_recorded or self.project.problem is not None or len(parts) != 1:
            return None
        (part,) = parts
        with numbered_directory(self._scratch) as place:
            launched = prepare_plain_launch(self.project, tree, place, run=part)
            try:
                execution = self._sandbox.run(
                    launched.argv,
                    cwd=tree,
                    environment=launched.environment,
                    limits=self._run_limits(timeout_seconds),
                    private=place,
                    cut=cut,
                )
            except SandboxError:
                return None
        if not self.project.command.is_pytest and not _has_run(execution.output, len(tests)):
            return None
        is_over = not execution.timed_out and execution.exit_code != CRASHED
        return execution.exit_code if is_over else None

    def _run(
        self,
        tree: Path,
        tests: Sequence[str],
        more: Mapping[str, Any],
        options: RunOptions,
        *,
        answers: list[Mapping[str, Any]] | None = None,
    ) -> TestReport:
        if self.project.problem is not None:
            return TestReport(command=self.command, problem=self.project.problem)
        tree = tree.resolve()
        tests = normalize_test_ids(tests, tree)
        if tests and not existing_test_paths(tests, tree) and self.project.command.is_selective:
            return TestReport(command=self.command, problem=no_tests_problem(tests))
        limits = self._run_limits(options.get("timeout_seconds"))
        deadline = time.monotonic() + limits.wall_seconds
        reports: list[TestReport] = []
        for part in self.project.command.divide(tree, tests):
            if reports and (reports[-1].problem == CUT_SHORT or time.monotonic() >= deadline):
                break
            left = limits.model_copy(update={"wall_seconds": max(1.0, deadline - time.monotonic())})
            report = self._run_part(
                part,
                tree,
                left if reports else limits,
                more,
                options,
                answers=answers,
            )
            touched = any(
                path.startswith(part.prefix) for path in (*tests, *options.get("expect_loaded", ()))
            )
            reports.append(report if touched or not part.prefix else without_start_problem(report, part.root))
        return merge_parts(reports)

    def _run_part(
        self,
        part: PackageRun,
        tree: Path,
        limits: Limits,
        more: Mapping[str, Any],
        options: RunOptions,
        *,
        answers: list[Mapping[str, Any]] | None,
    ) -> TestReport:
        answers = [] if answers is None else answers
        tests, expect_loaded, cut = part.tests, options.get("expect_loaded", ()), options.get("cut")
        paths = existing_test_paths(tests, tree)
        roots = (*source_roots(tree / part.root), *self.project.import_roots(tree)) if expect_loaded else ()
        watched = {name: path for path in expect_loaded if (name := module_name(path, tree, roots))}
        recording = Recording()
        with (
            numbered_directory(self._scratch) as place,
            RecordPipe(place / "report", recording.add) as pipe,
        ):
            request = {
                "report": str(pipe.path),
                "key": pipe.key,
                "observe": False,
                "select": [*tests],
                "collect": False,
                **more,
                "answers": str(place / "answers"),
                "watch": [*watched],
                "endless": {
                    "floor": ENDLESS_AGAIN_SECONDS if tests and self._is_endless else TEST_SECONDS,
                    "again": ENDLESS_AGAIN_SECONDS,
                    "times": TIMES,
                    "longest": self._longest,
                    "most": limits.wall_seconds / ENDLESS_SHARE,
                },
            }
            own = Run(argv=self.project.command.argv, tree=tree, place=place, files=paths, tests=tests)
            launched = self._prepare(own, request, part)
            if not self.project.command.is_recorded:  # Python's runners are taken to build nothing
                self._sandbox.select_builds(place, tree_digest(tree))
            began = time.monotonic()
            try:
                with _reporting_progress(recording, options.get("progress")):
                    execution = self._sandbox.run(
                        launched.argv,
                        cwd=tree,
                        environment=launched.environment,
                        limits=limits,
                        private=place,
                        cut=cut,
                    )
            except SandboxError as error:
                text = describe_missing_program(str(error), tree) or " ".join(str(error).split())
                return TestReport(command=self.command, problem=RunProblem(kind="stopped", text=text))
            if options.get("is_base") and not self.project.command.is_recorded:
                self._sandbox.share_builds(place)
            answers += read_json_lines(place / "answers")
            finished = own.model_copy(update={"output": "" if execution.truncated else execution.output})
            builds = self.project.command.builds
            found = read_results(self._adapter, finished, builds) if self._adapter else None
        if execution.killed_after is not None:
            recording.drop_failures_since(began + execution.killed_after)
        is_cut = execution.timed_out and cut is not None and cut.is_set()
        endless = tuple(recording.end_running(began)) if is_cut else ()
        self._update_limits((*recording.results, *endless))
        execution = execution.model_copy(
            update={"output": execution.output.replace(f"{tree}/", "")}
        )  # the path of the worktree is meaningless later
        problem = (
            CUT_SHORT
            if is_cut
            else run_problem(
                recording,
                execution,
                runner=self.project.command.runner,
                wall_seconds=limits.wall_seconds,
            )
        )
        if problem is not None and problem.kind in ("usage", "no_report"):
            problem = problem.model_copy(
                update={"text": problem.text + install_advice(problem.text, tree, self.project.interpreter)}
            )
        report = self._build_report(recording, execution, tree, problem, found, tests)
        results = (*mark_sandbox_failures(report.results, self._denied), *endless)
        report = report.model_copy(update={"results": results})
        if pipe.forged_lines and not report.problem:
            return report.model_copy(update={"problem": FORGED})
        return (
            report
            if report.problem
            else report.model_copy(update={"problem": wrong_code_problem(recording.loaded, watched, tree)})
        )

    def _prepare(self, run: Run, request: Mapping[str, Any], part: PackageRun) -> Invocation:
        command = self.project.command
        if self._adapter is not None:
            invocation = prepare_run(self._adapter, run, command.builds)
            variables = {**self.project.environment, **invocation.environment, **command.environment}
            return Invocation(argv=invocation.argv, environment=variables)
        if command.is_recorded:
            return prepare_cold_launch(
                self.project,
                run.tree,
                run.place,
                run=part,
                paths=run.files if len(run.files) <= MOST_PATHS or part.root != "." else (),
                request=request,
            )
        environment = prepare_launch(
            self.project, run.tree, run.place, paths=(), requests={REPORT: request}
        ).environment
        # Reports are read from the output: lines of two streams must keep their order.
        return Invocation(argv=command.argv, environment={"PYTHONUNBUFFERED": "1", **environment})

    def _update_limits(self, results: Sequence[TestResult]) -> None:
        """Remember the longest passing test, and whether one did not end.

        Later runs of single tests then wait less for an endless one, but longer than any test that ended
        took.
        """
        self._is_endless |= any(result.failure and result.failure.type == NEVER_ENDING for result in results)
        self._longest = max(self._longest, *(result.seconds for result in results if result.green), 0.0)

    def _run_limits(self, timeout_seconds: float | None) -> Limits:
        wall_limit = (
            {}
            if timeout_seconds is None
            else {"wall_seconds": min(timeout_seconds, self._limits.wall_seconds)}
        )
        output_limit = {} if self.project.command.is_recorded else {"output_bytes": PRINTED_BYTES}
        return self._limits.model_copy(update={**wall_limit, **output_limit})

    def _build_report(
        self,
        recording: Recording,
        execution: Execution,
        tree: Path,
        problem: RunProblem | None,
        found: tuple[TestResult, ...] | None,
        tests: Sequence[str],
    ) -> TestReport:
        """Return what is known of a run of these tests; an adapter may have `found` results of others too."""
        adapted = None if found is None else select_results(found, tests)
        report = TestReport(
            command=self.command,
            seconds=execution.seconds,
            exit_code=execution.exit_code,
            output=execution.output[-OUTPUT_TAIL:],
            reached=recording.reached,
            lines=recording.lines,
            selected=recording.collected,
            collected=tuple(recording.listed),
        )
        if not self.project.command.is_recorded:
            report = report.model_copy(update={"indirect": True, "whole_only": adapted is None})
        if recording.began or problem is not None or self.project.command.is_recorded:
            results = (*recording.results, *(adapted or ()), *crash_results(recording, problem))
            return report.model_copy(update={"results": results, "problem": problem})
        if found and not adapted:
            return report.model_copy(update={"problem": no_tests_problem(tests)})
        if adapted == ():
            has_tests = any(is_test_path(path) for path in project_files(tree))
            missing = missing_results_problem(self.command, execution, has_tests=has_tests)
            return report.model_copy(update={"problem": missing})
        reported = adapted or parse_reports(
            self.project.command.argv,
            "" if execution.truncated else execution.output,
            tree,
            since=time.time() - execution.seconds - 1,
        )
        exit_result = exit_code_result(self.command, execution)
        if not reported:
            return report.model_copy(update={"results": (exit_result,), "by_exit_code": True})
        is_explained = not exit_result.red or any(result.red for result in found or reported)
        return report.model_copy(update={"results": reported if is_explained else (*reported, exit_result)})


def exit_code_result(command: str, execution: Execution) -> TestResult:
    """Return the result of a whole command, with the end of its output if it failed."""
    if execution.exit_code == 0:
        return TestResult(id=command, outcome="passed", seconds=execution.seconds)
    message = f"exit code {execution.exit_code}"
    failure = Failure(type=EXIT_CODE, message=message, text=output_tail(execution.output))
    return TestResult(id=command, outcome="failed", seconds=execution.seconds, failure=failure)


def read_json_lines(file: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a file, without lines that a process could not write to the end."""
    for line in (read_regular(file) or b"").splitlines():
        with suppress(ValueError):
            yield parse_json(line)


def normalize_test_ids(tests: Sequence[str], tree: Path) -> tuple[str, ...]:
    """Return test ids in pytest's form, relative to the tree; empty if they mean the whole tree."""
    normalized = []
    for test in tests:
        path, colons, name = test.partition("::")
        path = os.path.normpath(path.removeprefix(f"{tree}/"))
        if path == "." and not colons:
            return ()
        normalized.append(f"{path}{colons}{name}")
    return tuple(dict.fromkeys(normalized))


def existing_test_paths(tests: Sequence[str], tree: Path) -> tuple[str, ...]:
    """Return the existing files and directories of test ids, each once."""
    paths = dict.fromkeys(map(test_file_of, tests))
    return tuple(path for path in paths if path and (tree / path).exists())


def no_tests_problem(tests: Sequence[str]) -> RunProblem:
    text = f"None of the tests asked for exists: {', '.join(tests[:3])}{' ...' if len(tests) > 3 else ''}."
    return RunProblem(kind="no_tests", text=text)


def crash_results(recording: Recording, problem: RunProblem | None) -> Iterator[TestResult]:
    """Yield a red result for each test that was running when the process died: it caused that."""
    if problem is not None and problem.kind == "crash":
        for test in recording.running_tests:
            yield TestResult(
                id=test,
                outcome="error",
                failure=Failure(type="Crash", message=problem.text, text=problem.text),
            )


def with_label(label: str, progress: Progress | None) -> Progress | None:
    """Return a progress callback that puts a label before each line."""
    if progress is None:
        return None
    return lambda line: progress(f"{label}: {line}")


@contextmanager
def _reporting_progress(recording: Recording, progress: Progress | None) -> Iterator[None]:
    """Report progress a few times a second while the block runs."""
    if progress is None:
        yield
        return
    finished = threading.Event()

    def report() -> None:
        last_line = ""
        while not finished.wait(0.3):
            if recording.began and (current := recording.progress) != last_line:
                progress(current)
                last_line = current

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


MOST_CORES = 8
LEAST_TESTS, LEAST_SECONDS = 400, 8.0
"""A run with fewer tests, or one that is known to be shorter, is not worth a second process."""
MOST_REPEATED = 50
"""With more failures than these, everything is run again in one process."""
XDIST_OPTIONS = ("-n", "--numprocesses", "--dist", "--tx")


def processor_count() -> int:
    """Return the number of usable processors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


START_PROBLEMS = ("usage", "no_runner", "no_report")


def without_start_problem(report: TestReport, package: str) -> TestReport:
    """Return the report of a package's tests; that they cannot start is a red result of the package."""
    if report.problem is None or report.problem.kind not in START_PROBLEMS:
        return report
    result = collection_failure(package, report.problem.text)
    return report.model_copy(update={"results": (*report.results, result), "problem": None})


def merge_parts(reports: Sequence[TestReport]) -> TestReport:
    """Return one report of processes that ran different tests of one tree one after another."""
    if len(reports) == 1:
        return reports[0]
    return merge_shards(reports).model_copy(
        update={
            "seconds": sum(report.seconds for report in reports),
            "collected": tuple(test for report in reports for test in report.collected),
        }
    )


def merge_shards(reports: Sequence[TestReport]) -> TestReport:
    """Return one report of processes that ran different tests of one tree at the same time."""
    results: dict[str, TestResult] = {}
    for report in reports:
        results |= {result.id: result for result in report.results}
    problems = [report.problem for report in reports if report.problem is not None]
    serious = [problem for problem in problems if problem.kind != "no_tests"]
    is_empty = len(problems) == len(reports)
    selected = [report.selected for report in reports]
    return reports[0].model_copy(
        update={
            "results": tuple(results.values()),
            "seconds": max(report.seconds for report in reports),
            "selected": None if None in selected else sum(filter(None, selected)),
            "problem": next(iter(serious or (problems if is_empty else ())), None),
            "exit_code": max((report.exit_code or 0 for report in reports), default=None),
            "output": max((report.output for report in reports if report.failures), default="", key=len)
            or reports[0].output,
            "reached": tuple(dict.fromkeys(line for report in reports for line in report.reached)),
            "lines": merge_lines([report.lines for report in reports]),
        }
    )


@contextmanager
def numbered_directory(above: Path) -> Iterator[Path]:
    """Create an empty directory `r` plus the lowest free number below `above`, and remove it on exit.

    Every run uses the same few names, so that a path does not reveal which side of a change the run is on.
    """
    place = next(path for number in count() if _try_create(path := above / f"r{number}"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _try_create(path: Path) -> bool:
    try:
        path.mkdir()
    except FileExistsError:
        return False
    return True


def tree_digest(tree: Path) -> str:
    """Return a digest of the content of a tree without installed packages of Node.js."""
    digest = hashlib.blake2b(digest_size=16)
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(name for name in folders if name not in (".git", "node_modules"))
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for path in (Path(folder, name) for name in sorted([*names, *links])):
            content = os.fsencode(path.readlink()) if path.is_symlink() else read_regular(path) or b""
            digest.update(b"%s\0%d\0" % (os.fsencode(path.relative_to(tree)), len(content)))
            digest.update(content)
    return digest.hexdigest()
