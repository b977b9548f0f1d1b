"""Planted faults: how many seeded mutants of the product are caught by the tests that enter their function.

    python -m benchmarks planted_faults record MAP [PYTEST ARGUMENTS...]
    python -m benchmarks planted_faults try MAP [--count N] [--seed N] [--json FILE] [PYTEST ARGUMENTS...]

`record` runs the tests of this checkout once and notes which of them pass and enter which function of
`coder` and `tools`; it is fast from Python 3.12 on. `try` plants one mutant at a time in this checkout, which
should be a clone: a comparison flipped, a condition negated, None returned, a constant changed, a statement
removed. It runs the tests that enter the function, those that enter the fewest functions first, and stops at
the first red. The draw depends on the seed and on the product alone: two states of the tests get the same
mutants. A map of `record MAP --thorough` serves both `try MAP` and `try MAP --thorough`.
"""

import argparse
import ast
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = tuple(f"{ROOT / folder}{os.sep}" for folder in ("coder", "tools"))
KINDS_OF_FAULTS = ("constant in a function", "operator", "return", "condition", "statement")
LEFT_OUT = (
    "demo/project",
    "bench/suite",
    "bench/challenges",
    "coder/tools",
    "coder/prompts",
    "/target/",
)
"""Data, links, and modules that run in other interpreters, where nothing is recorded."""
MOST_TESTS = 60
"""Tests of one mutant, those that enter the fewest functions first."""
PYTEST = [sys.executable, "-m", "pytest", "-p", "benchmarks.planted_faults"]
TOOL = 4
"""Identifier for sys.monitoring that neither debuggers, profilers nor the product use."""


class EntryRecorder:
    """Pytest plugin that notes the functions each passing test enters, in this process and its threads."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / f"{os.getpid()}.jsonl"
        self._functions: set[str] = set()
        self._answer: object = None
        if sys.version_info >= (3, 12):
            self._answer = sys.monitoring.DISABLE
            sys.monitoring.use_tool_id(TOOL, "planted_faults")
            sys.monitoring.register_callback(TOOL, sys.monitoring.events.PY_START, self._note)

    def _note(self, code: CodeType, _offset: int = 0) -> object:
        """Note a function; sys.monitoring reports it once a test."""
        if code.co_filename.startswith(PRODUCT) and not code.co_name.startswith("<"):
            self._functions.add(f"{code.co_filename}:{code.co_firstlineno}")
        return self._answer

    def _trace(self, frame: FrameType, _event: str, _argument: Any) -> None:
        self._note(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._functions, failures = set(), item.session.testsfailed
        if sys.version_info >= (3, 12):
            sys.monitoring.restart_events()
            sys.monitoring.set_events(TOOL, sys.monitoring.events.PY_START)
        else:
            threading.settrace(self._trace)
            sys.settrace(self._trace)
        result = yield
        if sys.version_info >= (3, 12):
            sys.monitoring.set_events(TOOL, 0)
        else:
            threading.settrace(None)
            sys.settrace(None)
        if item.session.testsfailed == failures:
            record = {"test": item.nodeid, "functions": sorted(map(_relative_name, [*self._functions]))}
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
        return result


@cache
def _relative_name(function: str) -> str:
    """Return `path:line` of a function, relative to the checkout and without links."""
    return Path(os.path.realpath(function)).relative_to(ROOT).as_posix()


def pytest_configure(config: pytest.Config) -> None:
    """Record in each process into a file of its own: pytest loads this module as a plugin."""
    if folder := os.environ.get("PLANTED_FAULTS_MAP"):
        config.pluginmanager.register(EntryRecorder(Path(folder)))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the first tests of a mutant, in their order."""
    if file := os.environ.get("PLANTED_FAULTS_TESTS"):
        found = {item.nodeid: item for item in items}
        tests = json.loads(Path(file).read_text(encoding="utf-8"))
        items[:] = [found[test] for test in tests if test in found][:MOST_TESTS]


def record(arguments: argparse.Namespace, options: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PLANTED_FAULTS_MAP": folder}
        command = [*PYTEST, *(options or ["-n", "auto"])]
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        parts = sorted(Path(folder).glob("*.jsonl"))
        arguments.map.write_text(
            "".join(part.read_text(encoding="utf-8") for part in parts), encoding="utf-8"
        )
    return status


def read_map(file: Path) -> dict[str, list[str]]:
    """Return the tests that enter each function, those that enter the fewest functions first."""
    tests: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for function in record["functions"]:
            tests[function].append((len(record["functions"]), record["test"]))
    return {function: [test for _, test in sorted(entries)] for function, entries in tests.items()}


def draw_mutants(seed: int) -> Iterator[tuple[str, str, Path, str]]:
    """Yield function, kind, path and new text of a mutant of each function, in random order."""
    from benchmarks.mutations import KINDS, Text  # not in the plugin: it imports the product

    rng = random.Random(seed)
    functions = [
        (path, node)
        for path in sorted(path for folder in PRODUCT for path in Path(folder).rglob("*.py"))
        if not any(part in path.as_posix() for part in LEFT_OUT)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    rng.shuffle(functions)
    for path, node in functions:
        text = Text(path.read_text(encoding="utf-8"))
        start, _ = text.span(node.body[1] if ast.get_docstring(node) and node.body[1:] else node.body[0])
        end = text.span(node)[1]
        places = [
            (kind, *place)
            for kind in KINDS_OF_FAULTS
            for place in KINDS[kind](text, rng)
            if start <= place[0] and place[1] <= end and text.text[place[0] : place[1]] != "return"
        ]
        if places:
            kind = rng.choice(sorted({kind for kind, *_ in places}))
            _, first, last, new = rng.choice([place for place in places if place[0] == kind])
            mutated = text.text[:first] + new + text.text[last:]
            line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if mutated != text.text:
                yield f"{path.relative_to(ROOT).as_posix()}:{line}", kind, path, mutated


def try_mutants(arguments: argparse.Namespace, options: list[str]) -> int:
    entered = read_map(arguments.map)
    outcomes: list[dict[str, object]] = []
    for function, kind, path, mutated in draw_mutants(arguments.seed):
        if len(outcomes) == arguments.count:
            break
        tests, started, original = entered.get(function, []), time.monotonic(), path.read_bytes()
        path.write_text(mutated, encoding="utf-8")
        try:
            is_caught, reason = _run_tests(tests, options, seconds=arguments.seconds)
        finally:
            path.write_bytes(original)
        outcomes.append(
            {"function": function, "kind": kind, "tests": len(tests), "caught": is_caught, "reason": reason}
        )
        word, seconds = "caught" if is_caught else "SURVIVED", time.monotonic() - started
        print(f"{len(outcomes):>3} {word:<8} {seconds:>4.0f} s  {kind}  {function}  {reason}", flush=True)
    print(f"{sum(bool(outcome['caught']) for outcome in outcomes)} of {len(outcomes)} caught")
    if arguments.json:
        arguments.json.write_text(json.dumps(outcomes, indent=1), encoding="utf-8")
    return 0


def _run_tests(tests: list[str], options: list[str], *, seconds: float) -> tuple[bool, str]:
    """Return whether a test is red, and which or why not; tests that are not there are left out."""
    files = sorted({file for test in tests if (ROOT / (file := test.partition("::")[0])).is_file()})
    if not files:
        return False, "no test"
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as chosen:
        json.dump(tests, chosen)
        chosen.flush()
        environment = {"PLANTED_FAULTS_TESTS": chosen.name, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            result = subprocess.run(
                [*PYTEST, "-x", *options, *files],
                cwd=ROOT,
                env={**os.environ, **environment},
                capture_output=True,
                text=True,
                check=False,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return False, f"no red test in {seconds:g} s"
    lines = result.stdout.splitlines()
    red = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return result.returncode in (1, 2, 3), [*lines, *result.stderr.splitlines(), *red][-1][:200]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks planted_faults")
    parser.add_argument("action", choices=["record", "try"])
    parser.add_argument("map", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0, help="limit for the tests of one mutant")
    parser.add_argument("--json", type=Path)
    arguments, options = parser.parse_known_args()
    return (record if arguments.action == "record" else try_mutants)(arguments, options)


if __name__ == "__main__":
    raise SystemExit(main())
