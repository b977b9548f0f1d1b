"""Return annotations compared with the values that functions return."""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence

from coder.core.ports import CallComparison
from coder.python.source import PythonSource
from coder.repair.ranking.answers import PART_SEPARATOR

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
        case _:
            return ""
