"""Ties of tests and changes to an issue: words, examples, errors and its own code."""

import ast
import builtins
import doctest
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from textwrap import dedent

from pydantic import TypeAdapter

from coder.core.errors import SandboxError
from coder.core.paths import test_file_of
from coder.core.phases import READ_ONLY
from coder.core.ports import Execution, Limits, Sandbox
from coder.core.value_text import shorten_value
from coder.core.values import Value
from coder.core.verdict import BehaviorExample, IssueTie, TestResult
from coder.files.regular_files import read_regular_text
from coder.files.tokenize import STOP_WORDS, count_terms
from coder.python.source import Function, parse_or_empty
from coder.verify.failures import find_words
from coder.verify.languages import SUFFIXES, definition_names, find_added_definitions
from coder.verify.launch import TARGET
from coder.verify.layout import module_name, source_roots
from coder.verify.project import Project
from coder.verify.select import project_files
from coder.verify.test_edits import source_of_test

DISTINCTIVE_SHARE = 0.05
"""An identifier is distinctive if at most this share of the test files contain it, or one file; a word, if at
most this share of the test names do.
"""
TITLED_SUFFIXES = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".rb", ".php"})
"""Suffixes of languages whose tests have titles."""
MOST_TITLED_FILES = 2000
MOST_NAMES = 3
"""A distinctive word may always occur in this many test names."""
_CALL = re.compile(r"[A-Za-z_][\w.]*\((?:[^()\n]|\([^()\n]*\))+\)")
_QUOTED = re.compile(r"(?P<quote>[\"'`])(?P<text>[^\"'`\n]{4,80})(?P=quote)")
_NUMBERED = re.compile(r"(?<![\w.:/-])\d[\d:./-]*[:./-]\d+(?![\w:/-])")
_ERROR = re.compile(r"\b\w*(?:Error|Exception|Warning)\b: (?P<message>[^\n`]{8,200})")
_COMPARED = re.compile(r"(?:^|AssertionError: )(?:assert )?(.{1,80}?) (?:==|!=) (.{1,80}?)(?: within | : |$)")
"""A failed comparison in the words of pytest and unittest: found and wanted value."""
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_CALLED = re.compile(r"([A-Za-z_]\w{2,})\(")
_DEFINED = re.compile(r"^\s*(?:async )?(?:def|class) (\w+)", re.MULTILINE)
_ALTERNATIVE = re.compile(r"(?i)\b(?:instead of|rather than)\b[^.;:\n]*")
_SUITE_FAILS = re.compile(
    r"(?i)\b(?:tests?|suite|build|CI)\b[^.\n]{0,40}\b(?:fail|red|broken)"
    r"|\b(?:fail|red|broken)\w*\b[^.\n]{0,20}\btests?\b"
)


def tie_tests_to_issue(
    issue: str, reds: Sequence[TestResult], tree: Path, tests: Collection[str]
) -> Mapping[str, IssueTie]:
    """Return how each red test is tied to the issue, by id, without tests that nothing ties.

    `tree` holds the tested code; `tests` are the ids of all tests in it. An issue that only says that tests
    fail is tied to all red ones. A test that did not get as far as to run is tied by its error alone.
    """
    reds = [result for result in reds if result.when == "call" or _names_error(issue, result)]
    bodies = {result.id: read_test_source(tree, result.id) for result in reds}
    strong = {result.id: kind for result in reds if (kind := _strong_tie(issue, result, bodies[result.id]))}
    rest = [result for result in reds if result.id not in strong]
    identifiers = {result.id: _shared_identifiers(issue, result, bodies[result.id]) for result in rest}
    distinctive = _distinctive_names(
        {name for names in identifiers.values() for name in names},
        tree,
        {test_file_of(test) for test in tests},
    )
    distinctive_words = _distinctive_words(count_terms(issue).keys(), tests)
    weak = [
        test
        for test, names in identifiers.items()
        if names & distinctive or count_terms(test.partition("::")[2]).keys() & distinctive_words
    ]
    if not strong and not weak and _SUITE_FAILS.search(issue):
        weak = [result.id for result in reds]
    return {**strong, **dict.fromkeys(weak, "identifier")}


def _names_error(issue: str, result: TestResult) -> bool:
    """Tell whether an issue uses a name that occurs in the error of a test."""
    words = {*_WORD.findall(result.failure.message if result.failure else "")}
    return any(name in words and _is_identifier(name, issue) for name in {*_WORD.findall(issue)})


def shares_names(issue: str, result: TestResult, tree: Path, *, more: Collection[str] = ()) -> bool:
    """Tell whether a red test shares an example, a message or an identifier with the issue.

    `more` are names that the test is about; any mention of them counts.
    """
    body = read_test_source(tree, result.id)
    return bool(
        {name.rstrip("()") for name in more} & {*_WORD.findall(issue)}
        or _strong_tie(issue, result, body)
        or _shared_identifiers(issue, result, body)
    )


def names_definitions(issue: str, tree: Path) -> bool:
    """Tell whether the issue uses the name of a function or class of the project as one.

    In other languages than Python any word that is such a name counts.
    """
    words = {*_WORD.findall(issue)} - STOP_WORDS
    names = {name for name in words if _is_identifier(name, issue)}
    for path in project_files(tree):
        if path.endswith(".py"):
            found = not names.isdisjoint(_DEFINED.findall(read_regular_text(tree / path)))
        else:
            found = path.endswith(SUFFIXES) and not words.isdisjoint(
                definition_names(path, read_regular_text(tree / path))
            )
        if found:
            return True
    return False


def without_alternatives(issue: str) -> str:
    """Return an issue without what it only names as an alternative: `instead of the mean`."""
    return _ALTERNATIVE.sub(" ", issue)


def shares_words(issue: str, result: TestResult, tree: Path) -> bool:
    """Tell whether a test, or its name, has any word of the issue in one of its forms."""
    body = read_test_source(tree, result.id)
    words = count_terms(f"{result.id.partition('::')[2]}\n{body}").keys()
    return not words.isdisjoint(count_terms(issue).keys())


def _strong_tie(issue: str, result: TestResult, body: str) -> IssueTie | None:
    if _examples(issue) & _examples(body):
        return "example"
    failure = result.failure
    if failure is None:
        return None
    headline = failure.message.partition("\n")[0].strip()
    if (compared := _COMPARED.search(headline)) and all(_shows(issue, value) for value in compared.groups()):
        return "example"
    quoted = (error["message"].strip() for error in _ERROR.finditer(issue))
    is_assertion = failure.type == "AssertionError"
    if any(message in failure.message for message in quoted) or (
        not is_assertion and len(headline) >= 12 and headline in issue
    ):
        return "message"
    return None


def _shows(issue: str, value: str) -> bool:
    """Tell whether an issue has a value of a failed comparison, as it is or without its quotes."""
    text = value.strip().strip("'\"")
    return len(text) > 1 and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", issue) is not None


def _examples(text: str) -> set[str]:
    """Return examples as both an issue and a test write them.

    These are calls with literal arguments, quoted values, and values such as 09:30.
    """
    calls = {re.sub(r"\s+", "", call).replace('"', "'") for call in _CALL.findall(text)}
    examples = {
        call.partition("(")[0].rpartition(".")[2] + "(" + call.partition("(")[2]
        for call in calls
        if re.search(r"[\d']", call)
    }
    examples |= {
        match["text"] for match in _QUOTED.finditer(text) if re.search(r"[^A-Za-z_.]", match["text"].strip())
    }
    return examples | set(_NUMBERED.findall(text))


def _shared_identifiers(issue: str, result: TestResult, body: str) -> set[str]:
    """Return identifiers that the issue shares with the test's body or its failing frames."""
    frames = result.failure.frames if result.failure else ()
    functions = {frame.function for frame in frames if not Path(frame.path).is_absolute()}
    shared = set(_WORD.findall(issue)) & ({*_WORD.findall(body)} | functions)
    called = set(_CALLED.findall(body))
    return {
        name
        for name in shared - set(dir(builtins))
        if name in called or (name not in STOP_WORDS and _is_identifier(name, issue))
    }


def _is_identifier(name: str, issue: str) -> bool:
    """Tell whether the issue uses this word as a name.

    A name has an underscore or inner capitals, stands in backticks, or is called.
    """
    return bool(
        "_" in name
        or re.search(r"[a-z][A-Z]", name)
        or re.search(rf"`[^`\n]*\b{re.escape(name)}\b|\b{re.escape(name)}\(", issue)
    )


def _distinctive_names(names: Collection[str], tree: Path, files: Collection[str]) -> set[str]:
    """Return the names that few of the test files contain."""
    if not names:
        return set()
    words = [set(_WORD.findall(read_regular_text(tree / path))) for path in files]
    limit = max(1, len(files) * DISTINCTIVE_SHARE)
    return {name for name in names if sum(name in words_in_file for words_in_file in words) <= limit}


def _distinctive_words(words: Collection[str], tests: Collection[str]) -> set[str]:
    """Return the words that occur in few of the test names."""
    counts = Counter(word for test in tests for word in count_terms(test.partition("::")[2]).keys() & words)
    limit = max(MOST_NAMES, len(tests) * DISTINCTIVE_SHARE)
    return {word for word, count in counts.items() if count <= limit}


def read_test_source(tree: Path, test: str) -> str:
    """Return the source of a test; its whole file where its language is unknown or it is not found there."""
    text, path = _file_text(tree, test), test_file_of(test)
    if path.endswith(".py"):
        return _python_test(text, test)
    return (source_of_test(path, text, test) if path.endswith(SUFFIXES) else "") or text


def _file_text(tree: Path, test: str) -> str:
    """Return the text of a test's file.

    If the id names no file, as in TAP reports, return the texts of all files that contain its title in
    quotes.
    """
    if (tree / test_file_of(test)).is_file():
        return read_regular_text(tree / test_file_of(test))
    title = test.rpartition("::")[2]
    titled = (tree / path for path in project_files(tree) if Path(path).suffix in TITLED_SUFFIXES)
    texts = map(read_regular_text, islice(titled, MOST_TITLED_FILES))
    return "\n".join(text for text in texts if any(f"{quote}{title}{quote}" in text for quote in "\"'`"))


def _python_test(text: str, test: str) -> str:
    name = test.rpartition("::")[2].partition("[")[0]
    nodes = [
        node for node in ast.walk(parse_or_empty(text)) if isinstance(node, Function) and node.name == name
    ]
    return "\n".join(ast.get_source_segment(text, node) or "" for node in nodes)


SHOWN = 3
_ASKS_FOR_MORE = re.compile(
    r"(?i)\b(?:add(?:s|ed|ing)?|new|provide[sd]?|introduc\w+|implement\w*|offer\w*|support\w*|allow\w*|option\w*"
    r"|parameters?|arguments?|flags?|settings?|switch\w*|keywords?|features?|expose\w*|export\w*|configur\w+|helper"
    r"|ways? (?:to|of)|possib\w+|ability|able to|enabl\w+|like to|wish|want)\b"
)
"""Words of issues that ask for an addition."""


def find_issue_gaps(
    old: Mapping[str, str],
    new: Mapping[str, str],
    tests: Sequence[str],
    *,
    issue: str,
    find_defined: Callable[[], Collection[str]],
) -> Iterator[str]:
    """Yield why a change may leave what the issue is about as it was, half a sentence each.

    `old` and `new` are the changed sources by path, `tests` the sources of all targets, `find_defined`
    returns the names of the functions and types of the base. An issue that asks for an addition may have any.
    """
    if not tests or _ASKS_FOR_MORE.search(issue):
        return
    words = find_words(issue)
    added = find_added_definitions(old, new)
    used = [find_words(test) & added.names for test in tests]
    is_unasked = all(used) and not any(names & words for names in used)
    if added.is_all and is_unasked and words & {*find_defined()}:
        names = ", ".join(sorted(set().union(*used))[:SHOWN])
        yield f"the change only adds {names}, which the issue does not name, and edits nothing that it does"


MOST = 5
LEAST_MESSAGE = 6
"""Shorter messages may occur in any issue by chance."""
_INLINE = re.compile(r"(?<!`)`(?P<code>[^`\n]{3,200})`(?!`)")

_CALL_BEGIN, _CALL_END = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*\("), re.compile(r"[])]")
_ATTRIBUTES = re.compile(r"(?:\.[A-Za-z_]\w*)+(?![\w(])")
LONGEST_CALL = 200
_FENCE = re.compile(r"^[ \t]*```.*?^[ \t]*```", re.MULTILINE | re.DOTALL)
_EXPECTS_ERROR = re.compile(
    r"(?i)\b(?:should|must|ha(?:s|ve) to|ought to)\s+(?:also\s+|still\s+|then\s+|always\s+)?"
    r"(?:raise|throw|reject|refuse|fail)\b"
)
_ADDRESS = re.compile(r"0x[0-9a-f]+|/\S+")
_INCOMPLETE = frozenset(
    {"NameError", "ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError"}
)
"""Exceptions that show that the code needs more than the issue quotes."""


class RaisedError(Value):
    """The exception that ended a piece of code."""

    type: str
    message: str

    def is_reported_in(self, issue: str) -> bool:
        """Tell whether an issue names the message, or the type where the message is short."""
        if len(self.message) >= LEAST_MESSAGE and self.message in issue:
            return True
        return re.search(rf"\b{re.escape(self.type)}\b", issue) is not None


class IssueScriptResults(Value):
    """Results of the issue's scripts on both sides of a change."""

    fixed: tuple[str, ...] = ()
    """First lines of code pieces of the issue that fail on the base and succeed with the change."""
    failing: tuple[str, ...] = ()
    """First lines of those that fail on both sides."""
    lost: tuple[str, ...] = ()
    """Changed modules that could be imported before and cannot be now."""


class IssueScripts:
    """Runs scripts in a read-only sandbox on both sides of a change."""

    def __init__(self, project: Project, sandbox: Sandbox, scratch: Path) -> None:
        self._project = project
        self._sandbox = sandbox
        self._scratch = scratch

    def compare(self, old: Path, new: Path, changed: Sequence[str], issue: str) -> IssueScriptResults:
        """Run the code of the issue, and import the changed modules, in both trees."""
        fixed: list[str] = []
        failing: list[str] = []
        for piece in code_in_issue(issue):
            before, after = self._succeeds(piece, old), self._succeeds(piece, new)
            if before is False and after is not None:
                (fixed if after else failing).append(piece.strip().partition("\n")[0])
        return IssueScriptResults(
            fixed=tuple(fixed),
            failing=tuple(failing),
            lost=tuple(self._unimportable_modules(old, new, changed)),
        )

    def _unimportable_modules(self, old: Path, new: Path, changed: Sequence[str]) -> Iterator[str]:
        for path in changed:
            if (name := module_name(path, new)) and (old / path).is_file() and (new / path).is_file():
                code = f"import {name}"
                if self._succeeds(code, new) is False and self._succeeds(code, old):
                    yield name

    def run_request(self, request: str, tree: Path) -> str:
        """Run `coder_script.py --answers` in a tree and return its output; empty if it cannot be run."""
        execution = self._run(request, tree, "--answers")
        return execution.output if execution is not None and execution.exit_code == 0 else ""

    def _succeeds(self, code: str, tree: Path) -> bool | None:
        """Run code in a tree and tell whether it succeeds; None if that cannot be determined."""
        execution = self._run(code, tree)
        if execution is None or execution.exit_code is None:
            return None
        return {0: True, 1: False}.get(execution.exit_code)

    def _run(self, text: str, tree: Path, *options: str) -> Execution | None:
        """Run `coder_script.py` on a file with this text; None if the sandbox fails."""
        with tempfile.TemporaryDirectory(prefix="script-", dir=self._scratch) as place:
            file = Path(place, "piece")
            file.write_text(text, encoding="utf-8")
            argv = (str(self._project.interpreter), str(TARGET / "coder_script.py"), *options, str(file))
            try:
                return self._sandbox.run(
                    argv,
                    cwd=tree,
                    environment=self._environment(tree),
                    policy=READ_ONLY,
                    limits=Limits(wall_seconds=SECONDS),
                )
            except SandboxError:
                return None

    def _environment(self, tree: Path) -> Mapping[str, str]:
        roots = os.pathsep.join(str(root) for root in source_roots(tree) or (tree,))
        return {**self._project.environment, "PYTHONPATH": roots, "PYTHONDONTWRITEBYTECODE": "1"}


class IssueCodeAnswers(Value):
    """Answers to the code that an issue quotes, on both sides of a change."""

    persisting: tuple[str, ...] = ()
    """Half a sentence for each exception that the issue reports and that the change leaves."""
    examples: tuple[BehaviorExample, ...] = ()
    """Code that is answered otherwise than before."""


def answer_issue_code(
    scripts: IssueScripts, old: Path, new: Path, issue: str, targets: Sequence[str], changed: Sequence[str]
) -> IssueCodeAnswers:
    """Run the code that an issue quotes in both trees, with the imports of the target tests.

    `changed` are the paths of changed sources. A result persists if the issue quotes it, and the change
    answers none of the issue's code otherwise than before.
    """
    files = dict.fromkeys(map(test_file_of, targets))
    tests = [read_regular_text(new / path) for path in files if path.endswith(".py")]
    imports = [statement for text in tests for statement in _import_statements(text)]
    modules = [module for statement in imports for module in _imported_modules(statement)]
    modules += [name for path in changed if (name := module_name(path, new)) and name not in modules]
    calls, prose = _separate_calls(issue)
    persisting, unchanged, examples = [], [], []
    pieces = quoted_code(issue) if tests else ()
    request = json.dumps({"imports": imports, "modules": modules, "pieces": pieces, "changed": [*changed]})
    sides = [read_answers(scripts.run_request(request, tree)) if pieces else () for tree in (old, new)]
    for code, before, after in zip(pieces, *sides, strict=False):
        if before is None or after is None or (before.error and before.error.type in _INCOMPLETE):
            continue
        lines = code.strip().splitlines()
        if after.comparable_text != before.comparable_text:
            call = "; ".join(lines)
            examples.append(BehaviorExample(call=call, before=before.text, after=after.text, tested=True))
        elif before.error and before.error.is_reported_in(issue) and not _EXPECTS_ERROR.search(issue):
            raised = before.error
            persisting.append(f"`{lines[0]}` of the issue raises {raised.type} as before: {raised.message}")
        elif (
            before.is_affected
            and not before.error
            and before.value != lines[0]
            and (before.value in calls or _is_quoted(before.value, prose))
        ):
            unchanged.append(f"`{lines[0]}` of the issue gives {shorten_value(before.value)} as before")
    return IssueCodeAnswers(
        persisting=tuple(persisting if examples else (*persisting, *unchanged)), examples=tuple(examples)
    )


def _is_quoted(value: str, prose: str) -> bool:
    """Tell whether a text names a value, whose quotes and `.0` may be missing."""
    written = {value, value.strip("'\""), value.removesuffix(".0")} - {""}
    return any(re.search(rf"(?<![\w.]){re.escape(text)}(?![\w])", prose) for text in written)


def quoted_code(issue: str) -> tuple[str, ...]:
    """Return the code in an issue that can be run: expressions in backticks, calls in prose, fenced code,
    sessions.
    """
    issue = issue.replace("\r\n", "\n")
    text = _FENCE.sub("", issue)
    inline = [match["code"].strip() for match in _INLINE.finditer(text)]
    pieces = [code for code in inline if _is_evaluable(code)]
    pieces += [text[start:end] for start, end in calls_in_prose(_INLINE.sub("", _SESSION.sub("", text)))]
    for code in code_in_issue(issue):
        with suppress(ValueError):  # a session that is not written as doctest requires
            examples = doctest.DocTestParser().get_examples(code) if ">>>" in code else []
            pieces.append("".join(example.source for example in examples) or code)
    return tuple(dict.fromkeys(pieces))[:MOST]


def calls_in_prose(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of Python calls in a text, with what is called on their results."""
    position = 0
    while begin := _CALL_BEGIN.search(text, position):
        position = begin.end()
        end = 0
        for close in _CALL_END.finditer(text, begin.end(), begin.start() + LONGEST_CALL):
            if end and text[end : end + 1] not in (".", "(", "["):
                break
            if _is_evaluable(text[begin.start() : close.end()]):
                end = position = close.end()
        if end:
            attributes = _ATTRIBUTES.match(text, end)
            yield begin.start(), attributes.end() if attributes else end


def _separate_calls(text: str) -> tuple[frozenset[str], str]:
    """Return the calls in a text, and the rest of it."""
    places = [*calls_in_prose(text)]
    rest = text
    for start, end in reversed(places):
        rest = f"{rest[:start]}(){rest[end:]}"
    return frozenset(text[start:end] for start, end in places), rest


def _is_evaluable(code: str) -> bool:
    """Tell whether this is a Python expression that calls something."""
    tree = parse_or_empty(code)
    is_expression = len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)
    return is_expression and any(isinstance(node, ast.Call) for node in ast.walk(tree))


def _import_statements(text: str) -> list[str]:
    nodes = parse_or_empty(text).body
    return [ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def _imported_modules(statement: str) -> list[str]:
    """Return the modules that a statement imports, and the packages around them."""
    names = []
    for node in parse_or_empty(statement).body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, node.module.partition(".")[0]]
        elif isinstance(node, ast.Import):
            names += [part for alias in node.names for part in (alias.name, alias.name.partition(".")[0])]
    return list(dict.fromkeys(names))


class CodeAnswer(Value):
    """Result of a piece of code, or the exception that ends it."""

    error: RaisedError | None
    value: str
    is_affected: bool = False
    """True if the code entered a function of a changed file."""

    @property
    def text(self) -> str:
        return f"raises {self.error.type}: {self.error.message}" if self.error else self.value

    @property
    def comparable_text(self) -> str:
        """The answer without addresses and paths, which differ from run to run."""
        return _ADDRESS.sub("", self.text)


def read_answers(output: str) -> list[CodeAnswer | None]:
    """Return the answers on the last line of output, by piece; empty if there are none."""
    try:
        return _ANSWERS.validate_json(output.strip().rpartition("\n")[2])
    except ValueError:
        return []


_ANSWERS = TypeAdapter(list[CodeAnswer | None])
SECONDS = 20.0
_FENCED = re.compile(
    r"^[ \t]*```[ \t]*(?:python|py|pycon|python3)?[ \t]*\n(?P<code>.*?)^[ \t]*```", re.MULTILINE | re.DOTALL
)
_SESSION = re.compile(r"^[ \t]*>>> .*(?:\n[ \t]*\S.*)*", re.MULTILINE)


def code_in_issue(issue: str) -> tuple[str, ...]:
    """Return the code in an issue: fenced Python, and interpreter sessions anywhere in it."""
    issue = issue.replace("\r\n", "\n")
    candidates = [dedent(match["code"]) for match in _FENCED.finditer(issue)]
    candidates += [dedent(match[0]) for match in _SESSION.finditer(_FENCED.sub("", issue))]
    return tuple(dict.fromkeys(piece for piece in candidates if ">>>" in piece or _is_code(piece)))[:MOST]


def _is_code(text: str) -> bool:
    """Tell whether the text is Python that executes anything that can fail."""
    return any(isinstance(node, ast.Call | ast.Assert | ast.Raise) for node in ast.walk(parse_or_empty(text)))
