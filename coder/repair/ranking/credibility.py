"""Credibility of edits that pass weak tests: signs of overfitting lower it."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from coder.files.tokenize import words_of
from coder.python.parsing import parsed
from coder.python.source import Function, Source
from coder.repair.candidates import Candidate
from coder.repair.context.donor_code import BUILTIN, called, calls
from coder.repair.context.scope import likeness, stored, unread
from coder.repair.ranking.code_smells import (
    asked_twice,
    avoids,
    changed_arguments,
    echoes,
    line_after,
    lost_values,
    repetitions,
    settles,
    spare_operations,
)

DOUBT: dict[str, float] = {
    "deletion": 0.35,
    "dropped_guard": 0.6,
    "returned_value": 0.45,
    "inserted_guard": 0.6,
    "default_value": 0.8,
    "condition": 0.7,
    "string": 0.7,
    "constant": 0.8,
    "exception_type": 0.7,
    "lookup": 0.7,
    "unconditional": 0.55,
    "unwrapped": 0.55,
    "wrapped": 0.75,
    "slice_missing": 0.7,
    "yielding": 0.7,
    "argument_missing": 0.8,
    "given_elsewhere": 0.6,
    "kept_best": 0.8,
    "asserted_number": 0.8,
    "option": 0.9,
    "element": 0.8,
    "pattern": 0.8,
    "converted": 0.8,
    "converted_elsewhere": 0.25,
    "indentation": 0.45,
    "attribute": 0.4,
    "undecorated": 0.4,
}
"""Factor per family once the tests are green: some are right less often than others."""
SPECIAL_CASE, ORPHAN, DROPS, SETTLED, ASKED_TWICE, IDLE = 0.3, 0.4, 0.6, 0.1, 0.25, 0.3
LOST, AVOIDS, MERGED, AGAIN, CHANGES = 0.3, 0.2, 0.35, 0.3, 0.4
REVIVED, FILLED, ECHOED = 1.25, 1.4, 1.25
"""Factors of an edit after which an unread name is read, or a value tested for None is then assigned, or, if
nothing speaks against it, an operation matches one elsewhere in the file."""
AS_ELSEWHERE, UNLIKE_ELSEWHERE = 1.3, 0.7
"""Factors of an edit that makes a call pass the same argument as all other calls of the file, or no longer
does."""
ENOUGH_CALLS = 2
SAID = 0.15
"""Bonus for each word of the changed place that the issue contains, up to three."""
NAMED, UNNAMED = 1.4, 0.8
"""Factors of an edit if the issue names functions: of one of them, and of another one."""
CODE = re.compile(r"`([^`\n]+)`|\b([\w.]+)\(|\b(\w+_\w+)\b")
TEST = re.compile(r"\S+::\S+|\btest_\w+")
FILLS = re.compile(r"\bif (?:not ([\w.]+)|([\w.]+) is None):\n\s+(?:\1|\2) = ")
"""A value tested for None or emptiness is assigned."""
CORRECTED = 0.8
"""Similarity from which on a text counts as a correction of the one it replaces."""
TELLING_NUMBER = 2
"""Numbers up to this are too common to indicate a special case."""


@dataclass(frozen=True)
class Evidence:
    """The facts that edits are judged by."""

    sources: Mapping[str, Source]
    issue: str
    tests: str
    """The text of the failing tests' files."""
    undefined: frozenset[str] = frozenset()
    """Names that the failing tests report undefined."""


def credibility(candidate: Candidate, evidence: Evidence) -> float:
    """Return the credibility of an edit.

    It is 1 for an ordinary edit, less for a doubtful one, a little more for one that the issue supports.
    """
    source = evidence.sources[candidate.edit.path]
    worth = DOUBT.get(candidate.edit.family, 1.0)
    if _is_special_case(candidate, source, evidence.tests):
        worth *= SPECIAL_CASE
    if candidate.edit.family != "deletion" and all(
        not change.text.strip() for change in candidate.edit.changes
    ):
        worth *= DROPS
    line = line_after(candidate, source)
    if settles(line):
        worth *= SETTLED
    before, after = _functions(candidate, source)
    if before and avoids(before, evidence.undefined, candidate, source, line):
        worth *= AVOIDS
    if before and asked_twice(before, candidate, source, line):
        worth *= ASKED_TWICE
    if before and after:
        worth *= (
            MERGED if candidate.edit.family == "variable" and {*stored(before)} - {*stored(after)} else 1.0
        )
        worth *= _smell_factor(before, after) * _consistency_factor(candidate, source, before, after)
        if worth >= DOUBT.get(candidate.edit.family, 1.0) and echoes(before, after, source):
            worth *= ECHOED
    if len(FILLS.findall(candidate.edit.apply(source.text))) > len(FILLS.findall(source.text)):
        worth *= FILLED
    functions_named = _functions_named_in_issue(evidence)
    if functions_named:
        worth *= (
            NAMED if candidate.place.rpartition("::")[2].rpartition(".")[2] in functions_named else UNNAMED
        )
    return worth * (1 + SAID * min(3, _shared_word_count(candidate, source, evidence.issue)))


def _smell_factor(before: Function, after: Function) -> float:
    """Return the factor for new smells in the function, and for names that were unread and are read now."""
    unread_before, unread_after = {*unread(before)}, {*unread(after)}
    worth = ORPHAN if unread_after - unread_before else REVIVED if unread_before - unread_after else 1.0
    worth *= IDLE if spare_operations(after) > spare_operations(before) else 1.0
    worth *= CHANGES if changed_arguments(after) > changed_arguments(before) else 1.0
    worth *= AGAIN if repetitions(after) > repetitions(before) else 1.0
    return worth * (LOST if lost_values(after) > lost_values(before) else 1.0)


def _functions_named_in_issue(evidence: Evidence) -> frozenset[str]:
    """Return the functions of the suspicious files that the issue names, apart from mentions of tests."""
    function_names = {function.name for source in evidence.sources.values() for function in source.functions}
    mentions = CODE.findall(TEST.sub(" ", evidence.issue))
    return frozenset(
        function_names
        & {word for mention in mentions for text in mention for word in re.findall(r"\w+", text)}
    )


def _is_special_case(candidate: Candidate, source: Source, tests: str) -> bool:
    """Tell whether an edit writes a literal that only the tests contain.

    A literal that corrects the old text does not count.
    """
    for change in candidate.edit.changes:
        old = source.text[change.start : change.end]
        for literal in re.findall(r"'[^']+'|\"[^\"]+\"|\b\d+(?:\.\d+)?\b", change.text):
            bare = literal.strip("'\"")
            if bare in tests and bare not in source.text and _is_telling(literal, old, change.text):
                return True
    return False


def _is_telling(literal: str, old: str, new: str) -> bool:
    """Tell whether a literal is neither a common number nor a correction of the old text."""
    return likeness(old, new) < CORRECTED if literal[0] in "'\"" else float(literal) > TELLING_NUMBER


def _consistency_factor(candidate: Candidate, source: Source, function: Function, after: Function) -> float:
    """Return the factor for agreement of changed calls with the file's other calls of the same function.

    Built-in functions do not count: their arguments vary.
    """
    old_calls = Counter(ast.dump(node) for node in ast.walk(function) if isinstance(node, ast.Call))
    new_calls = [
        node
        for node in ast.walk(after)
        if isinstance(node, ast.Call) and not _take_one(old_calls, ast.dump(node))
    ]
    checked = [
        call for call in new_calls if not (isinstance(call.func, ast.Name) and call.func.id in BUILTIN)
    ]
    agreements = {
        agrees
        for call in checked
        for agrees in _agreements(
            call,
            [
                other_call
                for other_call in calls(source).get(called(call), ())
                if _is_unchanged(other_call, candidate)
            ],
        )
    }
    return UNLIKE_ELSEWHERE if False in agreements else AS_ELSEWHERE if True in agreements else 1.0


def _take_one(counted: Counter[str], call: str) -> bool:
    counted[call] -= 1
    return counted[call] >= 0


def _agreements(call: ast.Call, others: Sequence[ast.Call]) -> Iterator[bool]:
    """Yield, for each position at which all other calls pass the same, whether this call does."""
    for argument, *other_arguments in zip(call.args, *(other.args for other in others), strict=False):
        dumps = {ast.dump(their) for their in other_arguments}
        if len(other_arguments) >= ENOUGH_CALLS and len(dumps) == 1:
            yield ast.dump(argument) in dumps


def _is_unchanged(call: ast.Call, candidate: Candidate) -> bool:
    return not call.lineno <= candidate.edit.line <= (call.end_lineno or call.lineno)


def _functions(candidate: Candidate, source: Source) -> tuple[Function | None, Function | None]:
    """Return the changed function before and after the edit."""
    function = source.function_at(candidate.edit.line)
    if function is None:
        return None, None
    start, end = source.span(function)
    text = candidate.edit.apply(source.text)
    growth = len(text) - len(source.text)
    try:
        after = parsed(_dedent(text[start : end + growth], source.indent(function))).body[0]
    except (SyntaxError, IndexError):
        return function, None
    return function, after if isinstance(after, Function) else None


def _dedent(text: str, indent: str) -> str:
    return re.sub(rf"(?m)^{re.escape(indent)}", "", text)


def _shared_word_count(candidate: Candidate, source: Source, issue: str) -> int:
    """Return the number of words of the changed place that the issue contains."""
    lines = source.text.split("\n")
    line = lines[candidate.edit.line - 1] if candidate.edit.line <= len(lines) else ""
    words = words_of(f"{candidate.place.rpartition('::')[2]} {line}")
    return len(words.keys() & words_of(issue).keys())
