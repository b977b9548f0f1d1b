"""Ties of tests and changes to an issue: words, examples and errors."""

import builtins
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from coder.core.paths import test_file_of
from coder.core.values import Value
from coder.core.verdict import IssueTie, TestResult
from coder.files.regular_files import read_regular_text
from coder.files.tokenize import STOP_WORDS, count_terms
from coder.index.languages import LANGUAGES
from coder.index.parsers import definitions
from coder.verify.select import project_files
from coder.verify.test_files import source_of_test

SUFFIXES = tuple(f".{extension}" for extension in LANGUAGES)
"""Those of the indexed languages other than Python."""
DISTINCTIVE_SHARE = 0.05
"""An identifier is distinctive if at most this share of the test files contain it, or one file; a word, if at
most this share of the test names do.
"""
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


class Purpose(Value):
    """The issue that changes are judged by, and the user's word on tests."""

    issue: str = ""
    unfinished_issues: tuple[str, ...] = ()
    """Earlier requests that this one goes on with: what is tied to them counts as tied by an identifier."""
    named_tests: tuple[str, ...] = ()
    needs_ties: bool = False
    """Whether a test of the base counts as a target only if it is tied to the issue."""
    requires_identifier_ties: bool = True
    """Whether red tests tied to the issue by an identifier alone have to pass where no other target does."""
    accepts_test_edits: bool = False

    @property
    def text(self) -> str:
        """The issue and the requests that it goes on with."""
        return "\n\n".join((self.issue, *self.unfinished_issues))


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
    words = {*_WORD.findall(result.failure.message if result.failure else "")}
    return any(name in words and _is_identifier(name, issue) for name in {*_WORD.findall(issue)})


def shares_names(issue: str, result: TestResult, tree: Path) -> bool:
    """Tell whether a red test shares an example, a message or an identifier with the issue."""
    body = read_test_source(tree, result.id)
    return bool(_strong_tie(issue, result, body) or _shared_identifiers(issue, result, body))


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
            found = path.endswith(SUFFIXES) and any(
                definition.bare_name in words and definition.kind != "variable"
                for definition in definitions(path, read_regular_text(tree / path))
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
    functions = {frame.function for frame in result.failure.own_frames} if result.failure else set()
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
    if not names:
        return set()
    words = [set(_WORD.findall(read_regular_text(tree / path))) for path in files]
    limit = max(1, len(files) * DISTINCTIVE_SHARE)
    return {name for name in names if sum(name in words_in_file for words_in_file in words) <= limit}


def _distinctive_words(words: Collection[str], tests: Collection[str]) -> set[str]:
    counts = Counter(word for test in tests for word in count_terms(test.partition("::")[2]).keys() & words)
    limit = max(MOST_NAMES, len(tests) * DISTINCTIVE_SHARE)
    return {word for word, count in counts.items() if count <= limit}


def read_test_source(tree: Path, test: str) -> str:
    """Return the source of a test; its whole file where its language is unknown or it is not found there."""
    path = test_file_of(test)
    text = read_regular_text(tree / path)
    if path.endswith(".py"):
        return source_of_test(path, text, test)
    return (source_of_test(path, text, test) if path.endswith(SUFFIXES) else "") or text
