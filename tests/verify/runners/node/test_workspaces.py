"""Several packages in one repository, and commands for them."""

import json
from pathlib import Path

import pytest

from coder.verify.runners.registry import find_commands, find_packages
from tests.builders import write

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
