"""Packages of Node.js: their test scripts, and the failures that their test runners report."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from coder.core.values.verdict import Failure, Frame
from coder.files.regular_files import read_regular_text
from coder.verify.runners.adapter import LONGEST_TEXT, Adapter, plain_text

LAUNCHERS = frozenset(
    {"npx", "yarn", "pnpm", "bunx", "npm", "exec", "x", "--", "env", "cross-env", "c8", "nyc"}
)
"""Programs and words that only choose where a runner is found, set variables, or measure coverage."""
SCRIPT_CALL = re.compile(
    r"(?:npm|pnpm|yarn|bun)(?: --?[\w-]+)* (?:(?:run|run-script) (?P<script>[\w:.-]+)|(?:t|tst|test)\b)"
    r"(?: --)?(?P<rest>(?: .*)?)"
)
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
MOST_REDIRECTIONS = 5
"""Scripts that may call each other before the search for a runner ends."""
STACK_FRAME = re.compile(
    r"^\s*at (?:(?P<function>[^(\n]*) \()?(?:file://)?(?P<path>[^()\s]+):(?P<line>\d+):\d+\)?$"
)
ERROR_LINE = re.compile(
    r"^(?:Uncaught )?(?P<type>[A-Z]\w*(?:Error|Exception)?)(?: \[\w+\])?(?:: (?P<message>.*))?$", re.S
)
ENVIRONMENT: Mapping[str, str] = {"CI": "1", "NO_COLOR": "1", "FORCE_COLOR": "0"}
"""With CI set, no snapshot is written and no file is watched."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return package.json; empty if it is missing or no object."""
    try:
        manifest = json.loads(read_regular_text(folder / "package.json"))
    except ValueError:
        return {}
    return manifest if isinstance(manifest, dict) else {}


def test_scripts(folder: Path) -> Iterator[str]:
    """Yield the scripts of a package that are named after tests, `test` first."""
    scripts = read_manifest(folder).get("scripts")
    if isinstance(scripts, dict):
        for name in sorted(
            scripts, key=lambda name: (name != "test", not name.startswith("test:unit"), name)
        ):
            if re.match(r"test\b", name) and not re.search(r"watch|cov|e2e|lint|types?\b|update", name):
                yield str(scripts[name])


def find_test_commands(adapter: Adapter, folder: Path) -> Iterator[str]:
    """Yield the package's test scripts that start a runner, else its bare command if it is a dependency."""
    found = False
    for script in test_scripts(folder):
        for words in find_runner_calls(script, folder):
            if adapter.recognize(words) is not None:
                found = True
                yield shlex.join(words)
    manifest = read_manifest(folder)
    dependencies = [manifest.get(key) for key in ("devDependencies", "dependencies")]
    if not found and any(isinstance(names, dict) and adapter.name in names for names in dependencies):
        yield adapter.name


def find_runner_calls(
    command: str, folder: Path, *, depth: int = MOST_REDIRECTIONS
) -> Iterator[tuple[str, ...]]:
    """Yield the words of each program that a command starts, also through the package's scripts."""
    for part in re.split(r"&&|\|\||;", command):
        if (match := SCRIPT_CALL.fullmatch(part.strip())) and depth:
            scripts = read_manifest(folder).get("scripts")
            name = match["script"] or "test"
            if isinstance(scripts, dict) and isinstance(scripts.get(name), str):
                yield from find_runner_calls(scripts[name] + match["rest"], folder, depth=depth - 1)
            continue
        try:
            words = shlex.split(part)
        except ValueError:
            continue
        if words:
            yield tuple(words)


def strip_launchers(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command without the launchers before its program."""
    remaining = list(words)
    while remaining and (
        remaining[0] in LAUNCHERS or remaining[0].startswith("-") or ASSIGNMENT.fullmatch(remaining[0])
    ):
        del remaining[0]
    return tuple(remaining)


def find_binary(folder: Path, name: str) -> str:
    """Return the path of a program that a package or one above it installed; the bare name if none did."""
    for parent in (folder, *folder.parents):
        if (binary := parent / "node_modules" / ".bin" / name).exists():
            return str(binary)
    return name


def without_paths(words: Sequence[str], folder: Path, *, before_values: Sequence[str]) -> tuple[str, ...]:
    """Return arguments without those that name test files, so that others can be named.

    Options in `before_values` are followed by a value, which is kept.
    """
    kept: list[str] = []
    for word in words:
        is_value = bool(kept) and kept[-1] in before_values
        names_files = "*" in word or (not word.startswith("-") and (folder / word).exists())
        if is_value or not names_files:
            kept.append(word)
    return tuple(kept)


def parse_error(text: str, folder: Path) -> Failure:
    """Return the failure that a stack trace of JavaScript describes."""
    lines = plain_text(text).strip().splitlines()
    frames = [match for line in lines if (match := STACK_FRAME.match(line))]
    head = "\n".join(line for line in lines if not STACK_FRAME.match(line)).strip()
    first, _, rest = head.partition("\n")
    match = ERROR_LINE.match(first)
    type, message = (match["type"], match["message"] or "") if match else ("Error", first)
    if message.startswith(("expect(", "Expected", "expected")) or "AssertionError" in first:
        type = "AssertionError"
    return Failure(
        type=type,
        message=f"{message}\n{rest}".strip(),
        frames=tuple(
            Frame(
                path=relative_path(frame["path"], folder),
                line=int(frame["line"]),
                function=(frame["function"] or "").removeprefix("async ") or "<anonymous>",
            )
            for frame in reversed(frames)
        ),
        text=plain_text(text).strip()[:LONGEST_TEXT],
    )


def relative_path(path: str, folder: Path) -> str:
    """Return a reported path relative to the directory; absolute outside and in installed packages."""
    pure = PurePosixPath(path.removeprefix("file://"))
    if not pure.is_absolute():
        return f"<{path}>" if path.startswith("node:") else path
    if "node_modules" in pure.parts or not pure.is_relative_to(folder.resolve()):
        return str(pure)
    return pure.relative_to(folder.resolve()).as_posix()
