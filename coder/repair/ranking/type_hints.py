"""What a function's annotation says that it gives back, held against what it is seen to give."""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence

from coder.core.ports.repair import Compared
from coder.python.source import Source
from coder.repair.ranking.answers import PART

WRITTEN = {
    "bool": r"(True|False)$",
    "int": r"-?\d+$",
    "float": r"-?[\d.einfa+-]+$",
    "str": r"['\"]",
    "bytes": r"b['\"]",
    "list": r"list\[",
    "tuple": r"\w+\[",
    "dict": r"\w+\{",
    "set": r"set\{",
    "None": r"None$",
}
"""How values of a type begin in an answer."""


def hints(sources: Iterable[Source]) -> dict[str, str]:
    """The plain return types of functions, by their qualified names."""
    found: dict[str, str] = {}
    for source in sources:
        for function in source.functions:
            if (kind := _kind(function.returns)) in WRITTEN:
                found[source.place(function).rpartition("::")[2]] = kind
    return found


def mistyped(answers: Sequence[str], found: Compared, hinted: Mapping[str, str]) -> float:
    """The part of the values given that are not of the type which the function promises."""
    told = [
        (WRITTEN[kind], answer.split(PART)[0])
        for call, answer in zip(found.calls, answers, strict=False)
        if (kind := hinted.get(call.partition("(")[0])) and not answer.startswith("raises ")
    ]
    return sum(not re.match(pattern, value) for pattern, value in told) / len(told) if told else 0.0


def _kind(annotation: ast.expr | None) -> str:
    match annotation:
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
            return name.lower() if name in ("List", "Dict", "Tuple", "Set") else name
        case ast.Constant(value=None):
            return "None"
        case _:
            return ""
