"""Recognition of commands by adapters, the choice among runners, and what is read of a run."""

import json
import os
import shlex
from pathlib import Path

import pytest

from coder.sandbox.process import ProcessSandbox
from coder.verify.runners.adapter import Run
from coder.verify.runners.javascript import Mocha
from coder.verify.runners.registry import (
    find_adapter,
    find_commands,
    output_tail,
    prepare_run,
    recognize_command,
)
from coder.verify.runners.rows import GRADLE
from tests.builders import find_project, lines, write, write_tree

MANIFESTS = {
    "go.mod": ("go", "go test ./..."),
    "lib/go.mod": ("go", "go test ./..."),
    "Cargo.toml": ("cargo", "cargo test"),
    "pom.xml": ("maven", "mvn test"),
    "build.gradle.kts": ("gradle", "gradle test"),
    ".rspec": ("rspec", "rspec"),
    "phpunit.xml.dist": ("phpunit", "phpunit"),
    "app.sln": ("dotnet", "dotnet test"),
}


@pytest.mark.parametrize("case", lines("commands/recognized.txt"))
def test_recognizes_command(tmp_path: Path, case: str) -> None:
    command, _, adapter = case.partition(" =>")
    recognized = recognize_command(command, tmp_path)
    assert (f" {recognized.adapter}" if recognized else "") == adapter


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_project_is_found_by_its_files(tmp_path: Path, sandbox: ProcessSandbox, manifest: str) -> None:
    root = write_tree(tmp_path, {manifest: ""})
    found = find_project(root, sandbox=sandbox, environment=os.environ)
    write(root, {"setup.cfg": ""})
    python = find_project(root, sandbox=sandbox, environment=os.environ)
    assert (found.command.runner, found.command.text) == MANIFESTS[manifest]
    assert python.command.runner == "pytest"


def test_project_files_that_tell_of_no_tests_are_left_alone(tmp_path: Path) -> None:
    files = {
        "CMakeLists.txt": "project(half C)\n",
        "notes.txt": "add_test(x)\n",
        "src/App/App.csproj": "<Project/>",
    }
    assert not [*find_commands(write_tree(tmp_path, files))]
    write(tmp_path, {"test/unit/deep/er/CMakeLists.txt": "add_test(NAME x COMMAND x)\n"})
    assert next(find_commands(tmp_path))[0] == "ctest"
    (tmp_path / "CMakeLists.txt").unlink()
    write(
        tmp_path, {"src/App.Tests/App.Tests.csproj": '<PackageReference Include="Microsoft.NET.Test.Sdk"/>'}
    )
    assert next(find_commands(tmp_path))[0] == "dotnet test src/App.Tests/App.Tests.csproj"


WRAPPED = "node bin/ssl.js mocha test/unit/**/*.js --timeout 30000"
SCRIPTS: dict[str, tuple[dict[str, str], str]] = {
    "wrapper": (
        {
            "test": "npm run test:eslint && npm run test:mocha && npm run test:exports",
            "test:eslint": "node bin/ssl.js eslint lib/**/*.js",
            "test:mocha": WRAPPED,
            "test:exports": "node bin/ssl.js mocha test/module/test.js",
        },
        "node bin/ssl.js mocha 'test/unit/**/*.js' --timeout 30000",
    ),
    "sequence": (
        {
            "test": "run-s lint build unit-test",
            "lint": "run-s lint:*",
            "lint:js": "eslint src",
            "build": "run-s build:*",
            "build:dist": "rollup -c",
            "unit-test": "jest",
        },
        "jest",
    ),
    "sequence that builds": ({"test": "npm-run-all build jest", "build": "tsc", "jest": "jest"}, "npm test"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_takes_command_from_scripts(tmp_path: Path, name: str) -> None:
    scripts, expected = SCRIPTS[name]
    write(tmp_path, {"package.json": json.dumps({"scripts": scripts}), "test/unit/core/a.js": ""})
    command, _ = next(find_commands(tmp_path))
    assert command == expected
    assert recognize_command(command, tmp_path) is not None


def test_unset_variables_are_empty(tmp_path: Path) -> None:
    recognized = recognize_command("env -u CI jest", tmp_path)
    assert recognized is not None and recognized.environment == {"CI": ""}


def test_keeps_wrapper_of_runner(tmp_path: Path) -> None:
    run = Run(argv=("node", "bin/ssl.js", "mocha", "test/*.js"), tree=tmp_path, place=tmp_path)
    assert prepare_run(Mocha(), run, ()).argv[4:8] == ("node", "bin/ssl.js", "mocha", "test/*.js")


def test_keeps_node_and_its_options_before_a_runner(tmp_path: Path) -> None:
    argv = ("node", "--expose-gc", "./node_modules/mocha/bin/mocha.js", "test/*.js")
    run = Run(argv=argv, tree=tmp_path, place=tmp_path)
    assert prepare_run(Mocha(), run, ()).argv[4:8] == argv


@pytest.mark.parametrize(
    ("command", "stop"),
    [
        ("jest --bail", "--bail"),
        ("vitest --bail 1", "1"),
        ("rspec --fail-fast=1", "--fail-fast=1"),
        ("go test -failfast .", "-failfast"),
        ("phpunit --stop-on-failure", "--stop-on-failure"),
        ("ctest --stop-on-failure", "--stop-on-failure"),
    ],
)
def test_runs_on_after_a_failure(tmp_path: Path, command: str, stop: str) -> None:
    write(tmp_path, {"go.mod": "module x\n"})
    recognized = recognize_command(command, tmp_path)
    assert recognized is not None and stop in recognized.argv
    adapter = find_adapter(recognized.adapter)
    assert adapter is not None
    argv = adapter.prepare(Run(argv=recognized.argv, tree=tmp_path, place=tmp_path)).argv
    assert stop not in shlex.split(" ".join(argv))


TEST = "src/test/java/org/example/HalfTest.java"
TESTS = "package org.example;\n\nclass HalfTest {}\n"
GRADLE_REPORT = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="org.example.HalfTest" tests="3" skipped="1" failures="1" errors="0" time="0.03">
  <testcase name="even()" classname="org.example.HalfTest" time="0.01"/>
  <testcase name="odd()" classname="org.example.HalfTest" time="0.02">
    <failure message="org.opentest4j.AssertionFailedError: expected: &lt;2&gt; but was: &lt;1&gt;"
      type="org.opentest4j.AssertionFailedError">org.opentest4j.AssertionFailedError: expected: &lt;2&gt;
\tat app//org.junit.jupiter.api.Assertions.assertEquals(Assertions.java:1)
\tat app//org.example.HalfTest.odd(HalfTest.java:8)
\tat java.base@17.0.15/java.lang.reflect.Method.invoke(Method.java:569)
</failure>
  </testcase>
  <testcase name="later()" classname="org.example.HalfTest$Later" time="0.0"><skipped/></testcase>
</testsuite>
"""


def test_gradle_reads_reports_of_this_run_alone(tmp_path: Path) -> None:
    report = "core/build/test-results/test/TEST-org.example.HalfTest.xml"
    files = {"build.gradle": "", "core/build.gradle": "", f"core/{TEST}": TESTS, report: GRADLE_REPORT}
    tree = write_tree(tmp_path, files)
    run = Run(argv=("./gradlew", "check", "--info"), tree=tree, place=tmp_path, files=(f"core/{TEST}",))
    argv = GRADLE.prepare(run.model_copy(update={"tests": (f"core/{TEST}::odd",)})).argv
    assert argv[-4:] == ("--info", ":core:test", "--tests", "org.example.HalfTest*.odd*")
    assert argv[0] == "./gradlew" and "--offline" in argv and "check" not in argv
    assert list(GRADLE.read_results(run)) == []
    write(tree, {report: GRADLE_REPORT})
    results = {result.id: result for result in GRADLE.read_results(run)}
    assert {test: result.outcome for test, result in results.items()} == {
        f"core/{TEST}::even": "passed",
        f"core/{TEST}::odd": "failed",
        f"core/{TEST}::later": "skipped",
    }
    odd = results[f"core/{TEST}::odd"].failure
    assert odd is not None
    assert (odd.type, odd.message) == ("AssertionError", "expected: <2> but was: <1>")
    assert [(frame.path, frame.line) for frame in odd.frames] == [(f"core/{TEST}", 8)]


@pytest.mark.thorough
def test_classes_of_one_name_belong_to_their_modules(tmp_path: Path) -> None:
    report = "build/test-results/test/TEST-org.example.HalfTest.xml"
    files = {f"{module}/{name}": GRADLE_REPORT for module in ("a", "b") for name in (TEST, report)}
    tree = write_tree(tmp_path, files)
    results = GRADLE.read_results(Run(argv=("gradle", "test"), tree=tree, place=tmp_path))
    assert {result.id.partition("::")[0] for result in results} == {f"a/{TEST}", f"b/{TEST}"}


def test_messages_in_json_are_shown_as_text() -> None:
    output = (
        "   Compiling little v0.1.0\n"
        '{"reason":"compiler-message","message":{"rendered":"error: no such name\\n --> src/lib.rs:1\\n"}}\n'
        '{"reason":"build-finished","success":false}\n'
        '{"broken\n'
    )
    assert output_tail(output).splitlines() == [
        "   Compiling little v0.1.0",
        "error: no such name",
        " --> src/lib.rs:1",
        '{"broken',
    ]


def test_silence_is_named() -> None:
    assert output_tail("\n\n") == "it printed nothing"
