"""Builds with a scripted model: one budget for all, overlap of writers, interruption and resumption."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from coder.core.errors import LimitReached
from coder.core.events import Budget, NoteMade, Record, SessionFinished, StageChanged, Stop, Task
from coder.core.notes import Component, Plan
from coder.core.values import AssistantMessage, Reply, Request, ToolCall, Usage
from coder.index.index import SymbolIndex
from coder.models.scripted import ScriptedModel
from coder.session.log import EventLog
from coder.settings import Config
from coder.strategies.build import build_components
from coder.wiring.session import Approach, SessionSetup
from tests.builders import git, repo
from tests.session.fakes import UNTESTED, FakeVerifier, ForkingRepository, kit
from tests.walls import walls

NAMES = ("one", "two", "three")


def plan_of(names: tuple[str, ...]) -> Plan:
    components = tuple(
        Component(
            name=name,
            purpose=f"Returns {name}.",
            path=f"parts/{name}.py",
            api=(f"def {name}() -> str",),
            tests=(f"tests/test_{name}.py",),
        )
        for name in names
    )
    return Plan(summary="Parts.", components=components)


def sources_of(name: str) -> str:
    test = f"from parts.{name} import {name}\n\n\ndef test_{name}():\n    assert {name}() == '{name}'\n"
    code = f'"""{name}."""\n\n\ndef {name}() -> str:\n    """Return {name}."""\n    return "{name}"\n'
    return "".join(
        f"--- /dev/null\n+++ b/{path}\n@@\n" + "".join(f"+{line}\n" for line in text.splitlines())
        for path, text in ((f"tests/test_{name}.py", test), (f"parts/{name}.py", code))
    )


def answer(request: Request, plan: Plan, number: int = 0) -> Reply:
    """Answer as a planner, a writer or a reviewer that approves."""
    text = "\n".join(message.text for message in request.messages)
    written = next((part for part in plan.components if f"# Your component: {part.name}\n" in text), None)
    if written is not None:
        call: tuple[str, dict[str, object]] = ("apply_patch", {"diff": sources_of(written.name)})
    elif "The components, as they are now" in text:
        call = ("hand_over", {"kind": "findings", "summary": "It fits.", "approve": True})
    else:
        call = ("hand_over", plan.model_dump(mode="json", exclude={"steps"}))
    return Reply(
        message=AssistantMessage(
            text="Write it",
            calls=(ToolCall(id=f"call_{number}", name=call[0], arguments=json.dumps(call[1])),),
        ),
        usage=Usage(input_tokens=1000, output_tokens=400),
        finish="calls",
    )


@pytest.mark.parametrize(
    ("count", "requests", "tokens"), [(1, None, None), (4, 3, None), (6, None, 20_000), (2, 4, 90_000)]
)
def test_one_budget_holds_for_all(
    tmp_path: Path, count: int, requests: int | None, tokens: int | None
) -> None:
    plan = plan_of(tuple(f"part{number}" for number in range(count)))
    calls = iter(range(100))
    scenes: list[Callable[[Request], Reply]] = [
        lambda request: answer(request, plan, next(calls)) for _ in range(20)
    ]
    root = tmp_path / "root"
    context = kit(
        root,
        scenes,
        repository=ForkingRepository(root),
        verifier=FakeVerifier(verdicts=[UNTESTED]),
        budget=Budget(requests=requests, tokens=tokens),
    )
    candidate = context.repository.create_candidate("c1")
    workspace = context.workspace(candidate)
    context = replace(
        context,
        task=context.task.model_copy(update={"mode": "build"}),
        workspace=lambda fork: replace(workspace, root=fork.worktree, index=SymbolIndex(fork.worktree)),
    )

    async def run() -> bool:
        try:
            await build_components(rounds=1)(context.on(candidate))
        except LimitReached:
            return False
        return True

    has_ended = asyncio.run(run())
    spent = context.budget.spent
    assert requests is None or spent.requests <= requests
    assert tokens is None or spent.input_tokens + spent.output_tokens <= tokens
    assert sum(role.requests for role in context.budget.roles.values()) == spent.requests
    assert has_ended == (spent.requests == count + 2)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return repo(tmp_path / "project", {".gitignore": "__pycache__/\n"})


def run_build(
    root: Path,
    model: ScriptedModel,
    *,
    continues: str = "",
    stop: Callable[[Record], bool] = lambda _record: False,
) -> tuple[str, SessionFinished, EventLog]:
    """Run a session, stopped at the first record that `stop` selects; return its id, end and log."""
    task = Task(
        issue="Build parts.",
        mode="build",
        directory=root,
        trusted=True,
        continues=continues,
        budget=Budget(seconds=120),
    )
    approach = Approach(model=model, strategy=build_components(rounds=2), reason="")
    setup = SessionSetup(root=root, config=Config(), backend=walls(), trusted=task.trusted, approach=approach)
    with setup.open(task) as handle:

        async def stop_in_time() -> None:
            async for record in handle.log.follow():
                if stop(record):
                    handle.send(Stop())

        async def run() -> SessionFinished:
            stopper = asyncio.ensure_future(stop_in_time())
            end = await handle.run()
            await stopper
            return end

        end = asyncio.run(run())
    return handle.id, end, handle.log


class MeetingModel(ScriptedModel):
    """Answers the requests of writers only when as many as expected wait, or never."""

    def __init__(self, plan: Plan, arrived: list[str], *, meeting: int, silent: str = "") -> None:
        calls = iter(range(100))
        super().__init__([lambda request: answer(request, plan, next(calls)) for _ in range(20)])
        self._arrived = arrived
        self._meeting = meeting
        self._silent = silent
        self._met = asyncio.Event()

    async def complete(self, request: Request, on_delta: Callable[..., None]) -> Reply:
        text = "\n".join(message.text for message in request.messages)
        if "# Your component: " in text:
            name = text.rpartition("# Your component: ")[2].partition("\n")[0]
            self._arrived.append(name)
            if len(self._arrived) == self._meeting:
                self._met.set()
            await (asyncio.Event() if name == self._silent else self._met).wait()
        return await super().complete(request, on_delta)


@pytest.mark.thorough
def test_resumes_in_the_middle_of_a_stage(root: Path) -> None:
    plan = plan_of(NAMES)
    finished: list[str] = []

    def two_are_written(record: Record) -> bool:
        if isinstance(record.event, StageChanged) and record.event.state == "done" and record.event.component:
            finished.append(record.event.component)
        return len(finished) == 2

    session, end, _ = run_build(root, MeetingModel(plan, [], meeting=3, silent="two"), stop=two_are_written)
    assert end.exit_code == 130 and sorted(finished) == ["one", "three"]
    arrived: list[str] = []
    _, end, log = run_build(root, MeetingModel(plan, arrived, meeting=1), continues=session)
    assert arrived == ["two"]
    plans = [record.event.note for record in log.records if isinstance(record.event, NoteMade)]
    assert plans[0] == plan
    assert end.delivery is not None
    files = git(root, "ls-tree", "-r", "--name-only", end.delivery.branch).splitlines()
    assert [path for path in files if path.startswith("parts/")] == [
        "parts/__init__.py",
        *sorted(f"parts/{name}.py" for name in NAMES),
    ]
