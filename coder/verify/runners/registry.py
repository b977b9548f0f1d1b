"""All adapters, the recognition of test commands by them, and runs with what builds before them."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from coder.core.paths import is_test_path, match_test_ids, test_file_of
from coder.core.ports import Execution
from coder.core.values import Value
from coder.core.verdict import RunProblem, TestResult
from coder.verify.runners.adapter import (
    Adapter,
    Invocation,
    Run,
    json_object,
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
    return next((adapter for adapter in ADAPTERS if adapter.name == name), None)


def find_commands(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the test commands of a project and what they were found by.

    Test scripts of the package come first; one without an adapter is last.
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
    for adapter in ADAPTERS:
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
        if adapter := next((known for known in ADAPTERS if known.recognizes(split_wrapper(argv)[1])), None):
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


ADAPTERS: tuple[Adapter, ...] = (
    *(Vitest(), Jest(), Mocha(), NodeTest()),
    *(GoTest(), CargoTest(), *REPORT_RUNNERS),
)
