"""Failure class of a red test."""

from pathlib import Path

import pytest

from coder.core.verdict import Failure, Frame, TestReport, TestResult
from coder.verify.failures import classify_failure, environment_problem_of_all, needed_packages
from tests.builders import write
from tests.verify.fakes import passed_result


def failed_result(
    type: str, message: str = "", *, when: str = "call", path: str = "calc.py", function: str = "add"
) -> TestResult:
    failure = Failure(type=type, message=message, frames=(Frame(path=path, line=3, function=function),))
    return TestResult.model_validate(
        {"id": "tests/test_a.py::test_a", "outcome": "failed", "when": when, "failure": failure}
    )


@pytest.mark.parametrize(
    ("type", "message", "expected"),
    [
        (
            "ModuleNotFoundError",
            "No module named 'numpy'",
            "the package numpy is not installed for the project's interpreter",
        ),
        (
            "CollectionError",
            "LoadError: cannot load such file -- rack/test",
            "the package rack/test is not installed",
        ),
        ("CollectionError", "Error: Cannot find module 'chai'", "the package chai is not installed"),
        (
            "CollectionError",
            "x.go:3:8: example.com/a@v1.0.0: module lookup disabled by GOPROXY=off",
            "a module of Go is not downloaded",
        ),
        ("ImportError", "libGL.so.1: cannot open shared object file", "the library libGL.so.1 is missing"),
        (
            "FileNotFoundError",
            "[Errno 2] No such file or directory: 'latex'",
            "the program or file latex is missing",
        ),
        ("ConnectionRefusedError", "[Errno 111] Connection refused", "it needs a network or a server"),
        (
            "PermissionError",
            "[Errno 13] Permission denied: '/etc/x'",
            "it needs rights that it does not have",
        ),
        (
            "OSError",
            "[Errno 28] No space left on device",
            "memory, disk, processes or open files are used up",
        ),
    ],
)
def test_names_package_missing_on_base_too(type: str, message: str, expected: str) -> None:
    failure = failed_result(type, message)
    assert classify_failure(failure, before=failure) == ("environment", expected)
    assert classify_failure(failure, before=None)[0] == "logic"
    assert classify_failure(failure, before=failed_result("AssertionError", "assert 1 == 2"))[0] == "logic"


@pytest.mark.parametrize(
    "message",
    ["Error: Cannot find module '../src/half'", "LoadError: cannot load such file -- /tree/lib/half"],
)
def test_missing_file_of_the_project_is_no_missing_package(message: str) -> None:
    failure = failed_result("CollectionError", message)
    assert classify_failure(failure, before=failure)[0] == "logic"


def test_missing_submodule_is_no_missing_package() -> None:
    failure = failed_result("ModuleNotFoundError", "No module named 'app.texts'")
    assert classify_failure(failure, before=failure)[0] == "logic"


def test_separates_test_faults_from_code_faults() -> None:
    assert classify_failure(
        failed_result("AssertionError", "assert 1 == 2", path="tests/test_a.py"), before=None
    ) == (
        "logic",
        "AssertionError: assert 1 == 2",
    )
    assert classify_failure(failed_result("KeyError", "'a'"), before=None) == ("logic", "KeyError: 'a'")
    message = "the test itself raises at tests/test_a.py:3: NameError: name 'x'"
    assert classify_failure(failed_result("NameError", "name 'x'", path="tests/test_a.py"), before=None) == (
        "test error",
        message,
    )
    assert classify_failure(failed_result("ValueError", "no", when="setup"), before=None) == (
        "test error",
        "a fixture fails: ValueError: no",
    )
    assert (
        classify_failure(
            failed_result("ValueError", "no", path="tests/test_a.py", function="setUp"), before=None
        )[0]
        == "test error"
    )


def test_collection_and_timeout_have_own_classes() -> None:
    assert (
        classify_failure(failed_result("SyntaxError", "bad", when="collect"), before=None)[0] == "collection"
    )
    assert classify_failure(failed_result("Failed", "Timeout >1.0s"), before=None) == (
        "time-out",
        "it did not end in its time",
    )
    assert classify_failure(failed_result("TooLong", "the test did not end"), before=None)[0] == "time-out"


def test_unrunnable_suite_names_missing_package() -> None:
    missing, assertion_failure, import_failure = (
        failed_result("ModuleNotFoundError", "No module named 'x'", when="collect"),
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
        failed_result("ModuleNotFoundError", f"No module named '{name}'")
        if name
        else failed_result("AssertionError", "no")
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
    assert needed_packages([failed_result("CollectionError", message)], tmp_path) == expected
