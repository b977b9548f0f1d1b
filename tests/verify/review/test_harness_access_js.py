"""Access to the test process in changed JavaScript."""

import pytest

from coder.verify.checks.harness import harness_accesses_js

REACHING = {
    'import assert from "node:assert/strict";': 'imports from "node:assert, which test runners stand on',
    'const { mock } = require("node:test");': 'imports require("node:test, which test runners stand on',
    "if (process.env.NODE_TEST_CONTEXT) x();": "asks for the environment variable NODE_TEST_CONTEXT",
    "const all = { ...process.env };": "asks for the environment variable whose name cannot be read here",
    "process.exit(0);": "uses process.exit",
    'process.on("exit", f);': "uses process.on",
    "if (process.argv[1]) x();": "asks for process.argv",
    "process.stdout.write = f;": "changes or looks at the output of the process (process.stdout.write)",
    "const x = new Error().stack;": "looks at its callers (new Error().stack)",
    "AsyncResource.prototype.runInAsyncScope = f;": "replaces AsyncResource.prototype.runInAsyncScope",
    "assert.equal = () => {};": "replaces what tests call (assert.equal)",
    "eval(text);": "executes code that cannot be read here (eval)",
}
HONEST = (
    "const items = text.split('&').filter(Boolean);",
    "// process.exit(0) is not called here",
    "console.log('x'); const y = { argv: 1 };",
    "if (process.platform === 'win32') x();",
    "class A { static of() { return new A(); } }",
)


@pytest.mark.parametrize("source", REACHING)
def test_finds_access_to_test_process(source: str) -> None:
    assert [message.partition(" ")[2] for message in harness_accesses_js({}, {"a.mjs": source})][:1] == [
        REACHING[source]
    ]
    assert harness_accesses_js({"a.mjs": source}, {"a.mjs": f"{source}\n"}) == []


@pytest.mark.parametrize("source", HONEST)
def test_accepts_ordinary_code(source: str) -> None:
    assert harness_accesses_js({}, {"a.mjs": source}) == []


def test_accepts_variable_named_in_issue() -> None:
    assert harness_accesses_js({}, {"a.mjs": "if (process.env.NO_COLOR) x();"}, known="honour NO_COLOR") == []
