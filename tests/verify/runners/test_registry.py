"""Adapters: commands they recognize, the choice among runners, what is read of runs (tests/cases/runners)."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from coder.core.verdict import TestResult
from coder.sandbox.process import ProcessSandbox
from coder.verify.project import parse_command
from coder.verify.runners.adapter import Adapter, Run
from coder.verify.runners.javascript import Mocha
from coder.verify.runners.registry import (
    find_adapter,
    find_commands,
    output_tail,
    prepare_run,
    read_results,
    recognize_command,
    select_results,
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


@pytest.mark.parametrize(
    "argv",
    [
        ("node", "bin/ssl.js", "mocha", "test/*.js"),
        ("node", "--expose-gc", "./node_modules/mocha/bin/mocha.js", "test/*.js"),
    ],
)
def test_keeps_what_starts_a_runner(tmp_path: Path, argv: tuple[str, ...]) -> None:
    assert prepare_run(Mocha(), Run(argv=argv, tree=tmp_path, place=tmp_path), ()).argv[4:8] == argv


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


CASES = sorted((Path(__file__).parents[2] / "cases" / "runners").glob("*/*.txt"))


class Case:
    """The lines of a case, and a project in a tree of its own."""

    def __init__(self, path: Path, tmp_path: Path) -> None:
        tree, place = tmp_path / "tree", tmp_path / "place"
        shutil.copytree(path.parent / "tree", tree)
        place.mkdir()
        self.places = {"{tree}": str(tree), "{place}": str(place)}
        self.recorded = path.parent / "recorded"
        self.text = path.read_text(encoding="utf-8")
        tests = tuple(self.said("test"))
        files = tuple(dict.fromkeys(test.partition("::")[0] for test in tests))
        self.run = Run(argv=(), tree=tree, place=place, files=files, tests=tests)

    def fill(self, text: str) -> str:
        for name, path in self.places.items():
            text = text.replace(name, path)
        return text

    def said(self, word: str) -> list[str]:
        """Return what follows a word at the beginning of a line."""
        return re.findall(f"^{word} (.*)$", self.text, re.MULTILINE)

    def expected(self) -> dict[str, list[str]]:
        """Return each result, such as `passed ID`, with the indented lines below it."""
        found = re.findall(
            r"^((?:passed|failed|skipped|error|collect) .*)\n((?: {4}.*\n)*)", self.text, re.MULTILINE
        )
        return {result: re.findall("^ {4}(.*)$", lines, re.MULTILINE) for result, lines in found}

    def read(self, adapter: Adapter, output: str) -> tuple[TestResult, ...]:
        """Read what a runner has written."""
        texts = {
            str(path.relative_to(self.recorded)): self.fill(path.read_text(encoding="utf-8"))
            for path in self.recorded.glob("**/*.*")
        }
        write_tree(self.run.place, texts)
        run = self.run.model_copy(update={"argv": (adapter.name,), "output": texts.get(output, "")})
        return select_results(read_results(adapter, run), run.tests)

    def run_project(self, adapter: Adapter) -> tuple[TestResult, ...]:
        """Run the tests with the command that is found, without a sandbox."""
        tree = self.run.tree
        command = parse_command(next(find_commands(tree))[0], Path("/venv/bin/python"), root=tree)
        assert command.runner == adapter.name
        run = self.run.model_copy(update={"argv": command.argv})
        invocation = prepare_run(adapter, run, command.builds)
        execution = subprocess.run(
            invocation.argv,
            cwd=tree,
            env={**os.environ, **invocation.environment, **command.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        run = run.model_copy(update={"output": execution.stdout})
        return select_results(read_results(adapter, run, command.builds), run.tests)


def named(adapter: str) -> Adapter:
    found = find_adapter(adapter)
    assert found is not None
    return found


def list_files(tree: Path) -> set[Path]:
    return {path for path in tree.rglob("*") if path.is_file()}


def heading(result: TestResult) -> str:
    return f"{'collect' if result.when == 'collect' else result.outcome} {result.id}"


def describe(result: TestResult) -> Iterator[str]:
    yield f"took {result.seconds:g}"
    if failure := result.failure:
        yield from f"{failure.type}: {failure.message}".splitlines()
        yield from failure.text.splitlines()
        frames = [frame for frame in failure.frames if not frame.path.startswith(("/", "<", "node:"))]
        yield f"at {' > '.join(f'{frame.path}:{frame.line}' for frame in frames)}"
        yield f"in {' > '.join(frame.function for frame in frames)}"


def matches(text: str, pattern: str) -> bool:
    """Return whether a text is what a case says, where `...` stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("..."))), text) is not None


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_runner(path: Path, tmp_path: Path) -> None:
    case = Case(path, tmp_path)
    for program in " ".join(case.said("needs")).split():
        if shutil.which(program) is None and not Path(program).expanduser().is_file():
            pytest.skip(f"{program} is not installed")
    if command := "".join(case.said("command")):
        recognized = recognize_command(command, case.run.tree)
        assert recognized is not None
        run = case.run.model_copy(update={"argv": recognized.argv})
        prepared = shlex.join(named(recognized.adapter).prepare(run).argv)
        assert matches(prepared, case.fill("".join(case.said("becomes")))), prepared
        return
    how, name, output = re.findall(r"^(run|read) (\S+) ?(.*)$", case.text, re.MULTILINE)[0]
    before = list_files(case.run.tree)
    read = case.run_project(named(name)) if how == "run" else case.read(named(name), output)
    results = {heading(result): result for result in read}
    expected = case.expected()
    assert expected
    assert sorted(results) == sorted(expected)
    for result, details in expected.items():
        described = [*describe(results[result])]
        for detail in details:
            assert any(matches(line, detail) for line in described), (result, detail, described)
    if "nothing" in case.said("leaves"):
        assert list_files(case.run.tree) == before
