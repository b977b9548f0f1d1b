"""Adapter of CTest, which configures and builds the project with CMake first."""

import json
import os
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from coder.core.verdict import Failure, TestResult
from coder.verify.runners.adapter import Invocation, Run, build_failures
from coder.verify.runners.arguments import alternatives, without_options
from coder.verify.runners.sources import find_positions, read_source, source_files
from coder.verify.runners.xml_reports.reading import read_file, read_report, with_frames

MANIFEST = "CMakeLists.txt"
HAS_TESTS = re.compile(r"\b(?:enable_testing|add_test)\s*\(|\binclude\s*\(\s*CTest\s*\)", re.I)
WITH_VALUES = ("--test-dir", "--output-junit", "-R", "--tests-regex")
REPORT, TESTS, BUILD = "report.xml", "tests.json", "build"
OBJECT_FILE = re.compile(r"\bCMakeFiles/(?P<target>[^\s/]+)\.dir/")
POSITION = re.compile(r"(?P<path>[\w./+-]+\.(?:[ch]|cc|hh|[ch]pp|[ch]xx)):(?P<line>\d+)\b")
ERROR = re.compile(rf"^{POSITION.pattern}(?::\d+)?: (?:fatal )?error: .*$", re.M)
ASSERTION = re.compile(r"^.*(?:\bassert|\bfail|\bexpected\b|\berror\b).*$", re.I | re.M)


class CTest:
    """Adapter of CTest."""

    name = "ctest"

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the command if the project in this directory has tests."""
        if (root / MANIFEST).is_file():
            manifests = (path for path in source_files(root, (".txt",)) if path.endswith(MANIFEST))
            if any(HAS_TESTS.search(read_source(root, path)) for path in manifests):
                yield "ctest"

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether the program is CTest."""
        return bool(words) and words[0].rpartition("/")[2] == "ctest"

    def prepare(self, run: Run) -> Invocation:
        """Build outside of the tree, in the directory of this run; select tests if all are named."""
        words = without_options(run.argv[1:], ("--test-dir", "--output-junit"), WITH_VALUES)
        names = [test.partition("::")[2] for test in run.tests]
        if names and all(names):
            words = (*without_options(words, ("-R", "--tests-regex"), WITH_VALUES), "-R", alternatives(names))
        build = str(run.place / BUILD)
        ctest = (run.argv[0], "--test-dir", build)
        commands = (
            ("cmake", "-S", ".", "-B", build, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"),
            ("cmake", "--build", build, "--parallel", str(os.cpu_count() or 1)),
            (*ctest, "--show-only=json-v1"),
            (*ctest, "--output-junit", str(run.place / REPORT), *words),
        )
        configure, compile, show, test = map(shlex.join, commands)
        tests = shlex.quote(str(run.place / TESTS))
        return Invocation(
            argv=("sh", "-c", f"{configure} && {compile} && {show} > {tests} && {test}"),
            environment={"CTEST_OUTPUT_ON_FAILURE": "1"},
        )

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in the report, or the files that could not be compiled."""
        root = run.tree.resolve()
        files = _files_of_tests(run.place, root)
        for result in read_report(run.place / REPORT, run.place):
            name = result.id.rpartition("::")[2]
            yield _to_result(result, f"{files.get(name, MANIFEST)}::{name}", root)
        errors = "\n".join(match[0] for match in ERROR.finditer(run.output))
        positions = find_positions(errors, root, pattern=POSITION)
        yield from build_failures(run, positions, errors, test_files=())


def _to_result(result: TestResult, id: str, root: Path) -> TestResult:
    """Return a result with the last line of its output that tells of an assertion, if it failed."""
    if result.failure is None:
        return result.model_copy(update={"id": id})
    text = result.failure.text
    lines = ASSERTION.findall(text) or text.splitlines()
    failure = Failure(
        type="AssertionError" if lines else "Error",
        message=lines[-1].strip() if lines else "the program failed without a message",
        text=text,
    )
    frames = reversed(find_positions(text, root, pattern=POSITION))
    return with_frames(result.model_copy(update={"failure": failure}), id, frames)


def _files_of_tests(place: Path, root: Path) -> Mapping[str, str]:
    """Return the source file of each test whose program is built from files of the tree.

    Of several files it is the one that names the test or a part of it, as Google Test and Catch2 do.
    """
    files: dict[str, str] = {}
    sources = _sources_of_targets(place, root)
    listing = _read_json(place / TESTS, place)
    for test in listing.get("tests", ()) if isinstance(listing, dict) else ():
        name, command = str(test.get("name")), test.get("command") or [""]
        found = sources.get(PurePosixPath(str(command[0])).name, [])
        own = re.split(r"[./]", name)
        words = [name, *(f"{suite}, {case}" for suite, case in pairwise(own))]
        texts = {path: read_source(root, path) for path in found} if len(found) > 1 else {}
        named = (path for path, text in texts.items() if any(word in text for word in words))
        if found:
            files[name] = next(named, found[0])
    return files


def _sources_of_targets(place: Path, root: Path) -> Mapping[str, list[str]]:
    """Return the source files of each target, relative to the tree."""
    sources: dict[str, list[str]] = defaultdict(list)
    commands = _read_json(place / BUILD / "compile_commands.json", place)
    for command in commands if isinstance(commands, list) else ():
        path, target = PurePosixPath(str(command["file"])), OBJECT_FILE.search(str(command["command"]))
        if target and path.is_relative_to(root):
            sources[target["target"]].append(path.relative_to(root).as_posix())
    return sources


def _read_json(file: Path, place: Path) -> Any:
    try:
        return json.loads(read_file(file, place))
    except ValueError:
        return {}
