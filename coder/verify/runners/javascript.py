"""Vitest, Jest, Mocha and `node --test`: packages, builds and their runners."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from coder.core.paths import is_test_path
from coder.core.verdict import Failure, Frame, Outcome, TestResult
from coder.files.regular_files import DEEPEST_MANIFEST, read_regular_text, source_files
from coder.verify.runners.adapter import (
    LONGEST_TEXT,
    Invocation,
    Run,
    build_failures,
    collection_failure,
    find_positions,
    json_object,
    matches_glob,
    path_in_tree,
    plain_text,
    read_json,
    read_source,
    without_options,
)

LAUNCHERS = frozenset({"npx", "yarn", "pnpm", "bunx", "npm", "exec", "x", "--", "env", "cross-env"})
"""Programs and words that only choose where a runner is found, or set variables."""
COVERAGE = frozenset({"c8", "nyc"})
"""Programs that measure the coverage of the next one."""
UNSET = frozenset({"-u", "--unset"})
"""Options of env before a variable that the command is not to see; here it is empty."""
LAUNCHER_OPTIONS_WITH_VALUES: Mapping[str, frozenset[str]] = {
    "env": UNSET,
    "npx": frozenset({"-p", "--package"}),
    "pnpm": frozenset({"-C", "--dir", "-F", "--filter"}),
    "yarn": frozenset({"--cwd"}),
}
WRAPPED = frozenset({"jest", "mocha", "vitest"})
"""Runners that a script of the project may start, as in `node wrapper.js mocha test`."""
INSTALLED_PROGRAM = re.compile(r".*\bnode_modules/(?:\.bin/)?([^/]+)")
SEQUENCES = frozenset({"npm-run-all", "npm-run-all2", "run-p", "run-s"})
"""Programs that run scripts, which their operands name."""
WITHOUT_ADAPTER = frozenset(
    {"ava", "cypress", "jasmine", "karma", "lab", "playwright", "qunit", "tap", "tape", "uvu", "wtr"}
)
"""Test runners whose results are known from their output or exit code alone."""
MEASURED = WRAPPED | WITHOUT_ADAPTER | {"node", "tsx"}
SCRIPT_CALL = re.compile(
    r"(?!.*(?: -r\b| --recursive\b| -ws\b| --workspaces\b| --prefix\b))"
    r"(?:npm|pnpm|yarn|bun)(?: --?[\w-]+)* (?:(?:run|run-script) (?P<script>[\w:.-]+)|(?:t|tst|test)\b)"
    r"(?: --)?(?P<rest>(?: .*)?)"
)
TEST_SCRIPT = re.compile(r"^(?:tests?|units?)\b|[:-](?:tests?|units?)$")
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
STACK_FRAME = re.compile(
    r"^\s*at (?:(?P<function>[^(\n]*) \()?(?:file://)?(?P<path>[^()\s]+):(?P<line>\d+):\d+\)?$"
)
ERROR_LINE = re.compile(
    r"^(?:Uncaught )?(?P<type>\w*(?:Error|Exception))(?: \[\w+\])?(?:: (?P<message>.*))?\Z", re.M | re.S
)
ASSERTING = re.compile(r"assert", re.IGNORECASE)
"""In the name of a function of a package by which a test fails, as of supertest, whose type is Error."""
JEST_ASSERTION = "expect("
"""Start of the message of Jest's assertions, whose type is Error."""
VITEST_ASSERTION = re.compile(
    r"Snapshot `.*` mismatched"
    r"|promise (?:resolved .* instead of rejecting|rejected .* instead of resolving)$",
    re.MULTILINE,
)
"""Messages of Vitest's assertions on snapshots and promises, whose type is Error, too."""


WAITS_FOR_EVER = "Promise resolution is still pending"
"""Error of `node --test` about a test that awaits what nothing can settle any more."""


class NodeAdapter:
    """Adapter of a test runner of Node.js, found in the scripts and dependencies of a package."""

    name: str

    def recognizes(self, words: Sequence[str]) -> bool:
        return bool(words) and program_name(words[0]) == self.name

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the bare command if the runner is a dependency, and no test script starts another one."""
        manifest = read_manifest(root)
        programs = {words[0].rpartition("/")[2] for words in find_test_programs(root)}
        is_dependency = any(self.name in _table(manifest, key) for key in ("devDependencies", "dependencies"))
        if is_dependency and not programs & WITHOUT_ADAPTER:
            yield self.name


def read_manifest(root: Path) -> dict[str, Any]:
    """Return package.json; empty if it is missing or no object."""
    return json_object(read_regular_text(root / "package.json"))


def read_scripts(root: Path) -> Mapping[str, str]:
    return _table(read_manifest(root), "scripts")


def _table(manifest: Mapping[str, Any], key: str) -> Mapping[str, str]:
    """Return the strings in an object of a manifest."""
    table = manifest.get(key)
    entries = table.items() if isinstance(table, dict) else ()
    return {name: value for name, value in entries if isinstance(value, str)}


def find_test_scripts(scripts: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the scripts that are named after tests: `test`, unit tests, others as they stand."""
    for name in sorted(scripts, key=lambda name: (name != "test", re.search(r"\bunit", name) is None)):
        if TEST_SCRIPT.search(name) and not re.search(r"watch|cov|e2e|lint|types?\b|update", name):
            yield name


def find_test_programs(root: Path) -> Iterator[tuple[str, ...]]:
    """Yield the programs that the test scripts of a package start, each with its arguments."""
    scripts = read_scripts(root)
    for name in find_test_scripts(scripts):
        for part in find_parts(f"npm run {name}", scripts):
            if words := split_launchers(part.words)[1]:
                yield words


class ScriptPart(NamedTuple):
    """One program that a command starts, and the innermost script of the package that it is part of.

    What a script that builds starts is part of that one.
    """

    script: str
    text: str

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the program; none if quotes do not match."""
        try:
            return tuple(shlex.split(self.text))
        except ValueError:
            return ()


def find_parts(command: str, scripts: Mapping[str, str]) -> Iterator[ScriptPart]:
    """Yield the programs that a command starts, in order, also through a package's scripts, each once."""
    yield from _parts_of("", command, scripts, set())


def _parts_of(script: str, command: str, scripts: Mapping[str, str], seen: set[str]) -> Iterator[ScriptPart]:
    for part in map(str.strip, re.split(r"&&|\|\||;", command)):
        if not (match := SCRIPT_CALL.fullmatch(part)):
            names = _sequence(part, scripts)
            if names is None:
                yield ScriptPart(script, part)
            for name in names or ():
                yield from _parts_of(script, f"npm run {name}", scripts, seen)
            continue
        called = match["script"] or "test"
        for name, rest in ((f"pre{called}", ""), (called, match["rest"])):
            if name in scripts and name not in seen:
                seen.add(name)
                inner = script if BUILD_SCRIPT.match(script) else name
                yield from _parts_of(inner, scripts[name] + rest, scripts, seen)


def _sequence(command: str, scripts: Mapping[str, str]) -> list[str] | None:
    """Return the scripts that npm-run-all and its like run, in order; None if it is another command."""
    program, *words = command.split() or [""]
    if program not in SEQUENCES:
        return None
    patterns = [word.strip("'\"") for word in words if not word.startswith("-")]
    paths = {name.replace(":", "/"): name for name in scripts}  # in a pattern `*` stands for one part
    return [
        paths[path] for pattern in patterns for path in paths if matches_glob(path, pattern.replace(":", "/"))
    ]


def split_wrapper(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return Node with its options, and a script of the project that starts a runner, and the runner."""
    if words[:1] != ("node",):
        return (), tuple(words)
    start = next((index for index in range(1, len(words)) if _is_operand(words, index)), len(words))
    for index in (start, start + 1):
        if index < len(words) and program_name(words[index]) in WRAPPED:
            return tuple(words[:index]), tuple(words[index:])
    return (), tuple(words)


def _is_operand(words: Sequence[str], index: int) -> bool:
    return not words[index].startswith("-") and words[index - 1] not in NODE_BEFORE_VALUES


def program_name(word: str) -> str:
    """Return the name of a program, of its package if it is started by its path in there."""
    path = PurePosixPath(word)
    installed = INSTALLED_PROGRAM.match(word)
    name = installed[1] if installed else path.stem if path.suffix in SUFFIXES else path.name
    return name.removeprefix("_").removesuffix("-cli")


def split_launchers(words: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the variables that the start of a command sets, and the command without launchers."""
    environment: dict[str, str] = {}
    remaining = list(words)
    with_values: frozenset[str] = frozenset()
    while remaining:
        word = remaining[0]
        if ASSIGNMENT.fullmatch(word):
            name, _, environment[name] = word.partition("=")
        elif word in COVERAGE:
            start = next((i for i, other in enumerate(remaining) if program_name(other) in MEASURED), 1)
            del remaining[: start - 1]
        elif word in LAUNCHERS:
            with_values = LAUNCHER_OPTIONS_WITH_VALUES.get(word, frozenset())
        elif not word.startswith("-"):
            break
        elif word in UNSET and word in with_values:
            environment[remaining[1] if len(remaining) > 1 else ""] = ""
        del remaining[: 2 if word in with_values else 1]
    return environment, tuple(remaining)


def find_binary(tree: Path, name: str) -> str:
    """Return the path of a program that the package, or one around it, installed; else the bare name."""
    places = (tree, *tree.parents[:DEEPEST_MANIFEST])
    binaries = (place / "node_modules" / ".bin" / name for place in places)
    return next((str(binary) for binary in binaries if binary.exists()), name)


def describe_missing_program(error: str, tree: Path) -> str:
    """Return what is lacking where a program of a package could not be started; empty for other errors."""
    program, _, reason = error.partition(" could not be started: ")
    if "/" in program or "No such file" not in reason or not (tree / "package.json").is_file():
        return ""
    return (
        f"`{program}` is not installed: there is no node_modules/.bin/{program}. Install the packages in the "
        "repository (npm ci, pnpm install or yarn); a link node_modules counts if it leads to a directory of "
        "that name."
    )


def without_paths(words: Sequence[str], tree: Path, *, before_values: Sequence[str]) -> tuple[str, ...]:
    """Return arguments without those that name test files, so that others can be named.

    Options in `before_values` are followed by a value, which is kept.
    """
    kept: list[str] = []
    for word in words:
        is_value = bool(kept) and kept[-1] in before_values
        names_files = "*" in word or (not word.startswith("-") and (tree / word).exists())
        if is_value or not names_files:
            kept.append(word)
    return tuple(kept)


def parse_error(text: str, tree: Path) -> Failure:
    """Return the failure that a stack trace of JavaScript describes."""
    lines = plain_text(text).strip().splitlines()
    head = "\n".join(line for line in lines if not STACK_FRAME.match(line)).strip()
    match = ERROR_LINE.search(head)
    type, message = (match["type"], match["message"] or "") if match else ("Error", head)
    if message.startswith(JEST_ASSERTION) or VITEST_ASSERTION.match(message):
        type = "AssertionError"
    # Above its own stack an assertion may quote that of an error, which the code under test has thrown.
    last = re.match(r"\s*at ", lines[-1]) if lines else None
    start = last[0] if last else "\0"
    own = [*takewhile(lambda line: line.startswith(start), reversed(lines))][::-1]
    stack = own if type == "AssertionError" and own else lines
    frames = [match for line in stack if (match := STACK_FRAME.match(line))]
    if any(
        "/node_modules/" in frame["path"] and ASSERTING.search(frame["function"] or "") for frame in frames
    ) or (type == "Error" and frames and _is_thrown_by_test(frames[0], tree)):
        type = "AssertionError"
    return Failure(
        type=type,
        message=message.strip(),
        frames=tuple(
            Frame(
                path=relative_path(frame["path"], tree),
                line=int(frame["line"]),
                function=(frame["function"] or "").removeprefix("async ") or "<anonymous>",
            )
            for frame in reversed(frames)
        ),
        text=plain_text(text).strip()[:LONGEST_TEXT],
    )


def _is_thrown_by_test(frame: re.Match[str], tree: Path) -> bool:
    """Tell whether a statement of a test file, or of a helper beside it, throws an error."""
    path = relative_path(frame["path"], tree)
    lines = read_regular_text(tree / path, within=tree).splitlines() if is_test_path(path) else []
    return any("throw " in line for line in lines[int(frame["line"]) - 1 : int(frame["line"])])


def relative_path(path: str, tree: Path) -> str:
    """Return a reported path relative to the directory; absolute outside and in installed packages."""
    pure = PurePosixPath(path.removeprefix("file://"))
    if not pure.is_absolute():
        return f"<{path}>" if path.startswith("node:") else path
    return str(pure) if "node_modules" in pure.parts else path_in_tree(str(pure), tree)


BUILDERS = frozenset(
    {
        *("babel", "bili", "esbuild", "microbundle", "ncc", "node-gyp", "parcel", "rollup", "rslib"),
        *("rspack", "swc", "tsc", "tsdown", "tshy", "tsup", "unbuild", "vite", "webpack", "zshy"),
    }
)
BUILD_SCRIPT = re.compile(r"(?:pre|post)?(?:build|bundle|codegen|compile|generate|transpile)\b")
BUILD_FILE = re.compile(r"build|bundle|compile|generate|transpile")
"""In the name of a file that Node runs."""
CHECKERS = frozenset(
    {"biome", "dprint", "eslint", "knip", "oxlint", "prettier", "publint", "standard", "tsd", "tslint", "xo"}
)
CHECKS_ALONE = frozenset({"--noEmit", "--watch", "-w"})
"""Options with which a compiler writes nothing, or does not end."""
COMPILED_SUFFIXES = (".ts", ".tsx", ".mts", ".cts")
LOADS_TYPESCRIPT = re.compile(r"\b(?:tsx|ts-node|esbuild|swc|strip-types|jiti)\b|\.[cm]?tsx?\b")
"""In a command that runs TypeScript itself."""
FIND_PROGRAMS = (
    'PATH="$PWD/node_modules/.bin:$PWD/../node_modules/.bin:$PWD/../../node_modules/.bin'
    ':$PWD/../../../node_modules/.bin:$PATH"'
)
"""Line of a shell: installed programs of the package, and of those around it, are found."""
BUILT = "built"
"""A file that is there once the build has ended well."""
TYPESCRIPT_POSITION = re.compile(r"^(?P<path>[\w./@+-]+)(?:\(|:)(?P<line>\d+)[,:]\d+\)?(?::| -) error", re.M)


def is_check(part: ScriptPart) -> bool:
    """Tell whether a part of a test script is a linter, or a compiler that writes nothing."""
    words = split_launchers(part.words)[1]
    return _program(words) in CHECKERS or bool(CHECKS_ALONE & {*words})


def is_build(part: ScriptPart) -> bool:
    """Tell whether a part of a test script writes files that the tests may need."""
    words = split_launchers(part.words)[1]
    program = _program(words)
    if not program or is_check(part):
        return False
    runs_build = program == "node" and BUILD_FILE.search(" ".join(words[1:])) is not None
    return program in BUILDERS or runs_build or BUILD_SCRIPT.match(part.script) is not None


def _program(words: Sequence[str]) -> str:
    return program_name(words[0]) if words else ""


def start_with(
    invocation: Invocation, *, builds: Sequence[str], wrapper: Sequence[str], place: Path
) -> Invocation:
    """Return an invocation that runs the builds first, and no test if one of them fails.

    The wrapper starts the runner; builds and wrapper find installed programs, as in a script of the package.
    """
    if not builds and not wrapper:
        return invocation
    script = "\n".join(
        [
            FIND_PROGRAMS,
            *(f"{{ {build}\n}} || exit" for build in builds),
            f": > {shlex.quote(str(place / BUILT))}",
            'exec "$@"',
        ]
    )
    return invocation.model_copy(update={"argv": ("sh", "-c", script, "sh", *wrapper, *invocation.argv)})


def selects_compiled_tests(run: Run, builds: Sequence[str]) -> bool:
    """Tell whether tests to run are compiled first: files to run are then not those that define them."""
    return bool(builds) and are_compiled(run.argv, run.files)


def are_compiled(argv: Sequence[str], tests: Iterable[str]) -> bool:
    """Tell whether a command runs what test files are compiled to."""
    is_compiled = any(path.endswith(COMPILED_SUFFIXES) for path in tests)
    return is_compiled and not LOADS_TYPESCRIPT.search(" ".join(argv))


def read_failed_build(run: Run) -> Iterator[TestResult]:
    """Yield the test files that errors of a failed build name, or else all; none if no compiler names one."""
    if (run.place / BUILT).exists():
        return
    text = plain_text(run.output)
    if error := TYPESCRIPT_POSITION.search(text):
        text = text[error.start() :]
    frames = find_positions(text, run.tree, pattern=TYPESCRIPT_POSITION)
    tests = [path for path in source_files(run.tree, COMPILED_SUFFIXES) if is_test_path(path)]
    yield from build_failures(run, frames, text, test_files=tests)


def with_source_ids(results: Sequence[TestResult], tree: Path) -> Iterator[TestResult]:
    """Yield results with the paths of TypeScript files instead of those of the compiled ones."""
    sources = list(source_files(tree, COMPILED_SUFFIXES))
    known: dict[str, str] = {}
    for result in results:
        path, colons, name = result.id.partition("::")
        if path not in known:
            known[path] = _source_named_like(path, sources) or path
        yield result.model_copy(update={"id": f"{known[path]}{colons}{name}"})


def _source_named_like(path: str, sources: Sequence[str]) -> str:
    """Return the source whose path ends like that of a compiled file; empty unless it is the only one."""
    parts = PurePosixPath(path).with_suffix("").parts
    if not path.endswith((".js", ".mjs", ".cjs")):
        return ""
    for start in range(len(parts)):
        end = parts[start:]
        found = [
            source for source in sources if PurePosixPath(source).with_suffix("").parts[-len(end) :] == end
        ]
        if found:
            return found[0] if len(found) == 1 else ""
    return ""


JEST_OUTCOMES: Mapping[str, Outcome] = {"passed": "passed", "failed": "failed"}
"""Any other status (pending, skipped, todo, disabled) means that the test did not run."""
JEST_REPORT = "report.json"
VITEST_REPORTER = Path(__file__).parents[1] / "target" / "node" / "vitest_reporter.mjs"
"""Our reporter: the report of Vitest's own has no types of errors before version 2."""
VITEST_MODES = ("run", "watch", "dev", "--run", "--ui", "--watch", "-w")
VITEST_VALUES = ("--reporter", "--outputFile", "--bail")
"""Options with a value that a run does not take from the command."""


class _JsonReporter(NodeAdapter):
    """Adapter of a runner whose report has the form of Jest's."""

    def read_results(self, run: Run) -> Iterator[TestResult]:
        for file in read_json(run.place / JEST_REPORT).get("testResults", ()):
            path = relative_path(str(file.get("name")), run.tree)
            results = list(_results_of_file(file, path, run.tree))
            if not results and file.get("status") == "failed":
                yield collection_failure(path, plain_text(str(file.get("message") or "")))
            yield from results


class Vitest(_JsonReporter):
    name = "vitest"

    def prepare(self, run: Run) -> Invocation:
        """Run once, whatever the command says about watching; files are chosen by parts of paths."""
        words = without_options(run.argv[1:], (*VITEST_MODES, *VITEST_VALUES), VITEST_VALUES)
        report = (f"--reporter={VITEST_REPORTER}", f"--outputFile={run.place / JEST_REPORT}")
        options = ("--run", *report, "--coverage.enabled=false", "--bail=0")
        argv = (find_binary(run.tree, run.argv[0]), *words, *options, *run.files)
        # No option of all its versions keeps it from writing snapshots.
        return Invocation(argv=argv, environment={"CI": "1"})


class Jest(_JsonReporter):
    name = "jest"

    def prepare(self, run: Run) -> Invocation:
        """Run once without a cache shared between trees; files are chosen by their paths."""
        words = [
            word for word in run.argv[1:] if not word.startswith(("--watch", "--json", "--output", "--bail"))
        ]
        options = (
            *("--json", f"--outputFile={run.place / JEST_REPORT}", f"--cacheDirectory={run.place / 'cache'}"),
            *("--ci", "--coverage=false", "--watchAll=false", "--forceExit", "--no-bail"),
        )
        paths = ("--runTestsByPath", *run.files) if run.files else ()
        argv = (find_binary(run.tree, run.argv[0]), *words, *options, *paths)
        return Invocation(argv=argv)


def _results_of_file(file: Mapping[str, Any], path: str, tree: Path) -> Iterator[TestResult]:
    for test in file.get("assertionResults", ()):
        outcome = JEST_OUTCOMES.get(test.get("status"), "skipped")
        messages = [str(message) for message in test.get("failureMessages") or ()]
        titles = (*test.get("ancestorTitles", ()), test.get("title", "?"))
        seconds = (test.get("duration") or 0) / 1000
        yield _to_result(path, titles, outcome, seconds, messages[0] if messages else "", tree)


def _to_result(
    path: str, titles: Iterable[object], outcome: Outcome, seconds: float, error: str, tree: Path
) -> TestResult:
    names = (title if isinstance(title, str) else json.dumps(title) for title in titles if title)
    return TestResult(
        id=f"{path}::{' > '.join(names)}",
        outcome=outcome,
        seconds=seconds,
        failure=parse_error(error, tree) if outcome == "failed" else None,
    )


MOCHA_REPORTER = Path(__file__).parents[1] / "target" / "node" / "mocha_reporter.cjs"
"""Our reporter: Mocha's own writes no file before version 9.2, and names no files of tests before 8."""
REPORT = "report.json"
MOCHA_BEFORE_VALUES = (
    *("-r", "--require", "--import", "--loader", "--config", "-c", "--ui", "-u", "-R", "--reporter", "-t"),
    *("--timeout", "-s", "--slow", "-g", "--grep", "-f", "--fgrep", "--file", "--extension", "--package"),
)
LOAD_ERROR = "Exception during run: "
"""Start of the message that Mocha prints, instead of a report, if a file cannot be loaded."""
NAMED_FILE = re.compile(r"(?P<path>/[^\s:()\[\]']+\.[cm]?[jt]sx?)\b(?::(?P<line>\d+))?")
MOCHA_OUTCOMES: tuple[tuple[str, Outcome], ...] = (
    ("passes", "passed"),
    ("failures", "failed"),
    ("pending", "skipped"),
)
"""Lists of the report, and the outcome of the tests in them."""


class Mocha(NodeAdapter):
    name = "mocha"

    def prepare(self, run: Run) -> Invocation:
        """Name the files where the command does; those that a configuration file adds are run as well."""
        words: Sequence[str] = run.argv[1:]
        if run.files:
            words = (*without_paths(words, run.tree, before_values=MOCHA_BEFORE_VALUES), *run.files)
        output = f"output={run.place / REPORT}"
        report = ("--reporter", str(MOCHA_REPORTER), "--reporter-options", output)  # plural: in every version
        argv = (find_binary(run.tree, run.argv[0]), *words, *report, "--exit", "--no-bail")
        return Invocation(argv=argv)

    def read_results(self, run: Run) -> Iterator[TestResult]:
        report = read_json(run.place / REPORT)
        for key, outcome in MOCHA_OUTCOMES:
            for test in report.get(key, ()):
                yield _mocha_result(test, outcome, run.tree)
        if not report:
            yield from _load_failures(run)


def _load_failures(run: Run) -> Iterator[TestResult]:
    """Yield the test file that could not be loaded, which is the outermost that the error names."""
    text = plain_text(run.output).partition(LOAD_ERROR)[2]
    frames = [
        Frame(path=path, line=int(match["line"] or 1), function="<unknown>")
        for match in NAMED_FILE.finditer(text)
        if not (path := relative_path(match["path"], run.tree)).startswith("/")
    ]
    yield from build_failures(
        run, dict.fromkeys(frames), text, test_files=[frame.path for frame in frames[-1:]]
    )


def _mocha_result(test: dict[str, Any], outcome: Outcome, tree: Path) -> TestResult:
    path = relative_path(str(test.get("file") or ""), tree)
    title = str(test.get("title") or "?")
    suite = str(test.get("fullTitle") or title).removesuffix(title).strip()
    error = test.get("err") or {}
    text = str(error.get("stack") or error.get("message") or "")
    result = _to_result(path, (suite, title), outcome, (test.get("duration") or 0) / 1000, text, tree)
    return result.model_copy(update={"when": "setup"}) if title.startswith('"before') else result


NODE_REPORTER = Path(__file__).parents[1] / "target" / "node" / "reporter.mjs"
"""Our reporter, which runs in Node's process, beside those of the tests."""
LITERAL_PATHS = NODE_REPORTER.with_name("literal_paths.cjs")
NODE_REPORT = "report.jsonl"
NODE_PROGRAMS = ("node", "tsx")
SUFFIXES = (".js", ".mjs", ".cjs")
IMPORT = re.compile(r"""(?:\bfrom|\brequire\(|\bimport)\s*["']node:test["']""")
NODE_BEFORE_VALUES = (
    *("-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"),
    "--env-file",
)


class NodeTest(NodeAdapter):
    """Adapter of `node --test`, and of `tsx --test`, which passes it on."""

    name = "node"

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield what runs tests that import `node:test`, if no script starts it on them.

        Other programs may run such tests, such as Node on a file that imports them all.
        """
        if read_manifest(root) and not any(map(self.recognizes, find_test_programs(root))):
            for program, *arguments in find_test_programs(root):  # Node on a file that imports the tests
                file = arguments[-1] if arguments else ""
                if program == "node" and is_test_path(file) and (root / file).is_file():
                    yield shlex.join((program, "--test", *arguments))
            tests = (path for path in source_files(root, SUFFIXES) if is_test_path(path))
            if any(IMPORT.search(read_source(root, path)) for path in tests):
                yield "node --test"

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether Node runs tests, itself or started by tsx."""
        return _program(words) in NODE_PROGRAMS and "--test" in words

    def prepare(self, run: Run) -> Invocation:
        """Report through our reporter; patterns are expanded, which Node does since 21 only."""
        words: Sequence[str] = [
            word for word in run.argv[1:] if not word.startswith(("--test-reporter", "--watch"))
        ]
        if run.files:
            words = (*without_paths(words, run.tree, before_values=NODE_BEFORE_VALUES), *run.files)
        words = [path for word in words for path in _expand(word, run.tree)]
        has_patterns = any(re.search(r"[\[?(]", word) for word in words if not word.startswith("-"))
        report = (
            *((f"--require={LITERAL_PATHS}",) if has_patterns else ()),
            f"--test-reporter={NODE_REPORTER.as_uri()}",
            f"--test-reporter-destination={run.place / NODE_REPORT}",
        )
        return Invocation(argv=(find_binary(run.tree, run.argv[0]), *report, *words))

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in our reporter's records: one a line, children before their parents.

        A file ends with the first test that waits for ever; Node reports the same of those that it did not
        run.
        """
        try:
            text = (run.place / NODE_REPORT).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        ended: set[str] = set()
        for record in filter(None, map(json_object, text.split("\n"))):  # the last line may be cut off
            waits = WAITS_FOR_EVER in (record.get("error") or "")
            if not (waits and record["file"] in ended):
                yield _node_result(record, run.tree)
            ended |= {record["file"]} if waits else set()


def _expand(word: str, tree: Path) -> Iterator[str]:
    if word.startswith("-") or "*" not in word:
        yield word
        return
    if braces := re.search(r"\{([^{}]*)\}", word):
        for choice in braces[1].split(","):
            yield from _expand(f"{word[: braces.start()]}{choice}{word[braces.end() :]}", tree)
        return
    for path in sorted(tree.glob(word.removeprefix("./"))):
        if "node_modules" not in path.parts:
            yield path.relative_to(tree).as_posix()


def _node_result(record: dict[str, Any], tree: Path) -> TestResult:
    path = relative_path(record["file"], tree)
    error = record.get("error") or ""
    if record["is_file"]:  # a file that ends with an error outside of any test
        return collection_failure(path, error)
    outcome: Outcome = "skipped" if record["skipped"] else "passed" if record["passed"] else "failed"
    return _to_result(path, record["names"], outcome, record["seconds"], error, tree)
