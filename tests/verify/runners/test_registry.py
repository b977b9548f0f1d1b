"""Recognition of commands by adapters, and the choice among runners that a project's files suggest."""

import json
import os
import shlex
from pathlib import Path

import pytest

from coder.sandbox.process import ProcessSandbox
from coder.verify.runners.adapter import Run
from coder.verify.runners.javascript import Mocha
from coder.verify.runners.registry import find_adapter, find_commands, prepare_run, recognize_command
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
