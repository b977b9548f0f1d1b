"""Parts of stages on an executor that runs them in this process, with all that they exchange pickled."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from coder.core.errors import GitError, LimitReached
from coder.core.events import Budget, BudgetSpent, CandidateForked, Task, Warned
from coder.core.notes import Done
from coder.core.values import Usage, UsageTotals, Value
from coder.executors.executor import CallEvent, CallRestarted
from coder.repo.repository import SessionRepository
from coder.session.context import CandidateRun, SessionContext, run_part
from coder.settings import Config
from coder.wiring.elsewhere import PartResult, StageRunner
from coder.wiring.session import SessionSetup, choose_approach
from tests.builders import repo
from tests.walls import walls
from tests.wiring.executor import PicklingExecutor


class WritingPart(Value):
    """Continues the candidate's file and pays for a request; or reaches a limit."""

    text: str = ""

    async def perform(self, run: CandidateRun) -> Done:
        if not self.text:
            raise LimitReached("tokens", "no tokens are left")
        file = run.candidate.worktree / "new.txt"
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        file.write_text(f"{before}{self.text}\n", encoding="utf-8")
        usage = Usage(input_tokens=5, output_tokens=1, cost_usd=Decimal("0.25"))
        run.log.append(BudgetSpent(candidate=run.candidate.id, usage=usage, total=UsageTotals()))
        run.log.append(Warned(text=f"after {len(run.log.records)} records"))
        run.log.append(CandidateForked(candidate="c9", position=run.log.records[-1].number))
        return Done(summary=self.text)


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionSetup:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)  # restored afterwards: a worker changes it
    root = repo(tmp_path / "project", {"a.txt": "1\n"})
    (root / "a.txt").write_text("uncommitted\n", encoding="utf-8")
    config = Config(strategy="offline")
    approach = choose_approach(config, model_name=None)
    return SessionSetup(root=root, config=config, backend=walls(), trusted=True, approach=approach)


def open_and_run(
    setup: SessionSetup, executor: PicklingExecutor, *texts: str
) -> tuple[SessionContext, str, str]:
    """Run a part for each text, in order, on one candidate; return its context, its file and its diff."""
    task = Task(issue="x", directory=setup.root, trusted=True, budget=Budget(usd=Decimal(1)))
    with StageRunner(executor) as runner, setup.open(task, connect=runner.connect) as handle:
        context = handle.context
        repository = context.repository
        assert isinstance(repository, SessionRepository)
        candidate = repository.create_candidate("c1")

        async def run_all() -> None:
            for text in texts:
                note = await run_part(context.on(candidate), WritingPart(text=text))
                assert note == Done(summary=text)

        asyncio.run(run_all())
        text = (candidate.worktree / "new.txt").read_text(encoding="utf-8")
        return context, text, repository.candidate_patch(candidate).diff


@pytest.mark.parametrize("is_local", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_parts_bring_back_change_records_and_spending(setup: SessionSetup, is_local: bool) -> None:
    context, text, diff = open_and_run(setup, PicklingExecutor(is_local), "first", "second")
    assert (text, "uncommitted" in diff) == ("first\nsecond\n", False)
    events = [record.event for record in context.log.records]
    assert [event.text for event in events if isinstance(event, Warned)] == [
        "after 1 records",
        "after 4 records",
    ]
    forks = [event for event in events if isinstance(event, CandidateForked)]
    assert all(isinstance(events[fork.position - 1], Warned) for fork in forks)
    paid = [event.total for event in events if isinstance(event, BudgetSpent)]
    assert [total.cost_usd for total in paid] == [Decimal("0.25"), Decimal("0.50")]
    assert context.budget.spent == paid[-1]
    assert [record.number for record in context.log.records] == [*range(1, len(events) + 1)]


def test_limit_of_a_part_is_the_callers(setup: SessionSetup) -> None:
    with pytest.raises(LimitReached, match="no tokens are left"):
        open_and_run(setup, PicklingExecutor(True), "")


class LateExecutor(PicklingExecutor):
    """Tells something of a call after it was stopped, as a worker does that is about to end."""

    def run(self, *_: Any, **options: Any) -> Iterator[CallEvent[Any]]:
        yield CallRestarted("c1", "at first")
        options["stop"].wait(10)
        yield CallRestarted("c1", "too late")


def test_a_stopped_part_adds_nothing_to_the_log(setup: SessionSetup) -> None:
    task = Task(issue="x", directory=setup.root, trusted=True, budget=Budget(usd=Decimal(1)))
    with StageRunner(LateExecutor(True)) as runner, setup.open(task, connect=runner.connect) as handle:
        context = handle.context
        candidate = context.repository.create_candidate("c1")

        async def stop_it() -> None:
            part = asyncio.ensure_future(run_part(context.on(candidate), WritingPart(text="a")))
            await asyncio.wait({part}, timeout=1.0)
            part.cancel()
            await asyncio.sleep(0.3)

        asyncio.run(stop_it())
        assert ["at first" in str(record.event) for record in context.log.records] == [True]


def test_damaged_change_is_refused(setup: SessionSetup) -> None:
    def damage(result: PartResult) -> PartResult:
        diff = result.change.diff.replace("+f", "+g")
        return replace(result, change=result.change.model_copy(update={"diff": diff}))

    with pytest.raises(GitError, match="arrived damaged"):
        open_and_run(setup, PicklingExecutor(True, damage), "first")
