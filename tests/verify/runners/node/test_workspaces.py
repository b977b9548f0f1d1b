"""Tests of several packages in one repository, with the test runner of Node.js itself."""

import json
import shutil
from pathlib import Path

import pytest

from coder.verify.runners.registry import find_adapter, find_commands, recognize_command
from coder.verify.runners.workspaces import find_packages
from tests.builders import write
from tests.verify.runners.running import run_adapter

HALF = """const {{ test }} = require("node:test");
const assert = require("node:assert");
const {{ half }} = require("../shared/half.js");
test("{}", () => assert.strictEqual(half({}), 2));
"""
NODE_TEST = '{"scripts": {"test": "node --test"}}'
FILES = {
    "package.json": '{"workspaces": ["packages/*"], "scripts": {"test": "npm test --workspaces"}}',
    "packages/shared/package.json": "{}",
    "packages/shared/half.js": "exports.half = (n) => n.size.nothing / 2;\n",
    "packages/a/package.json": NODE_TEST,
    "packages/a/half.test.js": HALF.format("four", 4),
    "packages/b/package.json": '{"scripts": {"test": "node build.js && node --test out"}}',
    "packages/b/build.js": 'require("fs").cpSync("src", "out", { recursive: true });\n',
    "packages/b/src/x.test.js": 'require("node:test").test("x", () => {});\n',
    "packages/c/package.json": '{"scripts": {"test": "node build.js && node --test"}}',
    "packages/c/build.js": 'console.log("no compiler"); process.exit(3);\n',
    "packages/c/c.test.js": "",
    "examples/e/package.json": NODE_TEST,
}
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@needs_node
def test_runs_each_package_with_its_own_script(tmp_path: Path) -> None:
    adapter = find_adapter("workspaces")
    assert adapter is not None
    results = run_adapter(adapter, tmp_path, FILES)
    assert [(result.id, result.outcome) for result in results] == [
        ("packages/a/half.test.js::four", "failed"),
        ("packages/b/out/x.test.js::x", "passed"),
        ("packages/c/package.json", "error"),
    ]
    half, _, unbuilt = (result.failure for result in results)
    assert half is not None and unbuilt is not None
    assert [frame.path for frame in half.frames][-2:] == [
        "packages/a/half.test.js",
        "packages/shared/half.js",
    ]
    assert "no compiler" in unbuilt.text


@pytest.mark.thorough
@needs_node
def test_runs_only_packages_of_selected_files(tmp_path: Path) -> None:
    adapter = find_adapter("workspaces")
    assert adapter is not None
    (result,) = run_adapter(adapter, tmp_path, FILES, tests=["packages/a/half.test.js::four"])
    assert result.id == "packages/a/half.test.js::four"


@pytest.mark.parametrize(
    ("manifest", "files", "packages"),
    [
        ({"workspaces": ["packages/*"]}, {}, ["packages/a", "packages/b"]),
        ({"workspaces": {"packages": ["./packages/a/", "tools/**"]}}, {}, ["packages/a", "tools/x/y"]),
        ({"workspaces": ["packages/*", "!packages/b"]}, {}, ["packages/a"]),
        ({}, {"pnpm-workspace.yaml": "packages:\n  - 'packages/b'\n"}, ["packages/b"]),
        ({}, {}, ["packages/a", "packages/b", "tools/x/y"]),
    ],
)
def test_finds_workspaces(
    tmp_path: Path, manifest: dict[str, object], files: dict[str, str], packages: list[str]
) -> None:
    places = ("packages/a", "packages/b", "tools/x/y", "test/fixtures/f")
    write(tmp_path, {**files, **{f"{place}/package.json": "{}" for place in places}})
    write(tmp_path, {"package.json": json.dumps(manifest)})
    assert find_packages(tmp_path) == packages


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"package.json": "{}", "a/package.json": NODE_TEST}, "npm test --workspaces"),
        ({"package.json": '{"scripts": {"test": "mocha"}}', "a/package.json": NODE_TEST}, "mocha"),
        ({"web/package.json": NODE_TEST}, "npm --prefix web test"),
        ({"web/package.json": NODE_TEST, "go.mod": "module x"}, "go test ./..."),
    ],
)
def test_finds_command_of_packages_below(tmp_path: Path, files: dict[str, str], command: str) -> None:
    write(tmp_path, files)
    assert next(find_commands(tmp_path))[0] == command


@pytest.mark.parametrize(
    "command",
    [
        *("npm test --workspaces --if-present", "npm run test -ws", "npm --prefix web test", "pnpm -r test"),
        *(
            "pnpm --filter './packages/*' -r test",
            "yarn workspaces foreach -A run test",
            "npx turbo run test",
        ),
        *("lerna run test", "nx run-many -t test"),
    ],
)
def test_recognizes_commands_for_packages(tmp_path: Path, command: str) -> None:
    recognized = recognize_command(command, tmp_path)
    assert recognized is not None and recognized.adapter == "workspaces"
