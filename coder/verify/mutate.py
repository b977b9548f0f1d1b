"""Mutation testing of a change: hunks left out, lines broken."""

import ast
import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, zip_longest
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from coder.core.ports import Edit, TextChange, Trials
from coder.core.verdict import MutationReport, UntestedPlace
from coder.python.source import (
    Positions,
    decode_source,
    differs_in_code,
    is_docstring,
    parse_module,
    parse_or_empty,
    split_lines,
)


def mutate_change(
    old: Path,
    new: Path,
    changed: Sequence[str],
    *,
    tests: Sequence[str],
    trials: Trials,
    seconds: float,
) -> MutationReport | None:
    """Run tests that pass in the tree `new` on each reverted hunk, then on mutants of the changed lines.

    `changed` are the sources that differ between the trees; they take turns, so that a lack of time hits
    all alike. None if nothing could be tried.
    """
    texts = {path: _read(new / path) for path in changed if path.endswith(".py") and (new / path).is_file()}
    before = {path: _read(old / path) for path in texts}
    queues = [generate_mutants(path, before[path], text) for path, text in texts.items()]
    hunks = [mutant for path, text in texts.items() for mutant in reverted_hunks(path, before[path], text)]
    mutants = [
        *(
            hunks if len(hunks) > 1 or len(texts) < len(changed) else ()
        ),  # without its only one it is the base
        *(mutant for turn in zip_longest(*queues) for mutant in turn if mutant is not None),
    ]
    if not mutants:
        return None
    edits = [mutant.as_edit(tests) for mutant in mutants]
    outcomes = [trial.outcome for trial in trials.try_out(new, (), edits, seconds=seconds)]
    return summarize_mutants(mutants, outcomes) if outcomes else None


def summarize_mutants(mutants: Sequence["Mutant"], outcomes: Sequence[str]) -> MutationReport:
    """Count mutants by their outcomes, as `TrialResult` has them, of as many as were tried in time.

    Lines of a surviving hunk or mutant are left out after that: one is enough.
    """
    survivors: list[UntestedPlace] = []
    tried = 0
    survived: set[tuple[str, int]] = set()
    for mutant, outcome in zip(mutants, outcomes, strict=False):
        is_known = not mutant.is_hunk and (mutant.path, mutant.line) in survived
        if is_known or outcome in ("invalid", "cold"):
            continue
        tried += 1
        if outcome == "passed":
            place = UntestedPlace(
                path=mutant.path, line=mutant.line, what=mutant.what, whole_hunk=mutant.is_hunk
            )
            survivors.append(place)
            survived |= {(mutant.path, line) for line in range(mutant.line, mutant.last + 1)}
    return MutationReport(survivors=tuple(survivors), tried=tried, ended=len(outcomes) == len(mutants))


def _read(file: Path) -> str:
    """Return the text of a source file, an empty one where there is none that can be read."""
    try:
        return decode_source(file.read_bytes())[0]
    except (FileNotFoundError, SyntaxError, ValueError):
        return ""


MOST_MUTANTS = 60
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


class Mutant(NamedTuple):
    """One mutation of a changed file."""

    path: str
    line: int
    last: int
    """The last line that it stands for: that of the hunk, or its own."""
    what: str
    change: TextChange
    is_hunk: bool = False

    def as_edit(self, tests: Sequence[str]) -> Edit:
        return Edit(
            path=self.path,
            changes=(self.change,),
            line=self.line,
            family="mutant",
            summary=self.what,
            guards=tuple(tests),
        )


def reverted_hunks(path: str, old: str, new: str) -> Iterator[Mutant]:
    """Yield the reversal of each hunk that parses and changes code, other than imports.

    In the process that tries it all modules are imported: what reverting a new file or an import does
    would not be seen.
    """
    for first, last, change in _hunks(old, new) if old else ():
        is_import = _only_imports(change.text) and _only_imports(new[change.start : change.end])
        if not is_import and differs_in_code(_apply(change, new), new):
            yield Mutant(path, first, last, "is as it was before", change, is_hunk=True)


def generate_mutants(path: str, old: str, new: str) -> Iterator[Mutant]:
    """Yield mutations of one operator, number or statement of a changed line.

    At most `MOST_OF_A_LINE` mutants a line and `MOST_MUTANTS` in all.
    """
    changed = {line for first, last, _ in _hunks(old, new) for line in range(first, last + 1)}
    counts: Counter[int] = Counter()
    for node in ast.walk(parse_or_empty(new)):
        line = getattr(node, "lineno", 0)
        if line not in changed or counts.total() >= MOST_MUTANTS:
            continue
        for what, change in _mutate(node, new):
            if counts[line] < MOST_OF_A_LINE and differs_in_code(_apply(change, new), new):
                counts[line] += 1
                yield Mutant(path, line, line, what, change)


def _hunks(old: str, new: str) -> Iterator[tuple[int, int, TextChange]]:
    """Yield first and last line of each changed block of the new text, and the change that reverts it."""
    before, after = split_lines(old, keepends=True), split_lines(new, keepends=True)
    offsets = [0, *accumulate(map(len, after))]
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind != "equal":
            text = "".join(before[first:last])
            change = TextChange(start=offsets[start], end=offsets[end], text=text)
            yield start + 1, max(end, start + 1), change


def _only_imports(text: str) -> bool:
    try:
        return all(isinstance(node, (ast.Import, ast.ImportFrom)) for node in parse_module(dedent(text)).body)
    except (SyntaxError, ValueError):
        return False


def _apply(change: TextChange, text: str) -> str:
    return text[: change.start] + change.text + text[change.end :]


def _mutate(node: ast.AST, text: str) -> Iterator[tuple[str, TextChange]]:
    instead = partial(_replace_node, text)
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in COMPARISONS:
            other = COMPARISONS[type(operator)]
            yield f"compares with `{other}`", _other_operator(text, left, right, f" {other} ")
        case ast.BoolOp(op=operator, values=[first, second, *_]):
            other = "or" if isinstance(operator, ast.And) else "and"
            yield f"joins with `{other}`", _other_operator(text, first, second, f" {other} ")
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in ARITHMETIC:
            other = ARITHMETIC[type(operator)]
            yield f"computes with `{other}`", _other_operator(text, left, right, f" {other} ")
        case ast.Constant(value=bool() as value):
            yield f"says `{not value}`", instead(node, str(not value))
        case ast.Constant(value=int() as value):
            yield f"says `{value + 1}`", instead(node, str(value + 1))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "is not negated", instead(node, ast.unparse(operand))
        case ast.Return(value=ast.expr() as value) if not (
            isinstance(value, ast.Constant) and value.value is None
        ):
            yield "returns None", instead(value, "None")
        case ast.If(test=test) | ast.While(test=test):
            yield "has its condition negated", instead(test, f"(not ({ast.get_source_segment(text, test)}))")
        case ast.Expr() | ast.Assign() | ast.AugAssign() | ast.Raise() | ast.Delete() if not is_docstring(
            node
        ):
            yield "is left out", instead(node, "pass")
        case _:
            return


def _replace_node(text: str, node: ast.expr | ast.stmt, new: str) -> TextChange:
    start, end = Positions(text).span(node)
    return TextChange(start=start, end=end, text=new)


def _other_operator(text: str, left: ast.expr, right: ast.expr, operator: str) -> TextChange:
    """Return the change to another operator between two operands, keeping the parentheses there."""
    positions = Positions(text)
    start, end = positions.span(left)[1], positions.span(right)[0]
    gap = text[start:end]
    closing = gap[: len(gap) - len(gap.lstrip(" )\n"))].count(")")
    opening = gap[len(gap.rstrip(" (\n")) :].count("(")
    return TextChange(start=start, end=end, text=f"{')' * closing}{operator}{'(' * opening}")
