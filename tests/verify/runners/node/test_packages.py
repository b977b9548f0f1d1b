"""Scripts of Node.js packages, and the stack traces of their runners."""

import json
import shlex
from pathlib import Path

import pytest

from coder.verify.runners.javascript import describe_missing_program, parse_error, without_paths
from coder.verify.runners.registry import RecognizedCommand, find_commands, recognize_command
from tests.builders import lines, write


def recognize_script(root: Path, **scripts: str) -> RecognizedCommand | None:
    (root / "package.json").write_text(json.dumps({"scripts": scripts}))
    return recognize_command("npm test", root)


@pytest.mark.parametrize("case", lines("commands/scripts.txt"))
def test_recognizes_runner_behind_npm_test(tmp_path: Path, case: str) -> None:
    script, _, expected = case.partition(" =>")
    recognized = recognize_script(tmp_path, test=script)
    found = f" {recognized.adapter}: {shlex.join(recognized.argv)}" if recognized else ""
    assert found == expected


def test_keeps_variables_that_a_script_sets(tmp_path: Path) -> None:
    script = "cross-env NODE_OPTIONS=--experimental-vm-modules jest"
    recognized = recognize_script(tmp_path, test=script)
    assert recognized is not None
    assert recognized.environment == {"NODE_OPTIONS": "--experimental-vm-modules"}


def test_first_of_several_runs_names_the_others(tmp_path: Path) -> None:
    recognized = recognize_script(
        tmp_path, test="node node_modules/vitest/vitest.mjs && vitest --typecheck.only"
    )
    assert recognized is not None and recognized.omitted == ("vitest --typecheck.only",)
    source = "the project's use of vitest; `vitest --typecheck.only` in the same script is not run"
    assert next(find_commands(tmp_path))[1].startswith(source)


def test_run_of_the_whole_suite_wins_over_runs_of_parts(tmp_path: Path) -> None:
    scripts = {
        "tz": "date && jest test/tz.test",
        "test": "cross-env TZ=UTC npm run tz && npm run tz && jest -i",
    }
    recognized = recognize_script(tmp_path, **scripts)
    assert recognized is not None and recognized.argv == ("jest", "-i")


@pytest.mark.parametrize(
    ("script", "command"),
    [("mocha lib", "mocha lib"), ("standard && tape test.js", "npm test"), ("xo && ava", "npm test")],
)
def test_test_script_wins_over_other_dependency(tmp_path: Path, script: str, command: str) -> None:
    manifest = {"scripts": {"test": script}, "devDependencies": {"jest": "^29"}}
    (tmp_path / "package.json").write_text(json.dumps(manifest))
    assert next(find_commands(tmp_path))[0] == command


def test_parses_stack_trace(tmp_path: Path) -> None:
    text = (
        "TypeError: x.trim is not a function\n"
        f"    at clean ({tmp_path}/src/clean.js:3:11)\n"
        f"    at {tmp_path}/test/clean.test.js:9:5\n"
        f"    at run ({tmp_path}/node_modules/mocha/lib/runnable.js:1:2)\n"
        "    at process.processTicks (node:internal/process/task_queues:95:5)\n"
    )
    failure = parse_error(text, tmp_path)
    assert (failure.type, failure.message) == ("TypeError", "x.trim is not a function")
    assert [frame.path for frame in failure.frames if not frame.path.startswith(("/", "<"))] == [
        "test/clean.test.js",
        "src/clean.js",
    ]


def test_expectation_is_an_assertion(tmp_path: Path) -> None:
    text = "Error: expect(received).toBe(expected)\n\nExpected: 2\nReceived: 1\n    at a.test.js:1:2"
    failure = parse_error(text, tmp_path)
    assert failure.type == "AssertionError"
    assert "Received: 1" in failure.message


def test_expectation_has_no_frames_of_the_error_that_it_quotes(tmp_path: Path) -> None:
    text = (
        "Error: expect(function).not.toThrow()\n\nInstead, it threw:\n  RangeError: Invalid time value\n"
        "    at format (<anonymous>)\n    > 42 |  format(date)\n      \n"
        f"      at tz ({tmp_path}/src/tz.js:42:26)\n"
        f"    at Object.<anonymous> ({tmp_path}/test/tz.test.js:4:9)\n"
        f"    at new Promise (<anonymous>)\n    at run ({tmp_path}/node_modules/jest/run.js:1:2)\n"
    )
    assert [frame.path.removeprefix(f"{tmp_path}/") for frame in parse_error(text, tmp_path).frames] == [
        "node_modules/jest/run.js",
        "test/tz.test.js",
    ]


def test_error_of_a_package_that_asserts_is_an_assertion(tmp_path: Path) -> None:
    text = (
        'Error: expected 404 "Not Found", got 500\n'
        f"    at Context.<anonymous> ({tmp_path}/test/a.js:4:9)\n----\n"
        f"    at Test._assertStatus ({tmp_path}/node_modules/supertest/lib/test.js:252:14)\n"
    )
    failure = parse_error(text, tmp_path)
    assert (failure.type, failure.frames[-1].path) == ("AssertionError", "test/a.js")


@pytest.mark.parametrize(
    ("line", "type"), [("  throw new Error(", "AssertionError"), ("  load(broken);", "Error")]
)
def test_error_thrown_by_a_statement_of_a_test_is_an_assertion(tmp_path: Path, line: str, type: str) -> None:
    write(tmp_path, {"test/helper.js": f"\n{line}\n", "src/a.js": "\n  throw new Error(\n"})
    text = f"Error: x passed\n    at check ({tmp_path}/test/helper.js:2:9)\n    at {tmp_path}/test/a.js:1:1\n"
    assert parse_error(text, tmp_path).type == type
    assert parse_error(text.replace("test/helper", "src/a"), tmp_path).type == "Error"


def test_message_of_the_code_under_test_is_no_assertion(tmp_path: Path) -> None:
    assert parse_error("Error: Expected a number\n    at a.js:1:2", tmp_path).type == "Error"


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
