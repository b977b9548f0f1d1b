"""Context whose ports are fakes: a directory as worktree, verdicts from a list, a scripted model."""

import asyncio
import difflib
import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from coder.core.events import Budget, SessionCommand, SessionFinished, Task
from coder.core.events import Event as LogEvent
from coder.core.ports import Progress, Repository, ReproducedExample, RunListener, Verifier
from coder.core.values import Candidate, Delivery, Environment, NewCommit, Patch, Proposals
from coder.core.verdict import (
    Failure,
    IssueTie,
    ReproductionResult,
    TestReport,
    TestResult,
    Verdict,
    VerdictKind,
)
from coder.index.index import SymbolIndex
from coder.models.scripted import Scene, ScriptedModel
from coder.session.approval import Approval
from coder.session.context import BudgetTracker, Judging, ModelAccess, SessionContext, Strategy
from coder.session.log import EventLog
from coder.session.session import Session
from coder.strategies.follow import LINEAR_ROUTE, follow_route
from coder.tools.registry import TOOLS
from coder.workspace.workspace import Workspace
from tests.tools.fakes import FakeHistory, FakeSandbox

BASELINE = TestReport(command="pytest", results=(TestResult(id="tests/test_b.py::test_b", outcome="passed"),))
RED = TestResult(
    id="tests/test_a.py::test_a",
    outcome="failed",
    failure=Failure(type="AssertionError", message="assert 1 == 2"),
    seconds=0.01,
)
PROVEN = Verdict(kind=VerdictKind.PROVEN, reason="It failed before and passes now.", targets=(RED.id,))
STILL_RED = Verdict(kind=VerdictKind.NOT_FIXED, reason="The target is still red.", still_red=(RED,))
UNTESTED = Verdict(kind=VerdictKind.PASSING, reason="No test shows it.")


def ticking_clock() -> Callable[[], datetime]:
    """Return a clock that advances by a second each time it is read."""
    moments = iter(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second) for second in range(100_000))
    return lambda: next(moments)


@dataclass
class FakeRepository:
    """Repository whose worktree is a directory; trees are hashes of its content."""

    root: Path
    head: str = "head"
    base: str = "base"
    base_tree: str = "base"
    dirty: bool = False
    copied_paths: dict[str, str] = field(default_factory=dict)
    deliveries: list[str] = field(default_factory=list)
    closed: bool = False
    fits_on_head: bool = True
    _trees: dict[str, dict[str, str]] = field(default_factory=dict)

    def create_candidate(self, name: str) -> Candidate:
        self._trees["base"] = self._files()
        return Candidate(id=name, worktree=self.root, base=self.base)

    def _files(self) -> dict[str, str]:
        return {
            str(path.relative_to(self.root)): path.read_text()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }

    def candidate_patch(self, candidate: Candidate) -> Patch:
        before, after = self._trees["base"], self._files()
        paths = tuple(sorted(path for path in {*before, *after} if before.get(path) != after.get(path)))
        tree = hashlib.sha1(repr(after).encode()).hexdigest()
        self._trees[tree] = after
        return Patch(
            diff="".join(_git_diff(path, before.get(path), after.get(path)) for path in paths),
            paths=paths,
            tree=tree,
        )

    def checkpoint(self, candidate: Candidate, subject: str) -> str:
        return self.candidate_patch(candidate).tree

    def rollback(self, candidate: Candidate, tree: str) -> None:
        shutil.rmtree(self.root)
        for path, text in self._trees[tree].items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def restore_on_exit(self, candidate: Candidate) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def checkout(self, tree: str, paths: Sequence[str] | None = None) -> Iterator[Path]:
        yield self.root

    read = checkout

    def changed_paths(self, tree: str) -> tuple[str, ...]:
        return ()

    def paths_beside_base(self) -> list[str]:
        return []

    def rebase_on_head(self, patch: Patch) -> Patch | None:
        return patch if self.fits_on_head else None

    def on_head(self) -> Repository:
        return self

    def deliver(
        self, patch: Patch, *, message: str, evidence: str, slug: str, steps_of: Candidate | None = None
    ) -> Delivery:
        self.deliveries.append(message)
        return Delivery(diff=patch.diff, branch=f"coder/{slug}-1", commit="c0ffee")

    def merge(self, delivery: Delivery) -> NewCommit:
        return NewCommit(id=delivery.commit)

    def recent_subjects(self, count: int) -> tuple[str, ...]:
        return ("Add a thing", "Mend another")

    def close(self) -> None:
        self.closed = True


def _git_diff(path: str, old: str | None, new: str | None) -> str:
    """Return the diff of one file as git writes it."""
    mode = "new file mode 100644\n" if old is None else "deleted file mode 100644\n" if new is None else ""
    names = ("/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}")
    lines = difflib.unified_diff((old or "").splitlines(True), (new or "").splitlines(True), *names)
    return "".join([f"diff --git a/{path} b/{path}\n{mode}", *lines])


class ForkingRepository(FakeRepository):
    """Repository that copies its root for each candidate, into a directory beside it."""

    def create_candidate(self, name: str) -> Candidate:
        self._trees.setdefault("base", self._files())
        place = self.root.with_name(f"{self.root.name}-{name}")
        shutil.copytree(self.root, place)
        return Candidate(id=name, worktree=place, base=self.base)

    def candidate_patch(self, candidate: Candidate) -> Patch:
        return self._at(candidate).candidate_patch(candidate)

    def rollback(self, candidate: Candidate, tree: str) -> None:
        self._at(candidate).rollback(candidate, tree)

    def _at(self, candidate: Candidate) -> FakeRepository:
        return FakeRepository(root=candidate.worktree, _trees=self._trees)


@dataclass
class FakeVerifier:
    """Verifier that returns verdicts and reproductions in order, the last one repeatedly."""

    verdicts: list[Verdict] = field(default_factory=lambda: [PROVEN])
    reproduced: list[ReproductionResult] = field(
        default_factory=lambda: [ReproductionResult(tests=(RED.id,))]
    )
    report: TestReport = BASELINE
    tied: dict[str, IssueTie] = field(default_factory=dict)
    calls: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    excluded: list[tuple[str, ...]] = field(default_factory=list)
    """Tests that are no targets, of each verification."""
    examples: tuple[str, ...] = ()
    example: ReproducedExample | str = (
        "the issue has no example in a form that is read here, such as `f(x)` returns 1 instead of 2"
    )
    reproduction_seconds: float | None = None

    def baseline(
        self, progress: Progress | None = None, *, whole: bool = False, near: Sequence[str] = ()
    ) -> TestReport:
        return self.report

    def results_on_base(self, tests: Sequence[str], progress: Progress | None = None) -> TestReport:
        return self.baseline(progress)

    def reproduce(
        self,
        patch: Patch,
        named: Sequence[str],
        progress: Progress | None = None,
        *,
        tell: RunListener | None = None,
        seconds: float | None = None,
    ) -> ReproductionResult:
        self.calls.append(("reproduces", tuple(named)))
        self.reproduction_seconds = seconds
        return self.reproduced.pop(0) if len(self.reproduced) > 1 else self.reproduced[0]

    def issue_ties(self) -> Mapping[str, IssueTie]:
        return self.tied

    def judge(
        self,
        patch: Patch,
        named: Sequence[str],
        progress: Progress | None = None,
        *,
        excluded: Sequence[str] = (),
        tell: RunListener | None = None,
    ) -> Verdict:
        self.calls.append(("verify", tuple(named)))
        self.excluded.append(tuple(excluded))
        return self.decide(patch).model_copy(update={"tree": patch.tree})

    def decide(self, patch: Patch) -> Verdict:
        return self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]

    def describe_examples(self) -> tuple[str, ...]:
        return self.examples

    def reproduce_example(self) -> ReproducedExample | str:
        return self.example

    def write_example(self, tree: Path, call: str, right: str) -> ReproducedExample | str:
        return self.example

    def accept_test_edits(self) -> None:
        self.calls.append(("accept_test_edits", ()))

    def environment(self) -> Environment:
        return Environment()

    def examine(self, verdict: Verdict, progress: Progress | None = None) -> Verdict:
        return verdict

    def run_tests(
        self,
        worktree: Path,
        paths: Sequence[str],
        tests: Sequence[str],
        progress: Progress | None = None,
        *,
        around: object = None,
    ) -> TestReport:
        return self.report


@dataclass
class FakeProposer:
    found: Proposals = Proposals()  # noqa: RUF009 (a frozen value)

    def propose(
        self,
        tree: Path,
        tests: Sequence[str],
        issue: str,
        *,
        seconds: float,
        progress: Progress | None = None,
        may_write: Callable[[str], bool] | None = None,
        guards: Sequence[str] = (),
    ) -> Proposals:
        return self.found


@dataclass
class FakeStore:
    blobs: dict[str, str] = field(default_factory=dict)

    def append(self, record: object) -> None: ...

    def store_blob(self, text: str) -> str:
        name = hashlib.sha256(text.encode()).hexdigest()
        self.blobs[name] = text
        return name


def kit(
    root: Path,
    scenes: Sequence[Scene] = (),
    *,
    verifier: Verifier | None = None,
    repository: FakeRepository | None = None,
    budget: Budget | None = None,
    issue: str = "tests/test_a.py::test_a fails",
    attended: bool = False,
    only: tuple[str, ...] = (),
    dry_run: bool = False,
    merge: bool = False,
    reviews: bool = False,
) -> SessionContext:
    """Return a context over `root`, with a.py, tests/test_a.py and tests/test_b.py in it."""
    (root / "tests").mkdir(parents=True, exist_ok=True)
    (root / "a.py").write_text("VALUE = 1\n")
    (root / "tests" / "test_a.py").write_text("def test_a() -> None:\n    assert VALUE == 2\n")
    (root / "tests" / "test_b.py").write_text("def test_b() -> None:\n    assert True\n")
    log = EventLog(clock=ticking_clock())
    budget = budget or Budget(usd=Decimal(10))
    sandbox = FakeSandbox()
    workspace = Workspace(
        root=root,
        sandbox=sandbox,
        history=FakeHistory(),
        run=lambda tests, progress: TestReport(command="pytest"),
        baseline=lambda _tests, _progress: TestReport(command="pytest"),
        index=SymbolIndex(root),
        only=only,
    )
    fake = repository or FakeRepository(root=root)
    chosen = verifier or FakeVerifier()
    return SessionContext(
        task=Task(
            issue=issue, directory=root, budget=budget, only=only, dry_run=dry_run, merge=merge, trusted=True
        ),
        models=ModelAccess(model=ScriptedModel(scenes)),
        tools=TOOLS,
        repository=fake,
        judging=Judging(make_verifier=lambda _: chosen, alone=fake, whole=fake),
        make_proposer=FakeProposer,
        sandbox=sandbox,
        store=FakeStore(),
        log=log,
        budget=BudgetTracker(budget, clock=lambda: 0.0),
        approval=Approval(log, attended=attended),
        workspace=lambda _: workspace,
        needs_review=reviews,
    )


def with_models(context: SessionContext, **changes: Any) -> SessionContext:
    """Return a context with other values of its ModelAccess."""
    return replace(context, models=replace(context.models, **changes))


EventKind = TypeVar("EventKind", bound=LogEvent)


def events(log: EventLog, kind: type[EventKind]) -> list[EventKind]:
    """Return the events of one kind."""
    return [record.event for record in log.records if isinstance(record.event, kind)]


def texts(log: EventLog, kind: Any) -> list[str]:
    """Return the texts of the events of one kind, such as warnings."""
    return [event.text for event in events(log, kind)]


def run_session(
    context: SessionContext,
    strategy: Strategy | None = None,
    *,
    react: Callable[[LogEvent], SessionCommand | None] = lambda _: None,
    at_once: Sequence[SessionCommand] = (),
) -> SessionFinished:
    """Run a session whose user sends some commands at once, and then what `react` returns for an event."""
    session = Session(context, strategy or follow_route(LINEAR_ROUTE), id="s1", version="0")
    for command in at_once:
        session.send(command)

    async def scenario() -> SessionFinished:
        running = asyncio.ensure_future(session.run())
        async for record in context.log.follow():
            if (command := react(record.event)) is not None:
                session.send(command)
        return await running

    return asyncio.run(scenario())


def run_strategy(
    strategy: Strategy, context: SessionContext, candidate: Candidate | None = None
) -> Candidate:
    """Run a strategy by itself, on the first candidate, and return the one that it chooses."""
    first = candidate or context.repository.create_candidate("c1")

    async def scenario() -> Candidate:
        return await strategy(context.on(first))

    return asyncio.run(scenario())
