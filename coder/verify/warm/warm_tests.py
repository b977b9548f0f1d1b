"""Runs the tests of one tree again and again with different edits, in forks of a process that has collected them."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Literal, Self

from coder.core.ports.sandbox import Limits, Sandbox
from coder.core.values.base import Value
from coder.core.values.paths import is_test_path, meant
from coder.core.values.verdict import Problem, TestReport
from coder.verify.project.configuration import may_configure
from coder.verify.project.project import Project
from coder.verify.project.roots import module_name
from coder.verify.results.failure_reasons import TOO_LONG
from coder.verify.running.problems import problem_of, wrong_code
from coder.verify.running.runner import OUTPUT_TAIL, crashed, normal, not_there, paths_of
from coder.verify.running.tree_edits import Keeper, written
from coder.verify.warm.hot_swap import Replacement, replacements_of
from coder.verify.warm.test_server import Asked, Forked, Gone, OnRed, Served, State, Unsure

BUILT = frozenset({".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".pxd", ".pyd", ".pyx", ".rs", ".so"})
"""Files that a build turns into what is imported, or that it makes."""
UNKNOWN_SECONDS, LEAST_SECONDS, TIMES = 60.0, 2.0, 10.0
"""Processor time that a test may use: so much where it is not known, else a multiple of the most that one has taken, but not less."""
Edits = Mapping[str, str | None]


class Ran(Value):
    """A run that is worth what a run in a process of its own would be."""

    report: TestReport
    how: Literal["swapped", "imported"]
    """swapped: functions got other bodies in a process that has collected all; imported: the project was imported and collected anew."""
    why: str = ""
    """Why nothing could be swapped."""
    stopped: bool = False
    """At the first red test, as was asked."""


class Cold(Value):
    """Only a process of its own could tell."""

    reason: str


class WarmRunner:
    """One tree; what a run leaves behind there is removed before the next one, what anybody else puts there as well."""

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
        """Start collecting, and return at once; `scratch` is a directory outside of any tree that sandboxed commands may write.

        `paths` are the test files to collect; none is all of them.
        """
        self._tree = tree.resolve()
        self._command = project.command.text
        self._wall_seconds = limits.wall_seconds
        self._lock = threading.Lock()
        self._names: dict[str, str | None] = {}
        self._taken: dict[str, float] = {}
        self._state: State | None = None
        self._keeper: Keeper | None = None
        self._tidier = ThreadPoolExecutor(max_workers=1)
        self._tidying: Future[str] | None = None
        self._cold = (
            project.problem.text
            if project.problem
            else ""
            if project.command.is_pytest
            else "the test command is no pytest"
        )
        self._served = (
            None
            if self._cold
            else Served(project, self._tree, sandbox=sandbox, scratch=scratch, limits=limits, paths=paths)
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
    ) -> Ran | Cold:
        """Run the suite, or just `tests` (node ids or paths), on the tree with other texts at some paths (None: no such file).

        `seconds` is the limit of the run; None is the project's own. Tests run in the order in which they are collected, or `in_order`:
        in that of their ids in `tests`, and then all others.
        """
        with self._lock:
            try:
                self._get_ready()
                if self._served is None or self._state is None or self._cold:
                    return Cold(reason=self._cold)
                texts = {path: text_of(self._tree / path) for path in edits}
                edits = {path: text for path, text in edits.items() if text != texts[path]}
                swappable = self._swappable(edits, texts)
                with self._afterwards_tidied(), written(self._tree, edits):
                    asked = self._asked(edits, normal(tests, self._tree), seconds or self._wall_seconds)
                    asked = asked.model_copy(update={"until_red": until_red, "in_order": in_order})
                    return self._ran(edits, swappable, asked, on_red)
            except Gone as error:
                self._cold = str(error)
                return Cold(reason=self._cold)

    def wait(self) -> str:
        """Wait until the tests are collected, and until nothing is left of the last run; returns why none can be run, or nothing."""
        with self._lock:
            try:
                self._get_ready()
            except Gone as error:
                self._cold = str(error)
            return self._cold

    def close(self) -> None:
        """End the process; the tree is as it was."""
        with self._lock:
            with suppress(Gone):
                self._settled()
            self._tidier.shutdown()
            self._cold = "it has been closed"
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
        """Wait until the tests are collected, and until the tree is as it was."""
        if self._served is not None and self._state is None:
            self._state = self._served.opened(seconds=self._wall_seconds)
            self._cold = self._state.cold
            self._keeper = Keeper(self._tree)
        else:
            self._settled()

    @contextmanager
    def _afterwards_tidied(self) -> Iterator[None]:
        """Begin to take away what a run leaves behind when it has ended; who asked for the run need not wait for that."""
        try:
            yield
        finally:
            self._tidying = self._tidier.submit(self._tidy)

    def _tidy(self) -> str:
        """Returns the path of a file that was changed, which cannot be mended, or nothing."""
        if self._served is not None:
            self._served.settle()
        return self._keeper.tidy() if self._keeper is not None else ""

    def _settled(self) -> None:
        """Wait until the tree is as it was."""
        if self._tidying is not None:
            tidying, self._tidying = self._tidying, None
            if changed := tidying.result():
                self._cold = (
                    self._cold or f"{changed} in the tree is not what it was: the tests have changed it"
                )

    def _asked(self, edits: Edits, tests: tuple[str, ...], seconds: float) -> Asked:
        watch = {name: path for path in edits if not is_test_path(path) and (name := self._name(path))}
        return Asked(select=tests, watch=watch, seconds=seconds, test_seconds=self._test_seconds(tests))

    def _ran(
        self, edits: Edits, swappable: Sequence[Replacement] | str, asked: Asked, on_red: OnRed
    ) -> Ran | Cold:
        assert self._served is not None
        assert self._state is not None
        paths = paths_of(asked.select, self._tree)
        if asked.select and not paths:
            return Ran(
                report=TestReport(command=self._command, problem=not_there(asked.select)), how="swapped"
            )
        if used := next((path for path in edits if path in self._state.loaded | self._state.opened), ""):
            return Cold(
                reason=f"{used} is used before any test is collected, by a plugin of pytest or as its configuration"
            )
        why = swappable if isinstance(swappable, str) else ""
        if not isinstance(swappable, str):
            try:
                return self._made(self._served.swapped(swappable, asked, on_red), asked, how="swapped")
            except Unsure as error:
                why = str(error)
        if reason := self._not_importable(edits):
            return Cold(reason=reason)
        return self._made(self._served.imported(paths, asked, on_red), asked, how="imported", why=why)

    def _swappable(self, edits: Edits, texts: Edits) -> tuple[Replacement, ...] | str:
        """All that the edits are, if they are nothing but other bodies of functions that no import has called; else why not."""
        assert self._state is not None
        if self._state.unfit:
            return self._state.unfit
        found: list[Replacement] = []
        for path, text in edits.items():
            before = texts[path]
            if is_test_path(path) or not path.endswith(".py") or text is None or before is None:
                return f"{path} is more than the source of an imported module"
            if path in self._state.read:
                return f"{path} was read as text while the tests were collected"
            replacements = replacements_of(path, before, text)
            if replacements is None:
                return f"{path} differs in more than what its functions do"
            found += replacements
        return tuple(found)

    def _not_importable(self, edits: Edits) -> str:
        """Why importing the project anew would not be enough."""
        assert self._state is not None
        for path, text in edits.items():
            if may_configure(path) and PurePosixPath(path).name != "conftest.py":
                return f"{path} may decide how tests run"
            if PurePosixPath(path).suffix in BUILT:
                return f"{path} has to be built"
            if self._state.loaded and (text is None or not (self._tree / path).exists()):
                return f"{path} is not in both, and a plugin of pytest may have looked for it"
        return ""

    def _name(self, path: str) -> str | None:
        if path not in self._names:
            self._names[path] = module_name(path, self._tree)
        return self._names[path]

    def _test_seconds(self, tests: Sequence[str]) -> float:
        known = [self._taken[test] for test in tests if test in self._taken]
        if len(known) < len(tests) or not tests:
            is_meant = meant(tests)
            known = [seconds for test, seconds in self._taken.items() if not tests or is_meant(test)]
        return max(LEAST_SECONDS, TIMES * max(known)) if known else UNKNOWN_SECONDS

    def _made(
        self, forked: Forked, asked: Asked, *, how: Literal["swapped", "imported"], why: str = ""
    ) -> Ran:
        recording, done = forked.recording, forked.done
        problem = problem_of(recording, done, is_pytest=True, wall_seconds=asked.seconds)
        late = next(
            (result for result in recording.results if result.failure and result.failure.type == TOO_LONG),
            None,
        )
        if late is not None and late.failure is not None:
            problem = Problem(kind="timeout", text=f"{late.id} did not end: {late.failure.message}.")
        for result in recording.results:
            if result.green:
                self._taken[result.id] = max(result.seconds, self._taken.get(result.id, 0.0))
        report = TestReport(
            command=self._command,
            results=(*recording.results, *crashed(recording, problem)),
            seconds=done.seconds,
            exit_code=recording.exit_status if recording.finished else done.exit_code,
            problem=problem or wrong_code(recording.loaded, asked.watch, self._tree),
            output=done.output.replace(f"{self._tree}/", "")[-OUTPUT_TAIL:],
        )
        return Ran(report=report, how=how, why=why, stopped=recording.stopped)


def text_of(file: Path) -> str | None:
    """None where there is no file, or none of UTF-8, which no edit is equal to."""
    try:
        return file.read_bytes().decode()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
