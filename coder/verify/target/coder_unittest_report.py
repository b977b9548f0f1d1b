"""Recording of the results of unittest and of runners that derive from it, such as Django's.

Runs in the project's interpreter. Standard library only, Python 3.8 or later. Started by coder_start in place
of `python -m unittest` or of a script, with the same arguments. Whichever runner and result class these use,
tests reach `unittest.TestSuite.run`: there the suite is reduced to the selected tests, and the class of the
result is extended by one that records. Ids are `path/to/test_file.py::Class::method`, with the path relative
to the tested tree.
"""

# ruff: noqa: PTH100, PTH113, PTH118 - a test may have replaced pathlib
from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import sys
import time
import traceback
import unittest
import unittest.loader
from collections.abc import Callable, Iterator
from typing import Any

from coder_failure import describe_exception, is_inside, relative  # type: ignore[import-not-found]  # on the import path of the run
from coder_observe import Observer  # type: ignore[import-not-found]
from coder_selection import files_of_shard, is_selected  # type: ignore[import-not-found]
from coder_sign import make_signer  # type: ignore[import-not-found]

FIXTURE = re.compile(r"(?P<name>\w+) \((?P<owner>[\w.<>]+)\)")
"""Id of the placeholder for a failed fixture of a class or module."""
PLACEHOLDERS = ("_FailedTest", "ModuleSkipped")
"""Classes of tests that stand for a module that could not be imported, or skipped itself."""
SUITE_CLASS: Any = unittest.TestSuite
LOADER_CLASS: Any = unittest.TestLoader
LOADER_MODULE: Any = unittest.loader
PHASE = {"xfail": False, "failure": None, "seconds": 0.0, "body": None}
"""Fields of a record of a phase, where it says nothing else."""


class Recorder:
    """Writes the records of each test to the requested pipe."""

    def __init__(self, request: dict[str, Any], audit: Any, lines: Any) -> None:
        self.request = request
        self.audit = audit
        self.lines = lines
        self.sign = make_signer(request.pop("key"))
        self.descriptor = os.open(request["report"], os.O_WRONLY)
        self.calls = (os.write, json.dumps, os.getpid)
        self.clock = time.perf_counter
        self.pid = os.getpid()
        self.observer = Observer()
        self.selected = frozenset(request["select"])
        self.selected_files = frozenset(name.partition("::")[0] for name in self.selected)
        self.labels: dict[str, str] = request["labels"]
        self.members: dict[str, list[str]] = {}
        """Ids of the tests of each class and module, by dotted name."""
        self.collected = 0
        self.is_running = False
        self.began_at = 0.0
        self.has_result = False
        self.has_skipped_part = False
        """True if a subtest of the running test was skipped; unittest reports no result for such a test."""

    def write(self, kind: str, **fields: Any) -> None:
        write, dumps, getpid = self.calls
        if getpid() != self.pid:
            return
        remaining = self.sign(dumps(dict(fields, kind=kind), default=str).encode("ascii")) + b"\n"
        while remaining:
            remaining = remaining[write(self.descriptor, remaining) :]

    def run(self) -> None:
        """Run the tests that the arguments name, and exit with the runner's own exit code."""
        self.write("session", pytest="", python=sys.version.split()[0])
        self.hook_suites()
        self.hook_loader()
        self.audit.keep()
        code = 0
        try:
            self.start_runner()
        except SystemExit as ending:
            code = ending.code if isinstance(ending.code, int) else int(bool(ending.code))
            if isinstance(ending.code, str):
                print(ending.code, file=sys.stderr)
        except BaseException:  # noqa: BLE001 - whatever the script raises
            traceback.print_exc()
            code = 1
        loaded = {
            name: [os.path.realpath(path)] for name in self.request["watch"] if (path := module_file(name))
        }
        lines = self.lines and self.lines.findings(has_started_processes=self.audit.has_started_processes)
        reached = [*self.audit.findings()]
        self.write("finish", exit=code, loaded=loaded, stopped=False, reached=reached, lines=lines)
        sys.exit(code)

    def start_runner(self) -> None:
        """Run the script, or unittest itself."""
        if self.request["label_root"]:
            sys.path.insert(0, self.request["label_root"])
        script = self.request["script"]
        if script:
            sys.argv[0] = script
            runpy.run_path(script, run_name="__main__")
        else:
            unittest.main(module=None, argv=["python -m unittest", *sys.argv[1:]])

    def hook_suites(self) -> None:
        """Record whatever the outermost test suite runs; not suites that tests themselves run."""
        recorder, run_suite = self, SUITE_CLASS.run

        def run(suite: Any, result: Any, *arguments: Any, **options: Any) -> Any:
            if recorder.is_running:
                return run_suite(suite, result, *arguments, **options)
            recorder.prepare(suite, result)
            recorder.is_running = True
            try:
                return run_suite(suite, result, *arguments, **options)
            finally:
                recorder.is_running = False

        SUITE_CLASS.run = run

    def hook_loader(self) -> None:
        """Load requested files whole, and keep the exceptions of those that cannot be imported."""
        labels, load_name, fail_import = (
            self.labels,
            LOADER_CLASS.loadTestsFromName,
            LOADER_MODULE._make_failed_import_test,
        )

        def load(loader: Any, name: str, module: Any = None) -> Any:
            if module is not None or name not in labels:
                return load_name(loader, name, module)
            try:
                imported = importlib.import_module(name)
            except unittest.SkipTest as skip:
                return LOADER_MODULE._make_skipped_test(name, skip, loader.suiteClass)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - import runs the project's code
                return loader.suiteClass([LOADER_MODULE._FailedTest(name, error)])
            return loader.loadTestsFromModule(imported)

        def fail(name: str, suite_class: Any) -> Any:
            error = sys.exc_info()[1]
            made = fail_import(name, suite_class)
            for test in made[0]:
                test.coder_error = error
            return made

        LOADER_CLASS.loadTestsFromName = load
        LOADER_MODULE._make_failed_import_test = fail

    def prepare(self, suite: Any, result: Any) -> None:
        """Reduce a suite to the selected tests, and have its results recorded."""
        if self.selected:
            self.remove_tests(suite, self.is_requested)
        if self.request["collect"]:
            for test in iterate_tests(suite):
                if not is_placeholder(test):
                    self.write("listed", id=test_id(test, self.request["tree"]))
            self.remove_tests(suite, is_placeholder)
        if self.request.get("shard"):
            files = map(self.file_of, iterate_tests(suite))
            mine = files_of_shard(files, self.request["weights"], *self.request["shard"])
            self.remove_tests(suite, lambda test: self.file_of(test) in mine)
        self.remember_members(suite)
        self.collected += suite.countTestCases()
        if not self.request["collect"]:
            self.write("collected", count=self.collected)
        result.__class__ = type("Result", (RecordedResult, type(result)), {"recorder": self})
        result.failfast = False

    def remember_members(self, suite: Any) -> None:
        """Remember the ids of the tests of each class and module."""
        for test in iterate_tests(suite):
            name = test_id(test, self.request["tree"])
            for owner in (class_name(test), type(test).__module__):
                self.members.setdefault(owner, []).append(name)

    def file_of(self, test: Any) -> str:
        return str(test_id(test, self.request["tree"]).partition("::")[0])

    def remove_tests(self, suite: Any, is_kept: Callable[[Any], bool]) -> None:
        remaining = []
        for test in suite:
            if isinstance(test, unittest.BaseTestSuite):
                self.remove_tests(test, is_kept)
                if test.countTestCases():
                    remaining.append(test)
            elif is_kept(test):
                remaining.append(test)
        suite._tests = remaining

    def is_requested(self, test: Any) -> bool:
        """Tell whether a test was requested; a file that cannot be imported stands for each of its tests."""
        name = test_id(test, self.request["tree"])
        return bool(is_selected(name, self.selected_files if is_placeholder(test) else self.selected))

    def start(self, test: Any) -> None:
        self.write("start", id=test_id(test, self.request["tree"]))
        if self.lines is not None:
            self.lines.begin_test()
        if self.request["observe"]:
            function = getattr(test, getattr(test, "_testMethodName", ""), None)
            self.observer.begin(getattr(function, "__func__", function))
        self.has_result = self.has_skipped_part = False
        self.began_at = self.clock()

    def stop(self, test: Any) -> None:
        self.audit.findings()
        if self.has_skipped_part and not self.has_result:
            self.report(test, "passed")
        self.write_phase(test_id(test, self.request["tree"]), "teardown", "passed")

    def report(self, test: Any, outcome: str, *, error: Any = None, xfail: bool = False) -> None:
        """Write the result of a test, or of a fixture that stands for the tests of its class or module."""
        self.observer.end()
        self.has_result = True
        error = vars(test).get("coder_error") or (error[1] if error else None)
        failure = None
        if outcome in ("failed", "error"):
            failure = (
                describe_exception(error, self.request["tree"], rendered="")
                if error is not None
                else {"type": "UnexpectedSuccess", "message": "", "frames": [], "text": ""}
            )
        fixture = FIXTURE.fullmatch(test.id()) if not isinstance(test, unittest.TestCase) else None
        if fixture:
            self.report_fixture(fixture["name"], fixture["owner"], outcome, failure)
            return
        self.write_phase(
            test_id(test, self.request["tree"]),
            "collect" if is_placeholder(test) else "call",
            outcome,
            xfail=xfail,
            failure=failure,
            seconds=self.clock() - self.began_at,
            body=self.observer.seen,
        )

    def report_fixture(self, name: str, owner: str, outcome: str, failure: Any) -> None:
        """Write the result of a fixture: before the tests it counts for each of them, else for the last."""
        tests = self.members.get(owner) or [f"{owner}.{name}"]
        if not name.startswith("setUp"):
            self.write_phase(tests[-1], "teardown", outcome, failure=failure)
            return
        for test in tests:
            self.write("start", id=test)
            self.write_phase(test, "setup", outcome, failure=failure)
            self.write_phase(test, "teardown", "passed")

    def write_phase(self, name: str, when: str, outcome: str, **fields: Any) -> None:
        self.write("phase", id=name, when=when, outcome=outcome, **{**PHASE, **fields})


class RecordedResult(unittest.TestResult):
    """Extension of a result class that reports each test to its recorder."""

    recorder: Recorder

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self.recorder.start(test)

    def stopTest(self, test: Any) -> None:
        self.recorder.stop(test)
        super().stopTest(test)

    def addSuccess(self, test: Any) -> None:
        self.recorder.report(test, "passed")
        super().addSuccess(test)

    def addFailure(self, test: Any, err: Any) -> None:
        self.recorder.report(test, "failed", error=err)
        super().addFailure(test, err)

    def addError(self, test: Any, err: Any) -> None:
        self.recorder.report(test, "error", error=err)
        super().addError(test, err)

    def addSkip(self, test: Any, reason: str) -> None:
        if hasattr(test, "test_case"):  # a subtest
            self.recorder.has_skipped_part = True
        else:
            self.recorder.report(test, "skipped")
        super().addSkip(test, reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self.recorder.report(test, "skipped", xfail=True)
        super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.recorder.report(test, "failed")
        super().addUnexpectedSuccess(test)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            is_failure = issubclass(err[0], test.failureException)
            self.recorder.report(test, "failed" if is_failure else "error", error=err)
        super().addSubTest(test, subtest, err)


def iterate_tests(suite: Any) -> Iterator[Any]:
    for test in suite:
        if isinstance(test, unittest.BaseTestSuite):
            yield from iterate_tests(test)
        else:
            yield test


def test_id(test: Any, tree: str) -> str:
    """Return the id of a test; the runner's own label if its file lies outside of the tree."""
    if is_placeholder(test):
        return module_path(test._testMethodName, tree) or str(test._testMethodName)
    example = getattr(test, "_dt_test", None)
    if example is not None and example.filename and is_inside((relative(example.filename, tree), 0, "")):
        return f"{relative(example.filename, tree)}::{example.name}"
    path = path_in_tree(module_file(type(test).__module__), tree)
    method = getattr(test, "_testMethodName", "")
    if not path or not method:
        return str(test.id())
    return "::".join([path, *type(test).__qualname__.split("."), method])


def is_placeholder(test: Any) -> bool:
    """Tell whether a test stands for a module without loaded tests."""
    return type(test).__name__ in PLACEHOLDERS and hasattr(test, "_testMethodName")


def class_name(test: Any) -> str:
    return f"{type(test).__module__}.{type(test).__qualname__}"


def module_path(name: str, tree: str) -> str:
    """Return the file of a module by its dotted name, relative to the tree; empty if there is none.

    The module need not be importable.
    """
    stem = name.replace(".", os.sep)
    for entry in sys.path:
        for ending in (".py", os.sep + "__init__.py"):
            file = os.path.join(os.path.abspath(entry or "."), stem + ending)
            path = path_in_tree(file, tree)
            if path and os.path.isfile(file):
                return path
    return ""


def path_in_tree(file: str, tree: str) -> str:
    """Return the path of a file relative to the tree; empty if it lies outside of it."""
    path = relative(os.path.abspath(file), tree) if file else ""
    return path if path and is_inside((path, 0, "")) else ""


def module_file(name: str) -> str:
    """Return the file of an imported module, empty if there is none."""
    path = getattr(sys.modules.get(name), "__file__", None)
    return path if isinstance(path, str) else ""
