"""Credibility of edits that pass weak tests: signs of overfitting lower it."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from coder.files.tokenize import count_terms
from coder.python.source import Function, PythonSource, dump_node, parse_module
from coder.repair.candidates import RepairCandidate
from coder.repair.context.donor_code import BUILTIN_NAMES, callee_name, calls_by_callee
from coder.repair.context.scope import assigned_names, name_similarity, names_never_read
from coder.repair.ranking.code_smells import (
    avoids_undefined_name,
    count_lost_values,
    count_mutated_parameters,
    count_no_ops,
    count_repetitions,
    has_constant_condition,
    has_donor_operation,
    line_after_edit,
    repeats_condition,
)

FAMILY_FACTORS: dict[str, float] = {
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
(
    SPECIAL_CASE_FACTOR,
    NEW_UNREAD_NAME_FACTOR,
    DELETION_FACTOR,
    CONSTANT_CONDITION_FACTOR,
    REPEATED_CONDITION_FACTOR,
    NO_OP_FACTOR,
) = 0.3, 0.4, 0.6, 0.1, 0.25, 0.3
(
    LOST_VALUE_FACTOR,
    AVOIDED_NAME_FACTOR,
    MERGED_VARIABLES_FACTOR,
    REPETITION_FACTOR,
    MUTATED_PARAMETER_FACTOR,
) = 0.3, 0.2, 0.35, 0.3, 0.4
READS_UNREAD_FACTOR, DEFAULT_ASSIGNED_FACTOR, DONOR_OPERATION_FACTOR = 1.25, 1.4, 1.25
"""Factors of an edit after which an unread name is read, or a value tested for None is then assigned, or, if
nothing speaks against it, an operation matches one elsewhere in the file."""
CONSISTENT_CALL_FACTOR, INCONSISTENT_CALL_FACTOR = 1.3, 0.7
"""Factors of an edit that makes a call pass the same argument as all other calls of the file, or no longer
does."""
MIN_OTHER_CALLS = 2
SHARED_WORD_BONUS = 0.15
"""Bonus for each word of the changed place that the issue contains, up to three."""
NAMED_FUNCTION_FACTOR, UNNAMED_FUNCTION_FACTOR = 1.4, 0.8
"""Factors of an edit if the issue names functions: of one of them, and of another one."""
CODE_MENTION = re.compile(r"`([^`\n]+)`|\b([\w.]+)\(|\b(\w+_\w+)\b")
TEST_MENTION = re.compile(r"\S+::\S+|\btest_\w+")
DEFAULT_ASSIGNMENT = re.compile(r"\bif (?:not ([\w.]+)|([\w.]+) is None):\n\s+(?:\1|\2) = ")
"""A value tested for None or emptiness is assigned."""
MIN_CORRECTION_SIMILARITY = 0.8
"""Similarity from which on a text counts as a correction of the one it replaces."""
MAX_COMMON_NUMBER = 2
"""Numbers up to this are too common to indicate a special case."""


@dataclass(frozen=True)
class CredibilityEvidence:
    """The facts that edits are judged by."""

    sources: Mapping[str, PythonSource]
    issue: str
    tests: str
    """The text of the failing tests' files."""
    undefined: frozenset[str] = frozenset()
    """Names that the failing tests report undefined."""


def rate_credibility(candidate: RepairCandidate, evidence: CredibilityEvidence) -> float:
    """Return the credibility of an edit.

    It is 1 for an ordinary edit, less for a doubtful one, a little more for one that the issue supports.
    """
    source = evidence.sources[candidate.edit.path]
    worth = FAMILY_FACTORS.get(candidate.edit.family, 1.0)
    if _is_special_case(candidate, source, evidence.tests):
        worth *= SPECIAL_CASE_FACTOR
    if candidate.edit.family != "deletion" and all(
        not change.text.strip() for change in candidate.edit.changes
    ):
        worth *= DELETION_FACTOR
    line = line_after_edit(candidate, source)
    if has_constant_condition(line):
        worth *= CONSTANT_CONDITION_FACTOR
    before, after = _functions(candidate, source)
    if before and avoids_undefined_name(before, evidence.undefined, candidate, source, line):
        worth *= AVOIDED_NAME_FACTOR
    if before and repeats_condition(before, candidate, source, line):
        worth *= REPEATED_CONDITION_FACTOR
    if before and after:
        worth *= (
            MERGED_VARIABLES_FACTOR
            if candidate.edit.family == "variable" and {*assigned_names(before)} - {*assigned_names(after)}
            else 1.0
        )
        worth *= _smell_factor(before, after) * _consistency_factor(candidate, source, before, after)
        if worth >= FAMILY_FACTORS.get(candidate.edit.family, 1.0) and has_donor_operation(
            before, after, source
        ):
            worth *= DONOR_OPERATION_FACTOR
    if len(DEFAULT_ASSIGNMENT.findall(candidate.edit.apply(source.text))) > len(
        DEFAULT_ASSIGNMENT.findall(source.text)
    ):
        worth *= DEFAULT_ASSIGNED_FACTOR
    functions_named = _functions_named_in_issue(evidence)
    if functions_named:
        worth *= (
            NAMED_FUNCTION_FACTOR
            if candidate.place.rpartition("::")[2].rpartition(".")[2] in functions_named
            else UNNAMED_FUNCTION_FACTOR
        )
    return worth * (1 + SHARED_WORD_BONUS * min(3, _shared_word_count(candidate, source, evidence.issue)))


def _smell_factor(before: Function, after: Function) -> float:
    """Return the factor for new smells in the function, and for names that were unread and are read now."""
    unread_before, unread_after = {*names_never_read(before)}, {*names_never_read(after)}
    worth = (
        NEW_UNREAD_NAME_FACTOR
        if unread_after - unread_before
        else READS_UNREAD_FACTOR
        if unread_before - unread_after
        else 1.0
    )
    worth *= NO_OP_FACTOR if count_no_ops(after) > count_no_ops(before) else 1.0
    worth *= (
        MUTATED_PARAMETER_FACTOR
        if count_mutated_parameters(after) > count_mutated_parameters(before)
        else 1.0
    )
    worth *= REPETITION_FACTOR if count_repetitions(after) > count_repetitions(before) else 1.0
    return worth * (LOST_VALUE_FACTOR if count_lost_values(after) > count_lost_values(before) else 1.0)


def _functions_named_in_issue(evidence: CredibilityEvidence) -> frozenset[str]:
    """Return the functions of the suspicious files that the issue names, apart from mentions of tests."""
    function_names = {function.name for source in evidence.sources.values() for function in source.functions}
    mentions = CODE_MENTION.findall(TEST_MENTION.sub(" ", evidence.issue))
    return frozenset(
        function_names
        & {word for mention in mentions for text in mention for word in re.findall(r"\w+", text)}
    )


def _is_special_case(candidate: RepairCandidate, source: PythonSource, tests: str) -> bool:
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
    return (
        name_similarity(old, new) < MIN_CORRECTION_SIMILARITY
        if literal[0] in "'\""
        else float(literal) > MAX_COMMON_NUMBER
    )


def _consistency_factor(
    candidate: RepairCandidate, source: PythonSource, function: Function, after: Function
) -> float:
    """Return the factor for agreement of changed calls with the file's other calls of the same function.

    Built-in functions do not count: their arguments vary.
    """
    old_calls = Counter(dump_node(node) for node in ast.walk(function) if isinstance(node, ast.Call))
    new_calls = [
        node
        for node in ast.walk(after)
        if isinstance(node, ast.Call) and not _take_one(old_calls, dump_node(node))
    ]
    checked = [
        call for call in new_calls if not (isinstance(call.func, ast.Name) and call.func.id in BUILTIN_NAMES)
    ]
    agreements = {
        agrees
        for call in checked
        for agrees in _agreements(
            call,
            [
                other_call
                for other_call in calls_by_callee(source).get(callee_name(call), ())
                if _is_unchanged(other_call, candidate)
            ],
        )
    }
    return (
        INCONSISTENT_CALL_FACTOR
        if False in agreements
        else CONSISTENT_CALL_FACTOR
        if True in agreements
        else 1.0
    )


def _take_one(counted: Counter[str], call: str) -> bool:
    counted[call] -= 1
    return counted[call] >= 0


def _agreements(call: ast.Call, others: Sequence[ast.Call]) -> Iterator[bool]:
    """Yield, for each position at which all other calls pass the same, whether this call does."""
    for argument, *other_arguments in zip(call.args, *(other.args for other in others), strict=False):
        dumps = {dump_node(their) for their in other_arguments}
        if len(other_arguments) >= MIN_OTHER_CALLS and len(dumps) == 1:
            yield dump_node(argument) in dumps


def _is_unchanged(call: ast.Call, candidate: RepairCandidate) -> bool:
    return not call.lineno <= candidate.edit.line <= (call.end_lineno or call.lineno)


def _functions(candidate: RepairCandidate, source: PythonSource) -> tuple[Function | None, Function | None]:
    """Return the changed function before and after the edit."""
    function = source.function_at(candidate.edit.line)
    if function is None:
        return None, None
    start, end = source.span(function)
    text = candidate.edit.apply(source.text)
    growth = len(text) - len(source.text)
    try:
        after = parse_module(_dedent(text[start : end + growth], source.indent(function))).body[0]
    except (SyntaxError, IndexError):
        return function, None
    return function, after if isinstance(after, Function) else None


def _dedent(text: str, indent: str) -> str:
    return re.sub(rf"(?m)^{re.escape(indent)}", "", text)


def _shared_word_count(candidate: RepairCandidate, source: PythonSource, issue: str) -> int:
    """Return the number of words of the changed place that the issue contains."""
    lines = source.text.split("\n")
    line = lines[candidate.edit.line - 1] if candidate.edit.line <= len(lines) else ""
    words = count_terms(f"{candidate.place.rpartition('::')[2]} {line}")
    return len(words.keys() & count_terms(issue).keys())
