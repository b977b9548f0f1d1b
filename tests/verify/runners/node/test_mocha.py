"""The reporter for Mocha."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from coder.verify.runners.adapter import Run
from coder.verify.runners.javascript import Mocha

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
