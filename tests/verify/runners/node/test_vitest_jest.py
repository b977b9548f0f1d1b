"""Commands of Vitest and Jest, and the reporter for Vitest."""

import shutil
import subprocess
from pathlib import Path

import pytest

from coder.verify.runners.adapter import Run
from coder.verify.runners.javascript import Jest, Vitest
from coder.verify.runners.registry import read_results


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
