"""Clusters of surviving edits by behaviour, and calls that distinguish them.

Edits that pass weak tests differ where no test looks. Asking them all the same further calls, and distrusting
edits that change more answers than others, follows Y. Xiong et al., "Identifying Patch Correctness in
Test-Based Program Repair" (ICSE 2018).
"""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

from coder.core.ports import CallComparison
from coder.core.value_text import shorten_value
from coder.python.source import PythonSource, dump_node, parse_module
from coder.repair.candidates import RepairCandidate

MIN_RATIO_TO_REST, MIN_SHARE, MIN_RATIO_TO_NEXT = 1.1, 0.4, 2.0
"""An opinion is accepted if its weight is so many times that of all others together; or has this share of the
total, and so many times the weight of the next."""
CONTESTED_RATIO, MIN_CONTESTED_WEIGHT = 3.0, 0.8
"""With a single failing test, which lets wrong edits through, a contested opinion needs so many times the
weight of the others, or this weight, or must be a slip."""
SLIP_FAMILIES = frozenset(
    {"argument_order", "arithmetic", "boolean", "boundary", "comparison", "constant", "negation"}
)
"""Families that add nothing new: another operator, another order."""
FURTHER_FAMILY_SHARE = 0.35
"""Share of its own weight that a further family with the same answers adds."""
ACCIDENT_PENALTY = 4.0
"""Penalty for accidental exceptions where another opinion has none."""
CONTRADICTION_PENALTY = 4.0
"""Penalty for violating an example or an annotation that another opinion satisfies."""
NEARLY_BEST_SHARE = 0.8
"""The simplest member with at least this share of the best score comes first."""
DEGENERATE_FACTOR = 0.2
"""Weight factor of an opinion that makes a function return the same for all calls."""


@dataclass(frozen=True)
class BehaviorCluster:
    """Survivors that give the same answers to all calls."""

    members: tuple[RepairCandidate, ...]
    """Most credible first."""
    answers: tuple[str, ...]
    weight: float
    """Combined weight of independent families; less for changing more answers, or raising more accidental
    exceptions, than others."""

    @property
    def representative(self) -> RepairCandidate:
        return self.members[0]


def cluster_by_behavior(
    ranked: Sequence[RepairCandidate],
    worth: Mapping[RepairCandidate, float],
    comparison: CallComparison,
    return_types: Mapping[str, str] | None = None,
    sources: Mapping[str, PythonSource] | None = None,
) -> list[BehaviorCluster]:
    """Group survivors (most credible first) by their answers, heaviest group first.

    An edit without answers is its own group. So is an edit of a function that was not called itself, since
    equal answers of its callers say little, and an edit that changes no answer although it turns tests green.
    Given the `sources`, such edits are grouped if they produce the same code, or insert the same statement
    into a function.
    """
    groups: dict[object, list[int]] = {}
    called_names = {call.partition("(")[0].rpartition(".")[2] for call in comparison.calls}
    for place, candidate in enumerate(ranked):
        answers = comparison.after[place] if place < len(comparison.after) else ()
        # A nested function is exercised with the enclosing one.
        names = candidate.place.rpartition("::")[2].split(".")
        is_uninformative = is_uninformative_answer(answers, comparison) or called_names.isdisjoint(names)
        text = (
            _inserted_statements(candidate)
            or normalize_module(candidate.edit.apply(sources[candidate.edit.path].text))
            if sources and is_uninformative
            else ""
        )
        groups.setdefault((answers, text) if answers or text else candidate, []).append(place)
    least_changed = min(
        (changed_share(_answers(comparison, places), comparison) for places in groups.values()), default=0.0
    )
    least_stumbling = min(
        (accident_share(_answers(comparison, places)) for places in groups.values()), default=0.0
    )
    least_contradicting = min(
        (contradiction_share(_answers(comparison, places), comparison) for places in groups.values()),
        default=0.0,
    )
    least_mistyped = min(
        (
            type_violation_share(_answers(comparison, places), comparison, return_types or {})
            for places in groups.values()
        ),
        default=0.0,
    )
    weighted = []
    for places in groups.values():
        members = _simplest_first([ranked[place] for place in places], worth, sources)
        answers = _answers(comparison, places)
        weight = (
            _combined_weight(members, worth)
            / (1 + 2 * (changed_share(answers, comparison) - least_changed))
            / (1 + ACCIDENT_PENALTY * (accident_share(answers) - least_stumbling))
        )
        violates = (
            contradiction_share(answers, comparison) > least_contradicting
            or type_violation_share(answers, comparison, return_types or {}) > least_mistyped
        )
        weight /= 1 + CONTRADICTION_PENALTY * violates
        weight *= DEGENERATE_FACTOR if is_degenerate(answers, comparison) else 1.0
        weighted.append(BehaviorCluster(members=members, answers=answers, weight=weight))
    return sorted(weighted, key=lambda opinion: (-opinion.weight, ranked.index(opinion.representative)))


def _inserted_statements(candidate: RepairCandidate) -> str:
    """Return the function and the statements that an edit inserts; empty if it does more."""
    changes = candidate.edit.changes
    if any(
        change.end > change.start or "\n" not in change.text or change.text.rstrip().endswith(":")
        for change in changes
    ):
        return ""
    return "\n".join([candidate.place, *(change.text.strip() for change in changes)])


def is_uninformative_answer(answers: tuple[str, ...], comparison: CallComparison) -> bool:
    """Tell whether there are no answers, or the answers are those of the unchanged code."""
    return answers in ((), comparison.before)


def _simplest_first(
    members: Sequence[RepairCandidate],
    worth: Mapping[RepairCandidate, float],
    sources: Mapping[str, PythonSource] | None,
) -> tuple[RepairCandidate, ...]:
    """Order members: those worth nearly as much as the best by simplicity, then the others by worth."""
    ordered = sorted(members, key=lambda member: -worth[member])
    near = [member for member in ordered if worth[member] >= NEARLY_BEST_SHARE * worth[ordered[0]]]
    far = ordered[len(near) :]
    if sources and len(near) > 1:
        near.sort(key=lambda member: _size(member.edit.apply(sources[member.edit.path].text)))
    return (*near, *far)


def _size(text: str) -> int:
    """Return the number of nodes in a module's tree, or its length if it does not parse."""
    try:
        return sum(1 for _ in ast.walk(parse_module(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return len(text)


def normalize_module(text: str) -> str:
    """Return a normalized dump of a module, or the text if it is not Python.

    It is equal for `not x in y` and `x not in y`, with or without parentheses.
    """
    try:
        return dump_node(EquivalenceNormalizer().visit(parse_module(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


class EquivalenceNormalizer(ast.NodeTransformer):
    """Normalizes equivalent code: `not (a == b)` and `a != b`, keyword arguments in any order."""

    OPPOSITES: ClassVar[dict[type[ast.cmpop], ast.cmpop]] = {
        ast.Eq: ast.NotEq(),
        ast.NotEq: ast.Eq(),
        ast.In: ast.NotIn(),
        ast.NotIn: ast.In(),
        ast.Is: ast.IsNot(),
        ast.IsNot: ast.Is(),
    }

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:  # NodeTransformer requires this name
        self.generic_visit(node)
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(ops=[op]) as comparison) if (
                type(op) in self.OPPOSITES
            ):
                comparison.ops = [self.OPPOSITES[type(op)]]
                return comparison
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if all(keyword.arg for keyword in node.keywords):
            node.keywords.sort(key=lambda keyword: str(keyword.arg))
        return node


def _answers(comparison: CallComparison, places: Sequence[int]) -> tuple[str, ...]:
    return comparison.after[places[0]] if places[0] < len(comparison.after) else ()


def _combined_weight(members: Sequence[RepairCandidate], worth: Mapping[RepairCandidate, float]) -> float:
    """Return the weight of the best family plus a share of the others.

    Only a share, since there are many ways to remove a behaviour.
    """
    families: dict[str, float] = {}
    for member in members:
        families[member.edit.family] = max(worth[member], families.get(member.edit.family, 0.0))
    best = max(families.values(), default=0.0)
    return best + FURTHER_FAMILY_SHARE * (sum(families.values()) - best)


def is_decisive(ranked: Sequence[BehaviorCluster], *, failing_test_count: int) -> bool:
    """Tell whether the first opinion outweighs the others together, or nearly so and each of them clearly.

    `failing_test_count` is the number of failing tests that they all turn green.
    """
    if not ranked:
        return False
    first, others = ranked[0].weight, [opinion.weight for opinion in ranked[1:]]
    is_slip = ranked[0].representative.edit.family in SLIP_FAMILIES
    if (
        failing_test_count == 1
        and not is_slip
        and first < min(MIN_CONTESTED_WEIGHT, CONTESTED_RATIO * sum(others))
    ):
        return False
    return first >= MIN_RATIO_TO_REST * sum(others) or (
        first >= MIN_SHARE * (first + sum(others)) and first >= MIN_RATIO_TO_NEXT * max(others)
    )


def find_distinguishing_call(
    opinion: BehaviorCluster, others: Sequence[BehaviorCluster], comparison: CallComparison
) -> str:
    """Return a call that an opinion answers differently, with both answers; empty if none was seen."""
    for other in others:
        for call, own_answer, other_answer in zip(
            comparison.calls, opinion.answers, other.answers, strict=False
        ):
            if own_answer != other_answer:
                own, elsewhere = (text.partition(PART_SEPARATOR)[0] for text in (own_answer, other_answer))
                if own == elsewhere:  # the arguments afterwards, or the output, differ
                    own, elsewhere = (
                        text.replace(PART_SEPARATOR, "; ") for text in (own_answer, other_answer)
                    )
                results = (
                    f"{shorten_value(own, other=elsewhere)}, elsewhere {shorten_value(elsewhere, other=own)}"
                )
                return f"{shorten_value(call)} gives {results}"
    return ""


# Measures of an edit's answers to calls: changed answers, accidental exceptions, loss of distinctions.

PART_SEPARATOR = "\t"
"""Separator of the parts of an answer."""
EXAMPLE_PREFIX, AS_DOCUMENTED = ">>> ", "as documented"
"""Prefix of a documentation example among the calls, and the answer of one with the documented output."""
MIN_CALLS = 3
"""Number of calls of one function needed to conclude that all get the same answer."""
ACCIDENTAL_EXCEPTIONS = frozenset(
    f"raises {name}"
    for name in (
        "AttributeError",
        "IndexError",
        "NameError",
        "RecursionError",
        "TooLong",
        "TypeError",
        "UnboundLocalError",
        "ZeroDivisionError",
    )
)
"""Exceptions that code raises by accident rather than on purpose."""


def changed_share(answers: Sequence[str], comparison: CallComparison) -> float:
    """Return the share of the unchanged code's answers that differ now.

    An answer may differ in some of its parts only.
    """
    pairs = [
        (before, after)
        for call, before, after in zip(comparison.calls, comparison.before, answers, strict=False)
        if not _is_example(call)
    ]
    return (
        sum(_difference(before.split(PART_SEPARATOR), after.split(PART_SEPARATOR)) for before, after in pairs)
        / len(pairs)
        if pairs
        else 0.0
    )


def accident_share(answers: Sequence[str]) -> float:
    return (
        sum(answer.split(PART_SEPARATOR)[0] in ACCIDENTAL_EXCEPTIONS for answer in answers) / len(answers)
        if answers
        else 0.0
    )


def contradiction_share(answers: Sequence[str], comparison: CallComparison) -> float:
    """Return the share of the documentation's examples with another output than documented."""
    example_answers = [
        answer for call, answer in zip(comparison.calls, answers, strict=False) if _is_example(call)
    ]
    return (
        sum(answer != AS_DOCUMENTED for answer in example_answers) / len(example_answers)
        if example_answers
        else 0.0
    )


def is_degenerate(answers: Sequence[str], comparison: CallComparison) -> bool:
    """Tell whether a function that gave different answers now gives a single one.

    An answer that is one of the arguments does not count.
    """
    places_by_function: dict[str, list[int]] = {}
    for place, call in enumerate(comparison.calls[: len(answers)]):
        places_by_function.setdefault(call.partition("(")[0], []).append(place)
    return any(
        len(places) >= MIN_CALLS
        and len(_distinct_results(comparison.before, places) - ACCIDENTAL_EXCEPTIONS) > 1
        and len(results := _distinct_results(answers, places)) == 1
        and not all(_has_argument(comparison.calls[place], result) for result in results for place in places)
        for places in places_by_function.values()
    )


def _has_argument(call: str, value: str) -> bool:
    return re.search(rf"[(=\s]{re.escape(value)}[,)]", call) is not None


def _is_example(call: str) -> bool:
    return call.startswith(EXAMPLE_PREFIX)


def _distinct_results(answers: Sequence[str], places: Sequence[int]) -> set[str]:
    return {answers[place].split(PART_SEPARATOR)[0] for place in places}


def _difference(parts: Sequence[str], other_parts: Sequence[str]) -> float:
    """Return the share of differing parts: result, side effects and output count the same."""
    differing = [part for part, other_part in zip_longest(parts, other_parts) if part != other_part]
    return len(differing) / max(len(parts), len(other_parts))


# Return annotations compared with the values that functions return.

VALUE_PATTERNS = {
    "bool": r"(True|False)$",
    "int": r"-?\d+$",
    "float": r"-?[\d.einfa+-]+$",
    "str": r"['\"]",
    "bytes": r"b['\"]",
    "list": r"\[",
    "tuple": r"\w*\(",
    "dict": r"\w*\{",
    "set": r"set\{",
    "None": r"None$",
}
"""Patterns that match the start of an answer with a value of the type."""


def return_types_by_function(sources: Iterable[PythonSource]) -> dict[str, str]:
    """Return the simple return types of functions by qualified name."""
    types: dict[str, str] = {}
    for source in sources:
        for function in source.functions:
            if (kind := _type_name(function.returns)) in VALUE_PATTERNS:
                types[source.qualified_place(function).rpartition("::")[2]] = kind
    return types


def type_violation_share(
    answers: Sequence[str], comparison: CallComparison, return_types: Mapping[str, str]
) -> float:
    """Return the share of returned values that violate the annotated return type."""
    typed_values = [
        (VALUE_PATTERNS[kind], answer.split(PART_SEPARATOR)[0])
        for call, answer in zip(comparison.calls, answers, strict=False)
        if (kind := return_types.get(call.partition("(")[0])) and not answer.startswith("raises ")
    ]
    return (
        sum(not re.match(pattern, value) for pattern, value in typed_values) / len(typed_values)
        if typed_values
        else 0.0
    )


def _type_name(annotation: ast.expr | None) -> str:
    match annotation:
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
            return name.lower() if name in ("List", "Dict", "Tuple", "Set") else name
        case ast.Constant(value=None):
            return "None"
    return ""
