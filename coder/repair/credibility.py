"""How far to believe an edit that made weak tests green: what smells of overfitting counts against it."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from coder.core.syntax import parsed
from coder.repair.candidates import Candidate
from coder.repair.scope import unread
from coder.repair.source import BLOCKS, Function, Source
from coder.repair.stock import BUILTIN, called, calls
from coder.tools.words import words_of

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
    "converted_elsewhere": 0.8,
}
"""What a family is worth once the tests are green: some satisfy tests without being right more often than others."""
SPECIAL_CASE, ORPHAN, DROPS, SETTLED, ASKED_TWICE, IDLE, LOST = 0.3, 0.4, 0.6, 0.25, 0.25, 0.3, 0.3
AS_ELSEWHERE, UNLIKE_ELSEWHERE = 1.3, 0.7
"""What an edit is worth after which a call is given what all other calls of the file are given at that place, or no longer is."""
ENOUGH_CALLS = 2
SAID = 0.15
"""Each word of the changed place that the issue says as well adds so much, up to three of them."""
NAMED, UNNAMED = 1.4, 0.8
"""What an edit is worth where the issue names functions as code does, and this is one of them, or none."""
CODE = re.compile(r"`([^`\n]+)`|\b([\w.]+)\(|\b(\w+_\w+)\b")
TEST = re.compile(r"\S+::\S+|\btest_\w+")
SETTLES = re.compile(r"\bif (?:not )?(?:True|False)\s*:")
"""A condition that is always the same: what stands under it is always done, or never."""
TELLING_NUMBER = 2
"""Numbers up to this say nothing about where they come from."""


@dataclass(frozen=True)
class Evidence:
    """What the edits are judged by."""

    sources: Mapping[str, Source]
    issue: str
    tests: str
    """The text of the failing tests' files."""


def credibility(candidate: Candidate, evidence: Evidence) -> float:
    """1 is an ordinary edit; less is doubtful; a little more is one that the issue speaks for."""
    source = evidence.sources[candidate.edit.path]
    worth = DOUBT.get(candidate.edit.family, 1.0)
    if _special_case(candidate, source, evidence.tests):
        worth *= SPECIAL_CASE
    before, after = _functions(candidate, source)
    if before and after and {*unread(after)} - {*unread(before)}:
        worth *= ORPHAN
    if before and after and _idle(after) > _idle(before):
        worth *= IDLE
    if before and after and _lost(after) > _lost(before):
        worth *= LOST
    if candidate.edit.family != "deletion" and all(not change.text.strip() for change in candidate.edit.changes):
        worth *= DROPS
    line = _line_after(candidate, source)
    if SETTLES.search(line):
        worth *= SETTLED
    if before and _asked_twice(line, before, candidate, source):
        worth *= ASKED_TWICE
    if before and after:
        worth *= _elsewhere(candidate, source, before, after)
    named = _named(evidence)
    if named:
        worth *= NAMED if candidate.place.rpartition("::")[2].rpartition(".")[2] in named else UNNAMED
    return worth * (1 + SAID * min(3, _said(candidate, source, evidence.issue)))


def _named(evidence: Evidence) -> frozenset[str]:
    """Functions of the suspicious files that the issue names; what it says of tests is left out."""
    defined = {function.name for source in evidence.sources.values() for function in source.functions}
    said = CODE.findall(TEST.sub(" ", evidence.issue))
    return frozenset(defined & {word for found in said for text in found for word in re.findall(r"\w+", text)})


def _special_case(candidate: Candidate, source: Source, tests: str) -> bool:
    """Does it write a literal that only the tests know?"""
    for change in candidate.edit.changes:
        for literal in re.findall(r"'[^']+'|\"[^\"]+\"|\b\d+(?:\.\d+)?\b", change.text):
            telling = literal[0] in "'\"" or float(literal) > TELLING_NUMBER
            bare = literal.strip("'\"")
            if telling and bare in tests and bare not in source.text:
                return True
    return False


def _idle(function: Function) -> int:
    """How many operations do nothing, such as `x * 1`, `0 + x`, `x[0:]` and `False or x`: what is meant is written without them."""
    return sum(map(_does_nothing, ast.walk(function)))


def _does_nothing(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Mult() | ast.FloorDiv() | ast.Pow(), right=ast.Constant(value=1)):
            return True
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.Constant(value=0)):
            return True
        case ast.BinOp(left=ast.Constant(value=1), op=ast.Mult()) | ast.BinOp(left=ast.Constant(value=0), op=ast.Add()):
            return True
        case ast.Slice(lower=ast.Constant(value=0)):
            return True
        case ast.BoolOp(values=values):
            return any(isinstance(value, ast.Constant) for value in values[:-1])
        case _:
            return False


def _lost(function: Function) -> int:
    """How many values are put where others are put in the same block, and nothing looks at them in between."""
    return sum(
        _overwritten(block)
        for node in ast.walk(function)
        for name in BLOCKS
        for block in [getattr(node, name, None)]
        if isinstance(block, list)
    )


def _overwritten(block: Sequence[ast.stmt]) -> int:
    count = 0
    held: set[str] = set()
    for statement in block:
        match statement:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript() as target], value=value):
                read, put = ast.unparse(value), ast.unparse(target)
                held = {one for one in held if one not in read}
                count += put in held
                held.add(put)
            case _:
                held.clear()
    return count


def _line_after(candidate: Candidate, source: Source) -> str:
    """The line on which the first change begins, as it is then."""
    text, start = candidate.edit.apply(source.text), candidate.edit.changes[0].start
    return text[text.rfind("\n", 0, start) + 1 :].partition("\n")[0]


def _asked_twice(line: str, function: Function, candidate: Candidate, source: Source) -> bool:
    """Does it ask for what is asked in the same block, or around it, already? In a loop of its own it may have to be asked again."""
    question = re.match(r"\s*(?:el)?if (.+):$", line)
    if question is None:
        return False
    ifs = [node for node in ast.walk(function) if isinstance(node, ast.If)]
    own = next((node for node in ifs if node.lineno == candidate.edit.line), None)
    near = ifs if own is None else [node for node in ifs if node is not own and _beside(node, own, source)]
    return any(source.code(node.test) == question[1] for node in near)


def _beside(one: ast.If, own: ast.If, source: Source) -> bool:
    """In the same block, a branch of what is there, or around it?"""
    chain = [own, *(node for node in source.around(own) if isinstance(node, ast.If))]
    return one in chain or any(one in _branches(node) for first in chain for node in source.block(first) if isinstance(node, ast.If))


def _branches(first: ast.If) -> list[ast.If]:
    """An `if` with all its `elif`."""
    found = [first]
    while len(found[-1].orelse) == 1 and isinstance(found[-1].orelse[0], ast.If):
        found.append(found[-1].orelse[0])
    return found


def _elsewhere(candidate: Candidate, source: Source, function: Function, after: Function) -> float:
    """Are the calls that it changes given what the file's other calls of the same function are all given at some place?

    What is built in is given anything.
    """
    before = Counter(ast.dump(node) for node in ast.walk(function) if isinstance(node, ast.Call))
    made = [node for node in ast.walk(after) if isinstance(node, ast.Call) and not _taken(before, ast.dump(node))]
    own = [call for call in made if not (isinstance(call.func, ast.Name) and call.func.id in BUILTIN)]
    told = {same for call in own for same in _same(call, [one for one in calls(source).get(called(call), ()) if _apart(one, candidate)])}
    return UNLIKE_ELSEWHERE if False in told else AS_ELSEWHERE if True in told else 1.0


def _taken(counted: Counter[str], one: str) -> bool:
    counted[one] -= 1
    return counted[one] >= 0


def _same(call: ast.Call, others: Sequence[ast.Call]) -> Iterator[bool]:
    """For each place at which all others are given the same: is this one?"""
    for given, *theirs in zip(call.args, *(one.args for one in others), strict=False):
        found = {ast.dump(one) for one in theirs}
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
