"""Runners that write a report: Maven, Gradle, CTest, PHPUnit, RSpec and `dotnet test`, one row each."""

import os
import re
import shlex
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

from coder.core.text import parse_json
from coder.core.verdict import Failure, Frame, Outcome, TestResult
from coder.files.regular_files import DEEPEST_MANIFEST, is_within, manifest_directories, nearest, source_files
from coder.verify.runners.adapter import (
    LONGEST_TEXT,
    Invocation,
    Run,
    alternatives,
    build_failures,
    collection_failure,
    find_positions,
    find_program,
    json_object,
    junit_cases,
    parse_xml,
    plain_text,
    read_file,
    read_source,
    split_operands,
    with_frames,
    with_unique_ids,
    without_options,
)

Cases = Iterable[tuple[str, TestResult]]
"""Results under their bare names, each with its class or file; a file that cannot be loaded has no name."""


def _read_java(text: str) -> Cases:
    for owner, result in junit_cases(text):
        yield owner, result.model_copy(update={"id": result.id.removesuffix("()")})


@dataclass(frozen=True, kw_only=True)
class ReportRunner:
    """A runner and its report; `{place}` in its words is the directory of a run, `{program}` the runner."""

    name: str
    commands: tuple[str, ...]
    """Commands that run the tests: the first whose program the project brings, else the last."""
    markers: tuple[str, ...]
    """Patterns of files in the root of a project that uses it."""
    inner: tuple[str, ...] = ()
    """Ends of the names of project files: where no marker is in the root, the first with tests is named."""
    mentions: str = ""
    """Pattern of the text that one of these has if there are tests."""
    is_checked: bool = False
    """True if a marker alone does not tell of tests."""
    programs: tuple[str, ...]
    verb: str = ""
    """The word after the program."""
    through: tuple[str, ...] = ()
    """Words before the program."""
    goal: re.Pattern[str] | None = None
    """What a word behind it has that includes tests, where it does other things as well."""
    setup: tuple[str, ...] = ()
    """Commands of a shell that have to succeed before the runner starts."""
    options: tuple[str, ...]
    replaced: tuple[str, ...] = ()
    """Options of the command that ours replace."""
    selecting: tuple[str, ...] = ()
    """Options of the command that give way to a selection."""
    with_values: tuple[str, ...] = ()
    """Options that take the next word as their value."""
    environment: Mapping[str, str]
    select: Callable[[Run, tuple[str, ...]], tuple[str, ...]]
    """Add the selection of a run's files and tests to the words of its command."""
    reports: str
    """Pattern of the reports below the directory of a run, or below the tree if it begins with `**`."""
    read: Callable[[str], Cases] = junit_cases
    suffixes: tuple[str, ...]
    """Of sources, which are found by the classes that they define."""
    test_files: re.Pattern[str]
    """Paths of the files that a failed build stands for."""
    error: re.Pattern[str]
    """An error of the compiler, with `path` and `line`."""
    position: re.Pattern[str]
    """A frame in the text of a failure: `line`, maybe `function`, and `path`, or else `owner` and `file`."""
    describe: Callable[[Failure], Failure | None] = lambda failure: failure
    """Take type and message from a failure's text; None if the test passed nevertheless."""

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the command if the project in this directory has tests for it."""
        command = next((text for text in self.commands if _brings(root, text)), self.commands[-1])
        suffixes = {f".{name.rpartition('.')[2]}" for name in self.inner}
        deepest = float("inf") if self.is_checked else DEEPEST_MANIFEST
        with_tests = (
            path
            for path in source_files(root, suffixes, deepest=deepest)
            if path.endswith(self.inner) and re.search(self.mentions, read_source(root, path))
        )
        if any(next(root.glob(pattern), None) for pattern in self.markers):
            if not self.is_checked or next(with_tests, None):
                yield command
        elif not self.is_checked and (path := next(with_tests, None)):
            yield f"{command} {path}"

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether a command starts the runner, for a goal that includes tests."""
        start = self._start(words)
        goals = (word for word in words[start:] if not word.startswith("-"))
        return start > 0 and (self.goal is None or any(self.goal.search(word) for word in goals))

    def _start(self, words: Sequence[str]) -> int:
        """Return the position behind the program and its verb; 0 if the command starts another program."""
        for program in self.programs:
            index = find_program(words, program, through=self.through)
            if index is not None and (not self.verb or self.verb in words[index + 1 : index + 2]):
                return index + 1 + bool(self.verb)
        return 0

    def prepare(self, run: Run) -> Invocation:
        """Remove the reports of earlier runs, and select tests as far as the runner can."""
        for file in self._find_reports(run):
            file.unlink()
        start = self._start(run.argv) or 1
        words = without_options(run.argv[start:], self.replaced, self.with_values)
        if run.files:
            words = self.select(run, without_options(words, self.selecting, self.with_values))
        options = (option.replace("{place}", str(run.place)) for option in self.options)
        argv = (*run.argv[:start], *options, *words)
        if self.setup:
            place, program = shlex.quote(str(run.place)), shlex.quote(run.argv[0])
            before = (line.replace("{place}", place).replace("{program}", program) for line in self.setup)
            argv = ("sh", "-c", " && ".join((*before, shlex.join(argv))))
        return Invocation(argv=argv, environment=self.environment)

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in all reports, and the files that could not be compiled."""
        sources = _Sources(run.tree, self.suffixes)
        built = _files_of_programs(run.place, sources.root) if self.setup else {}
        results = []
        for file in self._find_reports(run):
            module = re.split(r"/(?:target|build)/", f"/{file.relative_to(self._top(run))}", maxsplit=1)[0]
            for owner, result in self.read(read_file(file, self._top(run))):
                path = built.get(result.id) or sources.find(owner, module=module) or self._default(owner)
                results.append(self._place(result, "::".join(filter(None, (path, result.id))), sources))
        yield from with_unique_ids(results)
        errors = "\n".join(
            dict.fromkeys(match[0].strip() for match in self.error.finditer(plain_text(run.output)))
        )
        frames = find_positions(errors, sources.root, pattern=self.error)
        test_files = (path for path in sources.paths if self.test_files.search(path))
        yield from build_failures(run, frames, errors, test_files=sorted(test_files))

    def _default(self, owner: str) -> str:
        """Return the file of a test whose source is not known."""
        return self.markers[0] if self.setup else owner

    def _place(self, result: TestResult, id: str, sources: "_Sources") -> TestResult:
        if result.failure is None:
            return result.model_copy(update={"id": id})
        failure = self.describe(result.failure) if result.when == "call" else result.failure
        if failure is None:
            return result.model_copy(update={"id": id, "outcome": "passed", "failure": None})
        frames = sources.parse_stack(failure.text, self.position)
        return with_frames(result.model_copy(update={"failure": failure}), id, frames)

    def _top(self, run: Run) -> Path:
        return run.tree if self.reports.startswith("**") else run.place

    def _find_reports(self, run: Run) -> list[Path]:
        top = self._top(run)
        return sorted(file for file in top.glob(self.reports) if file.is_file() and is_within(file, top))


def _brings(root: Path, command: str) -> bool:
    program = command.split()[0]
    if program == "bundle":
        return (root / "Gemfile.lock").is_file() and shutil.which("bundle") is not None
    return (root / program).exists()


PACKAGE = re.compile(r"^\s*(?:package|namespace)\s+([\w.\\]+)", re.M)
CLASS = re.compile(r"^[^/\n]*\b(?:class|record|module|type|object|interface)\s+(\w+)", re.M)


class _Sources:
    """The source files of a tree, found by the names of their classes."""

    def __init__(self, tree: Path, suffixes: Sequence[str]) -> None:
        self.root = tree.resolve()
        self.paths = tuple(source_files(tree, suffixes)) if suffixes else ()
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in self.paths:
            self._by_name[PurePosixPath(path).stem].append(path)
        self._has_classes = False

    def find(self, owner: str, *, stem: str = "", module: str = "") -> str | None:
        """Return the file of a class, which may be in a file of another `stem`.

        Of classes of one name that of the `module` is taken, a directory with a slash before it.
        """
        outer = re.split(r"[$+]", owner.replace("\\", "."), maxsplit=1)[0]
        package, _, name = outer.rpartition(".")
        candidates = self._by_name.get(stem or name) or self._find_class(name)
        folder = package.replace(".", "/")
        exact = [
            path
            for path in candidates
            if f"/{PurePosixPath(path).parent}".endswith(f"/{folder}") or _package(self.root, path) == package
        ]
        own = [path for path in exact if f"/{path}".startswith(f"{module}/")]
        return next(iter((*own, *exact)), candidates[0] if len(candidates) == 1 else None)

    def _find_class(self, name: str) -> Sequence[str]:
        """Return the files that define a class of another name than their own; read once, if needed."""
        if not self._has_classes:
            self._has_classes = True
            for path in self.paths:
                for defined in dict.fromkeys(CLASS.findall(read_source(self.root, path))):
                    if path not in self._by_name[defined]:
                        self._by_name[defined].append(path)
        return self._by_name.get(name, ())

    def parse_stack(self, text: str, position: re.Pattern[str]) -> tuple[Frame, ...]:
        """Return the frames in files of the tree that a stack trace names, outermost first."""
        first, _, _ = text.partition("\nCaused by: ")
        if "owner" not in position.groupindex:
            return tuple(reversed(find_positions(first, self.root, pattern=position)))
        frames = [
            Frame(path=path, line=int(match["line"]), function=match["function"])
            for match in position.finditer(first)
            if (path := self.find(match["owner"], stem=PurePosixPath(match["file"]).stem))
        ]
        return tuple(reversed(frames))


def _package(tree: Path, path: str) -> str:
    match = PACKAGE.search(read_source(tree, path))
    return match[1].replace("\\", ".") if match else ""


def _methods(run: Run) -> dict[str, list[str]]:
    """Return the selected files, each with its selected methods without parameters: none means all."""
    methods: dict[str, list[str]] = {path: [] for path in run.files}
    for test in run.tests:
        path, _, name = test.partition("::")
        if path in methods and (method := re.match(r"[^(\[{]*", name)) and method[0].strip():
            methods[path] = list(dict.fromkeys((*methods[path], method[0].strip())))
    whole = {test for test in run.tests if "::" not in test}
    return {path: [] if path in whole else names for path, names in methods.items()}


# The JVM: patterns are made of classes and methods, for nested classes and parameters; they select others,
# too, as far as names begin alike.

JAVA = (".java", ".kt", ".groovy", ".scala")
JAVA_FRAME = re.compile(
    r"^\s+at (?:[\w.@-]*//?)*(?P<owner>[\w.$]+)\.(?P<function>[\w$<>-]+)\((?P<file>[\w.-]+):(?P<line>\d+)\)",
    re.M,
)
JAVA_TESTS = re.compile(r"(?:^|/)src/\w*[tT]est\w*/")
JAVA_GOAL = re.compile(r"[tT]est\w*$|\b(?:package|verify|install|check|build)$")


def _java_classes(run: Run) -> list[tuple[str, list[str]]]:
    return [
        (".".join(filter(None, (_package(run.tree, path), PurePosixPath(path).stem))), methods)
        for path, methods in _methods(run).items()
        if path.endswith(JAVA)
    ]


def _modules(run: Run, *manifests: str) -> list[str]:
    directories = [path for name in manifests for path in manifest_directories(run.tree, name)]
    return list(dict.fromkeys(nearest(directories, path) for path in run.files))


def _select_maven(run: Run, words: tuple[str, ...]) -> tuple[str, ...]:
    modules = _modules(run, "pom.xml")
    projects = ("-pl", ",".join(modules), "-am") if {*modules} - {"."} else ()
    chosen = [
        f"{name}*#{'*+'.join(methods)}*" if methods else f"{name}*" for name, methods in _java_classes(run)
    ]
    selection = (f"-Dtest={','.join(chosen)}", "-DfailIfNoTests=false") if chosen else ()
    return (*words, *projects, *selection)


def _select_gradle(run: Run, words: tuple[str, ...]) -> tuple[str, ...]:
    kept, tasks = split_operands(words, ("--tests", "-p", "--project-dir", "-x", "--exclude-task"))
    task = next((task.rpartition(":")[2] for task in tasks if "test" in task.lower()), "test")
    names = [
        f"{name}*.{method}*" if method else f"{name}*"
        for name, methods in _java_classes(run)
        for method in methods or [""]
    ]
    filters = [word for name in names for word in ("--tests", name)]
    for module in _modules(run, "build.gradle", "build.gradle.kts"):
        prefix = "" if module == "." else f":{module.replace('/', ':')}:"
        kept = (*kept, f"{prefix}{task}", *filters)
    return kept


C_POSITION = re.compile(r"(?P<path>[\w./+-]+\.(?:[ch]|cc|hh|[ch]pp|[ch]xx)):(?P<line>\d+)\b")
ASSERTION = re.compile(r"^.*(?:\bassert|\bfail|\bexpected\b|\berror\b).*$", re.I | re.M)
OBJECT_FILE = re.compile(r"\bCMakeFiles/(?P<target>[^\s/]+)\.dir/")


def _select_ctest(run: Run, words: tuple[str, ...]) -> tuple[str, ...]:
    names = [test.partition("::")[2] for test in run.tests]
    return (*words, "-R", alternatives(names)) if names and all(names) else words


def _describe_program(failure: Failure) -> Failure:
    """Return the failure with the last line of its output that tells of an assertion."""
    lines = ASSERTION.findall(failure.text) or failure.text.splitlines()
    message = lines[-1].strip() if lines else "the program failed without a message"
    type = "AssertionError" if lines else "Error"
    return failure.model_copy(update={"type": type, "message": message})


def _files_of_programs(place: Path, root: Path) -> Mapping[str, str]:
    """Return the source file of each test whose program CMake builds from files of the tree.

    Of several files it is the one that names the test or a part of it, as Google Test and Catch2 do.
    """
    sources: dict[str, list[str]] = defaultdict(list)
    commands = _parse(read_file(place / "build" / "compile_commands.json", place))
    for command in commands if isinstance(commands, list) else ():
        path, target = PurePosixPath(str(command["file"])), OBJECT_FILE.search(str(command["command"]))
        if target and path.is_relative_to(root):
            sources[target["target"]].append(path.relative_to(root).as_posix())
    files: dict[str, str] = {}
    listing = _parse(read_file(place / "tests.json", place))
    for test in listing.get("tests", ()) if isinstance(listing, dict) else ():
        name, command = str(test.get("name")), test.get("command") or [""]
        found = sources.get(PurePosixPath(str(command[0])).name, [])
        words = [name, *(f"{suite}, {case}" for suite, case in pairwise(re.split(r"[./]", name)))]
        texts = {path: read_source(root, path) for path in found} if len(found) > 1 else {}
        named = (path for path, text in texts.items() if any(word in text for word in words))
        if found:
            files[name] = next(named, found[0])
    return files


def _parse(text: str) -> Any:
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return {}


def _select_phpunit(run: Run, words: tuple[str, ...]) -> tuple[str, ...]:
    """Select methods, with any data set, by a pattern: only newer versions accept several files."""
    names = []
    for path, methods in _methods(run).items():
        found = {match[0] for method in methods if (match := re.match(r"\w+", method))} or {r"\w+"}
        names.append(rf"{PurePosixPath(path).stem}::(?:{'|'.join(sorted(found))})")
    return (*words, "--filter", rf"/(?:^|\\)(?:{'|'.join(names)})(?:$| with data set |#)/")


def _describe_phpunit(failure: Failure) -> Failure | None:
    """Return the failure with the message below the heading, which repeats the test's name.

    A test that asserts nothing is risky, which is no failure by default.
    """
    type = failure.type.rpartition("\\")[2]
    _, _, body = failure.text.partition("\n")
    message = body.partition("\n\n")[0].removeprefix(f"{failure.type}: ")
    if type == "RiskyTestError":
        return None
    return Failure(type=type, message=message, text=failure.text)


LOAD_ERROR = re.compile(r"An error occurred while loading (?:\./)?(?P<path>\S+?\.rb)\b")


def _select_rspec(run: Run, words: tuple[str, ...]) -> tuple[str, ...]:
    """Name files, and the full descriptions of examples: they are more stable than numbers."""
    options, _ = split_operands(words, RSPEC.with_values)
    names = [re.sub(r" #\d+$", "", test.partition("::")[2]) for test in run.tests]
    chosen = [word for name in dict.fromkeys(names) for word in ("-e", name)] if all(names) else []
    return (*options, *chosen, *run.files)


def _read_rspec(text: str) -> Cases:
    """Read RSpec's own JSON: it writes JUnit XML only with another package."""
    report = json_object(text)
    for example in report.get("examples", ()):
        outcomes: Mapping[str, Outcome] = {"passed": "passed", "failed": "failed"}
        outcome = outcomes.get(str(example.get("status")), "skipped")
        error = example.get("exception") or {}
        message = str(error.get("message")).strip()
        trace = "\n".join([message, *map(str, error.get("backtrace") or ())])[:LONGEST_TEXT]
        failure = Failure(type=str(error.get("class")).rpartition("::")[2], message=message, text=trace)
        path = str(example.get("id") or example.get("file_path")).partition("[")[0].removeprefix("./")
        yield (
            path,
            TestResult(
                id=str(example.get("full_description")),
                outcome=outcome,
                seconds=example.get("run_time") or 0.0,
                failure=failure if outcome == "failed" else None,
            ),
        )
    for message in map(str, report.get("messages", ())):
        if match := LOAD_ERROR.search(message):
            text = re.sub(r"Error:\n\s+", "Error: ", plain_text(message).strip())
            text = re.sub(r"^# ", "", text.partition("Failure/Error:")[2] or text, flags=re.M)
            yield match["path"], collection_failure("", text)


DOTNET_PROJECTS = (".csproj", ".fsproj", ".vbproj")
SPACE = "{http://microsoft.com/schemas/VisualStudio/TeamTest/2010}"
TEST_EXCEPTION = re.compile(r"(?:Test method \S+ threw exception:\s+)?([\w.]+Exception)\s*: ")


def _select_dotnet(run: Run, words: tuple[str, ...]) -> tuple[str, ...]:
    """Select methods, and the classes of whole files; settings of the run come after `--`."""
    conditions = []
    for test in run.tests:
        path, _, name = test.partition("::")
        for owner in CLASS.findall(read_source(run.tree, path)):
            full = ".".join(filter(None, (_package(run.tree, path), owner)))
            method = name.partition("(")[0]
            conditions.append(
                f"FullyQualifiedName={full}.{method}" if method else f"FullyQualifiedName~{full}."
            )
    return ("--filter", "|".join(conditions), *words)


def _read_trx(text: str) -> Cases:
    """Read the report of VSTest: .NET writes JUnit XML only with another package."""
    report = parse_xml(text)
    if report is None:
        return
    owners = {
        test.get("id"): (method.get("className") or "").partition(",")[0].partition("+")[0]
        for test in report.iter(f"{SPACE}UnitTest")
        if (method := test.find(f"{SPACE}TestMethod")) is not None
    }
    outcomes: Mapping[str | None, Outcome] = {"Passed": "passed", "Failed": "failed"}
    for node in report.iter(f"{SPACE}UnitTestResult"):
        owner = owners.get(node.get("testId"), "")
        outcome = outcomes.get(node.get("outcome"), "skipped")
        time = re.fullmatch(r"(\d+):(\d+):(\d+(?:\.\d+)?)", node.get("duration") or "")
        yield (
            owner,
            TestResult(
                id=(node.get("testName") or "?").removeprefix(f"{owner}."),
                outcome=outcome,
                seconds=int(time[1]) * 3600 + int(time[2]) * 60 + float(time[3]) if time else 0.0,
                failure=_parse_trx_failure(node) if outcome == "failed" else None,
            ),
        )


def _parse_trx_failure(node: ElementTree.Element) -> Failure:
    """Return the failure of a result; frameworks begin the message of an exception with its class."""
    message = (node.findtext(f".//{SPACE}Message") or "").strip()
    text = f"{message}\n{node.findtext(f'.//{SPACE}StackTrace') or ''}"[:LONGEST_TEXT]
    exception = TEST_EXCEPTION.match(message)
    if exception is None:
        return Failure(type="AssertionError", message=message, text=text)
    is_assertion = exception[1].startswith(("Xunit.", "NUnit."))
    type = "AssertionError" if is_assertion else exception[1].rpartition(".")[2]
    return Failure(type=type, message=message[exception.end() :], text=text)


MAVEN = ReportRunner(
    name="maven",
    commands=("./mvnw test", "mvn test"),
    markers=("pom.xml",),
    programs=("mvn", "mvnw"),
    goal=JAVA_GOAL,
    options=(
        *("-o", "-B", "-Dstyle.color=never", "-DtrimStackTrace=false"),
        *("-Dmaven.test.failure.ignore=true", "-Dsurefire.failIfNoSpecifiedTests=false"),
    ),
    selecting=("-Dtest",),
    environment={},
    select=_select_maven,
    reports="**/target/*-reports/TEST-*.xml",
    read=_read_java,
    suffixes=JAVA,
    test_files=JAVA_TESTS,
    error=re.compile(r"^\[ERROR\] (?P<path>/[^:\n]+):\[(?P<line>\d+),\d+\].*$", re.M),
    position=JAVA_FRAME,
)
GRADLE = ReportRunner(
    name="gradle",
    commands=("./gradlew test", "gradle test"),
    markers=("build.gradle", "build.gradle.kts"),
    programs=("gradle", "gradlew"),
    goal=JAVA_GOAL,
    options=("--offline", "--continue", "--no-daemon", "--console=plain"),
    environment={},
    select=_select_gradle,
    reports="**/build/test-results/*/TEST-*.xml",
    read=_read_java,
    suffixes=JAVA,
    test_files=JAVA_TESTS,
    error=re.compile(r"^(?:e: )?(?:file://)?(?P<path>/[^:\n]+):(?P<line>\d+)(?::\d+ |: error: ).*$", re.M),
    position=JAVA_FRAME,
)
CTEST = ReportRunner(
    name="ctest",
    commands=("ctest",),
    markers=("CMakeLists.txt",),
    inner=("CMakeLists.txt",),
    mentions=r"(?i)\b(?:enable_testing|add_test)\s*\(|\binclude\s*\(\s*CTest\s*\)",
    is_checked=True,
    programs=("ctest",),
    setup=(  # built outside of the tree
        "cmake -S . -B {place}/build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        f"cmake --build {{place}}/build --parallel {os.cpu_count() or 1}",
        "{program} --test-dir {place}/build --show-only=json-v1 > {place}/tests.json",
    ),
    options=("--test-dir", "{place}/build", "--output-junit", "{place}/report.xml"),
    replaced=("--test-dir", "--output-junit", "--stop-on-failure"),
    selecting=("-R", "--tests-regex"),
    with_values=("--test-dir", "--output-junit", "-R", "--tests-regex"),
    environment={"CTEST_OUTPUT_ON_FAILURE": "1"},
    select=_select_ctest,
    reports="report.xml",
    suffixes=(),
    test_files=re.compile(r"(?!)"),
    error=re.compile(rf"^{C_POSITION.pattern}(?::\d+)?: (?:fatal )?error: .*$", re.M),
    position=C_POSITION,
    describe=_describe_program,
)
PHPUNIT = ReportRunner(
    name="phpunit",
    commands=("vendor/bin/phpunit", "phpunit"),
    markers=("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"),
    programs=("phpunit",),
    through=("php",),
    options=(
        *("--do-not-cache-result", "--no-coverage", "--colors=never"),
        *("--log-junit", "{place}/report.xml"),
    ),
    replaced=("--log-junit", "--colors", "--stop-on-failure", "--stop-on-error", "--stop-on-defect"),
    selecting=("--filter",),
    with_values=("--log-junit", "--filter"),
    environment={},
    select=_select_phpunit,
    reports="report.xml",
    suffixes=(".php",),
    test_files=re.compile(r"Test\.php$"),
    error=re.compile(
        r"^(?:PHP )?(?:Fatal|Parse) error: .* in (?P<path>/\S+?)(?::| on line )(?P<line>\d+)$", re.M
    ),
    position=re.compile(r"^\s*(?P<path>/[^:\n]+\.\w+):(?P<line>\d+)$", re.M),
    describe=_describe_phpunit,
)
RSPEC = ReportRunner(
    name="rspec",
    commands=("bundle exec rspec", "rspec"),
    markers=(".rspec", "spec/**/*_spec.rb"),
    programs=("rspec",),
    through=("bundle", "exec", "ruby"),
    options=("--format", "json", "--out", "{place}/report.json", "--no-color", "-b", "--no-fail-fast"),
    replaced=("-f", "--format", "-o", "--out", "--fail-fast"),
    selecting=("-e", "--example", "-E", "--example-matches", "-P", "--pattern"),
    with_values=(
        *("-I", "-r", "--require", "-O", "--options", "--order", "--seed", "-f", "--format", "-o", "--out"),
        *("-P", "--pattern", "--exclude-pattern", "-e", "--example", "-E", "--example-matches"),
        *("-t", "--tag", "--default-path", "--failure-exit-code", "--error-exit-code"),
        *("--drb-port", "--deprecation-out"),
    ),
    environment={},
    select=_select_rspec,
    reports="report.json",
    read=_read_rspec,
    suffixes=(),
    test_files=re.compile(r"(?!)"),
    error=re.compile(r"(?!)(?P<path>)(?P<line>)"),
    position=re.compile(r"^(?P<path>[^:\n]+\.rb):(?P<line>\d+)(?::in [`'](?P<function>.*)')?$", re.M),
)
DOTNET = ReportRunner(
    name="dotnet",
    commands=("dotnet test",),
    markers=("*.sln", "*.slnx", "*.csproj", "*.fsproj", "*.vbproj"),
    inner=DOTNET_PROJECTS,
    mentions=r"Microsoft\.NET\.Test\.Sdk",
    programs=("dotnet",),
    verb="test",
    options=("--logger", "trx;LogFilePrefix=report", "--results-directory", "{place}/results"),
    replaced=("-l", "--logger", "-r", "--results-directory"),
    selecting=("--filter",),
    with_values=("-l", "--logger", "-r", "--results-directory", "--filter"),
    environment={"DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1"},
    select=_select_dotnet,
    reports="results/*.trx",
    read=_read_trx,
    suffixes=(".cs", ".fs", ".vb"),
    test_files=re.compile(r"Tests\.(?:cs|fs|vb)$"),
    error=re.compile(r"^\s*(?P<path>/[^(\n]+)\((?P<line>\d+),\d+\): error .*$", re.M),
    position=re.compile(
        r"^\s+at (?:\S+\.)?(?P<function>[^\s(.]+)\(.*\) in (?P<path>.+?):line (?P<line>\d+)\s*$", re.M
    ),
)
REPORT_RUNNERS = (MAVEN, GRADLE, CTEST, RSPEC, PHPUNIT, DOTNET)
