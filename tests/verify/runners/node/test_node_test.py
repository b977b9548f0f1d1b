"""Runs of `node --test`, and the commands that a package's scripts suggest."""

import json
import shutil
from pathlib import Path

import pytest

from coder.verify.results import rejection_reason
from coder.verify.runners.registry import find_commands
from tests.builders import write
from tests.verify.conftest import Run as MakeRunner

PROJECT = Path(__file__).parents[3] / "cases" / "runners" / "node" / "tree"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_failure_beside_the_tests_asked_for_explains_the_exit_code(
    tmp_path: Path, make_runner: MakeRunner
) -> None:
    shutil.copytree(PROJECT, tmp_path, dirs_exist_ok=True)
    report = make_runner(tmp_path).run(tmp_path, ["half.test.js::even"])
    assert [(result.id, result.outcome) for result in report.results] == [("half.test.js::even", "passed")]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_brackets_in_a_path_are_no_pattern(tmp_path: Path, make_runner: MakeRunner) -> None:
    shutil.copytree(PROJECT, tmp_path, dirs_exist_ok=True)
    name = "app/[id]/(group)/half.test.js"
    test = (PROJECT / "half.test.js").read_text(encoding="utf-8")
    write(tmp_path, {name: test.replace("./", "../../../")})
    report = make_runner(tmp_path).run(tmp_path, [f"{name}::even"])
    assert [(result.id, result.outcome) for result in report.results] == [(f"{name}::even", "passed")]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_only_the_first_test_that_waits_for_ever_has_run(tmp_path: Path, make_runner: MakeRunner) -> None:
    shutil.copytree(PROJECT, tmp_path, dirs_exist_ok=True)
    waits = "() => new Promise(() => {})"
    tests = f"test('a', () => {{}}); test('b', {waits}); test('c', {waits}); test('d', () => {{}});\n"
    write(tmp_path, {"wait.test.js": f"import test from 'node:test';\n{tests}"})
    report = make_runner(tmp_path).run(tmp_path, ["wait.test.js"])
    assert {result.id[-1]: result.outcome for result in report.results} == {"a": "passed", "b": "failed"}
    assert rejection_reason(report.failures[0], issue="", is_existing_test=False) == ""


ESM_TESTS = 'import test from "node:test";\n'
CJS_TESTS = 'const { test } = require("node:test");\n'


@pytest.mark.parametrize(
    ("script", "test", "commands"),
    [
        ("eslint . && borp && tstyche", ESM_TESTS, ["node --test", "npm test"]),
        ("tape test/*.js", 'const test = require("tape");\n', ["npm test"]),
        (
            "npm run build && node --conditions development test/index.js",
            ESM_TESTS,
            ["node --test --conditions development test/index.js", "node --test", "npm test"],
        ),
        ("node --test test/index.js", ESM_TESTS, ["node --test test/index.js", "npm test"]),
        ('echo "Error: no test specified" && exit 1', CJS_TESTS, ["node --test"]),
    ],
)
def test_finds_commands(tmp_path: Path, script: str, test: str, commands: list[str]) -> None:
    files = {"package.json": json.dumps({"scripts": {"test": script}}), "test/index.js": test}
    write(tmp_path, {**files, "node_modules/x/test/index.js": ESM_TESTS})
    assert [command for command, _ in find_commands(tmp_path)] == commands
