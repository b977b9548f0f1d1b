"""Packages of Node.js: their scripts, workspaces and builds, and the runners with their reporters."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from coder.verify.results import rejection_reason
from coder.verify.runners.adapter import Run
from coder.verify.runners.javascript import (
    Jest,
    Mocha,
    Vitest,
    describe_missing_program,
    parse_error,
    without_paths,
)
from coder.verify.runners.registry import (
    RecognizedCommand,
    find_commands,
    find_packages,
    read_results,
    recognize_command,
)
from tests.builders import lines, write
from tests.verify.conftest import Run as MakeRunner


@pytest.mark.parametrize(
    ("script", "builds"),
    [
        ("eslint . && vitest run", ()),
        ("tsc && node --test", ("tsc",)),
        ("tsc --noEmit && vitest", ()),
        ("npm run build:all && mocha", ("rimraf dist", "tsc -p src", "uglifyjs dist/a.js")),
        ("mocha && webpack", ()),
    ],
)
def test_keeps_builds_before_the_runner(tmp_path: Path, script: str, builds: tuple[str, ...]) -> None:
    scripts = {
        "test": script,
        "build:all": "rimraf dist && tsc -p src && npm run minify",
        "minify": "uglifyjs dist/a.js",
    }
    write(tmp_path, {"package.json": json.dumps({"scripts": scripts})})
    for command in ("npm test", script):
        recognized = recognize_command(command, tmp_path)
        assert recognized is not None and recognized.builds == builds


@pytest.mark.parametrize("command", ["cd web && vitest", "export A=1 && mocha", "make && mocha"])
def test_leaves_commands_alone_that_prepare_more(tmp_path: Path, command: str) -> None:
    assert recognize_command(command, tmp_path) is None


NODE_TEST = '{"scripts": {"test": "node --test"}}'


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


def recognize_script(root: Path, **scripts: str) -> RecognizedCommand | None:
    (root / "package.json").write_text(json.dumps({"scripts": scripts}))
    return recognize_command("npm test", root)


@pytest.mark.parametrize("case", lines("commands/scripts.txt"))
def test_recognizes_runner_behind_npm_test(tmp_path: Path, case: str) -> None:
    script, _, expected = case.partition(" =>")
    recognized = recognize_script(tmp_path, test=script)
    found = f" {recognized.adapter}: {shlex.join(recognized.argv)}" if recognized else ""
    assert found == expected


def test_keeps_variables_and_names_what_a_script_omits(tmp_path: Path) -> None:
    script = "cross-env NODE_OPTIONS=--x node node_modules/vitest/vitest.mjs && vitest --typecheck.only"
    recognized = recognize_script(tmp_path, test=script)
    assert recognized is not None
    assert recognized.environment == {"NODE_OPTIONS": "--x"}
    assert recognized.omitted == ("vitest --typecheck.only",)
    source = "the project's use of vitest; `vitest --typecheck.only` in the same script is not run"
    assert next(find_commands(tmp_path))[1].startswith(source)


def test_run_of_the_whole_suite_wins_over_runs_of_parts(tmp_path: Path) -> None:
    test = "cross-env TZ=UTC npm run tz && npm run tz && jest -i"
    recognized = recognize_script(tmp_path, tz="date && jest test/tz.test", test=test)
    assert recognized is not None and recognized.argv == ("jest", "-i")


@pytest.mark.parametrize(
    ("script", "command"),
    [("mocha lib", "mocha lib"), ("standard && tape test.js", "npm test"), ("xo && ava", "npm test")],
)
def test_test_script_wins_over_other_dependency(tmp_path: Path, script: str, command: str) -> None:
    manifest = {"scripts": {"test": script}, "devDependencies": {"jest": "^29"}}
    (tmp_path / "package.json").write_text(json.dumps(manifest))
    assert next(find_commands(tmp_path))[0] == command


QUOTED = """Error: expect(function).not.toThrow()

Instead, it threw:
  RangeError: Invalid time value
    at format (<anonymous>)
    > 42 |  format(date)
      at tz ({0}/src/tz.js:42:26)
    at Object.<anonymous> ({0}/test/tz.test.js:4:9)
    at new Promise (<anonymous>)
    at run ({0}/node_modules/jest/run.js:1:2)
"""
RAISED = """TypeError: x.trim is not a function
    at clean ({0}/src/clean.js:3:11)
    at {0}/test/clean.test.js:9:5
    at run ({0}/node_modules/mocha/lib/runnable.js:1:2)
    at process.processTicks (node:internal/process/task_queues:95:5)
"""
OF_PACKAGE = """Error: expected 404 "Not Found", got 500
    at Context.<anonymous> ({0}/test/a.js:4:9)
----
    at Test._assertStatus ({0}/node_modules/supertest/lib/test.js:252:14)
"""


@pytest.mark.parametrize(
    ("text", "type", "words", "paths"),
    [
        (RAISED, "TypeError", "x.trim is not a function", ["test/clean.test.js", "src/clean.js"]),
        (
            "Error: expect(received).toBe(expected)\n\nExpected: 2\nReceived: 1\n    at a.test.js:1:2",
            *("AssertionError", "Received: 1", ["a.test.js"]),
        ),
        (QUOTED, "AssertionError", "toThrow()", ["test/tz.test.js"]),
        (OF_PACKAGE, "AssertionError", "expected 404", ["test/a.js"]),
        ("Error: Expected a number\n    at a.js:1:2", "Error", "Expected a number", ["a.js"]),
    ],
    ids=["stack trace", "expectation", "quoted error", "package that asserts", "message of the code"],
)
def test_parses_errors(tmp_path: Path, text: str, type: str, words: str, paths: list[str]) -> None:
    failure = parse_error(text.format(tmp_path), tmp_path)
    assert (failure.type, words in failure.message) == (type, True)
    assert [frame.path for frame in failure.frames if not frame.path.startswith(("/", "<"))] == paths


@pytest.mark.parametrize(
    ("line", "type"), [("  throw new Error(", "AssertionError"), ("  load(broken);", "Error")]
)
def test_error_thrown_by_a_statement_of_a_test_is_an_assertion(tmp_path: Path, line: str, type: str) -> None:
    write(tmp_path, {"test/helper.js": f"\n{line}\n", "src/a.js": "\n  throw new Error(\n"})
    text = f"Error: x passed\n    at check ({tmp_path}/test/helper.js:2:9)\n    at {tmp_path}/test/a.js:1:1\n"
    assert parse_error(text, tmp_path).type == type
    assert parse_error(text.replace("test/helper", "src/a"), tmp_path).type == "Error"


def test_keeps_values_of_options_when_dropping_paths(tmp_path: Path) -> None:
    (tmp_path / "setup.js").touch()
    (tmp_path / "test").mkdir()
    words = ("--require", "setup.js", "test", "--grep", "x")
    assert without_paths(words, tmp_path, before_values=("--require",)) == (
        "--require",
        "setup.js",
        "--grep",
        "x",
    )


@pytest.mark.parametrize(
    ("error", "is_missing"),
    [
        ("vitest could not be started: [Errno 2] No such file or directory: b'/bin/vitest'.", True),
        ("vitest could not be started: [Errno 13] Permission denied.", False),
        ("/bin/sh could not be started: [Errno 2] No such file or directory.", False),
    ],
)
def test_missing_program_of_a_package_is_named(tmp_path: Path, error: str, is_missing: bool) -> None:
    assert not describe_missing_program(error, tmp_path)
    (tmp_path / "package.json").write_text("{}")
    assert describe_missing_program(error, tmp_path).startswith("`vitest` is not installed") == is_missing


PROJECT = Path(__file__).parents[2] / "cases" / "runners" / "node" / "tree"


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


RUN = """
const [reporter, output] = process.argv.slice(1);
const runner = new (require("node:events"))();
new (require(reporter))(runner, { [process.env.OPTIONS]: { output } });
const parent = { file: `${process.cwd()}/test/half.test.js` };
const test = (title) => ({ title, fullTitle: () => `half ${title}`, parent });
runner.emit("pass", { ...test("halves"), duration: 1500 });
runner.emit("fail", test("rounds"), new TypeError("no number"));
runner.emit("pending", test("later"));
runner.emit("end");
"""
"""A run in which tests have no file of their own, as in Mocha 5."""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("options", ["reporterOptions", "reporterOption"])
def test_reads_report_of_old_versions(tmp_path: Path, options: str) -> None:
    run = Run(argv=("mocha",), tree=tmp_path, place=tmp_path)
    words = Mocha().prepare(run).argv
    reporter = words[words.index("--reporter") + 1]
    output = words[words.index("--reporter-options") + 1].removeprefix("output=")
    command = ("node", "-e", RUN, reporter, output)
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "OPTIONS": options}, check=True)
    passed, failed, skipped = Mocha().read_results(run)
    assert (passed.id, passed.outcome, passed.seconds) == ("test/half.test.js::half > halves", "passed", 1.5)
    assert (failed.id, failed.outcome) == ("test/half.test.js::half > rounds", "failed")
    assert failed.failure is not None
    assert (failed.failure.type, failed.failure.message) == ("TypeError", "no number")
    assert skipped.outcome == "skipped"


def test_runs_once_and_selects_files(tmp_path: Path) -> None:
    words = ("vitest", "--watch", "--reporter", "verbose", "--outputFile", "a.json")
    run = Run(argv=words, tree=tmp_path, place=tmp_path, files=("src/a.test.ts",))
    argv = Vitest().prepare(run).argv
    assert "--run" in argv and not {*words[1:]} & {*argv}
    assert argv[-1] == "src/a.test.ts"
    jest = Jest().prepare(run.model_copy(update={"argv": ("jest",)}))
    assert jest.argv[-2:] == ("--runTestsByPath", "src/a.test.ts")


REPORTER = """
const { default: Reporter } = await import(process.argv[1]);
const reporter = new Reporter();
reporter.onInit({ config: { outputFile: process.argv[2] } });
const cwd = process.cwd();
const trace = `\\n    at ${cwd}/a.test.js:3:9`;
const error = (name, message) => ({ name, message, stack: `${name}: ${message}${trace}` });
const tests = { halves: ["pass"], rounds: ["fail", error("TypeError", "no number")], later: ["skip"] };
const hook = error("RangeError", "no room");
"""
AS_TASKS = """
const test = (name, state, ...errors) => ({ name, type: "test", result: { state, errors, duration: 1500 } });
const tasks = Object.entries(tests).map(([name, [state, ...errors]]) => test(name, state, ...errors));
const prepared = { name: "prepared", tasks: [{ name: "x", type: "test" }], result: { errors: [hook] } };
reporter.onFinished([
  { filepath: `${cwd}/a.test.js`, tasks: [{ name: "", tasks: [{ name: "half", tasks }, prepared] }] },
  { filepath: `${cwd}/b.test.js`, tasks: [], result: { errors: [error("Error", "no module")] } },
]);
"""
"""A finished run of Vitest 1, where a file may contain a suite without a name."""
AS_MODULES = """
const states = { pass: "passed", fail: "failed", skip: "skipped" };
const test = ([name, [state, ...errors]]) => ({
  ...{ type: "test", name, result: () => ({ state: states[state], errors }) },
  diagnostic: () => ({ duration: 1500 }),
});
const suite = (name, children, ...errors) => ({ type: "suite", name, children, errors: () => errors });
const module = (name, ...rest) => ({ ...suite("", ...rest), moduleId: `${cwd}/${name}` });
const half = suite("half", Object.entries(tests).map(test));
const prepared = suite("prepared", [test(["x", ["skip"]])], hook);
reporter.onTestRunEnd([
  module("a.test.js", new Set([half, prepared])), module("b.test.js", [], error("Error", "no module")),
]);
"""
"""The same run of Vitest 4."""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("finished", [AS_TASKS, AS_MODULES], ids=["version 1", "version 4"])
def test_reads_own_report_of_vitest(tmp_path: Path, finished: str) -> None:
    run = Run(argv=("vitest",), tree=tmp_path, place=tmp_path)
    options = dict(word.split("=", 1) for word in Vitest().prepare(run).argv if "=" in word)
    script = ("node", "--input-type=module", "-e", REPORTER + finished)
    subprocess.run((*script, options["--reporter"], options["--outputFile"]), cwd=tmp_path, check=True)
    results = read_results(Vitest(), run)
    assert [(result.id, result.outcome, result.seconds) for result in results] == [
        ("a.test.js::half > halves", "passed", 1.5),
        ("a.test.js::half > rounds", "failed", 1.5),
        ("a.test.js::half > later", "skipped", 1.5),
        ("a.test.js::prepared > x", "failed", results[3].seconds),
        ("b.test.js", "error", 0.0),
    ]
    failures = [result.failure for result in results if result.failure]
    assert [(failure.type, failure.message) for failure in failures] == [
        ("TypeError", "no number"),
        ("RangeError", "no room"),
        ("CollectionError", "Error: no module"),
    ]
    assert failures[0].frames[-1].path == "a.test.js"
