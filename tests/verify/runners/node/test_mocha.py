"""The adapter of Mocha, with a report and an error as Mocha writes them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from coder.verify.runners.adapter import Run
from coder.verify.runners.javascript import Mocha
from coder.verify.runners.workspaces import read_results

MISSING_MODULE = """\

 Exception during run: Error: Cannot find module '../lib/missing'
Require stack:
- {tree}/test/bad.test.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at Object.<anonymous> (/x/node_modules/mocha/lib/y.js:1:14)
    at Object.<anonymous> ({tree}/test/bad.test.js:3:14)
    at async exports.handler ({tree}/node_modules/mocha/lib/cli/run.js:375:5) {
  code: 'MODULE_NOT_FOUND'
}
"""
SYNTAX_ERROR = """\

 Exception during run: {tree}/lib/half.js:3
it('e',()=>{ foo( })
                  ^

SyntaxError: Unexpected token '}'
    at Object.<anonymous> ({tree}/test/bad.test.js:3:14)
"""


@pytest.mark.parametrize("tests", [(), ("test/bad.test.js::reads",)])
@pytest.mark.parametrize("output", [MISSING_MODULE, SYNTAX_ERROR])
def test_file_that_cannot_be_loaded_is_named(tmp_path: Path, output: str, tests: tuple[str, ...]) -> None:
    files = tuple(test.partition("::")[0] for test in tests)
    output = output.replace("{tree}", str(tmp_path))
    run = Run(argv=("mocha",), tree=tmp_path, place=tmp_path, files=files, output=output)
    (result,) = read_results(Mocha(), run, tests)
    assert (result.id, result.when) == ("test/bad.test.js", "collect")
    assert result.failure is not None
    assert result.failure.frames[-1].path == "test/bad.test.js"
    assert "Error: " in result.failure.message


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
