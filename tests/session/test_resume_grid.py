"""Sessions that are killed after any event, and resumed: they come to the same end."""

import asyncio
import difflib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from coder.core.events import (
    CandidateForked,
    Record,
    SessionFinished,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    Verified,
)
from coder.core.state import candidate_messages, unanswered_calls
from coder.core.values import AssistantMessage, Candidate, Message, Patch, Reply, Request, ToolMessage
from coder.core.verdict import Verdict, VerdictKind
from coder.models.scripted import ScriptedCall, ScriptedModel, ScriptStep
from coder.permissions.secrets import mark_message
from coder.session.context import SessionContext
from coder.session.continuation import INTERRUPTED, Continuation, find_resumable_candidate, read_continuation
from coder.session.log import read_records
from coder.session.session import Session
from coder.strategies.registry import build_strategy
from coder.workspace.workspace import Workspace
from tests.session.fakes import PROVEN, STILL_RED, FakeRepository, FakeVerifier, kit, with_models

LOGS = Path(__file__).parents[1] / "logs"
ISSUE = "tests/test_a.py::test_a fails"
FOLLOW_UP = "Now make it three."
MOST_REQUESTS = 40


@dataclass
class DirectoryRepository(FakeRepository):
    """Repository that copies the checkout for each candidate and makes real diffs."""

    def create_candidate(self, name: str) -> Candidate:
        place = self.root.parent / "worktrees" / name
        shutil.copytree(self.root, place)
        return Candidate(id=name, worktree=place, base=self.base)

    def candidate_patch(self, candidate: Candidate) -> Patch:
        old, new = ((place / "a.py").read_text() for place in (self.root, candidate.worktree))
        lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), "a/a.py", "b/a.py")
        return Patch(diff="".join(lines), paths=("a.py",) if old != new else (), tree=new)

    def rollback(self, candidate: Candidate, tree: str) -> None:
        text = (self.root / "a.py").read_text() if tree == "base" else tree
        (candidate.worktree / "a.py").write_text(text)


@dataclass
class ContentVerifier(FakeVerifier):
    """Verifier that proves a change by its content."""

    proven: str = "VALUE = 2"

    def decide(self, patch: Patch) -> Verdict:
        return PROVEN if self.proven in patch.tree else STILL_RED


def call(name: str, **arguments: str) -> ScriptedCall:
    return ScriptedCall(name=name, arguments=dict(arguments))


def change(old: str, new: str) -> ScriptedCall:
    return call("apply_patch", diff=f"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-VALUE = {old}\n+VALUE = {new}\n")


LOOK = ScriptStep(calls=(call("read", path="a.py"), call("search", pattern="VALUE")))
GUESS = ScriptStep(text="A guess.", calls=(change("1", "3"), call("read", path="a.py")))
TWO = ScriptStep(
    text="In two steps.", calls=(change("3", "4"), change("4", "2"), call("search", pattern="VALUE"))
)
LINEAR = (LOOK, GUESS, TWO)
FOLLOWING = (*LINEAR, ScriptStep(text="Three.", calls=(change("2", "3"),)))


def reply_by_position(script: Sequence[ScriptStep]) -> Callable[[Request], Reply]:
    """Return a model that answers by the number of its replies in the conversation alone."""

    def reply(request: Request) -> Reply:
        number = sum(isinstance(message, AssistantMessage) for message in request.messages)
        step = script[number] if number < len(script) else ScriptStep(text="There is no more to do.")
        return step.reply(number)

    return reply


def reply_in_branches(request: Request) -> Reply:
    """Look, guess wrongly, and find the fix only where another way is asked for."""
    number = sum(isinstance(message, AssistantMessage) for message in request.messages)
    if number == 0:
        return LOOK.reply(0)
    is_branch = any("find another way" in message.text for message in request.messages)
    if not is_branch:
        return ScriptStep(text="A guess.", calls=(change("1", "3"),)).reply(number)
    return ScriptStep(text="Two.", calls=(change("1", "2"), change("3", "2"))).reply(number)


@dataclass
class Run:
    """A session that has ended."""

    records: list[Record]
    end: SessionFinished
    worktree: str
    requests: list[Request]
    checkout: str


def run(
    root: Path,
    reply: Callable[[Request], Reply],
    *,
    strategy: str = "linear",
    continued: Continuation | None = None,
    issue: str = ISSUE,
    mode: str = "fix",
    start: str = "VALUE = 1\n",
    proven: str = "VALUE = 2",
) -> Run:
    shutil.rmtree(root, ignore_errors=True)
    repository = DirectoryRepository(root=root / "checkout")
    context = kit(
        root / "checkout", verifier=ContentVerifier(proven=proven), repository=repository, issue=issue
    )
    (root / "checkout" / "a.py").write_text(start)
    model = ScriptedModel([reply] * MOST_REQUESTS)
    context = replace(
        with_models(context, model=model),
        continued=continued,
        task=context.task.model_copy(update={"mode": mode}),
        workspace=_workspaces(context),
    )
    chosen = build_strategy(strategy, width=2, rounds=2, reproduces=mode == "fix")
    end = asyncio.run(Session(context, chosen, id="s", version="0").run())
    texts = {place.name: (place / "a.py").read_text() for place in (root / "worktrees").iterdir()}
    return Run(
        context.log.records,
        end,
        str(end.delivery.diff if end.delivery else texts),
        model.requests,
        (root / "checkout" / "a.py").read_text(),
    )


def _workspaces(context: SessionContext) -> Callable[[Candidate], Workspace]:
    made = context.workspace(Candidate(id="c1", worktree=context.repository.root, base="base"))
    return lambda candidate: replace(made, root=candidate.worktree)


def sent_messages(records: Sequence[Record]) -> tuple[Message, ...]:
    """Return the conversation that a resumed session goes on with."""
    return candidate_messages(records, find_resumable_candidate(records) or "c1")


def assert_resumes(
    root: Path, whole: Run, cut: int, reply: Callable[[Request], Reply], **options: str
) -> Run:
    """Check that a session killed after `cut` events ends as it would have ended, and return it resumed."""
    records = whole.records[:cut]
    continued = read_continuation("s", records, request=options.get("issue", ISSUE))
    resumed = run(root, reply, continued=continued, **options)
    where = f"killed after event {cut}, {records[-1].event.type}"
    assert (resumed.end.kind, resumed.end.exit_code) == (whole.end.kind, whole.end.exit_code), where
    assert resumed.worktree == whole.worktree, where
    assert resumed.checkout == whole.checkout, where
    before = sent_messages(records)
    assert candidate_messages(resumed.records, "c1")[: len(before)] == before, where
    return resumed


def cuts(whole: Run) -> list[int]:
    """Return where a session is killed: after two events of each kind, and after every fifth event."""
    kinds = [record.event.type for record in whole.records]
    return [cut for cut in range(1, len(kinds)) if cut % 5 == 0 or kinds[:cut].count(kinds[cut - 1]) <= 2]


def test_killed_session_comes_to_the_same_end(tmp_path: Path) -> None:
    reply = reply_by_position(LINEAR)
    whole = run(tmp_path / "whole", reply)
    assert (whole.end.kind, len(whole.requests)) == (VerdictKind.PROVEN, 3)
    for cut in cuts(whole):
        assert_resumes(tmp_path / "resumed", whole, cut, reply)
    for cut in range(1, len(whole.records)):  # another request does not carry out what was interrupted
        assert unanswered_calls(read_continuation("s", whole.records[:cut], request="Other").messages) == ()


def test_killed_tree_comes_to_the_same_end(tmp_path: Path) -> None:
    """A patch that awaits its verdict is verified at once; nothing is asked for after a good verdict."""
    whole = run(tmp_path / "whole", reply_in_branches, strategy="tree")
    forks = [record for record in whole.records if isinstance(record.event, CandidateForked)]
    assert (whole.end.kind, len(forks) > 1) == (VerdictKind.PROVEN, True)
    patched = next(
        record.number
        for record in whole.records
        if isinstance(record.event, ToolFinished)
        and record.event.candidate != "c1"
        and record.event.message.name == "apply_patch"
        and record.event.message.ok
    )
    assert "+VALUE = 2" in read_continuation("s", whole.records[:patched], request=ISSUE).patches[-1]
    proven = next(
        record.number
        for record in whole.records
        if isinstance(record.event, Verified) and record.event.verdict.is_good_enough
    )
    for cut in sorted({*cuts(whole), patched, proven}):
        resumed = assert_resumes(tmp_path / "resumed", whole, cut, reply_in_branches, strategy="tree")
        assert resumed.requests == [] or (cut != patched and cut < proven), whole.records[cut - 1].event


def test_killed_follow_up_comes_to_the_same_end(tmp_path: Path) -> None:
    reply = reply_by_position(FOLLOWING)
    first = run(tmp_path / "first", reply)
    earlier = read_continuation("s", first.records)
    options = {"issue": FOLLOW_UP, "mode": "change", "start": "VALUE = 2\n", "proven": "VALUE = 3"}
    whole = run(tmp_path / "whole", reply, continued=earlier, **options)
    assert (whole.end.kind, len(whole.requests)) == (VerdictKind.PROVEN, 1)
    assert whole.requests[0].messages[: len(earlier.messages)] == tuple(map(mark_message, earlier.messages))
    for cut in cuts(whole):
        assert_resumes(tmp_path / "resumed", whole, cut, reply, **options)


def test_interrupted_command_is_not_carried_out_again(tmp_path: Path) -> None:
    script = (
        ScriptStep(calls=(call("run_command", command="echo 1"), call("read", path="a.py"))),
        *LINEAR[1:],
    )
    reply = reply_by_position(script)
    whole = run(tmp_path / "whole", reply)
    started = next(r.number for r in whole.records if isinstance(r.event, ToolStarted))
    continued = read_continuation("s", whole.records[:started], request=ISSUE)
    assert [m.text for m in continued.messages if isinstance(m, ToolMessage)] == [INTERRUPTED]
    assert [open_call.name for open_call in unanswered_calls(continued.messages)] == ["read"]
    assert_resumes(tmp_path / "resumed", whole, started, reply)


@pytest.mark.parametrize("cuts", [2, pytest.param(12, marks=pytest.mark.thorough)])
def test_killed_recorded_sessions_can_be_resumed(tmp_path: Path, cuts: int) -> None:
    """Logs of older versions: killed in the middle, or at more places, and before the last event."""
    for log in sorted(path for path in LOGS.iterdir() if path.is_dir()):
        records = read_records(log)
        task = next(r.event.task for r in records if isinstance(r.event, SessionStarted))
        for cut in {(len(records) - 1) * number // cuts or 1 for number in range(1, cuts + 1)}:
            continued = read_continuation("s", records[:cut], request=task.issue)
            resumed = run(tmp_path / "r", reply_by_position(()), continued=continued, issue=task.issue)
            assert resumed.end.exit_code in (0, 3, 4), (log.name, cut, resumed.end)
            assert resumed.checkout == "VALUE = 1\n"
