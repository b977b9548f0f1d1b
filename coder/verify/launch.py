"""Processes of test runs: their command lines and environments, and what our recorder writes."""

import argparse
import json
import os
import re
import secrets
import select
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from hmac import compare_digest
from itertools import pairwise
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self

from coder.core.paths import is_test_file, test_file_of
from coder.core.ports import Execution
from coder.core.values import Value
from coder.core.verdict import BodyExecution, Failure, Frame, LinesRun, Outcome, RunProblem, TestResult
from coder.files.regular_files import is_within, nearest
from coder.verify.layout import (
    PackageRun,
    files_below,
    find_packages,
    is_below,
    shadows_library,
    source_roots,
)
from coder.verify.project import RECORDED, Command, Project
from coder.verify.results import NEVER_ENDING
from coder.verify.runners.adapter import Invocation

TARGET = Path(__file__).parent / "target"
REPORT = "coder_pytest_report"
VARIABLES = {
    REPORT: "CODER_PYTEST_REQUEST",
    "coder_trace": "CODER_TRACE_REQUEST",
    "coder_trials": "CODER_TRIALS_REQUEST",
}
"""Environment variable in which each plugin finds the path of its request file."""
DEFAULT_HASH_SEED = "0"
"""Used if the project's environment sets none."""


PLAIN_START = """\
import os, runpy, sys, threading, time
seconds, shadowing, folder, module, *sys.argv[1:] = sys.argv[1:]
shadowing = shadowing.split(os.pathsep) if shadowing else []
sys.path[:1] = [] if folder in shadowing else [folder]
index = next((index for index, entry in enumerate(sys.path) if entry.endswith("-packages")), len(sys.path))
sys.path[index:index] = shadowing
def end(code):
    time.sleep(float(seconds))
    os._exit(code)
try:
    if module.endswith(".py") or os.path.isabs(module):
        sys.argv[0] = module
        runpy.run_path(module, run_name="__main__")
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
except SystemExit as ending:
    code = ending.code if ending.code is None or isinstance(ending.code, int) else 1
    threading.Thread(target=end, args=(code or 0,), daemon=True).start()
    raise
except BaseException:
    os._exit(125)
"""
"""Program that starts a runner as `python -m` or a script does, and ends it although a thread is left.

It ends with CRASHED where the runner itself raises an exception, which no test can make it do.
"""
CRASHED = 125
VALUE_OPTIONS = ("-k", "-m", "-p", "-c", "-n", "-o", "-W")
"""Short options of pytest that are followed by a value."""
LINGER_SECONDS = 5
"""The time that threads and children of tests have after the runner's own end."""


def prepare_launch(
    project: Project,
    tree: Path,
    place: Path,
    *,
    paths: Sequence[str],
    requests: Mapping[str, Mapping[str, Any]],
    options: Sequence[str] = (),
    folder: str | None = None,
    plugin_path: Sequence[Path] = (),
) -> Invocation:
    """Prepare a run of the tests at `paths`, writing the request of each plugin into `place`.

    It starts in `folder` of the tree; None is the package that holds all of the paths, if one does. Plugins
    are imported from `plugin_path`.
    """
    command = project.command
    if folder is None:
        packages = find_packages(tree) if paths and command.runs_anywhere(tree) else ()
        holding = {nearest(packages, path) for path in paths}
        folder = holding.pop() if len(holding) == 1 else "."
    argv = command.argv if command.is_pytest else (str(project.interpreter), "-m", "pytest")
    user_options = command.environment.get("PYTEST_ADDOPTS", "")
    variables = {}
    for plugin, request in requests.items():
        (place / plugin).write_text(
            json.dumps({**request, "tree": str(tree), "addopts": user_options}), encoding="utf-8"
        )
        variables[VARIABLES[plugin]] = str(place / plugin)
    # The cache is relocated rather than disabled: projects may use its options and its fixture.
    cache = ["-o", f"cache_dir={place / 'cache'}"] if project.has_cache else []
    plugins = [word for plugin in requests for word in ("-p", plugin)]
    our_options = shlex.join([*plugins, f"--rootdir={tree}", *cache, *project.options, *options])
    return Invocation(
        argv=_start_in(folder, (*argv, *_collected_paths(paths, folder))),
        environment={
            "PYTHONHASHSEED": DEFAULT_HASH_SEED,
            **project.environment,
            **command.environment,
            **variables,
            **({"PYTHONSAFEPATH": "1"} if shadowing_roots(project, tree, folder) else {}),
            "PYTHONPATH": os.pathsep.join([*search_path(project, tree, folder), *map(str, plugin_path)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_ADDOPTS": f"{user_options} {our_options}".strip(),
        },
    )


def search_path(project: Project, tree: Path, folder: str = ".") -> list[str]:
    """Return the directories to import from before the standard library.

    Those of `folder` come first, then others of the tree, those of the command, and packages that coder
    installed. Directories that hold modules called like some of the standard library are left out.
    """
    command_paths = filter(None, project.command.environment.get("PYTHONPATH", "").split(os.pathsep))
    return [
        *(str(root) for root in _roots(project, tree, folder) if not shadows_library(root)),
        *command_paths,
        *([str(project.overlay.directory)] if project.overlay and project.overlay.directory else []),
    ]


def shadowing_roots(project: Project, tree: Path, folder: str = ".") -> list[str]:
    """Return the directories to import from after the standard library: they hold modules called like it.

    A runner puts directories of tests onto the path only once it has loaded what it needs itself.
    """
    roots = dict.fromkeys((*_roots(project, tree, folder), tree / folder))
    return [str(root) for root in roots if shadows_library(root)]


def _roots(project: Project, tree: Path, folder: str) -> tuple[Path, ...]:
    own = source_roots(tree / folder) if folder != "." else ()
    return tuple(dict.fromkeys((*own, *project.import_roots(tree))))


def _start_in(folder: str, argv: Sequence[str]) -> tuple[str, ...]:
    """Return a command that starts another one in a directory below its own."""
    return (*argv,) if folder == "." else ("sh", "-c", 'cd "$0" && exec "$@"', folder, *argv)


def _collected_paths(paths: Sequence[str], folder: str) -> list[str]:
    """Return paths relative to `folder` as pytest takes them.

    It reads a bracket in one as parameters of a test, so all of the directory above is collected.
    """
    relative = (os.path.relpath(path, folder) for path in paths)
    shown = (str(Path(path[: path.index("[") + 1]).parent) if "[" in path else path for path in relative)
    return list(dict.fromkeys(shown))


def prepare_cold_launch(
    project: Project,
    tree: Path,
    place: Path,
    *,
    run: PackageRun,
    paths: Sequence[str],
    request: Mapping[str, Any],
) -> Invocation:
    """Prepare a run for evidence of the tests at `paths` of a package, all that `run` means if empty.

    The runner starts inside of coder_start, which loads the recorder before the tree can be imported.
    """
    arguments, start = _start_request(project, tree, run, paths)
    prefix = start["prefix"]
    if prefix:  # the recorder compares ids as pytest knows them, relative to its root
        weights = request.get("weights", {})
        start["select"] = [test.removeprefix(prefix) for test in request["select"]]
        start["weights"] = {file.removeprefix(prefix): seconds for file, seconds in weights.items()}
    launched = prepare_launch(
        project,
        tree,
        place,
        paths=(),
        requests={REPORT: {**request, **start}},
        options=[f"--rootdir={tree / prefix}"] if prefix else (),
        folder=run.root,
    )
    argv = (str(project.interpreter), str(TARGET / "coder_start.py"), *arguments)
    environment = {**launched.environment, "PYTHONPATH": "", "PYTHONSAFEPATH": ""}
    if not project.command.is_pytest:
        del environment["PYTEST_ADDOPTS"]
    return launched.model_copy(update={"argv": _start_in(run.root, argv), "environment": environment})


def prepare_plain_launch(project: Project, tree: Path, place: Path, *, run: PackageRun) -> Invocation:
    """Prepare a run of some tests by the project's runner in which nothing of ours is loaded, nor can be."""
    launched = prepare_launch(project, tree, place, paths=(), requests={}, folder=run.root)
    paths = search_path(project, tree, run.root)
    tests = [os.path.relpath(test, run.root) if run.root != "." else test for test in run.tests]
    command = project.command
    is_module = command.argv[1:2] == ("-m",)
    options = _without_paths(command.argv[3 if is_module else 2 :], tree / run.root)
    arguments: tuple[str, ...] = (*options, *tests)
    if not command.is_pytest:
        files = tuple(dict.fromkeys(map(test_file_of, tests)))
        labelled = prepare_labelled_run(command, files, tree / run.root)
        options = [*labelled.arguments[: len(labelled.arguments) - len(labelled.labels)]]
        labels = {path: label for label, path in labelled.labels.items()}
        known = (test for test in tests if test_file_of(test) in labels)
        names = (f"{labels[test_file_of(test)]}.{_dotted_name(test)}" for test in known)
        arguments = (*options, *names)
        paths += [str(tree / run.root / labelled.root)] if labelled.root else []
    start = command.argv[2] if is_module else command.argv[1]
    folder = tree / run.root if is_module else (tree / run.root / start).parent
    shadowing = os.pathsep.join(shadowing_roots(project, tree, run.root))
    program = ("-c", PLAIN_START, str(LINGER_SECONDS), shadowing, os.path.normpath(folder), start)
    return launched.model_copy(
        update={
            "argv": _start_in(run.root, (str(project.interpreter), *program, *arguments)),
            "environment": {**launched.environment, "PYTHONPATH": os.pathsep.join(paths)},
        }
    )


def _without_paths(arguments: Sequence[str], root: Path) -> list[str]:
    """Return a command's arguments without the test paths, which would run more than the selected tests."""
    return [
        argument
        for before, argument in pairwise(("", *arguments))
        if argument.startswith("-")
        or (before.startswith("--") and "=" not in before)
        or before in VALUE_OPTIONS
        or not (root / argument.partition("::")[0]).exists()
    ]


def _dotted_name(test: str) -> str:
    """Return class and method of a test, without what tells its subtests apart."""
    return re.sub(r"[\[(].*", "", test.partition("::")[2], flags=re.DOTALL).replace("::", ".").strip()


def _start_request(
    project: Project, tree: Path, run: PackageRun, paths: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the arguments of the runner, and what coder_start needs to know to start it."""
    command = project.command
    runs_module = command.argv[1:2] == ("-m",)
    request: dict[str, Any] = {
        "runner": command.runner,
        "script": "" if runs_module else command.argv[1],
        "path": search_path(project, tree, run.root),
        "shadowing": shadowing_roots(project, tree, run.root),
        "linger": LINGER_SECONDS,
        "own_runner": any(
            (root / name).exists()
            for root in source_roots(tree)
            for name in ("_pytest", "pluggy", "iniconfig")
        ),
        "prefix": run.prefix if command.is_pytest else "",
    }
    if command.is_pytest:
        ignored = [f"--ignore={tree / path}" for path in run.ignored]
        words = command.argv[3 if runs_module else 2 :]
        own = _without_paths(words, tree / run.root) if paths else words
        return (*own, *ignored, *_collected_paths(paths, run.root)), request
    is_part = run.root != "." or run.ignored
    files = test_files_at(paths or ((run.root,) if is_part else ()), tree)
    apart = [path for path in files if not any(is_below(path, other) for other in run.ignored)]
    names = [path.removeprefix(run.prefix) for path in apart]
    labelled = prepare_labelled_run(command, names, tree / run.root)
    labels = {label: f"{run.prefix}{path}" for label, path in labelled.labels.items()}
    label_root = str(tree / run.root / labelled.root) if labelled.root else ""
    return labelled.arguments, {**request, "labels": labels, "label_root": label_root}


def test_files_at(paths: Sequence[str], tree: Path) -> tuple[str, ...]:
    """Return the existing files at `paths`, and the test files of the directories there, each once."""
    files: dict[str, None] = {}
    for path in paths:
        inside = [path] if (tree / path).is_file() else filter(is_test_file, files_below(tree, path))
        files |= dict.fromkeys(inside)
    return tuple(files)


DISCOVERY = {"-s": "start-directory", "-t": "top-level-directory", "-p": "pattern"}
"""Options of unittest's discovery, and of Django's: they do not apply to labels."""
WITH_VALUES = {
    "unittest": ("-k", "--durations"),
    "django": (
        *("-k", "-v", "--durations", "--exclude-tag", "--pythonpath", "--settings", "--tag", "--testrunner"),
        *("--database", "--shuffle", "--start-after", "--start-at", "--verbosity"),
    ),
}
"""Other options that are followed by a value, by runner."""
FLAGS = {"unittest": ("-b", "-c", "-f", "-q", "-v"), "django": ()}
"""Options without a value, which can be written as one word."""
GEOGRAPHIC = "gis_tests"
"""Tests of Django itself that end the whole run with an error if no geographic database is set up."""


class LabelledRun(Value):
    """Arguments of a label-based runner that runs the files of some tests."""

    arguments: tuple[str, ...]
    """Everything after the script or module."""
    labels: Mapping[str, str]
    """Path of the test file, by label; empty for the whole suite."""
    root: str = ""
    """Directory, relative to the tree, that must be importable for the labels."""


def prepare_labelled_run(command: Command, files: Sequence[str], tree: Path) -> LabelledRun:
    """Return how to run test files, relative to `tree`; all if there are none.

    Files that the runner cannot import by name are left out. Single tests are selected by the recorder.
    """
    own = command.argv[3:] if command.runner == "unittest" else command.argv[2:]
    if not files:
        return LabelledRun(arguments=own, labels={})
    subcommand = own[:1] if own[:1] in (("test",), ("discover",)) else ()
    options, named, discovery = _parse_arguments(own[len(subcommand) :], command.runner)
    if command.runner == "unittest":
        is_discovery = bool(subcommand) or not named
        root = _discovery_root(named, discovery, tree) if is_discovery else ""
        subcommand = ()
    else:
        root = PurePosixPath(os.path.normpath(command.argv[1])).parent.as_posix()
    labels = {}
    for path in files:
        label = label_of(path, root)
        if label and not (command.runner == "django" and label.startswith(f"{GEOGRAPHIC}.")):
            labels[label] = path
    return LabelledRun(arguments=(*subcommand, *options, *labels), labels=labels, root=root)


class _Keep(argparse.Action):
    """Collect options as they apply to labels, each with its value."""

    def __call__(self, _parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        namespace.kept = (*namespace.kept, option_string, *values)


def _parse_arguments(words: Sequence[str], runner: str) -> tuple[list[str], list[str], dict[str, str]]:
    """Return the options of a label-based runner with their values, its labels, and those of discovery."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for short, long in DISCOVERY.items():
        parser.add_argument(short, f"--{long}", dest=long, default="")
    for option in WITH_VALUES[runner]:
        parser.add_argument(option, dest="kept", action=_Keep, nargs=1, default=())
    for option in FLAGS[runner]:
        parser.add_argument(option, dest="kept", action=_Keep, nargs=0, default=())
    known, rest = parser.parse_known_args(words)
    options = [*known.kept, *(word for word in rest if word.startswith("-"))]
    return options, [word for word in rest if not word.startswith("-")], vars(known)


def label_of(path: str, root: str) -> str:
    """Return the dotted name of a file that is imported from `root`, both relative to the tree.

    A file elsewhere is named from the top of the tree; empty if it cannot be named.
    """
    pure = PurePosixPath(path)
    inside = pure.relative_to(root) if root and pure.is_relative_to(root) else pure
    parts = inside.with_suffix("").parts
    return ".".join(parts) if pure.suffix == ".py" and all(map(str.isidentifier, parts)) else ""


def _discovery_root(named: Sequence[str], discovery: Mapping[str, str], tree: Path) -> str:
    """Return the directory from which unittest's discovery imports: the top level, else the start."""
    start = discovery["start-directory"] or (*named, ".")[0]
    top = discovery["top-level-directory"] or (*named[2:3], "")[0]
    root = os.path.normpath(top or start)
    return root if root != "." and (tree / root).is_dir() else ""


class Recording:
    """State of one run, updated from single records."""

    def __init__(self) -> None:
        self._results: dict[str, TestResult] = {}
        self._open: dict[str, None] = {}
        self._arrived: dict[str, float] = {}
        """When each result came, by the monotonic clock."""
        self._starts = 0
        self.collected: int | None = None
        """Number of tests selected to run; None if collection did not end."""
        self._is_collected = self._has_ended = False
        self.listed: list[str] = []
        """Ids of tests that were collected and are not run."""
        self.began = False
        """Whether a pytest session started with the plugin loaded."""
        self.finished = False
        self.exit_status: int | None = None
        self.loaded: dict[str, list[str]] = {}
        """Watched module -> the files it was imported from."""
        self.reached: tuple[str, ...] = ()
        self.lines: LinesRun | None = None
        """Changed lines of functions, by path, and those of them that did not run; None if unknown."""

    @property
    def results(self) -> tuple[TestResult, ...]:
        return tuple(self._results.values())

    def drop_failures_since(self, moment: float) -> None:
        """Forget failures that came since the process was killed, and with it those that it waited for."""
        for test in [test for test, result in self._results.items() if result.red]:
            if self._arrived[test] >= moment:
                del self._results[test]

    @property
    def running_tests(self) -> tuple[str, ...]:
        """Tests that have begun and not ended."""
        return tuple(self._open)

    def end_running(self, began: float) -> Iterator[TestResult]:
        """Yield a red result for each test that runs now: the run began at this moment and is cut."""
        seconds = time.monotonic() - max(self._arrived.values(), default=began)
        text = f"the test did not end within {seconds:.0f} s"
        failure = Failure(type=NEVER_ENDING, message=text, text=text)
        for test in self.running_tests:
            yield TestResult(id=test, outcome="failed", seconds=seconds, failure=failure)

    @property
    def has_ended_early(self) -> bool:
        """Whether the session ended by itself before all selected tests had run."""
        return (
            self.finished
            and self.collected is not None
            and max(self._starts, len(self._results)) < self.collected
        )

    @property
    def has_all_results(self) -> bool:
        """Whether all selected tests have ended, whatever the session does after them."""
        ran = sum(result.when != "collect" for result in self.results)
        return self._is_collected and self._has_ended and ran >= (self.collected or 1)

    @property
    def progress(self) -> str:
        """Progress in words, such as `37 of 120 tests, 2 red`."""
        results = [*self._results.values()]  # another thread adds to them
        red = sum(result.red for result in results)
        ran = sum(result.when != "collect" for result in results)
        doing = f"{ran} of {self.collected} tests" if self.collected else "collecting tests"
        return doing + (f", {red} red" if red else "")

    def add(self, line: Mapping[str, Any]) -> None:
        match line["kind"]:
            case "session":
                self.began, self.finished = True, False
            case "collected":
                self.collected = max(self.collected or 0, line["count"])
                self._is_collected = line.get("all", False)
            case "listed":
                self.listed.append(line["id"])
            case "start":
                self._starts += 1
                self._open[line["id"]] = None
            case "phase":
                self._take_phase(line)
            case "ended" | "finish":
                self._has_ended = True
                self.finished = line["kind"] == "finish"
                self.exit_status = line.get("exit")
                self.loaded = line["loaded"]
                self.reached = tuple(line.get("reached", ()))
                lines: Mapping[str, Sequence[Sequence[int]]] | None = line.get("lines")
                if lines is not None:
                    self.lines = {path: (tuple(all_), tuple(left)) for path, (all_, left) in lines.items()}

    def _take_phase(self, line: Mapping[str, Any]) -> None:
        if line["when"] not in ("setup", "call"):
            self._open.pop(line["id"], None)
        if (outcome := phase_outcome(line)) is None:
            return
        result = TestResult(
            id=line["id"],
            outcome=outcome,
            when=line["when"],
            seconds=line["seconds"],
            failure=parse_failure(line["failure"]) if outcome in ("failed", "error") else None,
            body=BodyExecution(**line["body"]) if line.get("body") else None,
        )
        self._arrived[result.id] = time.monotonic()
        earlier = self._results.get(result.id)
        self._results[result.id] = result if earlier is None else merge_results(earlier, result)


def phase_outcome(line: Mapping[str, Any]) -> Outcome | None:
    """Return the outcome of a test that one phase determines, None if it determines none.

    None also if the test will run again.
    """
    match line["outcome"], line["when"]:
        case "passed", "setup" | "teardown":
            return None
        case "passed", _:
            return "xpassed" if line["xfail"] else "passed"
        case "skipped", _:
            return "xfailed" if line["xfail"] else "skipped"
        case "failed", "call":
            return "failed"
        case "failed" | "error", _:
            return "error"
        case _:
            return None


def merge_results(first: TestResult, second: TestResult) -> TestResult:
    """Merge two results of one test: phases, subtests or repetitions.

    Red wins, and the first red result is kept.
    """
    decisive = second if second.red and not first.red else first
    return decisive.model_copy(
        update={"seconds": first.seconds + second.seconds, "body": second.body or first.body}
    )


def parse_failure(record: Mapping[str, Any]) -> Failure:
    frames = [Frame(path=path, line=line, function=function) for path, line, function in record["frames"]]
    return Failure(**{**record, "frames": tuple(frames)})


LARGEST_BYTES = 16 << 20
"""Limit for one record, in bytes; a longer line is invalid."""
GLANCE_SECONDS = 0.2


class RecordPipe:
    """Reading end of the pipe.

    A pipe cannot be rewritten, and a record without a valid seal of this run's key did not come from our
    recorder.
    """

    def __init__(self, path: Path, on_record: Callable[[Mapping[str, Any]], None]) -> None:
        """Create the pipe; `on_record` receives each record in a separate thread until the pipe is closed."""
        os.mkfifo(path, 0o600)
        self.path = path
        self.key = secrets.token_hex(16)
        self.forged_lines = 0
        """Number of lines that our recorder did not write."""
        self._take = on_record
        self._count = 0
        self._partial_line = b""
        # Opened for writing too, so that it never reports its end: a test may close the writer's descriptors.
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._read_continuously, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Read the remaining records: the writing process has ended."""
        self._stopped.set()
        self._thread.join()
        self._drain()
        self.forged_lines += bool(self._partial_line)
        os.close(self._descriptor)

    def _read_continuously(self) -> None:
        while not self._stopped.is_set():
            if select.select([self._descriptor], [], [], GLANCE_SECONDS)[0]:
                self._drain()

    def _drain(self) -> None:
        while True:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return
            *lines, self._partial_line = (self._partial_line + data).split(b"\n")
            if len(self._partial_line) > LARGEST_BYTES:
                self._partial_line, lines = b"", [b"", *lines]
            for line in lines:
                self._verify(line)

    def _verify(self, line: bytes) -> None:
        seal, _, numbered = line.partition(b" ")
        number, _, record = numbered.partition(b" ")
        expected = blake2b(numbered, key=bytes.fromhex(self.key), digest_size=16).hexdigest().encode("ascii")
        if not compare_digest(seal, expected) or number != b"%d" % (self._count + 1):
            self.forged_lines += 1
            return
        self._count += 1
        self._take(json.loads(record))


INTERNAL_ERROR = 3
USAGE_ERROR = 4
NO_TESTS = 5
"""Exit codes of pytest; unittest has the last one too."""
START_FAILURE = re.compile(
    r"error: no such command: |\w+ \S+: unknown command\b|make: \*\*\* No rule to make target"
    r"|\S*python[\d.]*: (?:No module named|can't open file) |Could not open input file: "
    r"|npm (?:error|ERR!) (?:Missing script|code (?:E404|ENOENT|ENOTCACHED)\b)"
    r"|ruby: No such file or directory|sh: \d+: (?:cannot|Can't) open "
    r"|rake aborted!\n(?:No Rakefile|Don't know)"
)
"""First line of output by which common programs say that they do not know what to run."""
MISSING_PROGRAM = re.compile(
    r"(?m)^(?:g?make(?:\[\d+\])?: \*\*\* .*\bError|task: .*\bexit status|npm (?:error|ERR!) code"
    r"|Command failed with status) \(?12[67]\b"
)
"""Line by which programs that start others report exit code 126 or 127: theirs is another one."""
WITHOUT_IGNORED = "Tests run in a clean worktree, which has no ignored files such as .venv. "
LAST_LINES = 10
"""Lines at the end of output in which such a report is looked for."""


def run_problem(
    recording: Recording, execution: Execution, *, runner: str, wall_seconds: float
) -> RunProblem | None:
    """Return why the results of a test command cannot be used, None if they can."""
    if execution.timed_out:
        if recording.has_all_results:
            return None  # it was cut in what follows the tests, such as a report of their coverage
        position = f", in {recording.running_tests[0]}" if recording.running_tests else ""
        text = f"The tests did not end within {wall_seconds:g} s; the limit came after "
        return RunProblem(kind="timeout", text=f"{text}{recording.progress}{position}.")
    if execution.exceeded:
        text = f"The sandbox ended the test run, which took {execution.exceeded}, after {recording.progress}."
        is_memory = execution.exceeded.endswith("of memory")
        remedy = " Your setting `sandbox_memory_mb` raises that limit." if is_memory else ""
        return RunProblem(kind="stopped", text=f"{text}{remedy}")
    if execution.exit_code is None:
        return RunProblem(kind="stopped", text="The test run was stopped.")
    if not recording.began:
        is_recorded = runner in RECORDED
        return _session_problem(execution, runner) if is_recorded else _start_problem(execution)
    return _incomplete_run_problem(recording, execution, runner)


def wrong_code_problem(
    loaded: Mapping[str, Sequence[str]], watched: Mapping[str, str], tree: Path
) -> RunProblem | None:
    """Return a problem if a changed module was imported from outside of the tree.

    `watched` maps module names to their paths in the tree.
    """
    root = tree.resolve()
    for name, files in loaded.items():
        for file in files:
            if not is_within(file, root):
                text = (
                    f"The tests imported {name} from {file} instead of {root / watched[name]}: "
                    "what they say is not about the change. "
                    "Something (an editable install, a conftest.py, a loader) puts its copy first; "
                    "give a test command that does not."
                )
                return RunProblem(kind="wrong_code", text=text)
    return None


def _start_problem(execution: Execution) -> RunProblem | None:
    """Return a problem if the program, its subcommand or script is missing or not executable."""
    is_unknown = execution.exit_code != 0 and START_FAILURE.match(execution.output.lstrip())
    tail = "\n".join(execution.output.rstrip().splitlines()[-LAST_LINES:])
    is_missing = execution.exit_code != 0 and MISSING_PROGRAM.search(tail)
    if execution.exit_code not in (126, 127) and not (is_unknown or is_missing):
        return None
    words = " ".join(execution.output.split())
    excerpt = words[:200] if is_unknown else words[-200:]
    text = (
        f"The test command could not be started (exit code {execution.exit_code}): {excerpt} "
        f"{WITHOUT_IGNORED if is_missing else ''}Mend it, or give another with --test."
    )
    return RunProblem(kind="usage", text=text)


def _session_problem(execution: Execution, runner: str) -> RunProblem:
    error_line = find_error_line(execution.output)
    if runner == "pytest" and "No module named pytest" in execution.output:
        text = f"pytest is not installed in the project's interpreter: {error_line}"
        return RunProblem(kind="no_runner", text=text)
    if runner == "pytest" and execution.exit_code in (INTERNAL_ERROR, USAGE_ERROR):
        return RunProblem(kind="usage", text=f"pytest refused to run: {error_line}")
    text = f"The test command ended with exit code {execution.exit_code} before {runner} began: {error_line}"
    return RunProblem(kind="no_report", text=text)


def _incomplete_run_problem(recording: Recording, execution: Execution, runner: str) -> RunProblem | None:
    code, status = execution.exit_code, recording.exit_status
    if not recording.finished:
        position = f" while {recording.running_tests[0]} was running" if recording.running_tests else ""
        text = f"The test process ended with exit code {code}{position}, after {recording.progress}."
        return RunProblem(kind="crash", text=text)
    error_line = find_error_line(execution.output)
    if runner == "pytest" and status in (INTERNAL_ERROR, USAGE_ERROR):
        what = "failed inside" if status == INTERNAL_ERROR else "refused to run"
        return RunProblem(kind="usage", text=f"pytest {what}: {error_line}")
    if recording.has_ended_early:
        text = f"{runner} ended before its end, after {recording.progress}: {error_line}"
        return RunProblem(kind="crash", text=text)
    if recording.results or recording.listed:
        return None
    if runner != "pytest" and status not in (0, NO_TESTS):
        text = f"The test command ended with exit code {status} before any test ran: {error_line}"
        return RunProblem(kind="usage", text=text)
    return RunProblem(
        kind="no_tests", text="No test was found. Name a test command with --test, or add a test."
    )


def find_error_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip(" =")]
    for mark in (
        *(r": error: ", r"^E  ", r"^ERROR: ", r"^INTERNALERROR> \w*(Error|Exception)", r"Error: ", r"^! "),
        r"Exit:",
    ):
        if error_line := next((line for line in lines if re.search(mark, line)), None):
            return error_line.removeprefix("E ").lstrip()[:400]
    return lines[-1][:400] if lines else "it printed nothing"
