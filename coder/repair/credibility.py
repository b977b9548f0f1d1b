"""How far to believe an edit that made weak tests green: what smells of overfitting counts against it."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from coder.core.syntax import parsed
from coder.repair.candidates import Candidate
from coder.repair.source import Function, Source
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
}
"""What a family is worth once the tests are green: some satisfy tests without being right more often than others."""
SPECIAL_CASE, ORPHAN, DROPS = 0.3, 0.4, 0.6
SAID = 0.15
"""Each word of the changed place that the issue says as well adds so much, up to three of them."""
NAMED, UNNAMED = 1.4, 0.8
"""What an edit is worth where the issue names functions as code does, and this is one of them, or none."""
CODE = re.compile(r"`([^`\n]+)`|\b([\w.]+)\(|\b(\w+_\w+)\b")
TEST = re.compile(r"\S+::\S+|\btest_\w+")
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
    if _orphans(candidate, source):
        worth *= ORPHAN
    if candidate.edit.family != "deletion" and all(not change.text.strip() for change in candidate.edit.changes):
        worth *= DROPS
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


def _orphans(candidate: Candidate, source: Source) -> bool:
    """Is there a name in the function that nobody reads any more?"""
    function = source.function_at(candidate.edit.line)
    if function is None:
        return False
    start, end = source.span(function)
    text = candidate.edit.apply(source.text)
    grown = len(text) - len(source.text)
    try:
        after = parsed(_dedented(text[start : end + grown], source.indent(function))).body[0]
    except (SyntaxError, IndexError):
        return False
    return isinstance(after, Function) and bool(_unread(after) - _unread(function))


def _dedented(text: str, indent: str) -> str:
    return re.sub(rf"(?m)^{re.escape(indent)}", "", text)


def _unread(function: Function) -> set[str]:
    """Names bound in a function, its parameters included, and read nowhere in it."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    return bound - {node.id for node in names if isinstance(node.ctx, ast.Load)}


def _said(candidate: Candidate, source: Source, issue: str) -> int:
    """How many words of the changed place the issue says."""
    lines = source.text.split("\n")
    line = lines[candidate.edit.line - 1] if candidate.edit.line <= len(lines) else ""
    here = words_of(f"{candidate.place.rpartition('::')[2]} {line}")
    return len(here.keys() & words_of(issue).keys())
