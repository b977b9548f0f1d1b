"""Failure class of a red test."""

from pathlib import Path

import pytest

from coder.core.verdict import Failure, Frame, TestReport, TestResult
from coder.verify.results import (
    classify_failure,
    environment_problem,
    environment_problem_of_all,
    needed_packages,
)
from tests.builders import write
from tests.verify.fakes import passed_result


def failed_result(
    error: str, *, when: str = "call", path: str = "calc.py", function: str = "add"
) -> TestResult:
    """Return the result of a test that fails with `Type: message`."""
    type_, _, message = error.partition(": ")
    failure = Failure(type=type_, message=message, frames=(Frame(path=path, line=3, function=function),))
    return TestResult.model_validate(
        {"id": "tests/test_a.py::test_a", "outcome": "failed", "when": when, "failure": failure}
    )


MISSING = {
    "ModuleNotFoundError: No module named 'numpy'": (
        "the package numpy is not installed for the project's interpreter"
    ),
    "CollectionError: LoadError: cannot load such file -- rack/test": (
        "the package rack/test is not installed"
    ),
    "CollectionError: Error: Cannot find module 'chai'": "the package chai is not installed",
    "CollectionError: x.go:3:8: example.com/a@v1.0.0: module lookup disabled by GOPROXY=off": (
        "a module of Go is not downloaded"
    ),
    "ImportError: libGL.so.1: cannot open shared object file": "the library libGL.so.1 is missing",
    "FileNotFoundError: [Errno 2] No such file or directory: 'latex'": (
        "the program or file latex is missing"
    ),
    "ConnectionRefusedError: [Errno 111] Connection refused": "it needs a network or a server",
    "OSError: AF_UNIX path too long": "the path of its Unix socket is too long",
    "Error: listen EINVAL: invalid argument /tmp/a/web.sock": "the path of its Unix socket is too long",
    "PermissionError: [Errno 13] Permission denied: '/etc/x'": "it needs rights that it does not have",
    "OSError: [Errno 28] No space left on device": "memory, disk, processes or open files are used up",
}


@pytest.mark.parametrize("error", MISSING)
def test_names_package_missing_on_base_too(error: str) -> None:
    failure = failed_result(error)
    assert failure.failure is not None and environment_problem(failure.failure) == MISSING[error]
    assert classify_failure(failure, before=failure) == "environment"
    assert classify_failure(failure, before=None) == "logic"
    assert classify_failure(failure, before=failed_result("AssertionError: assert 1 == 2")) == "logic"


@pytest.mark.parametrize(
    "error",
    [
        "CollectionError: Error: Cannot find module '../src/half'",
        "CollectionError: LoadError: cannot load such file -- /tree/lib/half",
        "ModuleNotFoundError: No module named 'app.texts'",
    ],
)
def test_missing_file_of_the_project_is_no_missing_package(error: str) -> None:
    assert classify_failure(failed_result(error), before=failed_result(error)) == "logic"


TEST = "tests/test_a.py"


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (failed_result("AssertionError: assert 1 == 2", path=TEST), "logic"),
        (failed_result("KeyError: 'a'"), "logic"),
        (failed_result("NameError: name 'x'", path=TEST), "test error"),
        (failed_result("ValueError: no", when="setup"), "test error"),
        (failed_result("ValueError: no", path=TEST, function="setUp"), "test error"),
        (failed_result("SyntaxError: bad", when="collect"), "collection"),
        (failed_result("Failed: Timeout >1.0s"), "time-out"),
        (failed_result("TooLong: the test did not end"), "time-out"),
    ],
)
def test_separates_test_faults_from_code_faults(result: TestResult, kind: str) -> None:
    assert classify_failure(result, before=None) == kind


def test_unrunnable_suite_names_missing_package() -> None:
    missing, assertion_failure, import_failure = (
        failed_result("ModuleNotFoundError: No module named 'x'", when="collect"),
        failed_result("AssertionError"),
        passed_result("b.py::b"),
    )

    def missing_note(*results: TestResult) -> str:
        return environment_problem_of_all(TestReport(command="pytest", results=results))

    assert missing_note(missing) == "the package x is not installed for the project's interpreter"
    assert [
        missing_note(missing, import_failure),
        missing_note(missing, assertion_failure),
        missing_note(),
    ] == ["", "", ""]


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (["tabulate"], ("tabulate",)),
        (["tabulate", "rich_text", "tabulate"], ("tabulate", "rich_text")),
        (["jsonn"], ()),
        (["pricings"], ()),
        (["tabulate", ""], ()),
    ],
)
def test_separates_new_dependency_from_misspelt_import(
    missing: list[str], expected: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "pricing.py").write_text("", encoding="utf-8")
    reds = [
        failed_result(f"ModuleNotFoundError: No module named '{name}'" if name else "AssertionError: no")
        for name in missing
    ]
    assert needed_packages(reds, tmp_path) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Cannot find module '@org/dates' from 'src/a.js'", ("@org/dates",)),
        ("Cannot find package 'left-pad' imported from /tree/a.mjs", ("left-pad",)),
        ('Failed to resolve import "left-pad" from "src/a.ts". Does the file exist?', ("left-pad",)),
        ("Cannot find module 'leftpad'", ()),
        ("Cannot find module './left-pad'", ()),
    ],
)
def test_new_dependency_of_node_must_be_declared(
    message: str, expected: tuple[str, ...], tmp_path: Path
) -> None:
    manifest = '{"dependencies": {"left-pad": "1"}, "devDependencies": {"@org/dates": "2"}}'
    write(tmp_path, {"packages/a/package.json": manifest})
    assert needed_packages([failed_result(f"CollectionError: {message}")], tmp_path) == expected
