"""Builds before the tests of Node.js packages, with a compiler that copies files."""

import shutil
from pathlib import Path

import pytest

from coder.verify.failures import find_missing_name
from coder.verify.runners.javascript import NodeTest
from coder.verify.runners.registry import recognize_command
from tests.builders import by_hand, write
from tests.verify.runners.running import run_adapter

COMPILER = """
const fs = require("node:fs");
const sources = fs.readdirSync("src").filter((name) => name.endsWith(".ts"));
const text = sources.map((name) => fs.readFileSync(`src/${name}`, "utf8")).join("");
if (text.includes("double(")) {
  console.log("src/half.test.ts(3,1): error TS2305: Module './half' has no exported member 'double'.");
  process.exit(2);
}
fs.mkdirSync("dist/src", { recursive: true });
for (const name of sources) {
  fs.copyFileSync(`src/${name}`, `dist/src/${name.replace(".ts", ".js")}`);
}
"""
TEST = 'require("node:test").test("{}", () => {{}});\n'
FILES = {
    "package.json": '{"scripts": {"pretest": "npm run build", "build": "node build.js",'
    ' "test": "eslint . && node --test dist"}}',
    "build.js": COMPILER,
    "src/half.test.ts": TEST.format("halves"),
    "src/later.test.ts": TEST.format("ends"),
}
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@needs_node
@pytest.mark.parametrize(
    ("tests", "ids"),
    [
        ((), ["src/half.test.ts::halves", "src/later.test.ts::ends"]),
        *by_hand((("src/half.test.ts::halves",), ["src/half.test.ts::halves"])),
    ],
)
def test_compiled_tests_have_paths_of_their_sources(
    tmp_path: Path, tests: tuple[str, ...], ids: list[str]
) -> None:
    results = run_adapter(NodeTest(), tmp_path, FILES, tests=tests)
    assert sorted(result.id for result in results) == ids


@needs_node
def test_failed_build_is_red_where_the_compiler_says(tmp_path: Path) -> None:
    (result,) = run_adapter(NodeTest(), tmp_path, {**FILES, "src/half.test.ts": "double();\n"})
    assert (result.id, result.when) == ("src/half.test.ts", "collect")
    assert result.failure is not None and find_missing_name(result.failure) == "double"


@pytest.mark.parametrize(
    ("script", "builds"),
    [
        ("eslint . && vitest run", ()),
        ("tsc && node --test", ("tsc",)),
        ("tsc --noEmit && vitest", ()),
        ("npm run build:all && mocha", ("rimraf dist", "tsc -p src")),
        ("mocha && webpack", ()),
    ],
)
def test_keeps_builds_before_the_runner(tmp_path: Path, script: str, builds: tuple[str, ...]) -> None:
    scripts = f'{{"scripts": {{"test": "{script}", "build:all": "rimraf dist && tsc -p src"}}}}'
    write(tmp_path, {"package.json": scripts})
    for command in ("npm test", script):
        recognized = recognize_command(command, tmp_path)
        assert recognized is not None and recognized.builds == builds


@pytest.mark.parametrize("command", ["cd web && vitest", "export A=1 && mocha", "make && mocha"])
def test_leaves_commands_alone_that_prepare_more(tmp_path: Path, command: str) -> None:
    assert recognize_command(command, tmp_path) is None
