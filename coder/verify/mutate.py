"""Mutation testing of a change: hunks left out, lines broken."""

import ast
import difflib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from coder.core.verdict import MutationReport, UntestedPlace
from coder.python.source import Positions, decode_text, dump_node, parse_module
from coder.verify.warm import WarmRefusal, WarmRunner

SECONDS, LEAST_SECONDS = 10.0, 3.0
"""Time limits for all mutants together, after collection: at most, and where the targets are quicker."""


def mutate_verified_change(
    old: Path,
    new: Path,
    changed: Sequence[str],
    *,
    targets: Sequence[str],
    warm: WarmRunner,
    seconds: float,
) -> MutationReport | None:
    """Run the targets on mutants of the change, for as long as the targets took in a process of their own.

    `changed` are the sources that differ between the trees; `warm` runs the tests of `new`; `seconds` are
    those of the targets. None if a warm process cannot run them.
    """
    texts = {path: _read(new / path) for path in changed if path.endswith(".py") and (new / path).is_file()}
    if not texts or not targets or not _all_green(warm, {}, targets, SECONDS):
        return None
    deadline = time.monotonic() + min(SECONDS, max(LEAST_SECONDS, seconds))

    def notices(variant: Mapping[str, str]) -> bool | None:
        green = _all_green(warm, variant, targets, deadline - time.monotonic())
        return None if green is None else not green

    return mutate_change(
        {path: _read(old / path) for path in texts},
        texts,
        notices,
        has_time=lambda: time.monotonic() < deadline,
    )


def mutate_for_new_tests(
    tree: Path, sources: Sequence[str], tests: Sequence[str], warm: WarmRunner, *, seconds: float = SECONDS
) -> MutationReport | None:
    """Run `tests` on mutants of the given sources; None if a warm process cannot run them."""
    if not tests or not _all_green(warm, {}, tests, SECONDS):
        return None
    deadline = time.monotonic() + seconds
    texts = {path: _read(tree / path) for path in sources}

    def notices(variant: Mapping[str, str]) -> bool | None:
        green = _all_green(warm, variant, tests, deadline - time.monotonic())
        return None if green is None else not green

    return mutate_sources(texts, notices, has_time=lambda: time.monotonic() < deadline)


def _all_green(
    warm: WarmRunner, edits: Mapping[str, str], tests: Sequence[str], seconds: float
) -> bool | None:
    """Tell whether all tests pass with these edits; None if that cannot be determined."""
    ran = warm.run(edits, tests, seconds=max(seconds, 0.1), until_red=True)
    if isinstance(ran, WarmRefusal):
        return None
    if ran.report.failures or (ran.report.problem is not None and ran.report.problem.kind == "crash"):
        return False
    return True if ran.report.problem is None else None


def _read(file: Path) -> str:
    return decode_text(file.read_bytes()) if file.is_file() else ""


MOST_MUTANTS = 60
OMITTED_STATEMENT = "is left out"
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
Kills = Callable[[Mapping[str, str]], bool | None]
"""Whether a test fails with these texts (by path) in place of the change's own; None if that cannot be
determined.
"""


class Mutant(NamedTuple):
    """A changed file with one mutation."""

    line: int
    what: str
    text: str


def mutate_change(
    old: Mapping[str, str], new: Mapping[str, str], kills: Kills, *, has_time: Callable[[], bool]
) -> MutationReport:
    """Run the tests on each reverted hunk, then on mutants of the changed lines, within the time limit.

    `old` and `new` are the texts of changed sources by path.
    """
    survivors: list[UntestedPlace] = []
    tried = mutants_tried = caught = 0
    wording_places = tuple(
        (path, line) for path, text in new.items() for line in wording_lines(old.get(path, ""), text)
    )
    survived_lines: set[tuple[str, int]] = set()
    for whole_hunk, variants in ((True, reverted_hunks), (False, generate_mutants)):
        for path, text in new.items():
            for variant in variants(old.get(path, ""), text):
                if not has_time():
                    counts = {"tried": tried, "mutants": mutants_tried, "caught": caught}
                    return MutationReport(
                        survivors=tuple(survivors), wording=wording_places, **counts, ended=False
                    )
                if not whole_hunk and any(
                    survived_path == path and line == variant.line for survived_path, line in survived_lines
                ):
                    continue  # one surviving mutant of a line is enough
                if (is_killed := kills({path: variant.text})) is None:
                    continue
                tried += 1
                if not whole_hunk and variant.what != OMITTED_STATEMENT:
                    mutants_tried += 1
                    caught += is_killed
                if not is_killed:
                    survivors.append(
                        UntestedPlace(path=path, line=variant.line, what=variant.what, whole_hunk=whole_hunk)
                    )
                    survived_lines |= {
                        (path, line)
                        for line in (
                            _hunk_lines(old.get(path, ""), text, variant.line)
                            if whole_hunk
                            else (variant.line,)
                        )
                    }
    return MutationReport(
        survivors=tuple(survivors), wording=wording_places, tried=tried, mutants=mutants_tried, caught=caught
    )


def mutate_sources(texts: Mapping[str, str], kills: Kills, *, has_time: Callable[[], bool]) -> MutationReport:
    """Run the tests on mutants of any line of these texts (by path), within the time limit.

    The texts take turns, so that a lack of time hits all alike.
    """
    survivors: list[UntestedPlace] = []
    tried = mutants = caught = 0
    ended = True
    queues = [[(path, mutant) for mutant in generate_mutants("", text)] for path, text in texts.items()]
    turns = [pair for turn in zip_longest(*queues) for pair in turn if pair is not None]
    for path, mutant in turns:
        if not (ended := has_time()):
            break
        if (is_killed := kills({path: mutant.text})) is None:
            continue
        tried += 1
        if mutant.what != OMITTED_STATEMENT:
            mutants += 1
            caught += is_killed
        if not is_killed:
            survivors.append(UntestedPlace(path=path, line=mutant.line, what=mutant.what))
    return MutationReport(
        survivors=tuple(survivors), tried=tried, mutants=mutants, caught=caught, ended=ended
    )


def reverted_hunks(old: str, new: str) -> Iterator[Mutant]:
    """Yield the new text with one hunk reverted, for each hunk whose reversal parses and changes code."""
    for variant in _reverted_hunks(old, new):
        if differs_in_code(variant.text, new):
            yield variant


def wording_lines(old: str, new: str) -> Iterator[int]:
    """Yield the first lines of hunks that change only comments, docstrings or blank lines."""
    for variant in _reverted_hunks(old, new):
        with suppress(SyntaxError, ValueError, RecursionError):
            if _dump_code(variant.text) == _dump_code(new):
                yield variant.line


def _reverted_hunks(old: str, new: str) -> Iterator[Mutant]:
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    for start, end, old_lines in _changed_blocks(before, after):
        yield Mutant(
            line=start + 1,
            what="is as it was before",
            text="".join([*after[:start], *old_lines, *after[end:]]),
        )


def generate_mutants(old: str, new: str) -> Iterator[Mutant]:
    """Yield the new text with one operator, number or statement of a changed line mutated.

    At most `MOST_OF_A_LINE` mutants a line and `MOST_MUTANTS` in all.
    """
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    changed = {line + 1 for start, end, _ in _changed_blocks(before, after) for line in range(start, end)}
    try:
        tree = parse_module(new)
    except (SyntaxError, ValueError):
        return
    counts: dict[int, int] = {}
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if line not in changed or sum(counts.values()) >= MOST_MUTANTS:
            continue
        for what, text in _mutate(node, new):
            if counts.get(line, 0) < MOST_OF_A_LINE and differs_in_code(text, new):
                counts[line] = counts.get(line, 0) + 1
                yield Mutant(line=line, what=what, text=text)


def _changed_blocks(before: list[str], after: list[str]) -> Iterator[tuple[int, int, list[str]]]:
    """Yield start and end of each changed block in the new text, and the old lines."""
    for kind, first, last, start, end in difflib.SequenceMatcher(
        a=before, b=after, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            yield start, end, before[first:last]


def _hunk_lines(old: str, new: str, line: int) -> range:
    blocks = _changed_blocks(old.splitlines(keepends=True), new.splitlines(keepends=True))
    return next(
        (range(start + 1, max(end, start + 1) + 1) for start, end, _ in blocks if start + 1 == line),
        range(line, line + 1),
    )


def differs_in_code(text: str, new: str) -> bool:
    """Tell whether two texts differ in code, not only in comments, blank lines and docstrings.

    False if one of them does not parse.
    """
    try:
        return _dump_code(text) != _dump_code(new)
    except (SyntaxError, ValueError, RecursionError):
        return False


def _dump_code(text: str) -> str:
    tree = parse_module(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [statement for statement in node.body if not _is_docstring(statement)] or [ast.Pass()]
    return dump_node(tree)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _mutate(node: ast.AST, text: str) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in COMPARISONS:
            other = COMPARISONS[type(operator)]
            yield f"compares with `{other}`", _replace_operator(text, left, right, f" {other} ")
        case ast.BoolOp(op=operator, values=[first, second, *_]):
            other = "or" if isinstance(operator, ast.And) else "and"
            yield f"joins with `{other}`", _replace_operator(text, first, second, f" {other} ")
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in ARITHMETIC:
            other = ARITHMETIC[type(operator)]
            yield f"computes with `{other}`", _replace_operator(text, left, right, f" {other} ")
        case ast.Constant(value=bool() as value):
            yield f"says `{not value}`", _replace_node(text, node, str(not value))
        case ast.Constant(value=int() as value):
            yield f"says `{value + 1}`", _replace_node(text, node, str(value + 1))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "is not negated", _replace_node(text, node, ast.unparse(operand))
        case ast.Return(value=ast.expr() as value) if not (
            isinstance(value, ast.Constant) and value.value is None
        ):
            yield "returns None", _replace_node(text, value, "None")
        case ast.If(test=test) | ast.While(test=test):
            yield (
                "has its condition negated",
                _replace_node(text, test, f"(not ({ast.get_source_segment(text, test)}))"),
            )
        case ast.Expr() | ast.Assign() | ast.AugAssign() | ast.Raise() | ast.Delete() if not _is_docstring(
            node
        ):
            yield OMITTED_STATEMENT, _replace_node(text, node, "pass")
        case _:
            return


def _replace_operator(text: str, left: ast.expr, right: ast.expr, operator: str) -> str:
    """Return the text with another operator between two operands, keeping the parentheses there."""
    positions = Positions(text)
    start, end = positions.span(left)[1], positions.span(right)[0]
    gap = text[start:end]
    closing = gap[: len(gap) - len(gap.lstrip(" )\n"))].count(")")
    opening = gap[len(gap.rstrip(" (\n")) :].count("(")
    return f"{text[:start]}{')' * closing}{operator}{'(' * opening}{text[end:]}"


def _replace_node(text: str, node: ast.expr | ast.stmt, other: str) -> str:
    start, end = Positions(text).span(node)
    return f"{text[:start]}{other}{text[end:]}"
