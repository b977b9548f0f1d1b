"""Conditions in test runs that keep a verdict from being PROVEN."""

from collections.abc import Sequence

import pytest

from coder.core.verdict import BodyExecution, TestReport, TestResult
from coder.verify.checks.test_quality import (
    changed_runner_files,
    contradicting_observation,
    new_harness_access,
    vacuous_tests,
)

TEST = "test_a.py::test_new"
SOURCE = """
def test_new():
    if hasattr(calc, "FIXED"):
        return
    assert calc.add(2, 3) == 5
"""


def result(body: BodyExecution | None, name: str = TEST) -> TestResult:
    return TestResult(id=name, outcome="passed", body=body)


@pytest.mark.parametrize(
    ("green", "red", "expected"),
    [
        (BodyExecution(started=1, ended=1), BodyExecution(started=1), ""),
        (BodyExecution(started=1), BodyExecution(started=1), "its function was seen to raise"),
        (BodyExecution(), BodyExecution(started=1), "its function never ran"),
        (BodyExecution(), None, ""),
        (None, BodyExecution(started=1), "its function could be seen on the base and not on the change"),
        (None, None, ""),
    ],
)
def test_detects_contradiction_between_runner_and_observed_function(
    green: BodyExecution | None, red: BodyExecution | None, expected: str
) -> None:
    assert contradicting_observation(result(green), result(red)) == expected


def test_counts_only_newly_reached_internals() -> None:
    assert list(new_harness_access({"a.py: sys._getframe"}, {"a.py: sys._getframe"})) == []
    (reason,) = new_harness_access({"a.py: sys._getframe"}, {"a.py: sys._getframe", "b.py: gc.get_objects"})
    assert reason == "the change reaches into the test process (b.py: gc.get_objects)"


@pytest.mark.parametrize(
    ("source", "lines", "message"),
    [
        (SOURCE, (3, 4), "passes without executing any of its assertions"),
        (SOURCE, (3, 5), ""),
        (
            "def test_new():\n    assert hasattr(calc, 'FIXED')\n",
            (2,),
            "asserts only that something is there, not what it does",
        ),
        (
            "def test_new():\n    assert '# fixed' in open('calc.py').read()\n",
            (2,),
            "asserts only that something is there, not what it does",
        ),
        ("def test_new():\n    with pytest.raises(ValueError):\n        calc.add(1, 2)\n", (2, 3), ""),
        ("def test_new():\n    check(calc.add(1, 2))\n", (2,), ""),
        ("def test_new():\n    assert open(saved).read() == 'text'\n", (2,), ""),
    ],
)
def test_vacuous_test_is_named(source: str, lines: Sequence[int], message: str) -> None:
    green = result(BodyExecution(started=1, ended=1, lines=tuple(lines)))
    expected = [f"{TEST} {message}"] if message else []
    assert vacuous_tests({"test_a.py": source}, [green], TestReport(command="pytest")) == expected


def test_existing_test_may_assert_presence() -> None:
    green = result(BodyExecution(started=1, ended=1, lines=(2,)))
    source = {"test_a.py": "def test_new():\n    assert hasattr(calc, 'FIXED')\n"}
    assert vacuous_tests(source, [green], TestReport(command="pytest", results=(result(None),))) == []


def test_recognizes_files_that_configure_test_runs() -> None:
    assert changed_runner_files("make check", ["src/a.js", "Makefile"], is_indirect=True) == ["Makefile"]
    assert changed_runner_files("./run_tests.sh -v", ["run_tests.sh", "a.js"], is_indirect=True) == [
        "run_tests.sh"
    ]


@pytest.mark.parametrize(
    "path",
    [
        *("vitest.config.mts", "web/jest.config.cjs", ".mocharc.yaml", "vite.config.ts", "karma.conf.cjs"),
        *("go.mod", "crates/a/Cargo.toml", ".cargo/config.toml", "build.rs", "pom.xml", "build.gradle.kts"),
        *("tests/CMakeLists.txt", "phpunit.xml.dist", ".rspec", "spec/spec_helper.rb", "a/a.Tests.csproj"),
        *(
            "tsconfig.test.json",
            "scripts/build.mjs",
            "rollup.config.mjs",
            ".babelrc",
            "web/webpack.config.prod.js",
        ),
    ],
)
def test_configuration_of_runners_of_other_languages_counts(path: str) -> None:
    assert changed_runner_files("x test", [path, "src/config.ts", "xml.go"], is_indirect=True) == [path]
