"""Adapter of `go test`."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from coder.core.paths import test_file_of
from coder.core.verdict import Failure, Frame, Outcome, TestResult
from coder.files.regular_files import manifest_directories, nearest
from coder.verify.runners.adapter import (
    LONGEST_TEXT,
    Invocation,
    Run,
    alternatives,
    collection_failure,
    find_positions,
    join_commands,
    json_object,
    path_in_tree,
    read_source,
    split_operands,
    without_options,
)

WITH_VALUES = frozenset(
    {
        *("-asmflags", "-bench", "-benchtime", "-blockprofile", "-buildmode", "-compiler", "-count"),
        *("-covermode", "-coverpkg", "-coverprofile", "-cpu", "-cpuprofile", "-exec", "-fuzz"),
        *("-fuzzminimizetime", "-fuzztime", "-gccgoflags", "-gcflags", "-installsuffix", "-ldflags"),
        *("-list", "-memprofile", "-mod", "-modfile", "-mutexprofile", "-o", "-outputdir", "-overlay"),
        *("-p", "-parallel", "-pkgdir", "-run", "-shuffle", "-skip", "-tags", "-timeout", "-toolexec"),
        *("-trace", "-vet"),
    }
)
TEST_FUNCTION = re.compile(r"^func ((?:Test|Example|Fuzz)\w*)\(", re.M)
MODULE_LINE = re.compile(r"^module\s+(\S+)", re.M)
HEADING = re.compile(r"# (?P<package>\S+)")
BUILD_FAILED = re.compile(r"FAIL\t(?P<package>\S+) \[(?:build|setup) failed\]")
LOG_LINE = re.compile(r"^\s+(?P<file>[\w.-]+\.go):(?P<line>\d+): ?(?P<text>.*)$")
PANIC = re.compile(r"^panic: (?P<message>.*?)(?: \[recovered.*\])?$", re.M)
STACK_FRAME = re.compile(r"^(?P<function>[^\s(].*)\(.*\)\n\t(?P<path>/\S+\.go):(?P<line>\d+)", re.M)
MARK = re.compile(r"\s*(?:=== |--- )")
"""Start of the lines that are printed for each test."""
OUTCOMES: dict[str, Outcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


class GoTest:
    name = "go"

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the command for all packages if there is a module, also below the directory."""
        if manifest_directories(root, "go.mod"):
            yield "go test ./..."

    def recognizes(self, words: Sequence[str]) -> bool:
        return [word.rpartition("/")[2] for word in words[:2]] == ["go", "test"]

    def prepare(self, run: Run) -> Invocation:
        """Run the tests of the packages in which files lie, module by module."""
        end = run.argv.index("-args") if "-args" in run.argv else len(run.argv)
        words, own = run.argv[2:end], run.argv[end:]
        options, packages = split_operands(without_options(words, ("-json", "-failfast")), WITH_VALUES)
        modules = manifest_directories(run.tree, "go.mod")
        if run.files:
            options = (*without_options(options, ("-run",), WITH_VALUES), *_selection(run))
            by_module = _packages_by_module(run, modules)
        else:
            starts = ["."] if "." in modules or (run.tree / "go.work").exists() else modules
            by_module = {module: [*packages] or ["."] for module in starts}
        commands = [
            (module, ("go", "test", "-json", *options, *dict.fromkeys(chosen), *own))
            for module, chosen in by_module.items()
        ]
        return Invocation(argv=join_commands(commands or [(".", run.argv)]))

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in the events that `-json` prints, and what the compiler prints beside them."""
        package_directories = _PackageDirectories(run.tree)
        console: list[str] = []
        outputs: dict[tuple[str, str], list[str]] = defaultdict(list)
        unfinished: dict[tuple[str, str], None] = {}
        for line in run.output.splitlines():
            event = json_object(line)
            package, test = str(event.get("Package") or ""), str(event.get("Test") or "")
            match event.get("Action"):
                case "output" if test:
                    outputs[package, test].append(str(event.get("Output")))
                case "output" | "build-output":
                    console.append(str(event.get("Output")).rstrip("\n"))
                case "run":
                    unfinished[package, test] = None
                case "pass" | "fail" | "skip" as action if test:
                    unfinished.pop((package, test), None)
                    id = package_directories.test_id(package, test)
                    text = "".join(outputs.pop((package, test), ()))
                    is_over = action != "pass" or f"--- PASS: {test} (" in text
                    yield (
                        _to_result(id, OUTCOMES[action], text, run.tree, event.get("Elapsed") or 0.0)
                        if is_over
                        else _crash_result(id, text)  # of a process that ends with 0, Go says `pass`
                    )
                case "pass" | "fail":  # the package has ended, and with it the tests that did not
                    for other in [test for owner, test in unfinished if owner == package]:
                        del unfinished[package, other]
                        id = package_directories.test_id(package, other)
                        yield _crash_result(id, "".join(outputs.pop((package, other), ())))
                case None:
                    console.append(line)
                case _:
                    pass
        yield from _build_failures(console, package_directories, run.tree)


def _selection(run: Run) -> tuple[str, ...]:
    """Return the option that selects tests by name; none if a whole directory is asked for."""
    names: list[str] = []
    for test in run.tests:
        path, _, name = test.partition("::")
        if not name and not path.endswith(".go"):
            return ()
        names += [name.partition("/")[0]] if name else TEST_FUNCTION.findall(read_source(run.tree, path))
    return ("-run", alternatives(names)) if names else ()


def _packages_by_module(run: Run, modules: Sequence[str]) -> dict[str, list[str]]:
    whole = frozenset(test for test in run.tests if "::" not in test)
    packages: dict[str, list[str]] = defaultdict(list)
    for path in run.files:
        is_directory = (run.tree / path).is_dir()
        directory = PurePosixPath(path) if is_directory else PurePosixPath(path).parent
        module = nearest(modules, str(directory))
        relative = directory.relative_to(module).as_posix() if module != "." else directory.as_posix()
        start = "." if relative == "." else f"./{relative}"
        packages[module].append(f"{start}/..." if is_directory and path in whole else start)
    return packages


class _PackageDirectories:
    """Directories of packages by import path, and the files that define their tests."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._modules = {
            match[1]: directory
            for directory in manifest_directories(tree, "go.mod")
            if (match := MODULE_LINE.search(read_source(tree, f"{directory}/go.mod")))
        }
        self._files: dict[str, dict[str, str]] = {}

    def find(self, package: str) -> str:
        """Return the directory of a package; its import path if it is in no module of the tree."""
        for module in sorted(self._modules, key=len, reverse=True):
            if package == module or package.startswith(f"{module}/"):
                return PurePosixPath(self._modules[module], package[len(module) :].lstrip("/")).as_posix()
        return package

    def test_id(self, package: str, test: str) -> str:
        directory = self.find(package)
        if package not in self._files:
            self._files[package] = {
                name: path
                for path in self.test_files(package)
                for name in TEST_FUNCTION.findall(read_source(self._tree, path))
            }
        return f"{self._files[package].get(test.partition('/')[0], directory)}::{test}"

    def test_files(self, package: str) -> list[str]:
        directory = self._tree / self.find(package)
        return sorted(path.relative_to(self._tree).as_posix() for path in directory.glob("*_test.go"))

    def module_of(self, package: str) -> str:
        return nearest([*self._modules.values()], self.find(package))


def _to_result(id: str, outcome: Outcome, text: str, tree: Path, seconds: float) -> TestResult:
    failure = _parse_failure(text, test_file_of(id), tree) if outcome == "failed" else None
    return TestResult(id=id, outcome=outcome, seconds=seconds, failure=failure)


def _crash_result(id: str, text: str) -> TestResult:
    failure = Failure(type="Crash", message="The process ended in this test.", text=text[-LONGEST_TEXT:])
    return TestResult(id=id, outcome="error", failure=failure)


def _parse_failure(text: str, path: str, tree: Path) -> Failure:
    """Return why a test failed: its last message, which has the position of the call, or a panic."""
    lines = [line for line in text.splitlines() if not MARK.match(line)]
    body = "\n".join(lines).strip()[:LONGEST_TEXT]
    if panic := PANIC.search(text):
        _, _, after = text.partition("\npanic(")  # the frames above are those of the recovery
        calls = [
            Frame(
                path=path_in_tree(call["path"], tree),
                line=int(call["line"]),
                function=call["function"].rpartition(".")[2],
            )
            for call in STACK_FRAME.finditer(after or text)
        ]
        return Failure(type="panic", message=panic["message"], frames=tuple(reversed(calls)), text=body)
    positions = [index for index, line in enumerate(lines) if LOG_LINE.match(line)]
    if not positions or (match := LOG_LINE.match(lines[positions[-1]])) is None:
        return Failure(type="AssertionError", message=body or "a subtest failed", text=body)
    message = "\n".join([match["text"], *(line.strip() for line in lines[positions[-1] + 1 :])]).strip()
    frame = Frame(
        path=PurePosixPath(path).with_name(match["file"]).as_posix(),
        line=int(match["line"]),
        function="<test>",
    )
    return Failure(type="AssertionError", message=message, frames=(frame,), text=body)


def _build_failures(
    console: Sequence[str], package_directories: _PackageDirectories, tree: Path
) -> Iterator[TestResult]:
    """Yield the test files of the packages that could not be built, with what the compiler printed."""
    sections: dict[str, list[str]] = defaultdict(list)
    package = ""
    for line in console:
        if heading := HEADING.match(line):
            package = heading["package"]
        elif not line.startswith(("FAIL", "ok ", "?", "---")):
            sections[package].append(line)
    everything = [line for lines in sections.values() for line in lines]
    for failed in dict.fromkeys(match["package"] for line in console if (match := BUILD_FAILED.match(line))):
        text = "\n".join(sections.get(failed) or everything)
        frames = find_positions(text, tree, within=package_directories.module_of(failed))
        for path in package_directories.test_files(failed):
            yield collection_failure(path, text, frames)
