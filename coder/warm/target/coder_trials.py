"""Trials of many edits in forks of a process that has collected the tests.

Pytest plugin. Runs in the project's interpreter. Standard library only, Python 3.8 or later, pytest 6.2 or
later. Loaded with `-p`; the request is the JSON file named in CODER_TRIALS_REQUEST. The tree is not written:
in each fork the code of the edited function is replaced in memory, or the edited module is imported if it has
not been so far.
"""

# ruff: noqa: PTH110, PTH118, PTH123, B905 - a test may have replaced pathlib; zip is strict from Python 3.10 on
from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import json
import os
import resource
import select
import signal
import sys
import threading
import time
import unittest
import warnings
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import pytest
from _pytest.runner import call_and_report
from _pytest.warnings import catch_warnings_for_item
from coder_limits import TooLong  # type: ignore[import-not-found]  # on the import path of the run
from coder_observe import ignore  # type: ignore[import-not-found]
from coder_swap import Swapper, UnreliableSwap, edited_text, overlay_import  # type: ignore[import-not-found]

FIRST_LIMIT, AGAIN_LIMIT = 5.0, 0.5
"""Processor time limits, in seconds, for one test on the unchanged code, and once another one did not end;
afterwards a multiple of its time.
"""
MEASURED_SHARE = 0.35
"""Share of the time in which tests are measured on the unchanged code, if some of them must turn green: the
confirming run has all guards, a search without candidates has found nothing.
"""
LEAST_LIMIT, TIMES = 0.1, 10.0
ENDLESS_SECONDS = 0.01
"""Least assumed seconds of a test that did not end: an endless loop does not show its usual time, so that of
others is used.
"""
LEAST_WAITING, WAITING = 0.3, 3.0
"""Least wall time in seconds, and multiple of the test's wall time: a test that waits forever uses no
processor time.
"""
TRIED_ALONE = 32
"""This many candidates, the likeliest, are tried in their own forks, where no other candidate can affect
them.
"""
BATCH = 32
CANARIES = 3
"""This many guards run on the unchanged code at the end of a batch: a red one means that state was left
behind.
"""
MEMORY = 3 << 30
FILE_SIZE = 256 << 20
PROCESS_EVENTS = frozenset(
    {
        *("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn"),
        "subprocess.Popen",
    }
)
REQUEST_FILE = os.environ.pop("CODER_TRIALS_REQUEST", "")


def pytest_configure(config: pytest.Config) -> None:
    if REQUEST_FILE:
        with open(REQUEST_FILE, encoding="utf-8") as file:
            config.pluginmanager.register(TrialSession(json.load(file)), "coder_trial_session")
        # One process: workers of xdist would collect for themselves.
        config.option.dist, config.option.tx = "no", []


pytest_configure = pytest.hookimpl(tryfirst=True)(pytest_configure)


class TrialSession:
    """Plugin that tries all edits in place of pytest's loop over the tests."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.record_calls = None
        if "calls" in request:  # before the tree can be imported
            sys.path.insert(0, request["calls"]["modules"])
            self.record_calls = importlib.import_module("coder_calls").CallRecorder
            sys.path.remove(request["calls"]["modules"])
        self.executed: dict[int, CodeType] = {}
        """Code that runs before the trials do, by id."""
        threading.settrace(self.note)
        sys.settrace(self.note)

    def note(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        """Remember the code of a function that begins."""
        code = frame.f_code
        self.executed[id(code)] = code
        # Lines of Cython, where they are traced, call the answer, whatever it is.
        return None if code.co_filename.endswith((".py", ">")) else ignore

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type, unused-ignore]  # removes the trace function
        swapper = Swapper(self.request["tree"])
        swapper.index_process([*self.executed.values()])
        session.config.option.tbstyle = "value"  # rendering is not read, and takes most of a failure's time
        gc.collect()
        gc.freeze()
        EditTrials(session.items, swapper, self.request, self.record_calls).run_request()
        return True


class EditTrials:
    def __init__(
        self, items: list[Any], swapper: Swapper, request: dict[str, Any], record_calls: Any = None
    ) -> None:
        """Prepare; `record_calls` is the class that records what calls give, if the request wants that."""
        self.request = request
        self.swapper = swapper
        self.has_started_processes = False
        sys.addaudithook(self.hear)
        self.deadline = time.monotonic() + request["seconds"]
        self.results = os.open(request["results"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.targets: list[str] = request["tests"]
        self.items = {item.nodeid: item for item in items}
        self.places = {test: place for place, test in enumerate(self.items)}
        self.limits: dict[str, float] = {}
        self.waits: dict[str, float] = {}
        self.guards: set[str] = set()
        self.record_calls = record_calls
        self.single = SingleTestRunner(self.items, request["tree"])
        for item in items[:1]:
            # Made before the forks, so that they share one and none removes another's.
            factory = getattr(item.config, "_tmp_path_factory", None)
            if factory is not None:
                factory.getbasetemp()

    def hear(self, event: str, _arguments: tuple[Any, ...]) -> None:
        """Notice that a test starts another process."""
        if event in PROCESS_EVENTS:
            self.has_started_processes = True

    def run_request(self) -> None:
        """Try all candidates, or record what calls give with each of them."""
        warnings.simplefilter("ignore")  # such as the one about forking with threads
        if "calls" in self.request:
            self.go_through(self.record_batch, lambda _: float(self.request["seconds"]))
        elif self.measure_base():
            self.go_through(self.try_batch, self.time_limit_of)

    def write(self, **fields: Any) -> None:
        os.write(self.results, json.dumps(fields).encode("ascii") + b"\n")

    @property
    def is_over(self) -> bool:
        """Whether the time is over, or a stop was requested."""
        return time.monotonic() > self.deadline or os.path.exists(self.request["stop"])

    def wait_for_answers(self, child: ForkedChild, until: float) -> list[Any]:
        """Return the answers of a fork once it ends, or the time is over."""
        while not child.ended and not child.expired and not self.is_over and time.monotonic() < until:
            child.read(0.05)
        child.kill()
        return list(child.answers)

    def measure_base(self) -> bool:
        """Run all tests once on the unchanged code, and set targets, guards and limits.

        Return whether targets remain; if none was requested, whether all guards are green. A test that is not
        red here cannot turn green, and a red one guards nothing.
        """
        # In pytest's own order: a later test may need what an earlier one set up for the session.
        targets, guards = set(self.targets), set(self.request["guards"])
        self.targets = [test for test in self.items if test in targets]
        tests = [*self.targets, *(test for test in self.items if test in guards - targets)]
        share = MEASURED_SHARE if self.targets else 1.0
        until = self.deadline - (1 - share) * self.request["seconds"]
        answers = self.wait_for_answers(
            ForkedChild([], lambda _: self.measure(tests), seconds=FIRST_LIMIT * (1 + len(tests))), until
        )
        # Of a test that ran twice, the first run gives outcome and initial time, the last the usual time.
        result_of = {test: (green, seconds) for test, green, seconds, *_ in reversed(answers)}
        warm = {test: seconds for test, _, seconds, *_ in answers}
        green_seconds = [warm[test] for test, (green, _) in result_of.items() if green]
        usual = max(ENDLESS_SECONDS, sum(green_seconds) / max(len(green_seconds), 1))
        self.limits = {
            test: max(LEAST_LIMIT, (seconds or usual) + TIMES * (warm[test] or usual))
            for test, (_, seconds) in result_of.items()
        }
        self.waits = {
            test: LEAST_WAITING + WAITING * max(waited or 0.0, self.limits[test])
            for test, _, _, waited, _ in reversed(answers)
        }
        for test in self.targets:  # those that there was no time to measure are red, as far as is known
            self.limits.setdefault(test, max(LEAST_LIMIT, usual + TIMES * usual))
        self.targets = [test for test in self.targets if test not in result_of or not result_of[test][0]]
        # Tests that start processes see the unedited files: they are left to the confirming run, if others
        # remain.
        with_processes = {test for test, *_, processes in answers if processes}
        self.targets = [test for test in self.targets if test not in with_processes] or self.targets
        # Most edits fail at once: not in a test that takes long, or that a wrong edit makes endless.
        self.targets.sort(key=self.limits.__getitem__)
        self.guards = {test for test, (green, _) in result_of.items() if green}
        return bool(self.targets) or (not self.request["tests"] and self.guards >= guards)

    def measure(self, tests: list[str]) -> Iterator[Any]:
        """Yield results of all tests, then repeat slow ones.

        The first run of a test may create what later runs reuse.
        """
        slow = []
        for result in self.measure_each(tests):
            if result[2] is not None and result[2] > LEAST_LIMIT / TIMES:
                slow.append(result[0])
            yield result
        yield from self.measure_each(slow)

    def measure_each(self, tests: list[str]) -> Iterator[Any]:
        """Yield id, success, processor time, wall time and whether processes were started, for each test."""
        limit = FIRST_LIMIT
        for test, following in zip(tests, [*tests[1:], None]):
            self.has_started_processes = False
            cpu_start, wall_start = time.process_time(), time.monotonic()
            outcome = self.run(test, following, limit)
            spent, waited = time.process_time() - cpu_start, time.monotonic() - wall_start
            limit = AGAIN_LIMIT if outcome == "timeout" else max(limit, min(FIRST_LIMIT, TIMES * spent))
            yield (
                test,
                outcome == "passed",
                *((None, None) if outcome == "timeout" else (spent, waited)),
                self.has_started_processes,
            )

    def go_through(
        self, work: Callable[[list[Any]], Iterator[Any]], limit_of: Callable[[Any], float]
    ) -> None:
        """Work on all candidates in parallel forks, each with a time limit between two answers."""
        with open(self.request["candidates"], encoding="utf-8") as file:
            fresh = self.batches(file)
            again: list[list[Any]] = []
            running: dict[int, ForkedChild] = {}
            while not self.is_over:
                while len(running) < self.request["jobs"]:
                    batch = again.pop() if again else next(fresh, None)
                    if batch is None:
                        break
                    child = ForkedChild(batch, work, seconds=limit_of(batch[0][1]))
                    running[child.pipe] = child
                if not running:
                    return
                for pipe in select.select([*running], [], [], 0.02)[0]:
                    running[pipe].read(0)
                for pipe in [pipe for pipe, child in running.items() if child.ended or child.expired]:
                    again += self.finish_batch(running.pop(pipe))
            for child in running.values():
                child.kill()

    def batches(self, lines: Any) -> Iterator[list[Any]]:
        """Yield batches of candidates.

        The likeliest, and those of modules not yet imported, are alone in theirs.
        """
        batch: list[Any] = []
        for index, line in enumerate(lines):
            candidate = json.loads(line)
            alone = index < TRIED_ALONE or not self.is_imported(candidate) or candidate["function"] is None
            alone = alone or not self.targets
            if batch and (alone or len(batch) == BATCH):
                yield batch
                batch = []
            batch.append((index, candidate))
            if alone:
                yield batch
                batch = []
        if batch:
            yield batch

    def time_limit_of(self, candidate: dict[str, Any]) -> float:
        return 4.0 + sum(self.limits[test] for test in (*self.targets, *self.guards_of(candidate)))

    def guards_of(self, candidate: dict[str, Any]) -> list[str]:
        """Return the guards of a candidate that are green on the unchanged code, in pytest's own order."""
        guards = (self.request["guards"][number] for number in candidate["guards"])
        return sorted((test for test in guards if test in self.guards), key=self.places.__getitem__)

    def try_batch(self, batch: list[Any]) -> Iterator[Any]:
        """Try a batch in the fork, ending early if a candidate may have left state behind."""
        limit_resources()
        alone = len(batch) == 1
        for _, candidate in batch:
            outcome, test = self.try_candidate(
                candidate, self.guards_of(candidate) if alone else [], alone=alone
            )
            yield outcome, test
            if outcome in ("passed", "timeout"):
                return
        if not alone and self.first_failure(self.guards_of(batch[-1][1])[:CANARIES]) is not None:
            yield "polluted", ""

    def record_batch(self, batch: list[Any]) -> Iterator[Any]:
        """Record in the fork what calls of the tests give with a candidate.

        Yield whether all of the targets' calls are recorded; those of other tests follow.
        """
        limit_resources()
        ((index, candidate),) = batch
        try:
            self.put_into_effect(candidate, alone=True)
        except BaseException:  # noqa: BLE001 - any exception: the module cannot be imported
            yield "failed", ""
            return
        calls = {**self.request["calls"], "answers": f"{self.request['calls']['answers']}{index}"}
        recorder = self.record_calls(calls, self.request["tree"])
        sys.addaudithook(recorder.notice)
        threading.setprofile(recorder.notice_thread)
        for tests in (calls["targets"], calls["others"]):
            known = [test for test in tests if test in self.items]
            for test, following in zip(known, [*known[1:], None]):
                recorder.begin(test)
                self.single.run(test, following, limit=FIRST_LIMIT, waiting=FIRST_LIMIT + recorder.seconds)
                sys.setprofile(None)
            yield "late" if recorder.is_late else "recorded", ""

    def try_candidate(self, candidate: dict[str, Any], guards: list[str], *, alone: bool) -> tuple[str, str]:
        """Try one candidate; return its outcome and the first test that was not green."""
        if not (self.targets or guards):
            return "cold", ""  # no test that passes here could tell
        try:
            undo = self.put_into_effect(candidate, alone=alone)
        except (SyntaxError, ValueError):
            return "invalid", ""
        except UnreliableSwap:
            return "cold" if alone else "alone", ""
        except BaseException as error:  # noqa: BLE001 - any exception: the module cannot be imported
            return "failed", type(error).__name__
        red = self.first_failure([*self.targets, *guards])
        if red is None:
            return "passed", ""
        undo()
        if self.swapper.stale:
            return "cold", ""  # what the old function made before may matter
        outcome, test = red
        return ("broke" if outcome == "failed" and test in guards else outcome), test

    def is_imported(self, candidate: dict[str, Any]) -> bool:
        return os.path.join(self.request["tree"], candidate["path"]) in self.swapper.imported

    def put_into_effect(self, candidate: dict[str, Any], *, alone: bool) -> Any:
        """Swap the function, or execute the module again; return a callable that undoes it.

        Executing it is irreversible, so it needs a fork of its own.
        """
        self.swapper.clear_caches()
        self.swapper.stale = False
        path = os.path.join(self.request["tree"], candidate["path"])
        if not self.is_imported(candidate):
            return overlay_import(path, edited_text(path, candidate["changes"]))
        try:
            if candidate["function"] is None:
                raise UnreliableSwap("it changes what happens at import")
            function = self.request["functions"][candidate["function"]]
            return self.swapper.swap(path, function, candidate["source"])
        except UnreliableSwap:
            if not alone:
                raise
            self.swapper.execute_again(path, edited_text(path, candidate["changes"]))
            return lambda: None  # irreversible, but the fork ends

    def first_failure(self, tests: list[str]) -> tuple[str, str] | None:
        """Run tests up to the first that is not green; return how it ended, and its id."""
        for test, following in zip(tests, [*tests[1:], None]):
            outcome = self.run(test, following, self.limits[test])
            if outcome != "passed":
                return outcome, test
        return None

    def finish_batch(self, child: ForkedChild) -> list[list[Any]]:
        """Write the outcomes of a batch and return batches of what must be tried again."""
        child.kill()
        answers = child.answers
        if answers and answers[-1][0] == "polluted":
            return [[candidate] for candidate in reversed(child.batch)]
        again = []
        for (index, candidate), (outcome, test) in zip(child.batch, answers):
            if outcome in ("passed", "alone") and len(child.batch) > 1:
                again.append([(index, candidate)])
            else:
                self.write(index=index, outcome=outcome, test=test)
        remaining = child.batch[len(answers) :]
        if remaining and not (answers and answers[-1][0] in ("passed", "timeout")):
            self.write(index=remaining[0][0], outcome="timeout" if child.expired else "crashed", test="")
            remaining = remaining[1:]
        return again + ([remaining] if remaining else [])

    def run(self, test: str, following: str | None, limit: float) -> str:
        outcome: str = self.single.run(
            test, following, limit=limit, waiting=self.waits.get(test, WAITING * limit)
        )
        return outcome


def limit_resources() -> None:
    """Limit the memory and the file sizes of this fork."""
    for kind, maximum in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, FILE_SIZE)):
        limit(kind, maximum)


PROCESSOR_TIMER, WALL_TIMER = (signal.SIGPROF, signal.ITIMER_PROF), (signal.SIGALRM, signal.ITIMER_REAL)


class SingleTestRunner:
    """Tests by id; a pytest plugin while they run."""

    def __init__(self, items: dict[str, Any], tree: str) -> None:
        self.items = items
        self.keeps_session = not any(uses_session_fixture(item, tree + os.sep) for item in items.values())
        self.expired = False
        self.part_failed = False
        for item in [*items.values()][:1]:
            item.config.pluginmanager.register(self, "coder_single")

    def run(self, test: str, following: str | None, *, limit: float, waiting: float) -> str:
        """Run a test and return `passed`, `failed` or `timeout`.

        `limit` is in seconds of processor time, `waiting` in seconds of wall time. Fixtures shared with the
        `following` test stay set up, unless the test is not green: then nothing follows.
        """
        item = self.items[test]
        self.expired = self.part_failed = passed = False
        # A test that waits forever uses no processor time.
        for signal_number, timer, seconds in ((*PROCESSOR_TIMER, limit), (*WALL_TIMER, waiting)):
            signal.signal(signal_number, self.too_long)
            signal.setitimer(timer, seconds, 0.1)
        try:
            with warning_filters(item):
                passed = self.passes(item, self.items[following] if following else None)
        except BaseException:  # noqa: BLE001, S110 - exit, interrupt or time limit: the test is not green
            pass
        finally:
            for _, timer in (PROCESSOR_TIMER, WALL_TIMER):
                signal.setitimer(timer, 0)
        if passed and not self.expired and not self.part_failed:
            return "passed"
        with contextlib.suppress(BaseException):
            tear_down(item.session, down_to_session=self.keeps_session)
        return "timeout" if self.expired else "failed"

    def passes(self, item: Any, following: Any) -> bool:
        """Run a test's phases and tell whether it passes; a red one is not torn down here."""
        if not getattr(item, "_request", True):
            item._initrequest()
        passed = all(call_and_report(item, when, log=False).outcome == "passed" for when in ("setup", "call"))
        passed = passed and call_and_report(item, "teardown", log=False, nextitem=following).passed
        if hasattr(item, "_request"):  # it may run again
            item._request, item.funcargs = False, None
        if getattr(item, "_excinfo", None):  # of unittest
            item._excinfo = None
        return passed

    def too_long(self, _number: int, _frame: FrameType | None) -> None:
        """Raise TooLong, which `except Exception` in the project does not catch."""
        self.expired = True
        raise TooLong("the test has used all the processor time that it may")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Record a failed subtest; other reports are not logged."""
        self.part_failed = self.part_failed or report.failed

    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        """Return a failure without its text, which would take longer to render than the test to run."""
        if call.excinfo is None or isinstance(call.excinfo.value, (pytest.skip.Exception, unittest.SkipTest)):
            return None
        return pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="failed",
            longrepr="",
            when=call.when,
            duration=call.duration,
        )


def warning_filters(item: Any) -> contextlib.AbstractContextManager[Any]:
    """Return a context with the project's warning filters, such as `filterwarnings = error`.

    Empty if the project has none.
    """
    options = getattr(item.config, "known_args_namespace", None)
    filters = (
        item.config.getini("filterwarnings")
        or getattr(options, "pythonwarnings", None)
        or item.get_closest_marker("filterwarnings")
    )
    if not filters or not item.config.pluginmanager.has_plugin("warnings"):
        return contextlib.nullcontext()
    return catch_warnings_for_item(config=item.config, ihook=item.ihook, when="runtest", item=item)  # type: ignore[no-any-return, unused-ignore]


def uses_session_fixture(item: Any, tree: str) -> bool:
    """Tell whether a test uses a session fixture of the project.

    Such a fixture may hold objects made by the tried code.
    """
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values()
    functions = [
        inspect.unwrap(entry.func) for entries in definitions for entry in entries if entry.scope == "session"
    ]
    return any(
        getattr(getattr(function, "__code__", None), "co_filename", tree).startswith(tree)
        for function in functions
    )


def tear_down(session: Any, *, down_to_session: bool) -> None:
    """Tear down everything that is still set up, or all but the session fixtures of plugins.

    Not through the hook, since plugins expect it once per test.
    """
    setups = session._setupstate
    if hasattr(setups, "teardown_all"):  # before pytest 7
        setups.teardown_all()
    else:
        setups.teardown_exact(session if down_to_session else None)


class ForkedChild:
    """A fork that sends a line of JSON for each completed step."""

    def __init__(self, batch: list[Any], work: Callable[[list[Any]], Iterator[Any]], seconds: float) -> None:
        """Fork and start the work; `seconds` is the time limit between two answers."""
        self.batch = batch
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.ended = False
        self.received = b""
        self.pipe, answer = os.pipe()
        self.status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            become(work, batch, answer)
        os.close(answer)
        with contextlib.suppress(OSError):  # the child did so itself, or has ended
            os.setpgid(self.pid, self.pid)

    @property
    def expired(self) -> bool:
        """Whether the time limit for the next answer has passed."""
        return time.monotonic() > self.deadline

    @property
    def answers(self) -> list[Any]:
        """The answers received so far."""
        return [json.loads(line) for line in self.received.rpartition(b"\n")[0].splitlines()]

    def read(self, seconds: float) -> None:
        """Read available answers, waiting at most `seconds`."""
        if select.select([self.pipe], [], [], seconds)[0]:
            data = os.read(self.pipe, 1 << 16)
            self.received += data
            self.ended = not data
            self.deadline = time.monotonic() + self.seconds
        elif seconds and self.has_ended():  # one of its descendants may hold the pipe open
            while not self.ended and select.select([self.pipe], [], [], 0)[0]:
                data = os.read(self.pipe, 1 << 16)
                self.received += data
                self.ended = not data
            self.ended = True

    def has_ended(self) -> bool:
        """Tell whether the fork has ended; its wait status is read once."""
        # waitid(2) could look at it more often, but Python before 3.13 lacks it on macOS.
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def kill(self) -> None:
        """Kill the fork with all its descendants in the process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)  # it may have no group of its own yet
            _, self.status = os.waitpid(self.pid, 0)
        os.close(self.pipe)


def become(work: Callable[[list[Any]], Iterator[Any]], batch: list[Any], answer: int) -> None:
    """Run the work of a fork and exit."""
    try:
        os.setpgid(0, 0)
        redirect_to_null()
        for result in work(batch):
            os.write(answer, json.dumps(result).encode("ascii") + b"\n")
    finally:
        os._exit(0)


def redirect_to_null() -> None:
    """Redirect standard input, output and error to the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


def limit(kind: int, most: int) -> None:
    """Lower the soft limit of a resource."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
