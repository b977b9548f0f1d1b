"""How far to believe an edit that made weak tests green: what smells of overfitting counts against it."""

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
"""What a family is worth once the tests are green: some satisfy tests without being right more often than others."""
SPECIAL_CASE, ORPHAN, DROPS, SETTLED, ASKED_TWICE, IDLE = 0.3, 0.4, 0.6, 0.1, 0.25, 0.3
LOST, AVOIDS, MERGED, AGAIN, CHANGES = 0.3, 0.2, 0.35, 0.3, 0.4
REVIVED, FILLED, ECHOED = 1.25, 1.4, 1.25
"""What an edit is worth after which something is read that nothing had read, or what is asked for is what is then given a value, or,
where nothing speaks against it, something is calculated that is calculated elsewhere in the file."""
AS_ELSEWHERE, UNLIKE_ELSEWHERE = 1.3, 0.7
"""What an edit is worth after which a call is given what all other calls of the file are given at that place, or no longer is."""
ENOUGH_CALLS = 2
SAID = 0.15
"""Each word of the changed place that the issue says as well adds so much, up to three of them."""
NAMED, UNNAMED = 1.4, 0.8
"""What an edit is worth where the issue names functions as code does, and this is one of them, or none."""
CODE = re.compile(r"`([^`\n]+)`|\b([\w.]+)\(|\b(\w+_\w+)\b")
TEST = re.compile(r"\S+::\S+|\btest_\w+")
FILLS = re.compile(r"\bif (?:not ([\w.]+)|([\w.]+) is None):\n\s+(?:\1|\2) = ")
"""What is found to have no value is given one."""
CORRECTED = 0.8
"""How alike a text is to the one it replaces where it corrects that."""
TELLING_NUMBER = 2
"""Numbers up to this say nothing about where they come from."""


@dataclass(frozen=True)
class Evidence:
    """What the edits are judged by."""

    sources: Mapping[str, Source]
    issue: str
    tests: str
    """The text of the failing tests' files."""
    undefined: frozenset[str] = frozenset()
    """Names that the failing tests say are not there."""


def credibility(candidate: Candidate, evidence: Evidence) -> float:
    """1 is an ordinary edit; less is doubtful; a little more is one that the issue speaks for."""
    source = evidence.sources[candidate.edit.path]
    worth = DOUBT.get(candidate.edit.family, 1.0)
    if _special_case(candidate, source, evidence.tests):
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
        worth *= _inside(before, after) * _elsewhere(candidate, source, before, after)
        if worth >= DOUBT.get(candidate.edit.family, 1.0) and echoes(before, after, source):
            worth *= ECHOED
    if len(FILLS.findall(candidate.edit.apply(source.text))) > len(FILLS.findall(source.text)):
        worth *= FILLED
    named = _named(evidence)
    if named:
        worth *= NAMED if candidate.place.rpartition("::")[2].rpartition(".")[2] in named else UNNAMED
    return worth * (1 + SAID * min(3, _said(candidate, source, evidence.issue)))


def _inside(before: Function, after: Function) -> float:
    """What is left unread, spare, said again, changed or lost in the function now, and what was unread before and is not any more."""
    unread_before, unread_after = {*unread(before)}, {*unread(after)}
    worth = ORPHAN if unread_after - unread_before else REVIVED if unread_before - unread_after else 1.0
    worth *= IDLE if spare_operations(after) > spare_operations(before) else 1.0
    worth *= CHANGES if changed_arguments(after) > changed_arguments(before) else 1.0
    worth *= AGAIN if repetitions(after) > repetitions(before) else 1.0
    return worth * (LOST if lost_values(after) > lost_values(before) else 1.0)


def _named(evidence: Evidence) -> frozenset[str]:
    """Functions of the suspicious files that the issue names; what it says of tests is left out."""
    defined = {function.name for source in evidence.sources.values() for function in source.functions}
    said = CODE.findall(TEST.sub(" ", evidence.issue))
    return frozenset(
        defined & {word for found in said for text in found for word in re.findall(r"\w+", text)}
    )


def _special_case(candidate: Candidate, source: Source, tests: str) -> bool:
    """Does it write a literal that only the tests know, and that is not for the most part what stood there?"""
    for change in candidate.edit.changes:
        old = source.text[change.start : change.end]
        for literal in re.findall(r"'[^']+'|\"[^\"]+\"|\b\d+(?:\.\d+)?\b", change.text):
            bare = literal.strip("'\"")
            if bare in tests and bare not in source.text and _tells(literal, old, change.text):
                return True
    return False


def _tells(literal: str, old: str, new: str) -> bool:
    """Is it no everyday number, and no text that corrects the old one?"""
    return likeness(old, new) < CORRECTED if literal[0] in "'\"" else float(literal) > TELLING_NUMBER


def _elsewhere(candidate: Candidate, source: Source, function: Function, after: Function) -> float:
    """Are the calls that it changes given what the file's other calls of the same function are all given at some place?

    What is built in is given anything.
    """
    before = Counter(ast.dump(node) for node in ast.walk(function) if isinstance(node, ast.Call))
    made = [
        node for node in ast.walk(after) if isinstance(node, ast.Call) and not _taken(before, ast.dump(node))
    ]
    own = [call for call in made if not (isinstance(call.func, ast.Name) and call.func.id in BUILTIN)]
    told = {
        same
        for call in own
        for same in _same(
            call, [item for item in calls(source).get(called(call), ()) if _apart(item, candidate)]
        )
    }
    return UNLIKE_ELSEWHERE if False in told else AS_ELSEWHERE if True in told else 1.0


def _taken(counted: Counter[str], one: str) -> bool:
    counted[one] -= 1
    return counted[one] >= 0


def _same(call: ast.Call, others: Sequence[ast.Call]) -> Iterator[bool]:
    """For each place at which all others are given the same: is this one?"""
    for given, *theirs in zip(call.args, *(other.args for other in others), strict=False):
        found = {ast.dump(their) for their in theirs}
        if len(theirs) >= ENOUGH_CALLS and len(found) == 1:
            yield ast.dump(given) in found


def _apart(call: ast.Call, candidate: Candidate) -> bool:
    return not call.lineno <= candidate.edit.line <= (call.end_lineno or call.lineno)


def _functions(candidate: Candidate, source: Source) -> tuple[Function | None, Function | None]:
    """The function that is changed, before and after."""
    function = source.function_at(candidate.edit.line)
    if function is None:
        return None, None
    start, end = source.span(function)
    text = candidate.edit.apply(source.text)
    grown = len(text) - len(source.text)
    try:
        after = parsed(_dedented(text[start : end + grown], source.indent(function))).body[0]
    except (SyntaxError, IndexError):
        return function, None
    return function, after if isinstance(after, Function) else None


def _dedented(text: str, indent: str) -> str:
    return re.sub(rf"(?m)^{re.escape(indent)}", "", text)


def _said(candidate: Candidate, source: Source, issue: str) -> int:
    """How many words of the changed place the issue says."""
    lines = source.text.split("\n")
    line = lines[candidate.edit.line - 1] if candidate.edit.line <= len(lines) else ""
    here = words_of(f"{candidate.place.rpartition('::')[2]} {line}")
    return len(here.keys() & words_of(issue).keys())
