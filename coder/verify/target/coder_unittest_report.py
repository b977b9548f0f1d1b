"""Recording of the results of unittest's own runner.

Runs in the project's interpreter. Standard library only, Python 3.8 or later. Started by coder_start in place
of `python -m unittest`, with the same arguments.
"""

from __future__ import annotations

import json
import os
import re
import sys
import unittest
from typing import Any

from coder_failure import describe_exception  # type: ignore[import-not-found]  # on the import path of the run
from coder_observe import Observer  # type: ignore[import-not-found]
from coder_sign import make_signer  # type: ignore[import-not-found]

FIXTURE = re.compile(r"(\w+) \(([\w.]+)\)")
"""Id of the placeholder for a failed setUpClass or setUpModule."""


class Recorder:
    """Writes one line per test to the requested pipe."""

    def __init__(self, request: dict[str, Any], audit: Any) -> None:
        self.request = request
        self.audit = audit
        self.sign = make_signer(request.pop("key"))
        self.descriptor = os.open(request["report"], os.O_WRONLY)
        self.calls = (os.write, json.dumps, os.getpid)
        self.pid = os.getpid()
        self.observer = Observer()
        self.incomplete = False
        """Whether tests were skipped because a fixture of their class or module failed."""

    def write(self, kind: str, **fields: Any) -> None:
        """Write one record."""
        write, dumps, getpid = self.calls
        if getpid() != self.pid:
            return
        remaining = self.sign(dumps(dict(fields, kind=kind), default=str).encode("ascii")) + b"\n"
        while remaining:
            remaining = remaining[write(self.descriptor, remaining) :]

    def run(self) -> None:
        """Run the tests that the arguments name, and exit with unittest's own exit code."""
        self.write("session", pytest="", python=sys.version.split()[0])
        self.audit.keep()
        recorder = self

        class Runner(unittest.TextTestRunner):
            def _makeResult(self) -> unittest.TextTestResult:
                return result_class(recorder)(self.stream, self.descriptions, self.verbosity)

            def run(self, test: Any) -> Any:
                recorder.write("collected", count=test.countTestCases())
                return super().run(test)

        code = 1
        try:
            unittest.main(module=None, argv=["python -m unittest", *sys.argv[1:]], testRunner=Runner)
        except SystemExit as ending:
            code = ending.code if isinstance(ending.code, int) else int(bool(ending.code))
        loaded = {
            name: [os.path.realpath(path)] for name in self.request["watch"] if (path := module_file(name))
        }
        self.write(
            "finish", exit=code, loaded=loaded, stopped=self.incomplete, reached=[*self.audit.findings()]
        )
        sys.exit(code)

    def tell(
        self, test: Any, outcome: str, *, error: Any = None, xfail: bool = False, seconds: float = 0.0
    ) -> None:
        """Write the result of a test."""
        name, when = id_and_phase(test)
        self.incomplete |= when == "setup"
        failure = (
            describe_exception(error[1], self.request["tree"], rendered="")
            if outcome in ("failed", "error") and error
            else None
        )
        if failure is None and outcome in ("failed", "error"):
            failure = {"type": "UnexpectedSuccess", "message": "", "frames": [], "text": ""}
        self.write(
            "phase",
            id=name,
            when=when,
            outcome=outcome,
            xfail=xfail,
            seconds=seconds,
            failure=failure,
            body=self.observer.seen,
        )


def result_class(recorder: Recorder) -> type[unittest.TextTestResult]:
    """Return a result class that prints as unittest's own does, and records."""
    return type("Result", (RecordedResult,), {"recorder": recorder})


class RecordedResult(unittest.TextTestResult):
    """Test result that reports each test to its recorder."""

    recorder: Recorder

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self.recorder.write("start", id=id_and_phase(test)[0])
        self.recorder.observer.begin(getattr(test, getattr(test, "_testMethodName", ""), None))

    def stopTest(self, test: Any) -> None:
        self.recorder.audit.findings()
        super().stopTest(test)

    def addSuccess(self, test: Any) -> None:
        self.recorder.observer.end()
        super().addSuccess(test)
        self.recorder.tell(test, "passed")

    def addFailure(self, test: Any, err: Any) -> None:
        self.recorder.observer.end()
        super().addFailure(test, err)
        self.recorder.tell(test, "failed", error=err)

    def addError(self, test: Any, err: Any) -> None:
        self.recorder.observer.end()
        super().addError(test, err)
        self.recorder.tell(test, "error", error=err)

    def addSkip(self, test: Any, reason: str) -> None:
        super().addSkip(test, reason)
        self.recorder.tell(test, "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        super().addExpectedFailure(test, err)
        self.recorder.tell(test, "skipped", xfail=True)

    def addUnexpectedSuccess(self, test: Any) -> None:
        super().addUnexpectedSuccess(test)
        self.recorder.tell(test, "failed")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.recorder.tell(
                test, "failed" if issubclass(err[0], test.failureException) else "error", error=err
            )


def id_and_phase(test: Any) -> tuple[str, str]:
    """Return a test's id, and the phase of its result."""
    name = test.id()
    fixture = FIXTURE.fullmatch(name)
    if fixture:
        return f"{fixture[2]}.{fixture[1]}", "setup"
    return name, "collect" if "_FailedTest" in name else "call"


def module_file(name: str) -> str:
    """Return the file of an imported module, empty if there is none."""
    path = getattr(sys.modules.get(name), "__file__", None)
    return path if isinstance(path, str) else ""
