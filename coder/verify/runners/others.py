"""RSpec, PHPUnit, CTest and `dotnet test`."""

import os
import re
import shlex
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

from coder.core.documents import parse_json
from coder.core.verdict import Failure, Frame, Outcome, TestResult
from coder.verify.runners.adapter import (
    DEEPEST_MANIFEST,
    LONGEST_TEXT,
    Invocation,
    Run,
    alternatives,
    build_failures,
    collection_failure,
    find_positions,
    find_program,
    normalize_failure,
    path_in_tree,
    plain_text,
    read_json,
    read_source,
    source_files,
    split_operands,
    without_options,
)
from coder.verify.runners.reports import parse_junit, read_file, read_report, with_frames

RSPEC_REPORT = "report.json"
RSPEC_WITH_VALUES = (
    *("-I", "-r", "--require", "-O", "--options", "--order", "--seed", "-f", "--format", "-o", "--out"),
    *("-P", "--pattern", "--exclude-pattern", "-e", "--example", "-E", "--example-matches", "-t", "--tag"),
    *("--default-path", "--failure-exit-code", "--error-exit-code", "--drb-port", "--deprecation-out"),
)
SELECTING = ("-e", "--example", "-E", "--example-matches", "-P", "--pattern")
LOAD_ERROR = re.compile(r"An error occurred while loading (?:\./)?(?P<path>\S+?\.rb)\b")
BACKTRACE_LINE = re.compile(r"^(?P<path>[^:\n]+\.rb):(?P<line>\d+):in [`'](?P<function>.*)'$")
REPEATED = re.compile(r" #\d+$")
"""Number that the second example of a name is given."""
RSPEC_OUTCOMES: Mapping[str, Outcome] = {"passed": "passed", "failed": "failed"}


class RSpec:
    name = "rspec"

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the command if there are specs; through Bundler where it is installed and has a lock file."""
        if (root / ".rspec").is_file() or next((root / "spec").glob("**/*_spec.rb"), None):
            is_bundled = (root / "Gemfile.lock").is_file() and shutil.which("bundle")
            yield "bundle exec rspec" if is_bundled else "rspec"

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether the program is RSpec, itself or started by Bundler or Ruby."""
        return find_program(words, "rspec", through=("bundle", "exec", "ruby")) is not None

    def prepare(self, run: Run) -> Invocation:
        """Name files, and the full descriptions of examples: they are more stable than numbers."""
        start = (find_program(run.argv, "rspec", through=("bundle", "exec", "ruby")) or 0) + 1
        words = without_options(run.argv[start:], ("-f", "--format", "-o", "--out"), RSPEC_WITH_VALUES)
        if run.files:
            options, _ = split_operands(
                without_options(words, SELECTING, RSPEC_WITH_VALUES), RSPEC_WITH_VALUES
            )
            words = (*options, *_rspec_selection(run.tests), *run.files)
        report = ("--format", "json", "--out", str(run.place / RSPEC_REPORT), "--no-color", "--backtrace")
        return Invocation(argv=(*run.argv[:start], *report, *words))

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in the report; files that could not be loaded are named in its messages."""
        report = read_json(run.place / RSPEC_REPORT)
        for example in report.get("examples", ()):
            yield _rspec_result(example, run.tree)
        for message in map(str, report.get("messages", ())):
            if match := LOAD_ERROR.search(message):
                text = re.sub(r"Error:\n\s+", "Error: ", plain_text(message).strip())
                stack = "\n".join(line.removeprefix("# ") for line in text.splitlines())
                frames = tuple(reversed(find_positions(stack, run.tree.resolve())))
                yield collection_failure(match["path"], text.partition("Failure/Error:")[2] or text, frames)


def _rspec_selection(tests: Sequence[str]) -> tuple[str, ...]:
    """Return the options that select examples by description; none if a whole file is asked for."""
    names = [REPEATED.sub("", test.partition("::")[2]) for test in tests]
    return tuple(word for name in dict.fromkeys(names) for word in ("-e", name)) if all(names) else ()


def _rspec_result(example: Mapping[str, Any], tree: Path) -> TestResult:
    path = str(example.get("id") or example.get("file_path")).partition("[")[0].removeprefix("./")
    outcome = RSPEC_OUTCOMES.get(str(example.get("status")), "skipped")
    return TestResult(
        id=f"{path}::{example.get('full_description')}",
        outcome=outcome,
        seconds=example.get("run_time") or 0.0,
        failure=_parse_exception(example.get("exception") or {}, tree) if outcome == "failed" else None,
    )


def _parse_exception(exception: Mapping[str, Any], tree: Path) -> Failure:
    lines = [str(line) for line in exception.get("backtrace") or ()]
    frames = [
        Frame(
            path=path_in_tree(match["path"], tree).removeprefix("./"),
            line=int(match["line"]),
            function=match["function"],
        )
        for line in lines
        if (match := BACKTRACE_LINE.match(line)) and read_source(tree, match["path"])
    ]
    type, message = str(exception.get("class")).rpartition("::")[2], str(exception.get("message")).strip()
    text = "\n".join([message, *lines])[:LONGEST_TEXT]
    return normalize_failure(Failure(type=type, message=message, text=text), reversed(frames))


PHPUNIT_REPORT = "report.xml"
PROGRAMS = "vendor/bin/phpunit", "phpunit"
OPTIONS = ("--do-not-cache-result", "--no-coverage", "--colors=never")
PHPUNIT_WITH_VALUES = ("--log-junit", "--filter", "--colors")
CLASS_FILE = re.compile(r'classname="(?P<owner>[^"]*)" file="(?P<file>[^"]*)"')
METHOD = re.compile(r"\w+")
FATAL_ERROR = re.compile(
    r"^PHP (?:Fatal|Parse) error: .* in (?P<path>/\S+?)(?::| on line )(?P<line>\d+)$", re.M
)
RISKY = "RiskyTestError"
"""Error of a test that asserts nothing, which is no failure by default."""


class PHPUnit:
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
        words = without_options(run.argv, ("--log-junit", "--colors"), PHPUNIT_WITH_VALUES)
        if run.files:
            words = without_options(words, ("--filter",), PHPUNIT_WITH_VALUES)
        selection = ("--filter", _filter(run)) if run.files else ()
        return Invocation(argv=(*words, *OPTIONS, "--log-junit", str(run.place / PHPUNIT_REPORT), *selection))

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in the report, or the files that could not be loaded."""
        text, root = read_file(run.place / PHPUNIT_REPORT, run.place), run.tree.resolve()
        files = {
            match["owner"]: match["file"].removeprefix(f"{root}/") for match in CLASS_FILE.finditer(text)
        }
        for result in parse_junit(text):
            owner, _, name = result.id.partition("::")
            yield _phpunit_result(result, f"{files.get(owner, owner)}::{name}", root)
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


def _phpunit_result(result: TestResult, id: str, root: Path) -> TestResult:
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


MANIFEST = "CMakeLists.txt"
HAS_TESTS = re.compile(r"\b(?:enable_testing|add_test)\s*\(|\binclude\s*\(\s*CTest\s*\)", re.I)
CTEST_WITH_VALUES = ("--test-dir", "--output-junit", "-R", "--tests-regex")
CTEST_REPORT, TESTS, BUILD = "report.xml", "tests.json", "build"
OBJECT_FILE = re.compile(r"\bCMakeFiles/(?P<target>[^\s/]+)\.dir/")
POSITION = re.compile(r"(?P<path>[\w./+-]+\.(?:[ch]|cc|hh|[ch]pp|[ch]xx)):(?P<line>\d+)\b")
CTEST_ERROR = re.compile(rf"^{POSITION.pattern}(?::\d+)?: (?:fatal )?error: .*$", re.M)
ASSERTION = re.compile(r"^.*(?:\bassert|\bfail|\bexpected\b|\berror\b).*$", re.I | re.M)


class CTest:
    name = "ctest"

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the command if the project in this directory has tests."""
        if (root / MANIFEST).is_file():
            manifests = (path for path in source_files(root, (".txt",)) if path.endswith(MANIFEST))
            if any(HAS_TESTS.search(read_source(root, path)) for path in manifests):
                yield "ctest"

    def recognizes(self, words: Sequence[str]) -> bool:
        return bool(words) and words[0].rpartition("/")[2] == "ctest"

    def prepare(self, run: Run) -> Invocation:
        """Build outside of the tree, in the directory of this run; select tests if all are named."""
        words = without_options(run.argv[1:], ("--test-dir", "--output-junit"), CTEST_WITH_VALUES)
        names = [test.partition("::")[2] for test in run.tests]
        if names and all(names):
            words = (
                *without_options(words, ("-R", "--tests-regex"), CTEST_WITH_VALUES),
                "-R",
                alternatives(names),
            )
        build = str(run.place / BUILD)
        ctest = (run.argv[0], "--test-dir", build)
        commands = (
            ("cmake", "-S", ".", "-B", build, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"),
            ("cmake", "--build", build, "--parallel", str(os.cpu_count() or 1)),
            (*ctest, "--show-only=json-v1"),
            (*ctest, "--output-junit", str(run.place / CTEST_REPORT), *words),
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
        for result in read_report(run.place / CTEST_REPORT, run.place):
            name = result.id.rpartition("::")[2]
            yield _ctest_result(result, f"{files.get(name, MANIFEST)}::{name}", root)
        errors = "\n".join(match[0] for match in CTEST_ERROR.finditer(run.output))
        positions = find_positions(errors, root, pattern=POSITION)
        yield from build_failures(run, positions, errors, test_files=())


def _ctest_result(result: TestResult, id: str, root: Path) -> TestResult:
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
        return parse_json(read_file(file, place))
    except (ValueError, RecursionError):
        return {}


SUFFIXES = (".cs", ".fs", ".vb")
PROJECTS = (".csproj", ".fsproj", ".vbproj")
TEST_PACKAGE = "Microsoft.NET.Test.Sdk"
RESULTS = "results"
SPACE = "{http://microsoft.com/schemas/VisualStudio/TeamTest/2010}"
DOTNET_WITH_VALUES = ("-l", "--logger", "-r", "--results-directory", "--filter")
NAMESPACE = re.compile(r"^\s*namespace\s+([\w.]+)", re.M)
CLASS = re.compile(r"^[^/\n]*\b(?:class|record|module|type)\s+(\w+)", re.M)
STACK_FRAME = re.compile(r"^\s+at (?P<function>.+?) in (?P<path>.+?):line (?P<line>\d+)\s*$", re.M)
DOTNET_ERROR = re.compile(r"^\s*(?P<path>/[^(\n]+)\((?P<line>\d+),\d+\): error .*$", re.M)
ENVIRONMENT: Mapping[str, str] = {"DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1"}
DOTNET_OUTCOMES: Mapping[str | None, Outcome] = {"Passed": "passed", "Failed": "failed"}


class DotnetTest:
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
        words = without_options(run.argv, names, DOTNET_WITH_VALUES)
        report = ("--logger", "trx;LogFilePrefix=report", "--results-directory", str(run.place / RESULTS))
        selection = ("--filter", "|".join(_dotnet_selection(run))) if run.files else ()
        end = words.index("--") if "--" in words else len(words)  # settings of the run follow
        return Invocation(argv=(*words[:end], *report, *selection, *words[end:]), environment=ENVIRONMENT)

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in the reports, or the files that could not be compiled."""
        root = run.tree.resolve()
        files = {name: path for path in source_files(root, SUFFIXES) for name in _class_names(root, path)}
        for file in sorted((run.place / RESULTS).glob("*.trx")):
            yield from _read_report(read_file(file, run.place), files, root)
        errors = dict.fromkeys(match[0].strip() for match in DOTNET_ERROR.finditer(run.output))
        frames = find_positions("\n".join(errors), root, pattern=DOTNET_ERROR)
        test_files = (
            path for path in files.values() if path.endswith(tuple(f"Tests{end}" for end in SUFFIXES))
        )
        yield from build_failures(run, frames, "\n".join(errors), test_files=test_files)


def _dotnet_selection(run: Run) -> Iterator[str]:
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
        outcome = DOTNET_OUTCOMES.get(node.get("outcome"), "skipped")
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
            path=path_in_tree(match["path"], root),
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
