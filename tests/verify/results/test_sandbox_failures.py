"""Failures that the sandbox causes, seen in real runs inside and outside of it."""

import os
import socket
from pathlib import Path

import pytest

from coder.core.ports import Limits
from coder.core.verdict import Counts, Failure, OperatingSystemError, TestReport
from coder.sandbox.process import ProcessSandbox
from coder.verify.results import Denied, denied_resource, describe_sandbox_failures, mark_sandbox_failures
from coder.verify.run import PytestRunner
from tests.builders import find_project, write
from tests.verify.fakes import failed_result, passed_result
from tests.walls import walls

REFUSED = OperatingSystemError(name="ECONNREFUSED")


@pytest.mark.parametrize(
    ("error", "message", "expected"),
    [
        (REFUSED, "", "network"),
        (OperatingSystemError(name="gaierror"), "", "network"),
        (None, 'connection to server at "127.0.0.1", port 5432 failed: Connection refused', "network"),
        (None, "assert 1 == 2", None),
        (OperatingSystemError(name="EROFS", path="/etc/app.conf"), "", "files"),
        (OperatingSystemError(name="EACCES", path="data/locked"), "", None),
        (OperatingSystemError(name="EACCES", path="$TMPDIR/locked"), "", None),
        (OperatingSystemError(name="EPERM"), "", "calls"),
        (OperatingSystemError(name="ENOENT", path="/etc/missing"), "", None),
    ],
)
def test_operating_system_error_decides(
    error: OperatingSystemError | None, message: str, expected: Denied | None
) -> None:
    assert denied_resource(Failure(type="Any", message=message, os_error=error)) == expected


def test_missing_file_is_hidden_only_if_the_home_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path, {".pgpass": ""})
    for name, expected in ((".pgpass", "home"), (".netrc", None)):
        error = OperatingSystemError(name="ENOENT", path=f"~/{name}")
        assert denied_resource(Failure(type="FileNotFoundError", message="", os_error=error)) == expected


def test_names_only_tests_that_fail_alike_on_both_sides() -> None:
    def refused_report(name: str) -> TestReport:
        result = failed_result(name)
        assert result.failure is not None
        failure = result.failure.model_copy(update={"os_error": REFUSED})
        return TestReport(command="pytest", results=(result.model_copy(update={"failure": failure}),))

    both, new = refused_report("a.py::test_a"), refused_report("a.py::test_b")
    failures = (*both.failures, *new.failures)
    (note,) = describe_sandbox_failures(both, failures, {"network": "set X"})
    assert note.startswith("1 test cannot pass")
    assert "test_a): set X" in note
    assert describe_sandbox_failures(both, failures, {}) == []


def test_counts_tests_that_cannot_pass_apart() -> None:
    refused = failed_result("a.py::test_refused", "ConnectionError", message="Connection refused")
    wrong = failed_result("a.py::test_wrong")
    results = (passed_result("a.py::test_right"), refused, wrong)
    report = TestReport(command="pytest", results=mark_sandbox_failures(results, {"network"}))
    assert report.outcome_counts == Counts(passed=1, failed=1, denied=1)
    assert report.project_failures == (wrong,)
    assert [result.denied for result in report.failures] == ["network", None]
    assert mark_sandbox_failures(results, set()) == results


@pytest.mark.thorough
@pytest.mark.loopback
@pytest.mark.skipif(walls() is None, reason="needs a sandbox")
def test_sandbox_denies_real_tests_network_and_files(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        ProcessSandbox(os.environ, backend=walls()) as sandbox,
    ):
        port = server.getsockname()[1]
        text = (
            "import socket\n\n\ndef test_service():\n    try:\n"
            f"        socket.create_connection(('127.0.0.1', {port}))\n"
            "    except OSError as error:\n        raise RuntimeError('no database') from error\n\n\n"
            "def test_file():\n    open('/usr/coder-was-here', 'w')\n"
        )
        write(tmp_path, {"test_it.py": text})
        project = find_project(tmp_path, sandbox=sandbox, environment={"PATH": os.environ["PATH"]})
        runner = PytestRunner(
            project=project,
            sandbox=sandbox,
            scratch=sandbox.scratch,
            limits=Limits(wall_seconds=60),
            denied={"network", "files"},
        )
        report = runner.run(tmp_path)
    assert [result.denied for result in report.failures] == ["network", "files"]
    assert report.outcome_counts == Counts(denied=2)
