"""Second stage of a verdict: behavior, linters, the issue's code, then mutants."""

import ast
import difflib
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from pathlib import Path
from textwrap import dedent
from threading import Event
from typing import Any, NamedTuple

from coder.core.errors import SandboxError
from coder.core.ports import Edit, Limits, Progress, Sandbox, TextChange, Trials
from coder.core.text import shorten_line
from coder.core.values import READ_ONLY, Value
from coder.core.verdict import BehaviorReport, Finding, LintReport, MutationReport, UntestedPlace
from coder.python.source import (
    Positions,
    decode_source,
    differs_in_code,
    is_docstring,
    parse_module,
    parse_or_empty,
    split_lines,
)
from coder.verify.change import JudgedChange
from coder.verify.example import IssueCode
from coder.verify.layout import nested_table, read_ini, read_toml
from coder.verify.project import Project
from coder.verify.results import limit_notes, shorten_test_id
from coder.verify.verdict import Facts

EXAMPLES_SHOWN = 5
MUTANT_SECONDS, LEAST_MUTANT_SECONDS = 10.0, 3.0
"""Time limits for the mutants of a fix: at most, and where its targets are quicker."""


@dataclass(frozen=True, kw_only=True)
class ExaminationTools:
    trials: Trials
    """Tries mutants."""
    checks: Callable[[Path, Path, Sequence[str]], LintReport]
    """Compares the findings of linters in an old and a new tree at some paths."""
    issue_code: IssueCode
    """Runs the code of the issue in an old and a new tree."""
    behavior: Callable[..., tuple[BehaviorReport | None, list[Finding]]] | None = None
    """Compares the answers to calls in two trees with the same tests, as `BehaviorRuns.examine` does."""
    strict: bool = False
    """Whether new findings of linters keep a fix from being PROVEN."""


def examine_change(
    change: JudgedChange, facts: Facts, tools: ExaminationTools, *, cut: Event, progress: Progress | None
) -> bool:
    """Add what behavior, linters, the issue's code and mutants show of a change that broke nothing.

    Once `cut` is set it ends soon; what a comparison of behavior saw until then says nothing. Return whether
    it came to all that decides: mutants, which come last, decide nothing.
    """
    if progress:
        progress("examining: behavior, linters and mutants")
    with change.split.checkout("base") as old, change.split.checkout("change") as new:
        sources = [path for path in change.sources if path.endswith(".py")]
        found = _compare_behavior(change, facts, tools, new, sources)
        if cut.is_set():
            return False
        facts.behavior = found[0]
        facts.findings += found[1]
        linters = tools.checks(old, new, change.changed)
        if cut.is_set():
            return False
        facts.linters = linters
        facts.note("linter", *limit_notes([*map(shorten_test_id, linters.new)]))
        if facts.targets and sources:
            _answer_quoted(change, facts, tools.issue_code, old, new)
        if tools.strict and linters.new:
            facts.leave_open(
                "linter",
                "the project's own checks find what they did not find before, and that counts here",
            )
        if cut.is_set():
            return False
        if facts.targets and change.sources:
            _try_mutants(change, facts, tools.trials, old)
    return True


def _compare_behavior(
    change: JudgedChange, facts: Facts, tools: ExaminationTools, new: Path, sources: Sequence[str]
) -> tuple[BehaviorReport | None, list[Finding]]:
    """Return what the change does to calls of the targets, and of tests that pass on both sides."""
    if tools.behavior is None or not sources:
        return None, []
    failed = {result.id for result in facts.before.results if not result.green}
    ran = facts.after.results if facts.after else ()
    passing = [result.id for result in ran if result.outcome == "passed" and result.id not in failed]
    with change.split.checkout("tests") as base:
        return tools.behavior(base, new, sources, targets=facts.targets, tests=passing)


def _answer_quoted(change: JudgedChange, facts: Facts, issue_code: IssueCode, old: Path, new: Path) -> None:
    """Show first what the issue's own code gives on both sides, as far as behavior was compared."""
    persisting, answers = issue_code.answer_quoted(old, new, change.issue, facts.targets, change.sources)
    facts.cap("persisting-error", *persisting)
    if facts.behavior is not None:
        told = {(example.before, example.after) for example in answers}  # in two spellings
        rest = [row for row in facts.behavior.examples if (row.before, row.after) not in told]
        examples = (*answers, *rest)[:EXAMPLES_SHOWN]
        facts.behavior = facts.behavior.model_copy(update={"examples": examples})


def _try_mutants(change: JudgedChange, facts: Facts, trials: Trials, old: Path) -> None:
    """Mutate the change, in a tree of its own, and note which mutants no target notices, hunks first."""
    seconds = max(LEAST_MUTANT_SECONDS, min(MUTANT_SECONDS, facts.target_seconds))
    with change.split.checkout("change") as tree:
        facts.mutation = mutate_change(
            old, tree, change.sources, tests=facts.targets, trials=trials, seconds=seconds
        )
    places = sorted(facts.mutation.survivors if facts.mutation else (), key=lambda row: not row.whole_hunk)
    notes = [
        f"{row.path}:{row.line}: the tests that turned green pass, too, when it {row.what}" for row in places
    ]
    facts.note("survivor", *limit_notes(notes))


SECONDS = 30.0
_FINDING = re.compile(
    r"^(?:(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?P<text>.+)"
    r"|(?:[Ww]ould reformat:? | +--> )(?P<unformatted>.+?)(?::\d+)*)$",
    re.MULTILINE,
)


class Checker(Value):
    """A program that reports findings in files."""

    name: str
    arguments: tuple[str, ...] = ()
    """Arguments after `python -m NAME` or the program's name; the files follow."""
    files: tuple[str, ...] = ()
    """Files whose existence configures it."""
    table: str
    """Its configuration: a table below `tool` in pyproject.toml, a section of setup.cfg or tox.ini."""


CHECKERS = (
    Checker(
        name="ruff",
        arguments=("check", "--output-format=concise", "--no-cache", "--quiet"),
        files=("ruff.toml", ".ruff.toml"),
        table="ruff",
    ),
    Checker(name="ruff", arguments=("format", "--check", "--no-cache"), table="ruff.format"),
    Checker(name="flake8", files=(".flake8",), table="flake8"),
    Checker(
        name="pylint",
        arguments=("--output-format=parseable", "--score=n"),
        files=(".pylintrc", "pylintrc"),
        table="pylint",
    ),
    Checker(name="black", arguments=("--check",), table="black"),
    Checker(
        name="mypy",
        arguments=("--no-error-summary", "--hide-error-context", f"--cache-dir={os.devnull}"),
        files=("mypy.ini", ".mypy.ini"),
        table="mypy",
    ),
    Checker(
        name="bandit",
        arguments=("-q", "-f", "custom", "--msg-template", "{relpath}:{line}: {test_id} {msg}"),
        files=(".bandit",),
        table="bandit",
    ),
)


def checkers_of(root: Path) -> list[Checker]:
    """Return the checkers that a tree configures."""
    return [checker for checker in CHECKERS if _is_configured(checker, root)]


def _is_configured(checker: Checker, root: Path) -> bool:
    *around, last = checker.table.split(".")
    return (
        last in nested_table(read_toml(root / "pyproject.toml"), "tool", *around)
        or any(checker.table in read_ini(root / file) for file in ("setup.cfg", "tox.ini"))
        or any((root / file).is_file() for file in checker.files)
    )


@dataclass(frozen=True)
class LinterChecks:
    """Runs a project's checkers on both sides of a change."""

    project: Project
    sandbox: Sandbox

    def compare(self, old: Path, new: Path, changed: Sequence[str]) -> LintReport:
        """Return findings in the changed files of the tree `new` that the tree `old` lacks.

        Nothing is written to the trees.
        """
        paths = [path for path in changed if path.endswith((".py", ".pyi")) and not path.startswith("-")]
        if not paths:
            return LintReport()
        ran: dict[str, None] = {}
        missing: dict[str, None] = {}
        findings: list[str] = []
        for checker in checkers_of(new):
            if program := self._program_of(checker):
                ran[checker.name] = None
                before, after = (self._findings(program, checker, tree, paths) for tree in (old, new))
                findings += (f"{checker.name}: {line}" for line in _new_findings(before, after))
            else:
                missing[checker.name] = None
        return LintReport(new=tuple(findings), ran=tuple(ran), missing=tuple(missing))

    def _program_of(self, checker: Checker) -> tuple[str, ...]:
        """Return how to start a checker: in the project's environment, or from its PATH; or nothing."""
        module = (str(self.project.interpreter), "-m", checker.name)
        ran = self._run((*module, "--version"), self.project.interpreter.parent)
        path = shutil.which(checker.name, path=self.project.environment.get("PATH"))
        return module if ran and ran[0] == 0 else (path,) if path else ()

    def _findings(
        self, program: Sequence[str], checker: Checker, tree: Path, paths: Sequence[str]
    ) -> list[tuple[str, str, str]]:
        """Return path, line and text of each finding in those of the files that exist."""
        files = [path for path in paths if (tree / path).is_file()]
        ran = self._run((*program, *checker.arguments, *files), tree) if files else None
        matches = _FINDING.finditer(ran[1]) if ran else ()
        found = [
            ((match["path"] or match["unformatted"]).removeprefix(f"{tree}/").removeprefix("./"), match)
            for match in matches
        ]
        return [
            (path, match["line"] or "1", (match["text"] or "is not formatted").strip())
            for path, match in found
            if path in files
        ]

    def _run(self, argv: Sequence[str], cwd: Path) -> tuple[int, str] | None:
        """Return exit code and output of a command; None if it could not do its work."""
        environment, limits = self.project.environment, Limits(wall_seconds=SECONDS)
        try:
            execution = self.sandbox.run(
                argv, cwd=cwd, environment=environment, policy=READ_ONLY, limits=limits
            )
        except SandboxError:
            return None
        return (execution.exit_code, execution.output) if execution.exit_code in (0, 1) else None


def _new_findings(
    before: Sequence[tuple[str, str, str]], after: Sequence[tuple[str, str, str]]
) -> Iterator[str]:
    """Yield findings that occur more often than before, comparing path and text only: lines move."""
    counts = Counter((path, text) for path, _, text in before)
    for path, line, text in after:
        if counts[path, text] > 0:
            counts[path, text] -= 1
        else:
            yield f"{path}:{line}: {text}"


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
LONGEST = 60
"""Characters of a mutant that are shown."""
OTHER_OPERATORS: dict[type, type[Any]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or,
    ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip


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
        for old_node, other in _mutate(node):
            text = ast.unparse(ast.fix_missing_locations(other))
            what = "is left out" if isinstance(other, ast.Pass) else f"says `{shorten_line(text, LONGEST)}`"
            start, end = Positions(new).span(old_node)
            written = f"({text})" if isinstance(other, ast.expr) else text
            change = TextChange(start=start, end=end, text=written)
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


def _mutate(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr | ast.stmt]]:
    """Yield what of a node may be replaced, with what may stand there."""
    other = OTHER_OPERATORS.get(type(getattr(node, "op", None) or next(iter(getattr(node, "ops", [])), None)))
    match node:
        case ast.Compare(left=left, ops=[_], comparators=[right]) if other:
            yield node, ast.Compare(left, [other()], [right])
        case ast.BoolOp(values=values) if other:
            yield node, ast.BoolOp(other(), values)
        case ast.BinOp(left=left, right=right) if other:
            yield node, ast.BinOp(left, other(), right)
        case ast.Constant(value=bool() as value):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield node, ast.Constant(value + 1)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, operand
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield value, ast.Constant(None)
        case ast.If(test=test) | ast.While(test=test):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.Expr() | ast.Assign() | ast.AugAssign() | ast.Raise() | ast.Delete() if not is_docstring(
            node
        ):
            yield node, ast.Pass()
