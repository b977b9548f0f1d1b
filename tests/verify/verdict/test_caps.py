"""Conditions in test runs that keep a verdict from being PROVEN."""

import pytest

from coder.core.verdict import BodyExecution, TestResult
from coder.verify.checks import (
    changed_runner_files,
    contradicting_observation,
    new_harness_access,
    runs_alike,
)

TEST = "test_a.py::test_new"


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
    ("new", "is_alike"),
    [
        ('{"version": "2", "devDependencies": {"a": "1"}, "scripts": {"test": "mocha"}}', True),
        ('{"version": "1", "exports": {"./x": "./x.js"}, "scripts": {"test": "mocha"}}', True),
        ('{"version": "1", "scripts": {"test": "mocha --grep x"}}', False),
        ('{"version": "1", "scripts": {"test": "mocha"}, "jest": {}}', False),
        ("", False),
    ],
)
def test_packages_and_versions_do_not_decide_how_tests_run(new: str, is_alike: bool) -> None:
    assert runs_alike('{"version": "1", "scripts": {"test": "mocha"}}', new) is is_alike


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


def test_loads_evidence_with_executed_lines_of_before() -> None:
    record = {"started": 1, "ended": 1, "lines": [3, 4]}
    assert BodyExecution.model_validate(record) == BodyExecution(started=1, ended=1)
