"""Warm test runs, for information only: the base kept collected, single tests and trials of edits."""

import json
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Literal, Self

from coder.core.errors import GitError
from coder.core.paths import is_test_path, match_test_ids
from coder.core.ports import (
    Edit,
    Limits,
    Sandbox,
    TrialResult,
)
from coder.core.values import Value
from coder.core.verdict import RunProblem, TestReport
from coder.patching import PatchError
from coder.patching.plan import ConfinedTree
from coder.python.source import decode_source
from coder.verify.failures import NEVER_ENDING
from coder.verify.layout import may_configure, module_name
from coder.verify.project import Project
from coder.verify.recording import run_problem, wrong_code_problem
from coder.verify.run import (
    OUTPUT_TAIL,
    crash_results,
    existing_test_paths,
    no_tests_problem,
    normalize_test_ids,
    processor_count,
)
from coder.verify.trees import TreeSnapshot, temporary_edits
from coder.verify.warm_server import (
    ForkResult,
    FunctionReplacement,
    OnRed,
    RunRequest,
    ServerGone,
    ServerState,
    SwappableModule,
    UnreliableFork,
    WarmServer,
    replacements_of,
)


class WarmRefusal(Value):
    """Refusal of a warm run: only a separate process gives a reliable result."""

    reason: str


NOT_COLLECTED_YET = WarmRefusal(reason="the tests are not collected yet")
Edits = Mapping[str, str | None]


class WarmResult(Value):
    """A run as reliable as one in a separate process."""

    report: TestReport
    how: Literal["swapped", "imported"]
    """swapped: function bodies were replaced in a process that had collected the tests; imported: the project
    was imported and collected again.
    """
    why: str = ""
    """Why nothing could be swapped."""
    stopped: bool = False
    """Whether it stopped at the first red test, as requested."""


class WarmRunner:
    """Runs tests of one tree warm; before each run, files that anything added to the tree are removed."""

    def __init__(
        self,
        project: Project,
        tree: Path,
        *,
        sandbox: Sandbox,
        scratch: Path,
        limits: Limits,
        paths: Sequence[str] = (),
    ) -> None:
        """Start collecting, and return immediately.

        `scratch` is a directory outside of any tree that sandboxed commands may write; `paths` are the test
        files to collect, none means all.
        """
        self._tree = tree.resolve()
        self._command = project.command.text
        self._wall_seconds = limits.wall_seconds
        self._lock = threading.Lock()
        self._names: dict[str, str | None] = {}
        self._longest_seconds: dict[str, float] = {}
        self._state: ServerState | None = None
        self._keeper: TreeSnapshot | None = None
        self._cleanup_executor = ThreadPoolExecutor(max_workers=1)
        self._cleanup: Future[str] | None = None
        self._refusal = (
            project.problem.text
            if project.problem
            else ""
            if project.command.is_pytest
            else "the test command is no pytest"
        )
        self._served = (
            None
            if self._refusal
            else WarmServer(project, self._tree, sandbox=sandbox, scratch=scratch, limits=limits, paths=paths)
        )

    def run(
        self,
        edits: Edits,
        tests: Sequence[str] = (),
        *,
        seconds: float | None = None,
        in_order: bool = False,
        until_red: bool = False,
        on_red: OnRed = None,
    ) -> WarmResult | WarmRefusal:
        """Run the suite, or only `tests` (node ids or paths), with other texts at some paths.

        None as text means no such file. `seconds` is the limit of the run; None is the project's own. Tests
        run in collection order, or `in_order`: those in `tests` in the given order, then all others.
        """
        with self._lock:
            try:
                self._get_ready()
                if self._served is None or self._state is None or self._refusal:
                    return WarmRefusal(reason=self._refusal)
                texts = {path: read_utf8(self._tree / path) for path in edits}
                edits = {path: text for path, text in edits.items() if text != texts[path]}
                swappable = self._find_replacements(edits, texts)
                with self._clean_up_on_exit(), temporary_edits(self._tree, edits):
                    request = self._to_request(
                        edits, normalize_test_ids(tests, self._tree), seconds or self._wall_seconds
                    )
                    request = request.model_copy(update={"until_red": until_red, "in_order": in_order})
                    return self._run_warm(edits, swappable, request, on_red)
            except ServerGone as error:
                self._refusal = str(error)
                return WarmRefusal(reason=self._refusal)

    def wait(self) -> str:
        """Wait until the tests are collected and the last run is cleaned up.

        Return why none can run, or an empty string.
        """
        with self._lock:
            try:
                self._get_ready()
            except ServerGone as error:
                self._refusal = str(error)
            return self._refusal

    def close(self) -> None:
        """End the process and restore the tree."""
        with self._lock:
            with suppress(ServerGone):
                self._wait_for_cleanup()
            self._cleanup_executor.shutdown()
            self._refusal = "it has been closed"
            if self._served is not None:
                self._served.close()
                self._served = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _get_ready(self) -> None:
        """Wait until the tests are collected and the tree is restored."""
        if self._served is not None and self._state is None:
            self._state = self._served.wait_until_collected(seconds=self._wall_seconds)
            self._refusal = self._state.cold
            self._keeper = TreeSnapshot(self._tree)
        else:
            self._wait_for_cleanup()

    @contextmanager
    def _clean_up_on_exit(self) -> Iterator[None]:
        """Start the cleanup in the background when the block ends; the caller need not wait for it."""
        try:
            yield
        finally:
            self._cleanup = self._cleanup_executor.submit(self._clean_up)

    def _clean_up(self) -> str:
        """Remove what the run added; return the path of a changed file, or an empty string.

        Changed files cannot be restored.
        """
        if self._served is not None:
            self._served.settle()
        return self._keeper.remove_added() if self._keeper is not None else ""

    def _wait_for_cleanup(self) -> None:
        """Wait until the tree is restored."""
        if self._cleanup is not None:
            cleanup, self._cleanup = self._cleanup, None
            if changed := cleanup.result():
                self._refusal = (
                    self._refusal or f"{changed} in the tree is not what it was: the tests have changed it"
                )

    def _to_request(self, edits: Edits, tests: tuple[str, ...], seconds: float) -> RunRequest:
        watch = {name: path for path in edits if not is_test_path(path) and (name := self._module_name(path))}
        return RunRequest(select=tests, watch=watch, seconds=seconds, test_seconds=self._test_limit(tests))

    def _run_warm(
        self, edits: Edits, swappable: Sequence[FunctionReplacement] | str, request: RunRequest, on_red: OnRed
    ) -> WarmResult | WarmRefusal:
        assert self._served is not None
        assert self._state is not None
        paths = existing_test_paths(request.select, self._tree)
        if request.select and not paths:
            return WarmResult(
                report=TestReport(command=self._command, problem=no_tests_problem(request.select)),
                how="swapped",
            )
        if loaded_path := next(
            (path for path in edits if path in self._state.loaded | self._state.opened), ""
        ):
            return WarmRefusal(
                reason=f"{loaded_path} is used before any test is collected, "
                "by a plugin of pytest or as its configuration"
            )
        why = swappable if isinstance(swappable, str) else ""
        if not isinstance(swappable, str):
            try:
                return self._to_result(
                    self._served.run_swapped(swappable, request, on_red), request, how="swapped"
                )
            except UnreliableFork as error:
                why = str(error)
        if reason := self._import_obstacle(edits):
            return WarmRefusal(reason=reason)
        return self._to_result(
            self._served.run_reimported([str(self._tree / path) for path in paths], request, on_red),
            request,
            how="imported",
            why=why,
        )

    def _find_replacements(self, edits: Edits, texts: Edits) -> tuple[FunctionReplacement, ...] | str:
        """Return the replaced function bodies that make up the edits, or why there are other changes."""
        assert self._state is not None
        if self._state.unfit:
            return self._state.unfit
        all_replacements: list[FunctionReplacement] = []
        for path, text in edits.items():
            before = texts[path]
            if is_test_path(path) or not path.endswith(".py") or text is None or before is None:
                return f"{path} is more than the source of an imported module"
            if path in self._state.read:
                return f"{path} was read as text while the tests were collected"
            replacements = replacements_of(path, before, text)
            if replacements is None:
                return f"{path} differs in more than what its functions do"
            all_replacements += replacements
        return tuple(all_replacements)

    def _import_obstacle(self, edits: Edits) -> str:
        """Return why importing the project again would not be enough; empty if it is."""
        assert self._state is not None
        for path, text in edits.items():
            if may_configure(path) and PurePosixPath(path).name != "conftest.py":
                return f"{path} may decide how tests run"
            if PurePosixPath(path).suffix in BUILD_SUFFIXES:
                return f"{path} has to be built"
            if self._state.loaded and (text is None or not (self._tree / path).exists()):
                return f"{path} is not in both, and a plugin of pytest may have looked for it"
        return ""

    def _module_name(self, path: str) -> str | None:
        if path not in self._names:
            self._names[path] = module_name(path, self._tree)
        return self._names[path]

    def _test_limit(self, tests: Sequence[str]) -> float:
        seconds_known = [self._longest_seconds[test] for test in tests if test in self._longest_seconds]
        if len(seconds_known) < len(tests) or not tests:
            is_meant = match_test_ids(tests)
            seconds_known = [
                seconds for test, seconds in self._longest_seconds.items() if not tests or is_meant(test)
            ]
        return max(LEAST_SECONDS, LONGEST_FACTOR * max(seconds_known)) if seconds_known else UNKNOWN_SECONDS

    def _to_result(
        self, forked: ForkResult, request: RunRequest, *, how: Literal["swapped", "imported"], why: str = ""
    ) -> WarmResult:
        recording, execution = forked.recording, forked.done
        problem = run_problem(recording, execution, runner="pytest", wall_seconds=request.seconds)
        endless = next(
            (
                result
                for result in recording.results
                if result.failure and result.failure.type == NEVER_ENDING
            ),
            None,
        )
        if endless is not None and endless.failure is not None:
            problem = RunProblem(kind="timeout", text=f"{endless.id} did not end: {endless.failure.message}.")
        for result in recording.results:
            if result.green:
                self._longest_seconds[result.id] = max(
                    result.seconds, self._longest_seconds.get(result.id, 0.0)
                )
        report = TestReport(
            command=self._command,
            results=(*recording.results, *crash_results(recording, problem)),
            seconds=execution.seconds,
            exit_code=recording.exit_status if recording.finished else execution.exit_code,
            problem=problem or wrong_code_problem(recording.loaded, request.watch, self._tree),
            output=execution.output.replace(f"{self._tree}/", "")[-OUTPUT_TAIL:],
        )
        return WarmResult(report=report, how=how, why=why, stopped=recording.stopped)


class WarmBase:
    """Collects the tests of the base in the background, on demand.

    Until they are, and if they cannot be, a run is refused at once.
    """

    def __init__(
        self, checkout: Callable[[], AbstractContextManager[Path]], *, warm: Callable[[Path], WarmRunner]
    ) -> None:
        """Store how to prepare the base, without starting; `checkout` creates a clean worktree of it."""
        self._checkout = checkout
        self._warm_of = warm
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._is_closing = threading.Event()
        self._warm: WarmRunner | None = None

    def start(self) -> None:
        """Start the preparation and return immediately; a second call does nothing."""
        with self._lock:
            if self._thread is None and not self._is_closing.is_set():
                self._thread = threading.Thread(target=self._prepare, daemon=True)
                self._thread.start()

    @property
    def is_ready(self) -> bool:
        """Whether tests can run."""
        return self._warm is not None

    def run(
        self, edits: Edits, tests: Sequence[str], *, in_order: bool = False, on_red: OnRed = None
    ) -> WarmResult | WarmRefusal:
        """Run tests on the base with other texts at some paths."""
        warm = self._warm
        return (
            warm.run(edits, tests, in_order=in_order, on_red=on_red)
            if warm is not None
            else NOT_COLLECTED_YET
        )

    def close(self) -> None:
        """End the process and remove the worktree."""
        with self._lock:
            self._is_closing.set()
        if self._thread is not None:
            self._thread.join()

    def _prepare(self) -> None:
        try:
            with self._checkout() as tree, self._warm_of(tree) as warm:
                warm.wait()
                self._warm = warm
                self._is_closing.wait()
        except (FileNotFoundError, GitError):  # the session ended and removed a worktree that was being read
            self._warm = None
            self._warm = self._impact = None


def read_edits(tree: Path, paths: Sequence[str]) -> Edits | None:
    """Return the texts at these paths, None for a missing file.

    None altogether if one of them is not a regular file, Python in its encoding or else UTF-8.
    """
    try:
        contents = {path: ConfinedTree(tree).read(path) for path in paths}
        return {
            path: None if content is None else _decode(path, content[0]) for path, content in contents.items()
        }
    except (PatchError, SyntaxError, ValueError):
        return None


def _decode(path: str, data: bytes) -> str:
    return decode_source(data)[0] if path.endswith(".py") else data.decode()


BUILD_SUFFIXES = frozenset({".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".pxd", ".pyd", ".pyx", ".rs", ".so"})
"""Suffixes of build inputs and outputs: changes to them need a build."""
UNKNOWN_SECONDS, LEAST_SECONDS, LONGEST_FACTOR = 60.0, 2.0, 10.0
"""Limit of processor time for a test: UNKNOWN_SECONDS if it was never timed, else TIMES its longest run, and
at least LEAST_SECONDS.
"""


def read_utf8(file: Path) -> str | None:
    """Return the text of a file, None if it is missing or in no known encoding, which no edit equals."""
    try:
        return decode_source(file.read_bytes())[0]
    except (FileNotFoundError, SyntaxError, ValueError):
        return None


GLANCE_SECONDS = 0.02


class PytestTrials:
    """`Trials` of one project."""

    def __init__(self, *, project: Project, sandbox: Sandbox, scratch: Path, limits: Limits) -> None:
        """Prepare for trials; `scratch` is a directory outside of any tree, writable in the sandbox."""
        self._project = project
        self._sandbox = sandbox
        self._scratch = scratch
        self._limits = limits

    def try_out(
        self,
        tree: Path,
        tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
        patient: bool = False,
    ) -> Generator[TrialResult]:
        """Yield the outcome of each edit, in order, within the time limit."""
        tree = tree.resolve()
        guards = _guards_of(edits)
        with closing(self._start_server(tree, [*tests, *guards])) as served:
            functions = write_candidates(served.place / "candidates", tree, edits, guards)
            request = {
                "tests": [*tests],
                "guards": guards,
                "functions": functions,
                "jobs": processor_count(),
                "patient": patient,
            }
            requester = threading.Thread(target=self._request_trials, args=(served, request, seconds))
            requester.start()
            try:
                for record in follow_results(served.place / "results", requester):
                    yield TrialResult(
                        edit=edits[record["index"]], outcome=record["outcome"], test=record["test"]
                    )
            finally:
                (served.place / "stop").touch()
                requester.join()

    def _start_server(self, tree: Path, tests: Sequence[str]) -> WarmServer:
        options = ["-s", "--assert=plain", "-p", "no:faulthandler"]
        return WarmServer(
            self._project,
            tree,
            sandbox=self._sandbox,
            scratch=self._scratch,
            limits=self._limits,
            paths=existing_test_paths(tests, tree),
            options=options,
        )

    def _request_trials(self, served: WarmServer, request: Mapping[str, Any], seconds: float) -> None:
        try:
            served.try_out(request, seconds=seconds)
        except ServerGone:  # stopped or nothing collected: readers of the results see their writer end
            return


def _guards_of(edits: Sequence[Edit]) -> list[str]:
    return [*dict.fromkeys(test for edit in edits for test in edit.guards)]


def write_candidates(
    file: Path, tree: Path, edits: Sequence[Edit], guards: Sequence[str]
) -> list[dict[str, Any]]:
    """Write one JSON line per edit, with the new text of the function to recompile.

    Return the unchanged functions.
    """
    modules: dict[str, SwappableModule] = {}
    functions: dict[tuple[str, int], dict[str, Any]] = {}
    index_of: dict[tuple[str, int], int] = {}
    guard_number = {test: index for index, test in enumerate(guards)}
    with file.open("w", encoding="ascii") as lines:
        for edit in edits:
            if edit.path not in modules:
                modules[edit.path] = SwappableModule(decode_source((tree / edit.path).read_bytes())[0])
            module = modules[edit.path]
            outer = module.function_of(edit.changes)
            if outer and (edit.path, outer.start) not in index_of:
                index_of[edit.path, outer.start] = len(index_of)
                functions[edit.path, outer.start] = module.describe(outer)
            line = {
                "path": edit.path,
                "changes": [(change.start, change.end, change.text) for change in edit.changes],
                "function": index_of[edit.path, outer.start] if outer else None,
                "source": module.isolate(outer, edit.changes) if outer else "",
                "guards": [guard_number[test] for test in edit.guards],
            }
            lines.write(json.dumps(line) + "\n")
    return [*functions.values()]


def follow_results(file: Path, writer: threading.Thread) -> Iterator[dict[str, Any]]:
    """Yield the lines of a growing file in order of their `index`, until its writer ends.

    A line without an index is the last one.
    """
    pending: dict[int, dict[str, Any]] = {}
    next_index, position = 0, 0
    while True:
        has_ended = not writer.is_alive()
        complete = _read_lines(file, position)
        position += len(complete)
        for line in complete.splitlines():
            record = json.loads(line)
            if "index" not in record:
                return
            pending[record["index"]] = record
        while next_index in pending:
            yield pending.pop(next_index)
            next_index += 1
        if has_ended:
            return
        if not complete:
            time.sleep(GLANCE_SECONDS)


def _read_lines(file: Path, position: int) -> bytes:
    """Return the complete lines written after a position."""
    if not file.exists():
        return b""
    with file.open("rb") as stream:
        stream.seek(position)
        complete, newline, _ = stream.read().rpartition(b"\n")
    return complete + newline
