"""Runs that collect the answers to calls, on base and change, in place and outside of any test."""

import ast
import json
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from coder.behavior.comparison import (
    CUT,
    MISSING,
    NOT_COMPARED,
    BehaviorComparison,
    CallAnswers,
    CallKey,
    Replayed,
    read_answers,
)
from coder.core.errors import SandboxError
from coder.core.paths import is_test_path, test_file_of
from coder.core.ports import Limits, Sandbox
from coder.core.values import READ_ONLY
from coder.core.verdict import BehaviorReport, Finding
from coder.files.regular_files import nearest, project_files, read_texts
from coder.python.source import Function, dump_node, parse_code, refers_to_any
from coder.verify.layout import nested_projects, source_roots, test_file_predicate
from coder.verify.project import Project
from coder.verify.run import PytestRunner, RecordedCalls

TARGET = Path(__file__).parent / "target"
STARTING_SECONDS = 60.0
"""Allowed on top of the seconds for answers, for the tests themselves."""
MOST_REPLAYED, MOST_VARIED, REPEATED = 60, 16, 8
"""Calls of tests and variations that are replayed, and how often each."""
MOST_TESTS, MOST_FILES = 60, 4
"""Tests beside the targets whose calls are recorded, nearest first, and files of all."""


class ChangedCode(NamedTuple):
    """The functions that a change edits, and what is needed to call them with telling values."""

    functions: tuple[tuple[str, str], ...]
    """Path and qualified name."""
    literals: tuple[Any, ...] = ()
    """Numbers and texts of the edited functions."""
    ignored: tuple[str, ...] = ()
    """Names of attributes that only one side assigns."""
    raised: tuple[str, ...] = ()
    """Names of the exceptions that the edited functions raise."""
    is_changed: bool = True
    """False if the sources differ in nothing but comments and docstrings."""
    has_fields: bool = False
    """True if fields of a decorated class differ: methods that are generated from them are in no file."""


class Replay(NamedTuple):
    """Output of one process that replays calls."""

    answers: Sequence[tuple[str, ...]] = ()
    replaced: frozenset[str] | None = None
    """Names of the standard library whose code is the project's; None if they are not known."""


@dataclass(frozen=True, kw_only=True)
class BehaviorRuns:
    """Compares the behavior of a change with its base's, for one project."""

    sides: tuple[PytestRunner, PytestRunner]
    """Those of base and change: their environments may differ, as by other versions of packages."""
    sandbox: Sandbox
    scratch: Path
    seconds: float
    """Time for the answers of one change."""

    def examine(
        self,
        base: Path,
        change: Path,
        sources: Sequence[str],
        *,
        targets: Sequence[str],
        tests: Sequence[str],
    ) -> tuple[BehaviorReport | None, list[Finding]]:
        """Compare two trees with the same tests; None if nothing could be compared.

        `base` has the tests of the change; `sources` are the changed paths. The calls are those of `targets`
        and of `tests` that pass on both sides, nearest first.
        """
        code = find_changed_code(read_texts(base, sources), read_texts(change, sources))
        if not code.is_changed:
            return None, []
        files = dict.fromkeys(map(test_file_of, (*targets, *tests)))
        nearest = frozenset([*files][:MOST_FILES])
        others = [test for test in tests if test not in targets and test_file_of(test) in nearest][
            :MOST_TESTS
        ]
        comparison = self.compare(base, change, code, targets=targets, tests=others, passing=tests)
        if comparison is None:
            return None, []
        if not (comparison.base and comparison.change):
            text = f"behavior was not compared: {comparison.problem}"
            note = Finding(rule="behavior-not-compared", effect="note", text=text)
            return None, [note] if comparison.problem else []
        return comparison.report(), comparison.findings()

    def compare(
        self,
        base: Path,
        change: Path,
        code: ChangedCode,
        *,
        targets: Sequence[str] = (),
        tests: Sequence[str],
        passing: Sequence[str] = (),
        run_seconds: float = STARTING_SECONDS,
    ) -> BehaviorComparison | None:
        """Compare the answers to the calls of tests (ids or files) in two trees; None without a recorder.

        The tests themselves may take `run_seconds`; those in `passing` pass on the change, and count unless
        they are red on the base.
        """
        if not all(side.is_recorded for side in self.sides) or self.seconds <= 0:
            return None
        deadline = time.monotonic() + self.seconds

        def record(runner: PytestRunner, tree: Path) -> RecordedCalls:
            seconds = self.seconds / 2
            request = call_request(tree, code, targets=targets, command=runner.command, seconds=seconds)
            limit = self.seconds + run_seconds
            return runner.record_calls(tree, [*targets, *tests], request, timeout_seconds=limit)

        with ThreadPoolExecutor(2) as pool:
            records = pool.map(record, self.sides, (base, change))
            (old_records, old_problem, red), (new_records, new_problem, _) = records
        old, new = read_answers(old_records), read_answers(new_records)
        problems = [problem.text for problem in (old_problem, new_problem) if problem]
        seconds = max(1.0, (deadline - time.monotonic()) / 2)
        *replayed, replaced = self._replay_all(
            base, change, code, (old, new), seconds, has_targets=bool(targets)
        )
        return BehaviorComparison(
            old,
            new,
            replayed=(replayed[0], replayed[1]),
            replaced=replaced,
            passing=[test for test in passing if test not in red],
            raised=code.raised,
            is_cut=code.has_fields or any(record["kind"] == CUT for record in (*old_records, *new_records)),
            problem=problems[0] if problems else "",
        )

    def _replay_all(
        self,
        base: Path,
        change: Path,
        code: ChangedCode,
        answers: tuple[CallAnswers, CallAnswers],
        seconds: float,
        *,
        has_targets: bool,
    ) -> tuple[dict[CallKey, Replayed], dict[CallKey, Replayed], frozenset[str]]:
        """Replay calls that can be copied on both sides, each now and at another time and place.

        Without targets nothing is judged, and one replay tells which functions answer equal calls otherwise.
        They are own calls, those of targets first, and variations that are answered otherwise than before.
        The last value is what the change alone replaces in the standard library.
        """
        copied = [(key, answer) for key, answer in answers[1].items() if answer.data]
        own = sorted((row for row in copied if row[0].kind == "own"), key=lambda row: not row[1].is_target)
        own = own[:MOST_REPLAYED]
        own += [
            (key, answer)
            for key, answer in copied
            if key.kind in ("near", "far") and key in answers[0] and answers[0][key].text != answer.text
        ][:MOST_VARIED]
        calls = [
            {
                "module": answer.module,
                "name": key.name,
                "code": answer.code_name,
                "data": answer.data,
                "environment": answer.environment,
            }
            for key, answer in own
        ]
        keys = [key for key, _ in own]
        sides = list(zip(self.sides, (base, change), strict=True))

        def replay(job: tuple[bool, tuple[PytestRunner, Path]]) -> Replay:
            later, (runner, tree) = job
            return self._replay(runner.project, tree, code, calls, seconds, later=later)

        jobs = [*product((False, True), sides)] if has_targets else [(False, sides[0])]
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(replay, jobs))
        old, new, old_later, new_later = [*found, *[Replay()] * (4 - len(found))]
        replayed: list[dict[CallKey, Replayed]] = []
        for now, later in ((old, old_later), (new, new_later)):
            rows = zip(keys, now.answers, [*later.answers, *[()] * len(now.answers)], strict=False)
            replayed.append({key: Replayed(first, second) for key, first, second in rows})
        replaced = frozenset() if old.replaced is None else (new.replaced or frozenset()) - old.replaced
        return replayed[0], replayed[1], replaced

    def _replay(
        self,
        project: Project,
        tree: Path,
        code: ChangedCode,
        calls: Sequence[Mapping[str, Any]],
        seconds: float,
        *,
        later: bool,
    ) -> Replay:
        """Return the answers of calls in a process that knows of no test; none if it fails."""
        if not calls:
            return Replay()
        tree = tree.resolve()
        projects = [path.relative_to(tree).as_posix() for path in nested_projects(tree)]
        owners = dict.fromkeys(nearest(projects, path) for path, _ in code.functions)
        own = [root for owner in owners for root in source_roots(tree / owner)]
        roots = dict.fromkeys((*own, *project.import_roots(tree), *source_roots(tree), tree))
        job = {
            "tree": str(tree),
            "path": [*map(str, roots)],
            "ignored": code.ignored,
            "changed": code.functions,
            "seconds": seconds,
            "later": later,
            "repeat": REPEATED,
            "calls": calls,
        }
        with tempfile.TemporaryDirectory(prefix="app-", dir=self.scratch) as name:
            place = Path(name)
            (place / "main.py").write_text(_replay_script(), encoding="utf-8")
            job["directory"] = str(place if later else tree)
            (place / "data.json").write_text(json.dumps(job), encoding="utf-8")
            started = ("-c", _replay_script()) if later else (str(place / "main.py"),)
            argv = (str(project.interpreter), *started, str(place / "data.json"))
            environment = {
                **{name: text for name, text in project.environment.items() if "PYTEST" not in name},
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONHASHSEED": "7" if later else "0",
            }
            try:
                execution = self.sandbox.run(
                    argv,
                    cwd=tree,  # a sandbox may show no other tree
                    environment=environment,
                    policy=READ_ONLY,
                    limits=Limits(wall_seconds=seconds + STARTING_SECONDS / 4),
                )
            except SandboxError:
                return Replay()
        lines = execution.output.splitlines()
        objects = (json.loads(line)["replaced"] for line in lines if line.startswith('{"replaced": '))
        answers = [_read_line(line) for line in lines if line.startswith("[")]
        return Replay(answers, next(map(frozenset, objects), None))


def _read_line(line: str) -> tuple[str, ...]:
    try:
        answers = tuple(map(str, json.loads(line)))
    except ValueError:
        return (NOT_COMPARED,)
    return answers or (MISSING,)


def _replay_script() -> str:
    """Return a script of its own: no module of ours is imported where calls are replayed."""
    values, replay = (
        (TARGET / name).read_text(encoding="utf-8") for name in ("coder_values.py", "coder_replay.py")
    )
    future = "from __future__ import annotations"
    ours = re.compile(r"^from coder_values import \(.*?^\)\n", re.DOTALL | re.MULTILINE)
    parts = [values, ours.sub("", replay.replace(future, ""))]
    start = 'if __name__ == "__main__":\n    import json, sys\n    replay(json.load(open(sys.argv[1])))\n'
    return "\n".join([*parts, start])


def call_request(
    tree: Path, code: ChangedCode, *, targets: Sequence[str], command: str, seconds: float
) -> dict[str, Any]:
    """Return the request to record the answers to calls of changed functions; see `coder_calls.py`."""
    is_test = test_file_predicate(tree, command)
    return {
        "modules": str(TARGET),
        "changed": code.functions,
        "literals": code.literals,
        "ignored": code.ignored,
        "targets": [*targets],
        "tests": [path for path in project_files(tree) if is_test(path) or is_test_path(path)],
        "seconds": seconds,
    }


def find_changed_code(old: Mapping[str, str], new: Mapping[str, str]) -> ChangedCode:
    """Return what differs between the sources of two sides, by path.

    A change outside of functions counts for all functions of its module that use a name it assigns.
    """
    functions: dict[tuple[str, str], None] = {}
    literals: dict[Any, None] = {}
    raised: dict[str, None] = {}
    is_changed = has_fields = False
    attributes: list[set[str]] = [set(), set()]
    for path in dict.fromkeys([*old, *new]):
        if not path.endswith(".py"):
            continue
        try:
            before, after = parse_code(old.get(path, "")), parse_code(new.get(path, ""))
        except (SyntaxError, ValueError, RecursionError):
            continue
        is_changed |= dump_node(before) != dump_node(after)
        known, now = dict(_functions(before)), dict(_functions(after))
        changed = [name for name in {**known, **now} if _dump(known.get(name)) != _dump(now.get(name))]
        statements = _changed_statements(before, after)
        assigned = _assigned_names(statements)
        classes = {name: node for name, node in _classes(before) if node.decorator_list}
        has_fields |= any(
            _assigned_names(_changed_statements(classes[name], node))
            for name, node in _classes(after)
            if name in classes
        )
        changed += [
            name for name, node in now.items() if name not in changed and refers_to_any(node, assigned)
        ]
        functions |= dict.fromkeys((path, name) for name in changed)
        for root in (*(now.get(name) or known[name] for name in changed), *statements):
            for node in ast.walk(root):
                if isinstance(node, ast.Constant) and type(node.value) in (int, float, str):
                    if len(str(node.value)) <= 40:
                        literals[node.value] = None
                elif isinstance(node, ast.Raise) and node.exc is not None:
                    callee = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                    raised[ast.unparse(callee).rpartition(".")[2]] = None
        for side, module in zip(attributes, (before, after), strict=True):
            side |= {
                node.attr
                for node in ast.walk(module)
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            }
    return ChangedCode(
        functions=tuple(functions),
        literals=tuple(literals)[:40],
        ignored=tuple(sorted(attributes[0] ^ attributes[1])),
        raised=tuple(raised),
        is_changed=is_changed,
        has_fields=has_fields,
    )


def _functions(module: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield all functions that are not inside of another one, with their qualified names."""
    for node in ast.iter_child_nodes(module):
        if isinstance(node, Function):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.stmt):
            yield from _functions(node, prefix)


def _classes(module: ast.AST) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield all classes with their names."""
    return ((node.name, node) for node in ast.walk(module) if isinstance(node, ast.ClassDef))


def _dump(node: Function | None) -> str:
    """Return a function's code as text."""
    return "".join(map(dump_node, [node.args, *node.decorator_list, *node.body])) if node else ""


def _changed_statements(before: ast.AST, after: ast.AST) -> list[ast.stmt]:
    """Return the assignments outside of functions that one side alone has."""

    def statements(module: ast.AST) -> Iterator[ast.stmt]:
        for node in ast.iter_child_nodes(module):
            if isinstance(node, ast.ClassDef):
                yield from statements(node)
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                yield node

    old, new = ({dump_node(node): node for node in statements(module)} for module in (before, after))
    return [node for text, node in [*old.items(), *new.items()] if (text in old) != (text in new)]


def _assigned_names(statements: Sequence[ast.stmt]) -> set[str]:
    return {
        part.id
        for node in statements
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
