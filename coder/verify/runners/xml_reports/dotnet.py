"""Adapter of `dotnet test`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from coder.core.verdict import Failure, Frame, Outcome, TestResult
from coder.verify.runners.adapter import LONGEST_TEXT, Invocation, Run, build_failures, normalize_failure
from coder.verify.runners.arguments import without_options
from coder.verify.runners.sources import DEEPEST_MANIFEST, read_source, source_files
from coder.verify.runners.xml_reports.reading import read_file

SUFFIXES = (".cs", ".fs", ".vb")
PROJECTS = (".csproj", ".fsproj", ".vbproj")
TEST_PACKAGE = "Microsoft.NET.Test.Sdk"
RESULTS = "results"
SPACE = "{http://microsoft.com/schemas/VisualStudio/TeamTest/2010}"
WITH_VALUES = ("-l", "--logger", "-r", "--results-directory", "--filter")
NAMESPACE = re.compile(r"^\s*namespace\s+([\w.]+)", re.M)
CLASS = re.compile(r"^[^/\n]*\b(?:class|record|module|type)\s+(\w+)", re.M)
STACK_FRAME = re.compile(r"^\s+at (?P<function>.+?) in (?P<path>.+?):line (?P<line>\d+)\s*$", re.M)
ERROR = re.compile(r"^\s*(?P<path>/[^(\n]+)\((?P<line>\d+),\d+\): error .*$", re.M)
ENVIRONMENT: Mapping[str, str] = {"DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1"}
OUTCOMES: Mapping[str | None, Outcome] = {"Passed": "passed", "Failed": "failed"}


class DotnetTest:
    """Adapter of `dotnet test`."""

    name = "dotnet"

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the command for the solution in this directory, or else for the first project with tests."""
        if any(next(root.glob(f"*{suffix}"), None) for suffix in (".sln", ".slnx", *PROJECTS)):
            yield "dotnet test"
            return
        for path in source_files(root, PROJECTS, deepest=DEEPEST_MANIFEST):
            if TEST_PACKAGE in read_source(root, path):
                yield f"dotnet test {path}"
                return

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether the command runs tests."""
        return [word.rpartition("/")[2] for word in words[:2]] == ["dotnet", "test"]

    def prepare(self, run: Run) -> Invocation:
        """Write a report for each project, and select classes or methods."""
        names = ("-l", "--logger", "-r", "--results-directory", *(["--filter"] if run.files else []))
        words = without_options(run.argv, names, WITH_VALUES)
        report = ("--logger", "trx;LogFilePrefix=report", "--results-directory", str(run.place / RESULTS))
        selection = ("--filter", "|".join(_selection(run))) if run.files else ()
        end = words.index("--") if "--" in words else len(words)  # settings of the run follow
        return Invocation(argv=(*words[:end], *report, *selection, *words[end:]), environment=ENVIRONMENT)

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in the reports, or the files that could not be compiled."""
        root = run.tree.resolve()
        files = {name: path for path in source_files(root, SUFFIXES) for name in _class_names(root, path)}
        for file in sorted((run.place / RESULTS).glob("*.trx")):
            yield from _read_report(read_file(file, run.place), files, root)
        errors = {match[0].strip(): match for match in ERROR.finditer(run.output)}
        frames = [
            Frame(path=_relative(error["path"], root), line=int(error["line"]), function="<unknown>")
            for error in errors.values()
            if PurePosixPath(error["path"]).is_relative_to(root)
        ]
        test_files = (
            path for path in files.values() if path.endswith(tuple(f"Tests{end}" for end in SUFFIXES))
        )
        yield from build_failures(run, frames, "\n".join(errors), test_files=test_files)


def _selection(run: Run) -> Iterator[str]:
    """Yield a condition for each selected test, and one for each class of a selected file."""
    for test in run.tests:
        path, _, name = test.partition("::")
        for owner in _class_names(run.tree, path):
            method = name.partition("(")[0]
            yield f"FullyQualifiedName={owner}.{method}" if method else f"FullyQualifiedName~{owner}."


def _class_names(tree: Path, path: str) -> list[str]:
    """Return the full names of the classes in a file."""
    text = read_source(tree, path)
    namespace = NAMESPACE.search(text)
    return [f"{namespace[1]}.{name}" if namespace else name for name in CLASS.findall(text)]


def _read_report(text: str, files: Mapping[str, str], root: Path) -> Iterator[TestResult]:
    try:
        report = ElementTree.fromstring(text if "<!ENTITY" not in text[:10_000] else "")
    except ElementTree.ParseError:
        return
    owners = {
        test.get("id"): (method.get("className") or "").partition(",")[0].partition("+")[0]
        for test in report.iter(f"{SPACE}UnitTest")
        if (method := test.find(f"{SPACE}TestMethod")) is not None
    }
    for node in report.iter(f"{SPACE}UnitTestResult"):
        owner, name = owners.get(node.get("testId"), ""), node.get("testName") or "?"
        outcome = OUTCOMES.get(node.get("outcome"), "skipped")
        yield TestResult(
            id=f"{files.get(owner, owner)}::{name.removeprefix(f'{owner}.')}",
            outcome=outcome,
            seconds=_seconds(node.get("duration") or ""),
            failure=_parse_failure(node, root) if outcome == "failed" else None,
        )


def _parse_failure(node: ElementTree.Element, root: Path) -> Failure:
    """Return the failure of a result; frameworks begin the message of an exception with its class."""
    message = (node.findtext(f".//{SPACE}Message") or "").strip()
    stack = node.findtext(f".//{SPACE}StackTrace") or ""
    exception = re.match(r"(?:Test method \S+ threw exception:\s+)?([\w.]+Exception)\s*: ", message)
    is_assertion = exception is None or exception[1].startswith(("Xunit.", "NUnit."))
    frames = [
        Frame(
            path=_relative(match["path"], root),
            line=int(match["line"]),
            function=match["function"].partition("(")[0].rpartition(".")[2],
        )
        for match in STACK_FRAME.finditer(stack)
    ]
    failure = Failure(
        type="AssertionError" if exception is None or is_assertion else exception[1].rpartition(".")[2],
        message=message[exception.end() :] if exception else message,
        text=f"{message}\n{stack}"[:LONGEST_TEXT],
    )
    return normalize_failure(failure, reversed(frames))


def _seconds(duration: str) -> float:
    match = re.fullmatch(r"(\d+):(\d+):(\d+(?:\.\d+)?)", duration)
    return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3]) if match else 0.0


def _relative(path: str, root: Path) -> str:
    pure = PurePosixPath(path)
    return pure.relative_to(root).as_posix() if pure.is_relative_to(root) else path
