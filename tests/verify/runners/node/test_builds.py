"""Builds before the tests of Node.js packages."""

import json
from pathlib import Path

import pytest

from coder.verify.runners.registry import recognize_command
from tests.builders import write


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
