"""The adapter of `node --test`, with Node itself and with recorded lines."""

import json
import shutil
from pathlib import Path

import pytest

from coder.verify.runners.javascript import NodeTest
from coder.verify.runners.registry import find_commands
from tests.builders import write
from tests.verify.conftest import Run as MakeRunner
from tests.verify.runners.running import run_adapter

TESTS = """\
import test, { describe, it } from "node:test";
import assert from "node:assert";
import { half } from "./half.js";
test("even", () => assert.equal(half(4), 2));
test("odd", () => assert.equal(half(3), 1));
test("misuse", () => half(4).length.size);
describe("suite", () => { it("inner", () => {}); it.skip("later", () => {}); });
"""
FILES = {
    "package.json": '{"type": "module", "scripts": {"test": "npm run unit", "unit": "node --test"}}',
    "half.js": "export function half(n) { return n / 2; }\n",
    "half.test.js": TESTS,
    "other.test.js": 'import { missing } from "./half.js";\n',
}


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_failure_beside_the_tests_asked_for_explains_the_exit_code(
    tmp_path: Path, make_runner: MakeRunner
) -> None:
    write(tmp_path, FILES)
    report = make_runner(tmp_path).run(tmp_path, ["half.test.js::even"])
    assert [(result.id, result.outcome) for result in report.results] == [("half.test.js::even", "passed")]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_reports_each_test_with_its_file(tmp_path: Path) -> None:
    results = run_adapter(NodeTest(), tmp_path, FILES)
    assert {result.id: result.outcome for result in results} == {
        "half.test.js::even": "passed",
        "half.test.js::odd": "failed",
        "half.test.js::misuse": "failed",
        "half.test.js::suite > inner": "passed",
        "half.test.js::suite > later": "skipped",
        "other.test.js": "error",
    }
    odd, misuse, missing = (
        next(result.failure for result in results if result.id == test)
        for test in ("half.test.js::odd", "half.test.js::misuse", "other.test.js")
    )
    assert odd is not None and (odd.type, odd.frames[-1].path, odd.frames[-1].line) == (
        "AssertionError",
        "half.test.js",
        5,
    )
    assert misuse is not None and misuse.type == "TypeError"
    assert missing is not None and "does not provide an export named 'missing'" in missing.text


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_test_that_a_helper_defines_belongs_to_its_caller(tmp_path: Path) -> None:
    files = {
        "package.json": '{"scripts": {"test": "node --test"}}',
        "check.js": 'exports.check = (t) => t.test("checked", (t) => t.test("inside", () => {}));\n',
        "a.test.js": 'require("node:test").test("a", (t) => require("./check.js").check(t));\n',
    }
    assert [result.id for result in run_adapter(NodeTest(), tmp_path, files)] == [
        "a.test.js::a > checked > inside",
        "a.test.js::a > checked",
        "a.test.js::a",
    ]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_runs_the_selected_files_alone(tmp_path: Path) -> None:
    files = {**FILES, "package.json": '{"type": "module", "scripts": {"test": "node --test *.test.js"}}'}
    results = run_adapter(NodeTest(), tmp_path, files, tests=["half.test.js::even"])
    assert [result.id for result in results] == ["half.test.js::even"]


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
