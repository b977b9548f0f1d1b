"""Planted faults: how many seeded mutants of the product are caught by the tests that enter their function.

    python -m benchmarks planted_faults record MAP [PYTEST ARGUMENTS...]
    python -m benchmarks planted_faults try MAP CLONE [--of CHECKOUT] [--count N] [--seed N] [--json FILE]

`record` runs the tests once and notes which of them enter which function of `coder` and `tools`. `try`
plants one mutant at a time in CLONE, a clone of the checkout with an environment of its own, which is made
if it is not there: a comparison flipped, a condition negated, None returned, a constant changed, a
statement removed. It runs the tests that enter the function, those that enter the fewest functions first,
and stops at the first red. The same seed draws the same mutants in two states of the tests, as long as the
product is the same.
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
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from benchmarks.mutations import KINDS, Text

ROOT = Path(__file__).parents[1]
KINDS_OF_FAULTS = ("constant in a function", "operator", "return", "condition", "statement")
LEFT_OUT = (
    "demo/project",
    "bench/suite",
    "bench/challenges",
    "coder/tools",
    "coder/prompts",
    "verify/target/",
)
"""Data, links, and modules that run in other interpreters, where nothing is recorded."""
MOST_TESTS = 60
"""Tests of one mutant, those that enter the fewest functions first."""


class EntryRecorder:
    """Pytest plugin that notes the functions each test enters, in this process and its threads."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._codes: set[CodeType] = set()

    def _trace(self, frame: FrameType, _event: str, _argument: Any) -> None:
        self._codes.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._codes = set()
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        started = time.monotonic()
        try:
            result = yield
        finally:
            sys.settrace(None)
            threading.settrace(None)
        record = {
            "test": item.nodeid,
            "seconds": time.monotonic() - started,
            "functions": sorted(filter(None, map(_name_of, [*self._codes]))),
        }
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        return result


def _name_of(code: CodeType) -> str:
    """Return `path:line` of a function of the product, empty for others."""
    path = code.co_filename
    if not path.startswith(f"{ROOT}{os.sep}") or code.co_name.startswith("<"):
        return ""
    relative = Path(os.path.realpath(path)).relative_to(ROOT).as_posix()
    return f"{relative}:{code.co_firstlineno}" if relative.startswith(("coder/", "tools/")) else ""


def pytest_configure(config: pytest.Config) -> None:
    """Record in each worker, into a file of its own: pytest loads this module as a plugin."""
    if (folder := os.environ.get("PLANTED_FAULTS_MAP")) and hasattr(config, "workerinput"):
        file = Path(folder, f"{os.environ['PYTEST_XDIST_WORKER']}.jsonl")
        config.pluginmanager.register(EntryRecorder(file))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a mutant, in their order."""
    if file := os.environ.get("PLANTED_FAULTS_TESTS"):
        order = {
            test: number for number, test in enumerate(json.loads(Path(file).read_text(encoding="utf-8")))
        }
        items[:] = sorted(
            (item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid]
        )


def read_map(folder: Path) -> dict[str, list[str]]:
    """Return the tests that enter each function, those that enter the fewest functions first."""
    tests: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for file in folder.glob("*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            for function in record["functions"]:
                tests[function].append((len(record["functions"]), record["test"]))
    return {function: [test for _, test in sorted(entries)] for function, entries in tests.items()}


def draw_mutants(
    root: Path, entered: dict[str, list[str]], *, seed: int
) -> Iterator[tuple[str, str, str, str]]:
    """Yield function, kind, path and new text of a mutant of each entered function, in random order."""
    rng = random.Random(seed)
    functions = sorted(name for name in entered if not any(part in name for part in LEFT_OUT))
    rng.shuffle(functions)
    for function in functions:
        path, _, line = function.rpartition(":")
        text = Text((root / path).read_text(encoding="utf-8"))
        node = next(
            (
                node
                for node in ast.walk(text.tree)
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) == int(line)
            ),
            None,
        )
        if node is None:
            continue
        start, _ = text.span(node.body[1] if ast.get_docstring(node) and node.body[1:] else node.body[0])
        end = text.span(node)[1]
        places = [
            (kind, *place)
            for kind in KINDS_OF_FAULTS
            for place in KINDS[kind](text, rng)
            if start <= place[0] and place[1] <= end
        ]
        if places:
            kind = rng.choice(sorted({kind for kind, *_ in places}))
            _, first, last, new = rng.choice([place for place in places if place[0] == kind])
            mutated = text.text[:first] + new + text.text[last:]
            if mutated != text.text:
                yield function, kind, path, mutated


def record(arguments: argparse.Namespace, rest: list[str]) -> int:
    folder = arguments.map.resolve()
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "pytest", "-p", "benchmarks.planted_faults", *(rest or ["-n", "auto"])]
    environment = {**os.environ, "PLANTED_FAULTS_MAP": str(folder)}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def make_clone(checkout: Path, clone: Path) -> None:
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", str(checkout), str(clone)], check=True)
        subprocess.run([sys.executable, "-m", "venv", str(clone / ".venv")], check=True)
        pip = [str(clone / ".venv" / "bin" / "pip"), "install", "--quiet", "--editable", ".[dev]"]
        subprocess.run(pip, cwd=clone, check=True)


def try_mutants(arguments: argparse.Namespace) -> int:
    clone: Path = arguments.clone.resolve()
    make_clone(arguments.of, clone)
    entered = read_map(arguments.map)
    outcomes: list[dict[str, object]] = []
    mutants = draw_mutants(ROOT, entered, seed=arguments.seed)
    while len(outcomes) < arguments.count and (mutant := next(mutants, None)):
        function, kind, path, mutated = mutant
        original = (clone / path).read_text(encoding="utf-8") if (clone / path).is_file() else ""
        if original != (ROOT / path).read_text(encoding="utf-8"):
            continue
        started = time.monotonic()
        (clone / path).write_text(mutated, encoding="utf-8")
        try:
            is_caught, reason = _run_tests(clone, entered[function][:MOST_TESTS], seconds=arguments.seconds)
        finally:
            (clone / path).write_text(original, encoding="utf-8")
        outcomes.append({"function": function, "kind": kind, "caught": is_caught, "reason": reason})
        word, seconds = "caught" if is_caught else "SURVIVED", time.monotonic() - started
        print(f"{len(outcomes):>3} {word:<8} {seconds:>4.0f} s  {kind}  {function}  {reason}", flush=True)
    print(f"{sum(bool(outcome['caught']) for outcome in outcomes)} of {len(outcomes)} caught")
    if arguments.json:
        arguments.json.write_text(json.dumps(outcomes, indent=1), encoding="utf-8")
    return 0


def _run_tests(clone: Path, tests: list[str], *, seconds: float) -> tuple[bool, str]:
    """Return whether a test is red, and which or why not; tests that are not there are left out."""
    files = sorted({file for test in tests if (clone / (file := test.partition("::")[0])).is_file()})
    if not files:
        return False, "no test"
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as chosen:
        json.dump(tests, chosen)
        chosen.flush()
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PLANTED_FAULTS_TESTS": chosen.name}
        command = [
            str(clone / ".venv" / "bin" / "python"),
            "-m",
            "pytest",
            "-x",
            "-p",
            "benchmarks.planted_faults",
        ]
        try:
            result = subprocess.run(
                [*command, *files],
                cwd=clone,
                env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True,
                text=True,
                check=False,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return False, f"no red test in {seconds:g} s"
    lines = result.stdout.splitlines()
    red = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return result.returncode in (1, 2, 3), [*lines, *result.stderr.splitlines(), *red][-1][:120]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks planted_faults")
    parser.add_argument("action", choices=["record", "try"])
    parser.add_argument("map", type=Path)
    parser.add_argument("clone", type=Path, nargs="?")
    parser.add_argument("--of", type=Path, default=ROOT, help="the checkout that is cloned")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0, help="limit for the tests of one mutant")
    parser.add_argument("--json", type=Path)
    arguments, rest = parser.parse_known_args()
    return record(arguments, rest) if arguments.action == "record" else try_mutants(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
