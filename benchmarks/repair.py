"""Repair without a model (`coder fix --offline`) on faults whose right answer is known.

    python -m benchmarks.repair --classic
    python -m benchmarks.repair --quixbugs DIR
    python -m benchmarks.repair --project DIR [--project DIR ...] [--count N] [--doubles N] [--seed N]
    python -m benchmarks.repair --mine DIR [--mine DIR ...] [--count N] [--depth N] [--lines N]

--project takes a checkout or unpacked source archive with its own tests; --mine a git checkout whose history
is searched for small commits that claim to fix something and came with a test. --python names an interpreter
that has pytest and what the projects need. Never give the projects with which templates were tuned: toolz,
tabulate, inflection, sortedcontainers. The classic faults have been looked at as well.

A patch is plausible if coder delivers it. It is correct if the changed files equal the right ones as syntax
trees, or if the tests of the whole project pass and every function that differs behaves alike on the tests'
calls and on inputs varied from these, which separate the fault from the right answer; if this cannot be
decided it is wrong. One line is printed for each case, then the sums.
"""

import argparse
import ast
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases import Case, classic, copy_tree, mine_fixes, mutants, quixbugs
from benchmarks.judging import answers, changed_functions
from benchmarks.suites import Suite
from coder.patching import apply
from coder.patching.git_hunks import split_git_diff
from coder.repair.proposer import EquivalenceNormalizer

TRIED = re.compile(r"of ([\d,]+) candidates pass")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of one case."""

    kind: str
    name: str
    end: str
    """`correct`, `wrong` or `abstained`."""
    verdict: str
    why: str
    seconds: float
    tried: int
    place: int
    """Rank of the first faulty function among the suspects, from 1; 0: not among them."""
    note: str


def run(case: Case, *, seconds: float) -> Outcome:
    """Have one case repaired, and judge the result."""
    _commit(case.tree)
    issue = "These tests fail:\n" + "\n".join(case.failing)
    command = [
        sys.executable,
        "-m",
        "coder",
        "fix",
        "--offline",
        "--json",
        "--dry-run",
        "--trust",
        "--max-seconds",
        str(seconds),
    ]
    start = time.monotonic()
    result = subprocess.run(
        [*command, "--test", case.suite.command, "--repo", str(case.tree), issue],
        env={**os.environ, "VIRTUAL_ENV": str(Path(case.suite.python).absolute().parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    spent = time.monotonic() - start
    events = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    session_end: dict[str, Any] = next((event for event in events if event["event"] == "finished"), {})
    session = next((event["session"] for event in events if event["event"] == "started"), "")
    notes, places = _search_notes(session)
    match = TRIED.search(notes)
    end, why = _judge(case, session_end.get("diff", ""))
    return Outcome(
        kind=case.kind,
        name=case.name,
        end=end,
        verdict=session_end.get("verdict") or f"exit {result.returncode}",
        why=why or session_end.get("summary", result.stderr[-200:]),
        seconds=spent,
        tried=int(match[1].replace(",", "")) if match else 0,
        place=_suspect_rank(case, places),
        note=case.note,
    )


def _commit(tree: Path) -> None:
    """Make a repository of the tree, without its history."""
    identity = ("-c", "user.name=A Person", "-c", "user.email=person@example.org")
    for arguments in (("init", "-q"), ("add", "-A", "-f"), (*identity, "commit", "-q", "-m", "Begin")):
        subprocess.run(["git", "-C", str(tree), *arguments], check=True, capture_output=True)


def _search_notes(session: str) -> tuple[str, list[str]]:
    """Return what the session's notes say of the search, and the suspects in their order."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    log = state / "coder" / "sessions" / session / "events.jsonl"
    notes = ""
    places: list[str] = []
    for line in log.read_text(encoding="utf-8").splitlines() if session and log.is_file() else ():
        event = json.loads(line).get("event", {})
        if event.get("type") == "note_made":
            notes += f" {event['note'].get('summary', '')}"
            places = places or event["note"].get("places", [])
    return notes, places


def _judge(case: Case, diff: str) -> tuple[str, str]:
    """Return how a case ended, and what was seen of its patch."""
    if not diff:
        return "abstained", ""
    changed_lines = " / ".join(
        line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
    )[:160]
    with tempfile.TemporaryDirectory(prefix="repaired-") as name:
        patched_tree, right = (
            copy_tree(case.tree, Path(name, "patched")),
            copy_tree(case.tree, Path(name, "right")),
        )
        apply(diff, patched_tree)
        for path, text in case.right.items():
            (right / path).write_text(text, encoding="utf-8")
        paths = sorted({*case.right, *(hunk.path for hunk in split_git_diff(diff))})
        if all(_is_same(patched_tree / path, right / path) for path in paths):
            return "correct", "the same"
        if not case.suite.passes(patched_tree, case.expected):
            return "wrong", f"breaks or leaves broken a test of the project: {changed_lines}"
        functions = [function for path in paths for function in changed_functions(patched_tree, right, path)]
        answer_sets = [
            answers(case.suite, right, (patched_tree, right, case.tree), target) for target in functions
        ]
        # Calls on which the fault and the right answer agree decide nothing.
        if all(new and new == expected for new, expected, _ in answer_sets) and any(
            faulty != expected for _, expected, faulty in answer_sets
        ):
            return "correct", f"behaves alike: {changed_lines}"
        return "wrong", changed_lines


def _is_same(first: Path, other: Path) -> bool:
    trees = [
        ast.dump(Normalizer().visit(ast.parse(path.read_text(encoding="utf-8"))))
        for path in (first, other)
        if path.is_file()
    ]
    return len(trees) == 2 and trees[0] == trees[1]


class Normalizer(EquivalenceNormalizer):
    """Transformer that unifies equivalent forms, such as `super()` and `super(Own, self)`.

    Docstrings are ignored.
    """

    def __init__(self) -> None:
        self.own = [""]

    def visit_ClassDef(
        self, node: ast.ClassDef
    ) -> ast.ClassDef:  # a name required by NodeTransformer, as those below
        self.own.append(node.name)
        self.generic_visit(node)
        self.own.pop()
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        self.generic_visit(node)
        return None if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        node.value = None if isinstance(node.value, ast.Constant) and node.value.value is None else node.value
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        super().visit_Call(node)
        match node:
            case ast.Call(func=ast.Name(id="super"), args=[ast.Name(id=owner), ast.Name(id="self")]) if (
                owner == self.own[-1]
            ):
                node.args = []
            case _:
                pass
        return node


def _suspect_rank(case: Case, places: Sequence[str]) -> int:
    """Return the rank, from 1, of the first suspect that must change."""
    guilty = {
        f"{path}::{target.partition(':')[2]}"
        for path in case.right
        for target in changed_functions(case.tree, None, path, case.right)
    }
    return next((number for number, place in enumerate(places, 1) if place in guilty), 0)


def report(outcomes: Sequence[Outcome]) -> None:
    """Print the sums of one kind of case."""
    total = len(outcomes)
    seconds = statistics.median(outcome.seconds for outcome in outcomes)
    print(f"{outcomes[0].kind}: {total} cases; median {seconds:.1f} s")
    for kinds in (("FIXED", "PROVEN"), ("PASSING",)):
        ends = [
            outcome.end for outcome in outcomes if outcome.verdict in kinds and outcome.end != "abstained"
        ]
        print(f"  {' or '.join(kinds)}: {len(ends)}, of which {ends.count('correct')} are right")
    at = [sum(0 < outcome.place <= most for outcome in outcomes) for most in (1, 3)]
    print(f"  the guilty function first {at[0]} of {total}, among the first three {at[1]} of {total}")


def all_cases(options: argparse.Namespace, scratch: Path) -> Iterator[Case]:
    suite = Suite(options.python, tuple(options.pytest))
    if options.classic:
        yield from classic(Path(__file__).parent / "classic", scratch, suite)
    if options.quixbugs:
        yield from quixbugs(options.quixbugs, scratch, suite)
    for project in options.project:
        yield from mutants(project, scratch, suite, seed=options.seed, count=options.count, edits=1)
        yield from mutants(project, scratch, suite, seed=options.seed, count=options.doubles, edits=2)
    for history in options.mine:
        yield from mine_fixes(
            history, scratch, suite, count=options.count, depth=options.depth, lines=options.lines
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--classic", action="store_true")
    parser.add_argument("--quixbugs", type=Path, help="a checkout of jkoppel/QuixBugs")
    parser.add_argument("--project", type=Path, action="append", default=[])
    parser.add_argument("--mine", type=Path, action="append", default=[])
    parser.add_argument("--count", type=int, default=5, help="single faults, or mined fixes, of each project")
    parser.add_argument("--doubles", type=int, default=1)
    parser.add_argument("--depth", type=int, default=400, help="commits to look at")
    parser.add_argument(
        "--lines", type=int, default=2, help="a mined fix adds, and removes, no more lines of source code"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of a case")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument(
        "--pytest",
        action="append",
        default=[],
        metavar="ARGUMENT",
        help="further arguments for the projects' pytest",
    )
    parser.add_argument("--output", type=Path, help="append one JSON object a case")
    options = parser.parse_args()
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="repair-") as name:
        for case in all_cases(options, Path(name)):
            outcomes.append(outcome := run(case, seconds=options.seconds))
            print(
                (
                    f"{outcome.kind:8} {outcome.name:28} {outcome.end:10} {outcome.verdict:12} "
                    f"{outcome.seconds:5.1f} s  @{outcome.place}  {outcome.note} | {outcome.why}"
                ),
                flush=True,
            )
            if options.output:
                with options.output.open("a", encoding="utf-8") as file:
                    print(json.dumps(asdict(outcome)), file=file)
            shutil.rmtree(case.tree, ignore_errors=True)
    for kind in dict.fromkeys(outcome.kind for outcome in outcomes):
        report([outcome for outcome in outcomes if outcome.kind == kind])


if __name__ == "__main__":
    main()
