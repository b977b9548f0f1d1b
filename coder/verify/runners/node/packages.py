"""Packages of Node.js: their test scripts, and the failures that their test runners report."""

import json
import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from coder.core.verdict import Failure, Frame, TestResult
from coder.files.regular_files import read_regular_text
from coder.verify.runners.adapter import LONGEST_TEXT, Invocation, Run, plain_text
from coder.verify.runners.sources import DEEPEST_MANIFEST

LAUNCHERS = frozenset(
    {"npx", "yarn", "pnpm", "bunx", "npm", "exec", "x", "--", "env", "cross-env", "c8", "nyc"}
)
"""Programs and words that only choose where a runner is found, set variables, or measure coverage."""
LAUNCHER_OPTIONS_WITH_VALUES: Mapping[str, frozenset[str]] = {
    "c8": frozenset(
        {
            *(
                "-r",
                "--reporter",
                "-o",
                "--reports-dir",
                "--report-dir",
                "-x",
                "--exclude",
                "-n",
                "--include",
            ),
            *(
                "-e",
                "--extension",
                "--src",
                "--temp-directory",
                "--resolve",
                "--config",
                "-c",
                "--watermarks",
            ),
            *("--lines", "--functions", "--branches", "--statements", "--exclude-after-remap"),
        }
    ),
    "nyc": frozenset(
        {
            *("-r", "--reporter", "--report-dir", "-t", "--temp-dir", "-x", "--exclude", "-n", "--include"),
            *("-e", "--extension", "-i", "--require", "--cwd", "--nycrc-path", "--cache-dir", "--watermarks"),
            *("--lines", "--functions", "--branches", "--statements", "--parser-plugins"),
        }
    ),
    "env": frozenset({"-u", "--unset"}),
    "npx": frozenset({"-p", "--package"}),
    "pnpm": frozenset({"-C", "--dir", "-F", "--filter"}),
    "yarn": frozenset({"--cwd"}),
}
WITHOUT_ADAPTER = frozenset(
    {"ava", "cypress", "jasmine", "karma", "lab", "playwright", "qunit", "tap", "tape", "uvu", "wtr"}
)
"""Test runners whose results are known from their output or exit code alone."""
SCRIPT_CALL = re.compile(
    r"(?!.*(?: -r\b| --recursive\b| -ws\b| --workspaces\b| --prefix\b))"
    r"(?:npm|pnpm|yarn|bun)(?: --?[\w-]+)* (?:(?:run|run-script) (?P<script>[\w:.-]+)|(?:t|tst|test)\b)"
    r"(?: --)?(?P<rest>(?: .*)?)"
)
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
STACK_FRAME = re.compile(
    r"^\s*at (?:(?P<function>[^(\n]*) \()?(?:file://)?(?P<path>[^()\s]+):(?P<line>\d+):\d+\)?$"
)
ERROR_LINE = re.compile(
    r"^(?:Uncaught )?(?P<type>\w*(?:Error|Exception))(?: \[\w+\])?(?:: (?P<message>.*))?\Z", re.M | re.S
)
JEST_ASSERTION = "expect("
"""Start of the message of Jest's assertions, whose type is Error."""
VITEST_ASSERTION = re.compile(
    r"Snapshot `.*` mismatched"
    r"|promise (?:resolved .* instead of rejecting|rejected .* instead of resolving)$",
    re.MULTILINE,
)
"""Messages of Vitest's assertions on snapshots and promises, whose type is Error, too."""
ENVIRONMENT: Mapping[str, str] = {"CI": "1", "NO_COLOR": "1", "FORCE_COLOR": "0"}
"""With CI set, no snapshot is written and no file is watched."""


class NodeAdapter(ABC):
    """Adapter of a test runner of Node.js, found in the scripts and dependencies of a package."""

    name: str

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the bare command if the runner is a dependency, and no test script starts another one."""
        manifest = read_manifest(root)
        scripts = read_scripts(root)
        programs = {
            words[0].rpartition("/")[2]
            for name in find_test_scripts(scripts)
            for part in find_parts(f"npm run {name}", scripts)
            if (words := split_launchers(part.words)[1])
        }
        is_dependency = any(self.name in _table(manifest, key) for key in ("devDependencies", "dependencies"))
        if is_dependency and not programs & WITHOUT_ADAPTER:
            yield self.name

    @abstractmethod
    def recognizes(self, words: Sequence[str]) -> bool: ...

    @abstractmethod
    def prepare(self, run: Run) -> Invocation: ...

    @abstractmethod
    def read_results(self, run: Run) -> Iterator[TestResult]: ...


def read_manifest(root: Path) -> dict[str, Any]:
    """Return package.json; empty if it is missing or no object."""
    try:
        manifest = json.loads(read_regular_text(root / "package.json"))
    except ValueError:
        return {}
    return manifest if isinstance(manifest, dict) else {}


def read_scripts(root: Path) -> Mapping[str, str]:
    """Return the scripts of a package by name."""
    return _table(read_manifest(root), "scripts")


def _table(manifest: Mapping[str, Any], key: str) -> Mapping[str, str]:
    """Return the strings in an object of a manifest."""
    table = manifest.get(key)
    entries = table.items() if isinstance(table, dict) else ()
    return {name: value for name, value in entries if isinstance(value, str)}


def find_test_scripts(scripts: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the scripts that are named after tests, `test` first."""
    for name in sorted(scripts, key=lambda name: (name != "test", not name.startswith("test:unit"), name)):
        if re.match(r"test\b", name) and not re.search(r"watch|cov|e2e|lint|types?\b|update", name):
            yield name


class ScriptPart(NamedTuple):
    """One program that a command starts, and the innermost script of the package that it is part of."""

    script: str
    text: str

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the program; none if quotes do not match."""
        try:
            return tuple(shlex.split(self.text))
        except ValueError:
            return ()


def find_parts(command: str, scripts: Mapping[str, str]) -> Iterator[ScriptPart]:
    """Yield the programs that a command starts, in order, also through a package's scripts, each once."""
    yield from _parts_of("", command, scripts, set())


def _parts_of(script: str, command: str, scripts: Mapping[str, str], seen: set[str]) -> Iterator[ScriptPart]:
    for part in map(str.strip, re.split(r"&&|\|\||;", command)):
        if not (match := SCRIPT_CALL.fullmatch(part)):
            yield ScriptPart(script, part)
            continue
        called = match["script"] or "test"
        for name, rest in ((f"pre{called}", ""), (called, match["rest"])):
            if name in scripts and name not in seen:
                seen.add(name)
                yield from _parts_of(name, scripts[name] + rest, scripts, seen)


def split_launchers(words: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the variables that the start of a command sets, and the command without launchers."""
    environment: dict[str, str] = {}
    remaining = list(words)
    with_values: frozenset[str] = frozenset()
    while remaining:
        word = remaining[0]
        if ASSIGNMENT.fullmatch(word):
            name, _, environment[name] = word.partition("=")
        elif word in LAUNCHERS:
            with_values = LAUNCHER_OPTIONS_WITH_VALUES.get(word, frozenset())
        elif not word.startswith("-"):
            break
        del remaining[: 2 if word in with_values else 1]
    return environment, tuple(remaining)


def find_binary(tree: Path, name: str) -> str:
    """Return the path of a program that the package, or one around it, installed; else the bare name."""
    places = (tree, *tree.parents[:DEEPEST_MANIFEST])
    binaries = (place / "node_modules" / ".bin" / name for place in places)
    return next((str(binary) for binary in binaries if binary.exists()), name)


def without_paths(words: Sequence[str], tree: Path, *, before_values: Sequence[str]) -> tuple[str, ...]:
    """Return arguments without those that name test files, so that others can be named.

    Options in `before_values` are followed by a value, which is kept.
    """
    kept: list[str] = []
    for word in words:
        is_value = bool(kept) and kept[-1] in before_values
        names_files = "*" in word or (not word.startswith("-") and (tree / word).exists())
        if is_value or not names_files:
            kept.append(word)
    return tuple(kept)


def parse_error(text: str, tree: Path) -> Failure:
    """Return the failure that a stack trace of JavaScript describes."""
    lines = plain_text(text).strip().splitlines()
    frames = [match for line in lines if (match := STACK_FRAME.match(line))]
    head = "\n".join(line for line in lines if not STACK_FRAME.match(line)).strip()
    match = ERROR_LINE.search(head)
    type, message = (match["type"], match["message"] or "") if match else ("Error", head)
    if message.startswith(JEST_ASSERTION) or VITEST_ASSERTION.match(message):
        type = "AssertionError"
    return Failure(
        type=type,
        message=message.strip(),
        frames=tuple(
            Frame(
                path=relative_path(frame["path"], tree),
                line=int(frame["line"]),
                function=(frame["function"] or "").removeprefix("async ") or "<anonymous>",
            )
            for frame in reversed(frames)
        ),
        text=plain_text(text).strip()[:LONGEST_TEXT],
    )


def relative_path(path: str, tree: Path) -> str:
    """Return a reported path relative to the directory; absolute outside and in installed packages."""
    pure = PurePosixPath(path.removeprefix("file://"))
    if not pure.is_absolute():
        return f"<{path}>" if path.startswith("node:") else path
    if "node_modules" in pure.parts or not pure.is_relative_to(tree.resolve()):
        return str(pure)
    return pure.relative_to(tree.resolve()).as_posix()
