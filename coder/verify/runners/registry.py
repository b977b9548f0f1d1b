"""All adapters, the recognition of test commands by them, and runs of a package or of all in a workspace."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from coder.core.paths import is_test_path, match_test_ids, test_file_of
from coder.core.ports import Execution
from coder.core.values import Value
from coder.core.verdict import Failure, RunProblem, TestResult
from coder.files.regular_files import manifest_directories, nearest, read_regular_text
from coder.verify.runners.adapter import (
    Adapter,
    Invocation,
    Run,
    collection_failure,
    json_object,
    matches_glob,
    plain_text,
    with_unique_ids,
)
from coder.verify.runners.go import GoTest
from coder.verify.runners.javascript import (
    Jest,
    Mocha,
    NodeTest,
    Vitest,
    find_parts,
    find_test_scripts,
    is_build,
    is_check,
    read_failed_build,
    read_manifest,
    read_scripts,
    selects_compiled_tests,
    split_launchers,
    split_wrapper,
    start_with,
    with_source_ids,
)
from coder.verify.runners.rows import REPORT_RUNNERS
from coder.verify.runners.rust import CargoTest

CHANGES_SHELL = frozenset({".", "cd", "eval", "exec", "export", "pushd", "set", "source"})
"""Commands of a shell that others after them depend on."""
NO_TEST = "no test specified"
"""In the test script of a new package."""


class RecognizedCommand(Value):
    adapter: str
    environment: Mapping[str, str] = {}
    """Assignments before the command."""
    argv: tuple[str, ...]
    builds: tuple[str, ...] = ()
    """Commands of a shell that have to run before."""
    omitted: tuple[str, ...] = ()
    """Other runs of a suite by the same runner that the command starts, with other options."""


def find_adapter(name: str) -> Adapter | None:
    return next((adapter for adapter in (WORKSPACES, *ADAPTERS) if adapter.name == name), None)


def find_commands(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the test commands of a project and what they were found by.

    Test scripts of the package come first, then those of its workspaces; one without an adapter is last.
    """
    scripts = read_scripts(root)
    calls = ("npm test" if name == "test" else f"npm run {name}" for name in find_test_scripts(scripts))
    recognized = [(call, found) for call in calls if (found := recognize_command(call, root))]
    unbuilt = {found.argv for _, found in recognized if not found.builds}
    for call, found in recognized:
        if not found.builds or found.argv not in unbuilt:  # else a script runs the same tests without a build
            others = "".join(
                f"; `{text}` in the same script is not run (setting: test)" for text in found.omitted
            )
            source = f"the project's use of {found.adapter}{others}"
            assignments = (f"{name}={value}" for name, value in found.environment.items())
            yield call if found.builds else shlex.join((*assignments, *found.argv)), source
    has_workspaces = bool(read_manifest(root))
    for adapter in (WORKSPACES, *ADAPTERS) if has_workspaces else (*ADAPTERS, WORKSPACES):
        for command in adapter.find_commands(root):
            yield command, f"the project's use of {adapter.name}"
    if "test" in scripts and NO_TEST not in scripts["test"]:
        yield "npm test", "the test script in package.json"


def recognize_command(text: str, root: Path) -> RecognizedCommand | None:
    """Return the one test runner that a command of a shell starts, also through a script of its package.

    Linters beside it are left out, and so are other programs in scripts, and runs of parts of the suite
    beside a run of all of it; builds before it are not. Of several runs of a whole suite it is the first.
    """
    found = []
    builds: list[str] = []
    for part in find_parts(text, read_scripts(root)):
        environment, argv = split_launchers(part.words)
        if argv and argv[0] in CHANGES_SHELL:
            return None
        if WORKSPACES.recognizes(part.words):
            found.append(RecognizedCommand(adapter=WORKSPACES.name, argv=part.words))
        elif adapter := next((known for known in ADAPTERS if known.recognizes(split_wrapper(argv)[1])), None):
            found.append(
                RecognizedCommand(
                    adapter=adapter.name, environment=environment, argv=argv, builds=tuple(builds)
                )
            )
        elif is_build(part):
            builds.append(part.text)
        elif not part.script and not is_check(part):
            return None
    if len(found) == 1:
        return found[0]
    runs = {run.argv: run for run in found if not any(map(_names_tests, split_wrapper(run.argv)[1][1:]))}
    if not runs or len({run.adapter for run in found}) > 1:
        return None
    first, *others = runs.values()
    return first.model_copy(update={"omitted": tuple(shlex.join(run.argv) for run in others)})


def _names_tests(word: str) -> bool:
    return not word.startswith("-") and ("/" in word or is_test_path(word))


TAIL_LINES = 20
"""Lines of output shown where nothing else says what went wrong."""


def prepare_run(adapter: Adapter, run: Run, builds: Sequence[str]) -> Invocation:
    """Return what to execute so that a run's results can be read afterwards, after the builds."""
    whole = run.model_copy(update={"files": (), "tests": ()})
    selected = whole if selects_compiled_tests(run, builds) else run
    wrapper, argv = split_wrapper(selected.argv)
    invocation = adapter.prepare(selected.model_copy(update={"argv": argv}))
    return start_with(invocation, builds=builds, wrapper=wrapper, place=run.place)


def read_results(adapter: Adapter, run: Run, builds: Sequence[str] = ()) -> tuple[TestResult, ...]:
    """Return the results of a run; `builds` are the commands that ran before."""
    results = with_unique_ids([*adapter.read_results(run)])
    if builds:
        results = (*with_source_ids(results, run.tree),) or (*read_failed_build(run),)
    return tuple(
        result.with_texts(lambda text: text.replace(f"{run.tree}/", ""))  # each run has another worktree
        for result in results
    )


def select_results(results: Iterable[TestResult], tests: Sequence[str]) -> tuple[TestResult, ...]:
    """Return the results of those tests that were asked for; of all if there are none.

    A file that could not be loaded is reported whichever of its tests were asked for.
    """
    is_asked = match_test_ids(tests)
    files = frozenset(map(test_file_of, tests))
    return tuple(result for result in results if not tests or is_asked(result.id) or result.id in files)


FETCHES = {
    "you're using offline mode (--offline)": "cargo fetch",
    "module lookup disabled by GOPROXY=off": "go mod download",
    " in offline mode": "mvn dependency:go-offline",
    "for offline mode": "gradle build",
}
"""Command that fetches the packages of a build tool, by words of its message that some are missing."""


def missing_results_problem(command: str, execution: Execution, *, has_tests: bool) -> RunProblem:
    """Return why a run gave no result; runners differ in their exit code for a project without a test."""
    if execution.exit_code == 0 or not has_tests:
        text = f"`{command}` found no test. Name a test command with --test, or add a test."
        return RunProblem(kind="no_tests", text=text)
    text = f"`{command}` ended with exit code {execution.exit_code} before any test ran"
    fetch = next((fetch for words, fetch in FETCHES.items() if words in execution.output), "")
    if fetch:
        text += f", since packages are missing and the network is off here (get them first: {fetch})"
    return RunProblem(kind="no_report", text=f"{text}: {output_tail(execution.output)}")


def output_tail(output: str) -> str:
    """Return the last lines that a command printed, without blank ones; JSON messages as their text."""
    lines = [
        line.rstrip()
        for printed in plain_text(output).splitlines()
        for line in _readable(printed).splitlines()
        if line.strip()
    ]
    return "\n".join(lines[-TAIL_LINES:]) or "it printed nothing"


def _readable(line: str) -> str:
    """Return a line; of a JSON object, as Cargo prints them, the text that it has for people."""
    record = json_object(line) if line.startswith('{"') else {}
    if not record:
        return line
    message = record.get("message")
    return str(message.get("rendered") or "") if isinstance(message, dict) else ""


MANIFEST = "package.json"
EVERY_PACKAGE = "npm test --workspaces"
CALL = re.compile(
    r"npm (?:--prefix[ =](?P<directory>\S+) (?:run )?test)"
    r"|npm (?:run )?test (?:--workspaces|-ws)\b.*|npm (?:--workspaces|-ws) .*\btest\b.*"
    r"|pnpm (?:.* )?(?:-r|--recursive)\b.*\btest\b.*|yarn workspaces (?:.* )?run test\b.*"
    r"|(?:(?:npx|yarn|pnpm) )?(?:lerna|nx|turbo)\b.*\btest\b.*"
)
"""Commands that run the test scripts of packages in a repository."""
PNPM_PACKAGE = re.compile(r"^\s+- +['\"]?([^'\"#\n]+?)['\"]?\s*$", re.M)
HEADING = "coder package "
"""Start of the line that is printed before the tests of a package run."""
EXIT_CODE = "exit"
"""A file with the exit code of a package's tests, if they failed."""


class _PackageRun(NamedTuple):
    directory: str
    adapter: Adapter
    command: RecognizedCommand
    run: Run


class Workspaces:
    """Adapter of all packages of a repository, each with the runner that its test script starts.

    Paths are relative to the repository, whichever package they lie in.
    """

    name = "workspaces"

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the command for all packages below the directory, if their scripts start known runners."""
        packages = [path for path in find_packages(root) if self._command_of(root / path)]
        if (root / MANIFEST).exists() and packages:
            yield EVERY_PACKAGE
        elif len(packages) == 1:
            yield shlex.join(("npm", "--prefix", packages[0], "test"))

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether a command, in full, runs the test scripts of packages."""
        return CALL.fullmatch(" ".join(words)) is not None

    def prepare(self, run: Run) -> Invocation:
        """Run the tests of the packages in which files lie, package by package."""
        lines = ["code=0"]
        for part in self._parts(run):
            part.run.place.mkdir(exist_ok=True)
            invocation = prepare_run(part.adapter, part.run, part.command.builds)
            variables = {**invocation.environment, **part.command.environment}
            words = ["env", *(f"{name}={value}" for name, value in variables.items()), *invocation.argv]
            lines += [
                f"echo {shlex.quote(HEADING + part.directory)}",
                f"(cd {shlex.quote(part.directory)} && {shlex.join(words)}) || "
                f"{{ code=$?; echo $code > {shlex.quote(str(part.run.place / EXIT_CODE))}; }}",
            ]
        return Invocation(argv=("sh", "-c", "\n".join([*lines, "exit $code"])))

    def read_results(self, run: Run) -> Iterator[TestResult]:
        outputs = _split_output(run.output)
        for part in self._parts(run):
            finished = part.run.model_copy(update={"output": outputs.get(part.directory, "")})
            results = read_results(part.adapter, finished, part.command.builds)
            if not results and (part.run.place / EXIT_CODE).exists():
                results = (collection_failure(MANIFEST, output_tail(finished.output)),)
            for result in results:
                yield _in_directory(result, part.directory, run.tree)

    def _command_of(self, directory: Path) -> RecognizedCommand | None:
        return recognize_command("npm test", directory) if "test" in read_scripts(directory) else None

    def _parts(self, run: Run) -> Iterator[_PackageRun]:
        match = CALL.fullmatch(" ".join(run.argv))
        own = match["directory"] if match else None
        packages = [own.rstrip("/")] if own else find_packages(run.tree)
        for number, directory in enumerate(packages):
            command = self._command_of(run.tree / directory)
            adapter = find_adapter(command.adapter) if command else None
            files = tuple(path for path in run.files if nearest(packages, path) == directory)
            if command is None or adapter is None or (run.files and not files):
                continue
            own_run = Run(
                argv=command.argv,
                tree=run.tree / directory,
                place=run.place / str(number),
                files=tuple(PurePosixPath(path).relative_to(directory).as_posix() for path in files),
                tests=tuple(
                    test.removeprefix(f"{directory}/")
                    for test in run.tests
                    if test.startswith(f"{directory}/")
                ),
            )
            yield _PackageRun(directory, adapter, command, own_run)


def find_packages(root: Path) -> list[str]:
    """Return the directories of the packages below a directory: its workspaces, else all but test data."""
    patterns = _workspace_patterns(root)
    found = [
        path
        for path in manifest_directories(root, MANIFEST)
        if path != "." and not is_test_path(f"{path}/{MANIFEST}")
    ]
    if not patterns:
        return found
    excluded = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    return [
        path
        for path in found
        if any(matches_glob(path, pattern) for pattern in patterns)
        and not any(matches_glob(path, pattern) for pattern in excluded)
    ]


def _workspace_patterns(root: Path) -> list[str]:
    """Return the patterns of npm's, Yarn's or pnpm's workspaces."""
    workspaces = read_manifest(root).get("workspaces")
    if isinstance(workspaces, dict):
        workspaces = workspaces.get("packages")
    if isinstance(workspaces, list):
        return [str(pattern) for pattern in workspaces]
    return PNPM_PACKAGE.findall(read_regular_text(root / "pnpm-workspace.yaml"))


def _split_output(output: str) -> dict[str, str]:
    """Return what was printed for each package, by its directory."""
    parts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in output.splitlines(keepends=True):
        if line.startswith(HEADING):
            lines = parts.setdefault(line.removeprefix(HEADING).strip(), [])
        else:
            lines.append(line)
    return {directory: "".join(lines) for directory, lines in parts.items()}


def _in_directory(result: TestResult, directory: str, tree: Path) -> TestResult:
    """Return a result of a package with paths relative to the repository."""
    failure = _failure_in_directory(result.failure, directory, tree) if result.failure else None
    return result.model_copy(update={"id": f"{directory}/{result.id}", "failure": failure})


def _failure_in_directory(failure: Failure, directory: str, tree: Path) -> Failure:
    root = f"{tree.resolve()}/"

    def path_of(path: str) -> str:
        if path.startswith(root) and "/node_modules/" not in path:
            return path.removeprefix(root)
        return path if path.startswith(("/", "<")) else f"{directory}/{path}"

    frames = tuple(frame.model_copy(update={"path": path_of(frame.path)}) for frame in failure.frames)
    return failure.model_copy(update={"frames": frames})


ADAPTERS: tuple[Adapter, ...] = (
    *(Vitest(), Jest(), Mocha(), NodeTest()),
    *(GoTest(), CargoTest(), *REPORT_RUNNERS),
)
WORKSPACES = Workspaces()
