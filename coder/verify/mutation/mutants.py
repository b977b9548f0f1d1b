"""What of a change no test would miss: each hunk taken out, and each changed line made wrong."""

import ast
import difflib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from coder.core.values.verdict import Guarded, Unguarded
from coder.python.parsing import parsed

MOST_MUTANTS = 60
LEFT_OUT = "is left out"
MOST_OF_A_LINE = 3
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
}

Notice = Callable[[Mapping[str, str]], bool | None]
"""Does a test fail with these texts (by path) instead of the change's own? None: nobody can tell."""


class Variant(NamedTuple):
    """A file of the change with one thing otherwise."""

    line: int
    what: str
    text: str


def guard(
    old: Mapping[str, str], new: Mapping[str, str], notices: Notice, *, in_time: Callable[[], bool]
) -> Guarded:
    """Try all hunks, then mutants of the changed lines, as long as there is time; `old` and `new` are texts of changed sources by path."""
    found: list[Unguarded] = []
    tried = mutants_tried = caught = 0
    words = tuple((path, line) for path, text in new.items() for line in wording(old.get(path, ""), text))
    loose: set[tuple[str, int]] = set()
    for whole, variants in ((True, hunks_out), (False, mutants)):
        for path, text in new.items():
            for variant in variants(old.get(path, ""), text):
                if not in_time():
                    counts = {"tried": tried, "mutants": mutants_tried, "caught": caught}
                    return Guarded(unguarded=tuple(found), wording=words, **counts, ended=False)
                if not whole and any(place == path and line == variant.line for place, line in loose):
                    continue  # of a line that no test misses nothing more is to be said
                if (noticed := notices({path: variant.text})) is None:
                    continue
                tried += 1
                if not whole and variant.what != LEFT_OUT:
                    mutants_tried += 1
                    caught += noticed
                if not noticed:
                    found.append(Unguarded(path=path, line=variant.line, what=variant.what, whole_hunk=whole))
                    loose |= {
                        (path, line)
                        for line in (
                            _lines_of(old.get(path, ""), text, variant.line) if whole else (variant.line,)
                        )
                    }
    return Guarded(unguarded=tuple(found), wording=words, tried=tried, mutants=mutants_tried, caught=caught)


def weighed(texts: Mapping[str, str], notices: Notice, *, in_time: Callable[[], bool]) -> Guarded:
    """Make any line of these texts wrong, by path, as long as there is time."""
    found: list[Unguarded] = []
    tried = 0
    for path, text in texts.items():
        for variant in mutants("", text):
            if not in_time():
                return Guarded(unguarded=tuple(found), tried=tried, ended=False)
            noticed = notices({path: variant.text})
            tried += noticed is not None
            if noticed is False:
                found.append(Unguarded(path=path, line=variant.line, what=variant.what))
    return Guarded(unguarded=tuple(found), tried=tried)


def hunks_out(old: str, new: str) -> Iterator[Variant]:
    """The new text with one block of changed lines as it was before; where that does not parse it says nothing and is left out."""
    for variant in _each_out(old, new):
        if differs_in_code(variant.text, new):
            yield variant


def wording(old: str, new: str) -> Iterator[int]:
    """The lines at which blocks begin that change comments, docstrings or blank lines alone."""
    for variant in _each_out(old, new):
        with suppress(SyntaxError, ValueError, RecursionError):
            if _code(variant.text) == _code(new):
                yield variant.line


def _each_out(old: str, new: str) -> Iterator[Variant]:
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    for start, end, was in _blocks(before, after):
        yield Variant(
            line=start + 1, what="is as it was before", text="".join([*after[:start], *was, *after[end:]])
        )


def mutants(old: str, new: str) -> Iterator[Variant]:
    """The new text with one operator, number or statement of a changed line otherwise, a few a line."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    changed = {line + 1 for start, end, _ in _blocks(before, after) for line in range(start, end)}
    try:
        tree = parsed(new)
    except (SyntaxError, ValueError):
        return
    counts: dict[int, int] = {}
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if line not in changed or sum(counts.values()) >= MOST_MUTANTS:
            continue
        for what, text in _mutations(node, new):
            if counts.get(line, 0) < MOST_OF_A_LINE and differs_in_code(text, new):
                counts[line] = counts.get(line, 0) + 1
                yield Variant(line=line, what=what, text=text)


def _blocks(before: list[str], after: list[str]) -> Iterator[tuple[int, int, list[str]]]:
    """Start and end of changed lines in the new text, and what stood there."""
    for kind, first, last, start, end in difflib.SequenceMatcher(
        a=before, b=after, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            yield start, end, before[first:last]


def _lines_of(old: str, new: str, line: int) -> range:
    blocks = _blocks(old.splitlines(keepends=True), new.splitlines(keepends=True))
    return next(
        (range(start + 1, max(end, start + 1) + 1) for start, end, _ in blocks if start + 1 == line),
        range(line, line + 1),
    )


def differs_in_code(text: str, new: str) -> bool:
    """Do two texts differ in more than comments, blank lines and docstrings? What does not parse is not compared."""
    try:
        return _code(text) != _code(new)
    except (SyntaxError, ValueError, RecursionError):
        return False


def _code(text: str) -> str:
    tree = parsed(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [item for item in node.body if not _is_text(item)] or [ast.Pass()]
    return ast.dump(tree)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _mutations(node: ast.AST, text: str) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in COMPARISONS:
            other = COMPARISONS[type(operator)]
            yield f"compares with `{other}`", _between(text, left, right, f" {other} ")
        case ast.BoolOp(op=operator, values=[first, second, *_]):
            other = "or" if isinstance(operator, ast.And) else "and"
            yield f"joins with `{other}`", _between(text, first, second, f" {other} ")
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in ARITHMETIC:
            other = ARITHMETIC[type(operator)]
            yield f"computes with `{other}`", _between(text, left, right, f" {other} ")
        case ast.Constant(value=bool() as value):
            yield f"says `{not value}`", _instead(text, node, str(not value))
        case ast.Constant(value=int() as value):
            yield f"says `{value + 1}`", _instead(text, node, str(value + 1))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "is not negated", _instead(text, node, ast.unparse(operand))
        case ast.Return(value=ast.expr() as value) if not (
            isinstance(value, ast.Constant) and value.value is None
        ):
            yield "returns None", _instead(text, value, "None")
        case ast.If(test=test) | ast.While(test=test):
            yield (
                "has its condition negated",
                _instead(text, test, f"(not ({ast.get_source_segment(text, test)}))"),
            )
        case ast.Expr() | ast.Assign() | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield LEFT_OUT, _instead(text, node, "pass")
        case _:
            return


def _between(text: str, left: ast.expr, right: ast.expr, operator: str) -> str:
    """The text with another operator between two operands; parentheses there are kept."""
    lines = text.splitlines(keepends=True)
    start = _offset(lines, left.end_lineno or left.lineno, left.end_col_offset or 0)
    end = _offset(lines, right.lineno, right.col_offset)
    gap = text[start:end]
    closing = gap[: len(gap) - len(gap.lstrip(" )\n"))].count(")")
    opening = gap[len(gap.rstrip(" (\n")) :].count("(")
    return f"{text[:start]}{')' * closing}{operator}{'(' * opening}{text[end:]}"


def _instead(text: str, node: ast.expr | ast.stmt, other: str) -> str:
    lines = text.splitlines(keepends=True)
    start = _offset(lines, node.lineno, node.col_offset)
    end = _offset(lines, node.end_lineno or node.lineno, node.end_col_offset or 0)
    return f"{text[:start]}{other}{text[end:]}"


def _offset(lines: list[str], line: int, column: int) -> int:
    """Characters before a place that `ast` names by line and byte."""
    before = lines[line - 1].encode()[:column].decode(errors="replace")
    return sum(map(len, lines[: line - 1])) + len(before)
