"""The port of test runners that report results themselves, what adapters share, and TAP and JUnit XML."""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Protocol
from xml.etree import ElementTree

from coder.core.text import parse_json
from coder.core.values import Value
from coder.core.verdict import Failure, Frame, Outcome, TestResult
from coder.files.regular_files import read_regular, read_regular_text

LONGEST_TEXT = 6000
ERROR_LINE = re.compile(r"\b\w*(?:Error|Exception)(?: \[\w+\])?: ")
STACK = re.compile(r"\n(?:\s+at |/\S+:\d+$)", re.M)
"""The first line of a stack trace below a message."""
ASSERTIONS = frozenset(
    {
        *("AssertionError", "AssertionFailedError", "AssertionFailure", "ComparisonFailure"),
        *("ConditionNotSatisfiedError", "ExpectationFailedException", "ExpectationNotMetError"),
        *("MultipleExpectationsNotMetError", "MultipleFailuresError"),
    }
)
"""Exceptions by which assertions of JUnit, AssertJ, Spock, PHPUnit and RSpec fail."""
ESCAPE_SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")


class Run(Value):
    argv: tuple[str, ...]
    """The parsed command, without our options."""
    tree: Path
    """The tested tree, which is the working directory."""
    place: Path
    """A directory for the report, made for this run."""
    files: tuple[str, ...] = ()
    """Existing test files and directories to run, relative to the tree; none means the whole suite."""
    tests: tuple[str, ...] = ()
    """Ids of the tests to run, in `files`; more may be run than these."""
    output: str = ""
    """The runner's output; empty before it has ended, and if a part of it was dropped."""


class Invocation(Value):
    """A command line and the variables that it needs."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = {}


class Adapter(Protocol):
    """A test runner: how it is found, started, and how its results are read.

    Ids are `path::name`, with the path of the file that defines the test, relative to the tree.
    """

    @property
    def name(self) -> str: ...

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the commands with which the project in this directory runs its tests."""
        ...

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether a command, without launchers before its program, starts this runner."""
        ...

    def prepare(self, run: Run) -> Invocation:
        """Return what to execute so that a run's results can be read afterwards."""
        ...

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results of a finished run.

        A file that cannot be compiled or loaded is one result, red in the stage `collect`, under its path.
        """
        ...


def collection_failure(path: str, text: str, frames: tuple[Frame, ...] = ()) -> TestResult:
    """Return the result of a test file that could not be compiled or loaded, with what was printed about it.

    `frames` are the positions of the errors. Its message is the first line that names an error, else the
    first line that is no heading.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip(" ●")]
    named = (line for line in lines if ERROR_LINE.search(line))
    message = next(
        named, next((line for line in lines if not line.startswith("●")), "it could not be loaded")
    )
    failure = Failure(type="CollectionError", message=message, frames=frames, text=text[-LONGEST_TEXT:])
    return TestResult(id=path, outcome="error", when="collect", failure=failure)


def build_failures(
    run: Run, errors: Iterable[Frame], text: str, *, test_files: Iterable[str]
) -> Iterator[TestResult]:
    """Yield the test files that errors of a compiler or loader name, or else all, if there is an error.

    `test_files` are all that are known. Only those that were asked for are taken, if some were.
    """
    frames = tuple(errors)
    files = dict.fromkeys(run.files or test_files)
    wrong = [frame.path for frame in frames if frame.path in files]
    for path in dict.fromkeys(wrong or files or [frame.path for frame in frames]) if frames else ():
        yield collection_failure(path, text, frames)


def normalize_failure(failure: Failure, frames: Iterable[Frame]) -> Failure:
    """Return a failure with these frames, outermost first, as AssertionError if an assertion failed."""
    type = "AssertionError" if failure.type in ASSERTIONS else failure.type
    message = STACK.split(failure.message, maxsplit=1)[0].strip()
    return failure.model_copy(update={"type": type, "message": message, "frames": tuple(frames)})


def find_program(words: Sequence[str], name: str, *, through: Sequence[str]) -> int | None:
    """Return the position of a program in a command, after words that start it; None if it is another one."""
    for index, word in enumerate(words):
        if word.rpartition("/")[2] == name:
            return index
        may_be_option = index > 0 and (word.startswith("-") or words[index - 1].startswith("-"))
        if word.rpartition("/")[2] not in through and not may_be_option:
            break
    return None


def read_json(file: Path) -> dict[str, Any]:
    """Return a report; empty if it is missing or was cut off."""
    try:
        return json_object(file.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return {}


def json_object(text: str) -> dict[str, Any]:
    """Return the JSON object that a text is; empty if it is none, or was cut off."""
    try:
        value = parse_json(text) if text.lstrip().startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def plain_text(text: str) -> str:
    """Return terminal output without escape sequences for colours."""
    return ESCAPE_SEQUENCE.sub("", text)


def split_operands(
    words: Sequence[str], with_values: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the options of a command, each followed by its value if it has one, and the other words.

    Options in `with_values` take the next word as their value.
    """
    options: list[str] = []
    operands: list[str] = []
    is_value = False
    for word in words:
        (options if is_value or word.startswith("-") else operands).append(word)
        is_value = not is_value and word in with_values
    return tuple(options), tuple(operands)


def without_options(
    words: Sequence[str], names: Collection[str], with_values: Collection[str] = ()
) -> tuple[str, ...]:
    """Return a command without these options; the value of those in `with_values` is left out as well."""
    kept: list[str] = []
    skips_value = False
    for word in words:
        if not skips_value and word.partition("=")[0] not in names:
            kept.append(word)
        skips_value = not skips_value and word in names and word in with_values
    return tuple(kept)


def alternatives(names: Iterable[str]) -> str:
    """Return a regular expression that matches exactly these names."""
    return f"^({'|'.join(map(re.escape, dict.fromkeys(names)))})$"


def join_commands(commands: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Return one command that runs each command in its directory, and fails if one of them does."""
    if len(commands) == 1 and commands[0][0] == ".":
        return tuple(commands[0][1])
    lines = [f"(cd {shlex.quote(place)} && {shlex.join(words)}) || code=$?" for place, words in commands]
    return ("sh", "-c", "\n".join(["code=0", *lines, "exit $code"]))


POSITION = re.compile(r"^\s*(?:-->\s*)?(?:\./)?(?P<path>[\w./@+-]+\.\w+):(?P<line>\d+)(?::\d+)?\b", re.M)
"""A place in a source file as compilers and tracebacks print it, at the start of a line."""


def matches_glob(path: str, pattern: str) -> bool:
    """Tell whether a pattern, in which `**` stands for any number of directories, matches a whole path."""
    parts = pattern.removeprefix("./").rstrip("/").split("/")
    expression = "/".join(".+" if part == "**" else re.escape(part).replace(r"\*", "[^/]*") for part in parts)
    return re.fullmatch(expression, path) is not None


def path_in_tree(path: str, tree: Path) -> str:
    """Return a reported path relative to the tree; as it is outside of it."""
    pure, root = PurePosixPath(path), tree.resolve()
    return pure.relative_to(root).as_posix() if pure.is_relative_to(root) else path


def read_source(tree: Path, path: str) -> str:
    """Return the text of a source file; empty if it is missing or leads out of the tree."""
    return read_regular_text(tree / path, within=tree)


def find_positions(
    text: str, tree: Path, *, within: str = ".", pattern: re.Pattern[str] = POSITION
) -> tuple[Frame, ...]:
    """Return the positions in files of the tree that a message names; paths are relative to `within`."""
    frames = []
    for match in pattern.finditer(text):
        path = PurePosixPath(within, match["path"])
        if path.is_relative_to(tree):
            path = path.relative_to(tree)
        if not path.is_absolute() and (tree / path).is_file():
            function = match.groupdict().get("function") or "<unknown>"
            frames.append(Frame(path=str(path), line=int(match["line"]), function=function))
    return tuple(frames)


LARGEST_XML = 64 << 20
TAP_LINE = re.compile(
    r"^(?P<failed>not )?ok\b(?:[ \t]+\d+)?[ \t]*-?[ \t]*(?P<name>[^#\n]*?)[ \t]*"
    r"(?:#[ \t]*(?P<directive>skip|todo)\b[^\n]*)?$",
    re.I,
)
TAP_TITLE = re.compile(r"# (?!.*(?:\bseed\b|\btime\b|\d ?m?s\b))(?P<title>\S.*?)[ \t]*", re.I)
"""The title of a test; not a comment on the run."""
TAP_OUTCOMES: Mapping[str, tuple[Outcome, Outcome]] = {
    "": ("passed", "failed"),
    "skip": ("skipped", "skipped"),
    "todo": ("xpassed", "xfailed"),
}
"""Outcomes of `ok` and `not ok`, by directive."""
FRAME = re.compile(r'^  File "(?P<path>[^"\n]+)", line (?P<line>\d+), in (?P<function>\S+)', re.M)
EXCEPTION_LINE = re.compile(
    r"^(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit|Failed))(?:: (?P<message>.*))?\Z",
    re.M | re.S,
)


def parse_reports(argv: Sequence[str], output: str, tree: Path, *, since: float) -> tuple[TestResult, ...]:
    """Return the tests in whatever known report a command produced; empty if it produced none.

    A JUnit file counts if the command names it and it was written after `since` (seconds since the epoch).
    """
    for name in re.findall(r"[^\s=:'\"]+\.xml\b", " ".join(argv)):
        report = tree / name
        if (
            report.is_file()
            and not report.is_symlink()
            and report.stat().st_mtime >= since
            and report.stat().st_size < LARGEST_XML
        ):
            return parse_junit(report.read_text(encoding="utf-8", errors="replace"))
    return parse_tap(output)


def parse_junit(text: str) -> tuple[TestResult, ...]:
    """Parse a JUnit XML report; ids are `classname::name`; empty if the text is no such report."""
    return with_unique_ids(
        [
            result.model_copy(update={"id": "::".join(filter(None, (owner, result.id)))})
            for owner, result in junit_cases(text)
        ]
    )


def junit_cases(text: str) -> list[tuple[str, TestResult]]:
    """Parse a JUnit XML report; results are under their bare names, each with its class or file."""
    root = parse_xml(text)
    return [
        (node.get("classname") or node.get("file") or "", _parse_testcase(node))
        for node in (() if root is None else root.iter("testcase"))
    ]


def parse_xml(text: str) -> ElementTree.Element | None:
    """Return the root of a document; None if it is none, or has entities, which can expand without bound."""
    try:
        return None if "<!ENTITY" in text[:10_000] else ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return None


def _parse_testcase(node: ElementTree.Element) -> TestResult:
    outcome: Outcome = "skipped" if node.get("status") in ("disabled", "notrun") else "passed"
    failure = None
    for child in node:
        match child.tag:
            case "failure" | "error":
                outcome = "failed" if child.tag == "failure" else "error"
                text = child.text or node.findtext("system-out") or ""  # CTest writes the latter
                failure = _parse_failure(
                    text, type=child.get("type") or "", message=child.get("message") or ""
                )
            case "skipped":
                outcome = "skipped"
            case _:
                pass
    seconds = node.get("time") or ""
    return TestResult(
        id=node.get("name") or "?",
        outcome=outcome,
        seconds=float(seconds) if re.fullmatch(r"\d+(\.\d+)?", seconds) else 0.0,
        failure=failure,
    )


def parse_tap(output: str) -> tuple[TestResult, ...]:
    """Parse a TAP stream, with descriptions as ids, below the titles that comments give to tests.

    Empty without its plan line, so that a chance `ok` is no test.
    """
    lines = output.splitlines()
    if not any(re.fullmatch(r"\d+\.\.\d+(?:[ \t]*#.*)?", line.strip()) for line in lines):
        return ()
    results: list[TestResult] = []
    titles = _titles(lines)
    for index, line in enumerate(lines):
        if match := TAP_LINE.match(line):
            diagnostics = "\n".join(_diagnostics(lines, index + 1))
            has_failed, directive = bool(match["failed"]), (match["directive"] or "").lower()
            outcome: Outcome = TAP_OUTCOMES[directive][has_failed]
            failure = _parse_failure(diagnostics, type="", message="") if outcome == "failed" else None
            id = " > ".join(filter(None, (titles[index], match["name"] or "test without a name")))
            results.append(TestResult(id=id, outcome=outcome, failure=failure))
    return with_unique_ids(results)


def _titles(lines: Sequence[str]) -> list[str]:
    """Return the title that holds at each line: a comment, as tape prints it, right above a result.

    Comments below a failure explain it; others may differ from run to run.
    """
    titles: list[str] = []
    title, is_diagnostic = "", False
    for line, next_line in zip(lines, [*lines[1:], ""], strict=True):
        if not line.startswith("#"):
            is_diagnostic = line.startswith("not ok")
        elif not is_diagnostic and TAP_LINE.match(next_line) and (match := TAP_TITLE.fullmatch(line)):
            title = match["title"]
        titles.append(title)
    return titles


def _diagnostics(lines: Sequence[str], start: int) -> Iterator[str]:
    """Yield the diagnostic lines below a test's line."""
    for line in lines[start:]:
        if not line.startswith((" ", "#")):
            return
        yield line


def _parse_failure(text: str, *, type: str, message: str) -> Failure:
    """Parse a traceback; type and message of the report itself take precedence."""
    body = text.strip()
    traceback = body.rpartition("Traceback (most recent call last):")[2]
    frames = tuple(
        Frame(path=match["path"], line=int(match["line"]), function=match["function"])
        for match in FRAME.finditer(traceback)
    )
    after = traceback[list(FRAME.finditer(traceback))[-1].end() :] if frames else traceback
    exception = EXCEPTION_LINE.search(message) or EXCEPTION_LINE.search(after)
    return Failure(
        type=(type or (exception["type"] if exception else "")).rpartition(".")[2] or "AssertionError",
        message=(exception["message"] if exception else message or body.partition("\n")[0]).strip(),
        frames=frames,
        text=body[-LONGEST_TEXT:],
    )


def with_unique_ids(results: Sequence[TestResult]) -> tuple[TestResult, ...]:
    """Return the results with unique ids: the second of a name gets `#2`."""
    counts: dict[str, int] = {}
    unique = []
    for result in results:
        counts[result.id] = count = counts.get(result.id, 0) + 1
        unique.append(result if count == 1 else result.model_copy(update={"id": f"{result.id} #{count}"}))
    return tuple(unique)


def read_file(file: Path, tree: Path) -> str:
    """Return the text of a report below a directory; empty if it is missing or too large."""
    return (read_regular(file, within=tree, limit_bytes=LARGEST_XML) or b"").decode("utf-8", "replace")


def with_frames(result: TestResult, id: str, frames: Iterable[Frame]) -> TestResult:
    """Return a result under another id; its failure has these frames and a type that all languages share."""
    failure = result.failure and normalize_failure(result.failure, frames)
    return result.model_copy(update={"id": id, "failure": failure})
