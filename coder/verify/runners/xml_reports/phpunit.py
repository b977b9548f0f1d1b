"""Adapter of PHPUnit."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from coder.core.verdict import Failure, TestResult
from coder.verify.results.reports import parse_junit
from coder.verify.runners.adapter import Invocation, Run, build_failures, find_program
from coder.verify.runners.arguments import without_options
from coder.verify.runners.sources import find_positions, source_files
from coder.verify.runners.xml_reports.reading import read_file, with_frames

REPORT = "report.xml"
PROGRAMS = "vendor/bin/phpunit", "phpunit"
OPTIONS = ("--do-not-cache-result", "--no-coverage", "--colors=never")
WITH_VALUES = ("--log-junit", "--filter", "--colors")
CLASS_FILE = re.compile(r'classname="(?P<owner>[^"]*)" file="(?P<file>[^"]*)"')
METHOD = re.compile(r"\w+")
FATAL_ERROR = re.compile(
    r"^PHP (?:Fatal|Parse) error: .* in (?P<path>/\S+?)(?::| on line )(?P<line>\d+)$", re.M
)
RISKY = "RiskyTestError"
"""Error of a test that asserts nothing, which is no failure by default."""


class PHPUnit:
    """Adapter of PHPUnit."""

    name = "phpunit"

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the command if the project configures PHPUnit."""
        if any((root / name).is_file() for name in ("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")):
            yield next((program for program in PROGRAMS if (root / program).exists()), "phpunit")

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether the program is PHPUnit, itself or started by PHP."""
        return find_program(words, "phpunit", through=("php",)) is not None

    def prepare(self, run: Run) -> Invocation:
        """Select methods by a pattern, since only newer versions accept several files."""
        words = without_options(run.argv, ("--log-junit", "--colors"), WITH_VALUES)
        if run.files:
            words = without_options(words, ("--filter",), WITH_VALUES)
        selection = ("--filter", _filter(run)) if run.files else ()
        return Invocation(argv=(*words, *OPTIONS, "--log-junit", str(run.place / REPORT), *selection))

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in the report, or the files that could not be loaded."""
        text, root = read_file(run.place / REPORT, run.place), run.tree.resolve()
        files = {
            match["owner"]: match["file"].removeprefix(f"{root}/") for match in CLASS_FILE.finditer(text)
        }
        for result in parse_junit(text):
            owner, _, name = result.id.partition("::")
            yield _to_result(result, f"{files.get(owner, owner)}::{name}", root)
        errors = list(FATAL_ERROR.finditer(run.output))
        positions = find_positions("\n".join(f"{error['path']}:{error['line']}" for error in errors), root)
        test_files = (path for path in source_files(root, (".php",)) if path.endswith("Test.php"))
        text = "\n".join(error[0] for error in errors)
        yield from build_failures(run, positions, text, test_files=test_files)


def _filter(run: Run) -> str:
    """Return a pattern of the full names of methods, with any data set."""
    methods: dict[str, set[str]] = defaultdict(set)
    for test in run.tests:
        path, _, name = test.partition("::")
        match = METHOD.match(name)
        methods[path].add(match[0] if match else r"\w+")
    names = [rf"{PurePosixPath(path).stem}::(?:{'|'.join(sorted(found))})" for path, found in methods.items()]
    return rf"/(?:^|\\)(?:{'|'.join(names)})(?:$| with data set |#)/"


def _to_result(result: TestResult, id: str, root: Path) -> TestResult:
    """Return a result whose failure has the message below the heading, which repeats the test's name."""
    if result.failure is None:
        return result.model_copy(update={"id": id})
    type = result.failure.type.rpartition("\\")[2]
    if type == RISKY:
        return result.model_copy(update={"id": id, "outcome": "passed", "failure": None})
    _, _, body = result.failure.text.partition("\n")
    message = body.partition("\n\n")[0].removeprefix(f"{result.failure.type}: ")
    failure = Failure(type=type, message=message, text=result.failure.text)
    frames = reversed(find_positions(body, root))
    return with_frames(result.model_copy(update={"failure": failure}), id, frames)
