"""Adapters of Maven and Gradle, which run tests of the JVM and keep a report for each class."""

import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from coder.core.verdict import Frame, TestResult
from coder.verify.runners.adapter import (
    Invocation,
    Run,
    build_failures,
    find_positions,
    manifest_directories,
    nearest,
    plain_text,
    read_source,
    source_files,
    split_operands,
)
from coder.verify.runners.reports import read_report, with_frames

SUFFIXES = (".java", ".kt", ".groovy", ".scala")
STACK_FRAME = re.compile(
    r"^\s+at (?:[\w.@-]*//?)*(?P<owner>[\w.$]+)\.(?P<function>[\w$<>-]+)\((?P<file>[\w.-]+):(?P<line>\d+)\)",
    re.M,
)
PACKAGE = re.compile(r"^\s*package\s+([\w.]+)", re.M)
TEST_GOAL = re.compile(r"[tT]est\w*$|\b(?:package|verify|install|check|build)$")
"""Goals of Maven and tasks of Gradle that run tests."""
METHOD = re.compile(r"[^(\[{]+")
"""The start of the name of a test, without parameters."""


class _JavaBuild(ABC):
    """Adapter of a build tool of the JVM."""

    name: str
    program: str
    wrapper: str
    """The script in a project's root that starts its own version of the tool."""
    manifests: tuple[str, ...]
    reports: tuple[str, ...]
    """Patterns of report files."""
    error: re.Pattern[str]
    """An error that a compiler reports."""

    def find_commands(self, root: Path) -> Iterator[str]:
        if any((root / name).is_file() for name in self.manifests):
            yield f"./{self.wrapper} test" if (root / self.wrapper).is_file() else f"{self.program} test"

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether the tool is started for a goal that includes tests."""
        is_tool = bool(words) and words[0].rpartition("/")[2] in (self.program, self.wrapper)
        return is_tool and any(TEST_GOAL.search(word) for word in words[1:] if not word.startswith("-"))

    def prepare(self, run: Run) -> Invocation:
        """Remove the reports of earlier runs, and name the classes and methods to run."""
        for file in self._find_reports(run.tree):
            file.unlink()
        return Invocation(argv=self._arguments(run))

    @abstractmethod
    def _arguments(self, run: Run) -> tuple[str, ...]: ...

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in the reports of all classes, and test files that could not be compiled."""
        files = _SourceFiles(run.tree)
        for file in self._find_reports(run.tree):
            module = re.split(r"/(?:target|build)/", f"/{file.relative_to(run.tree)}", maxsplit=1)[0]
            for result in read_report(file, run.tree):
                owner, _, name = result.id.rpartition("::")
                name = name.removesuffix("()")
                frames = files.parse_stack(result.failure.text) if result.failure else ()
                yield with_frames(result, f"{files.find(owner, module=module) or owner}::{name}", frames)
        output = plain_text(run.output)
        errors = "\n".join(error[0] for error in self.error.finditer(output))
        frames = find_positions(errors, run.tree.resolve(), pattern=self.error)
        yield from build_failures(run, frames, errors, test_files=files.test_files())

    def _find_reports(self, tree: Path) -> list[Path]:
        return sorted(
            file
            for pattern in self.reports
            for file in tree.glob(pattern)
            if file.is_file() and file.resolve().is_relative_to(tree.resolve())
        )

    def _modules(self, run: Run) -> dict[str, list[str]]:
        """Return the selected test files by the directory of their module."""
        directories = [path for name in self.manifests for path in manifest_directories(run.tree, name)]
        modules: dict[str, list[str]] = defaultdict(list)
        for path in run.files:
            modules[nearest(directories, path)].append(path)
        return modules


class Maven(_JavaBuild):
    name, program, wrapper, manifests = "maven", "mvn", "mvnw", ("pom.xml",)
    reports = ("**/target/surefire-reports/TEST-*.xml", "**/target/failsafe-reports/TEST-*.xml")
    error = re.compile(r"^\[ERROR\] (?P<path>/[^:\n]+):\[(?P<line>\d+),\d+\].*$", re.M)

    def _arguments(self, run: Run) -> tuple[str, ...]:
        options = (
            *("-o", "-B", "-Dstyle.color=never", "-DtrimStackTrace=false"),
            *("-Dmaven.test.failure.ignore=true", "-Dsurefire.failIfNoSpecifiedTests=false"),
        )
        kept = [word for word in run.argv[1:] if not run.files or not word.startswith("-Dtest=")]
        modules = self._modules(run)
        projects = ("-pl", ",".join(modules), "-am") if {*modules} - {"."} else ()
        chosen = [
            f"{name}*#{'*+'.join(methods)}*" if methods else f"{name}*" for name, methods in _selection(run)
        ]
        selection = (f"-Dtest={','.join(chosen)}", "-DfailIfNoTests=false") if chosen else ()
        return (run.argv[0], *kept, *options, *projects, *selection)


class Gradle(_JavaBuild):
    name, program, wrapper = "gradle", "gradle", "gradlew"
    manifests = ("build.gradle", "build.gradle.kts")
    reports = ("**/build/test-results/*/TEST-*.xml",)
    error = re.compile(r"^(?:e: )?(?:file://)?(?P<path>/[^:\n]+):(?P<line>\d+)(?::\d+ |: error: ).*$", re.M)

    def _arguments(self, run: Run) -> tuple[str, ...]:
        options = ("--offline", "--continue", "--no-daemon", "--console=plain")
        kept = run.argv[1:]
        if run.files:
            kept, tasks = split_operands(kept, ("--tests", "-p", "--project-dir", "-x", "--exclude-task"))
            task = next((task.rpartition(":")[2] for task in tasks if "test" in task.lower()), "test")
            names = [
                f"{name}*.{method}*" if method else f"{name}*"
                for name, methods in _selection(run)
                for method in methods or [""]
            ]
            filters = [word for name in names for word in ("--tests", name)]
            for module in self._modules(run):
                prefix = "" if module == "." else f":{module.replace('/', ':')}:"
                kept = (*kept, f"{prefix}{task}", *filters)
        return (run.argv[0], *kept, *options)


def _selection(run: Run) -> list[tuple[str, list[str]]]:
    """Return the full names of the selected classes, each with its selected methods: none means all.

    Patterns are made of both, for nested classes and parameters; they select others too, as far as names
    begin alike.
    """
    methods: dict[str, dict[str, None]] = {path: {} for path in run.files}
    for test in run.tests:
        path, _, name = test.partition("::")
        if path in methods and (match := METHOD.match(name)):
            methods[path][match[0].strip()] = None
    whole = {test for test in run.tests if "::" not in test}
    return [
        (_class_name(run.tree, path), [] if path in whole else [*names])
        for path, names in methods.items()
        if path.endswith(SUFFIXES)
    ]


def _class_name(tree: Path, path: str) -> str:
    package = PACKAGE.search(read_source(tree, path))
    stem = PurePosixPath(path).stem
    return f"{package[1]}.{stem}" if package else stem


class _SourceFiles:
    """The source files of a tree, found by the names of their classes."""

    def __init__(self, tree: Path) -> None:
        self._root = tree.resolve()
        self._by_stem: dict[str, list[str]] = defaultdict(list)
        for path in source_files(tree, SUFFIXES):
            self._by_stem[PurePosixPath(path).stem].append(path)

    def find(self, owner: str, *, stem: str = "", module: str = "") -> str | None:
        """Return the file of a class, which may be in a file of another `stem`.

        Of classes of one name that of the `module` is taken, a directory with a slash before it.
        """
        outer = owner.partition("$")[0]
        package, _, name = outer.rpartition(".")
        folder = package.replace(".", "/")
        candidates = self._by_stem.get(stem or name, [])
        exact = [path for path in candidates if f"/{PurePosixPath(path).parent}".endswith(f"/{folder}")]
        own = [path for path in exact if f"/{path}".startswith(f"{module}/")]
        return next(iter((*own, *exact)), candidates[0] if len(candidates) == 1 else None)

    def test_files(self) -> list[str]:
        """Return the files below directories of tests, as both tools lay them out."""
        paths = (path for paths in self._by_stem.values() for path in paths)
        return sorted(path for path in paths if re.search(r"(?:^|/)src/\w*[tT]est\w*/", path))

    def parse_stack(self, text: str) -> tuple[Frame, ...]:
        """Return the frames in files of the tree that a stack trace names, outermost first."""
        first, _, _ = text.partition("\nCaused by: ")
        frames = [
            Frame(path=path, line=int(match["line"]), function=match["function"])
            for match in STACK_FRAME.finditer(first)
            if (path := self.find(match["owner"], stem=PurePosixPath(match["file"]).stem))
        ]
        return tuple(reversed(frames))
