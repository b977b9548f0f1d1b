"""Credibility of edits that pass weak tests: signs of overfitting lower it."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from coder.core.ports import CallComparison
from coder.files.tokenize import count_terms
from coder.python.source import BLOCK_FIELDS, Function, PythonSource, dump_node, find_nodes, parse_module
from coder.repair.candidates import RepairCandidate
from coder.repair.clusters import is_uninformative_answer
from coder.repair.generators.donor_code import BUILTIN_NAMES, callee_name, calls_by_callee
from coder.repair.generators.site import assigned_names, name_similarity, names_never_read, parameter_names

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
    old_calls = Counter(dump_node(node) for node in find_nodes(function, ast.Call))
    new_calls = [node for node in find_nodes(after, ast.Call) if not _take_one(old_calls, dump_node(node))]
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


# Code smells that an edit may introduce: no-ops, lost values, repeated conditions, avoided names.

MUTATING_METHODS = frozenset(
    {
        "add",
        "append",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
    }
)


def line_after_edit(candidate: RepairCandidate, source: PythonSource) -> str:
    """Return the edited line on which the first change begins."""
    text, start = candidate.edit.apply(source.text), candidate.edit.changes[0].start
    return text[text.rfind("\n", 0, start) + 1 :].partition("\n")[0]


def has_constant_condition(line: str) -> bool:
    """Tell whether a line has a constant condition, so that its body always or never runs."""
    return re.search(r"\bif (?:not )?(?:True|False)\s*:", line) is not None


def count_no_ops(function: Function) -> int:
    """Count operations without effect, such as `x * 1`, `x[0:]`, `False or x`, `not (a != b)`.

    Conditions with equal branches count as well.
    """
    return sum(_has_no_effect(node) or _has_equal_branches(node) for node in ast.walk(function))


def _has_no_effect(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Mult() | ast.FloorDiv() | ast.Pow(), right=ast.Constant(value=1)):
            return True
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.Constant(value=0)):
            return True
        case (
            ast.BinOp(left=ast.Constant(value=1), op=ast.Mult())
            | ast.BinOp(left=ast.Constant(value=0), op=ast.Add())
        ):
            return True
        case ast.Slice(lower=ast.Constant(value=0)):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(op=ast.Not())):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(ops=[ast.NotEq() | ast.NotIn() | ast.IsNot()])):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=ast.BoolOp(values=values)) if any(map(_is_negation, values)):
            return True
        case ast.BoolOp(values=values):
            return any(isinstance(value, ast.Constant) for value in values[:-1])
    return False


def _has_equal_branches(node: ast.AST) -> bool:
    match node:
        case ast.If(body=body, orelse=[_, *_] as orelse):
            return [*map(dump_node, body)] == [*map(dump_node, orelse)]
        case ast.IfExp(body=body, orelse=orelse):
            return dump_node(body) == dump_node(orelse)
    return False


def _is_negation(node: ast.expr) -> bool:
    """Tell whether an expression is a negation, so that another `not` around it is redundant."""
    match node:
        case ast.UnaryOp(op=ast.Not()) | ast.Compare(ops=[ast.NotEq() | ast.NotIn() | ast.IsNot()]):
            return True
    return False


def count_mutated_parameters(function: Function) -> int:
    """Count calls that mutate a parameter: callers seldom expect that."""
    parameters = {*parameter_names(function)} - {*assigned_names(function)}
    methods = (node.func for node in find_nodes(function, ast.Call) if isinstance(node.func, ast.Attribute))
    return sum(
        func.attr in MUTATING_METHODS and isinstance(func.value, ast.Name) and func.value.id in parameters
        for func in methods
    )


def count_lost_values(function: Function) -> int:
    """Count values that are overwritten in the same block before they are read."""
    return sum(
        _count_overwritten(block)
        for node in ast.walk(function)
        for name in BLOCK_FIELDS
        for block in [getattr(node, name, None)]
        if isinstance(block, list)
    )


def _count_overwritten(block: Sequence[ast.stmt]) -> int:
    count = 0
    pending: set[str] = set()
    for statement in block:
        match statement:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript() as target], value=value):
                value_text, target_text = ast.unparse(value), ast.unparse(target)
                pending = {assigned for assigned in pending if assigned not in value_text}
                count += target_text in pending
                pending.add(target_text)
            case _:
                pending.clear()
    return count


def has_donor_operation(before: Function, after: Function, source: PythonSource) -> bool:
    """Tell whether the change adds an operation that occurs elsewhere in the file.

    Most of the code that fixes need exists already: E. T. Barr et al., "The Plastic Surgery Hypothesis" (FSE
    2014).
    """
    old_counts = Counter(dump_operations(before))
    added = (
        operation
        for operation, count in Counter(dump_operations(after)).items()
        if count > old_counts[operation]
    )
    return any(operation_added in operations_in_file(source) for operation_added in added)


def dump_operations(node: ast.AST) -> Iterator[str]:
    """Yield the calculations, comparisons and subscripts under a node."""
    return (
        dump_node(descendant)
        for descendant in ast.walk(node)
        if isinstance(descendant, ast.BinOp | ast.BoolOp | ast.Compare | ast.Subscript)
    )


@lru_cache(maxsize=256)
def operations_in_file(source: PythonSource) -> frozenset[str]:
    """Return the calculations, comparisons and subscripts of a file."""
    return frozenset(dump_operations(source.tree))


def count_repetitions(function: Function) -> int:
    """Count statements that repeat the previous one, and calls that pass a variable twice."""
    nodes = [*ast.walk(function)]
    blocks = [
        block
        for node in nodes
        for name in BLOCK_FIELDS
        if isinstance(block := getattr(node, name, None), list)
    ]
    pairs = [pair for block in blocks for pair in pairwise(map(dump_node, block))]
    return sum(previous == following for previous, following in pairs) + sum(
        _passes_variable_twice(node) for node in nodes if isinstance(node, ast.Call)
    )


def _passes_variable_twice(call: ast.Call) -> bool:
    names = [argument.id for argument in call.args if isinstance(argument, ast.Name)]
    repeats_keyword = any(
        isinstance(keyword.value, ast.Name) and keyword.arg == keyword.value.id in names
        for keyword in call.keywords
    )
    return repeats_keyword or len({*names}) < len(names)


def avoids_undefined_name(
    function: Function, names: frozenset[str], candidate: RepairCandidate, source: PythonSource, line: str
) -> bool:
    """Tell whether an edit keeps an undefined name from being read without defining it.

    It does if it leaves the name as it is and changes nothing that decides whether the name is assigned. In a
    function that does not read the name, an edit can only keep the reader from running.
    """
    read_here = names & {node.id for node in find_nodes(function, ast.Name)}
    edited_line = candidate.edit.line
    around = (
        node
        for node in find_nodes(function, ast.stmt)
        if node.lineno <= edited_line <= (node.end_lineno or 0)
    )
    innermost = max(around, key=lambda node: node.lineno, default=function)
    is_simple = not any(getattr(innermost, name, None) for name in BLOCK_FIELDS)
    protected = {
        node.id for node in find_nodes(innermost, ast.Name) if (is_simple or isinstance(node.ctx, ast.Store))
    }
    changed_texts = (
        text
        for change in candidate.edit.changes
        for text in (source.text[change.start : change.end], change.text)
    )
    return bool(names) and not (read_here or names) & {
        *protected,
        *(word for text in (line, *changed_texts) for word in re.findall(r"\w+", text)),
    }


def repeats_condition(
    function: Function, candidate: RepairCandidate, source: PythonSource, line: str
) -> bool:
    """Tell whether a new condition repeats one nearby, or negates another branch's condition.

    In a loop of its own, or if one of its variables has been assigned since, testing again may be necessary.
    """
    question = re.match(r"\s*(?:el)?if (.+):$", line)
    if question is None:
        return False
    changed = [change.start for change in candidate.edit.changes]
    ifs = [node for node in find_nodes(function, ast.If) if source.span(node.test)[0] not in changed[1:]]
    own = next((node for node in ifs if node.lineno == candidate.edit.line), None)
    if own is None:
        return any(source.text_of(node.test) == question[1] for node in ifs)
    is_repeated = any(
        source.text_of(node.test) == question[1]
        for node in ifs
        if node is not own
        and _is_adjacent(node, own, source)
        and not _assigns_variable_of(min(own, node, key=lambda branch: branch.lineno), question[1])
    )
    return is_repeated or any(
        _are_opposite(source.text_of(node.test), question[1]) for node in _branches_of(own)[1:]
    )


def _assigns_variable_of(first: ast.If, question: str) -> bool:
    """Tell whether a variable of a condition is assigned under the first of two conditions."""
    return any(
        name in re.findall(r"\w+", question) for statement in first.body for name in assigned_names(statement)
    )


def _are_opposite(condition: str, other: str) -> bool:
    return condition == f"not {other}" or other == f"not {condition}"


def _is_adjacent(branch: ast.If, own: ast.If, source: PythonSource) -> bool:
    """Tell whether an `if` is in the same block, a branch of it, or around it."""
    chain = [own, *(node for node in source.ancestors(own) if isinstance(node, ast.If))]
    return branch in chain or any(
        branch in _branches_of(node)
        for first in chain
        for node in source.enclosing_block(first)
        if isinstance(node, ast.If)
    )


def _branches_of(first: ast.If) -> list[ast.If]:
    """Return an `if` with all its `elif` branches."""
    chain = [first]
    while len(chain[-1].orelse) == 1 and isinstance(chain[-1].orelse[0], ast.If):
        chain.append(chain[-1].orelse[0])
    return chain


# Edits that amount to deletions of functionality.
# Z. Qi et al. found most wrong patches of search-based repair to be equivalent to deletion of
# functionality ("An Analysis of Patch Plausibility and Correctness for Generate-and-Validate Patch
# Generation Systems", ISSTA 2015).

DELETION_FACTORS = {"deletion": 0.4, "dropped_guard": 0.6}
"""Deleting families, with the factor of an edit equivalent to one: dropping a guard may be harmless."""
DISGUISED_CONDITION_FACTOR = 0.2
"""Factor of a condition that was never, or always, met in all calls: any such condition would do."""


def find_equivalent_deletions(
    survivors: Sequence[RepairCandidate],
    tried: Sequence[RepairCandidate],
    sources: Mapping[str, PythonSource],
) -> dict[RepairCandidate, RepairCandidate]:
    """Map survivors to the candidate that deletes the statement, or the condition, that the survivor changes.

    Return statements are excluded: if the code after one gives the same answer, two ways of computing it
    agree.
    """
    deletions: dict[tuple[str, int], RepairCandidate] = {}
    for candidate in tried:
        if candidate.edit.family in DELETION_FACTORS:
            deletions.setdefault(_place(candidate), candidate)
    constant_conditions = {
        _place(survivor): survivor
        for survivor in reversed(survivors)
        if _has_constant_condition(survivor, sources)
    }
    pairs = (
        (survivor, deletions.get(_place(survivor), constant_conditions.get(_place(survivor))))
        for survivor in survivors
        if not _is_exempt(survivor, sources)
    )
    return {edited: deletion for edited, deletion in pairs if deletion is not None}


def _place(candidate: RepairCandidate) -> tuple[str, int]:
    return candidate.edit.path, candidate.edit.line


def _has_constant_condition(candidate: RepairCandidate, sources: Mapping[str, PythonSource]) -> bool:
    return has_constant_condition(line_after_edit(candidate, sources[candidate.edit.path]))


def _is_exempt(candidate: RepairCandidate, sources: Mapping[str, PythonSource]) -> bool:
    lines = sources[candidate.edit.path].text.split("\n")
    return (
        candidate.edit.family in DELETION_FACTORS
        or _has_constant_condition(candidate, sources)
        or lines[candidate.edit.line - 1].lstrip().startswith("return ")
    )


def penalize_disguised_deletions(
    worth: Mapping[RepairCandidate, float],
    deletions: Mapping[RepairCandidate, RepairCandidate],
    compared: Sequence[RepairCandidate],
    comparison: CallComparison,
) -> dict[RepairCandidate, float]:
    """Lower the worth of survivors that answer all calls as the deletion of their statement does.

    Unless the unchanged code answers the same: then the calls do not exercise the statement.
    """
    answers = dict(zip(compared, comparison.after, strict=False))
    return {
        survivor: score * DELETION_FACTORS.get(deletion.edit.family, DISGUISED_CONDITION_FACTOR)
        if (deletion := deletions.get(survivor))
        and not is_uninformative_answer(answers.get(survivor, ()), comparison)
        and answers[survivor] == answers.get(deletion)
        else score
        for survivor, score in worth.items()
    }
