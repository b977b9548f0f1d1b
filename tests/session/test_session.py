import asyncio
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from coder.core.errors import GitError, IdentityError, ModelError
from coder.core.events import (
    Attachment,
    Budget,
    BudgetSpent,
    Event,
    Failed,
    FilesChanged,
    Record,
    Say,
    SessionStarted,
    Stop,
    Verified,
    Warned,
    Withdraw,
)
from coder.core.ports import Progress
from coder.core.values import Candidate, Delivery, Image, Patch
from coder.core.verdict import Effect, Finding, RunProblem, TestReport, VerdictKind
from coder.models.scripted import ScriptedCall, ScriptedModel, ScriptStep
from coder.permissions.secrets import Secrets
from coder.session.context import CandidateRun, SessionContext, Strategy
from coder.session.continuation import read_continuation
from coder.session.judging import judge_change
from coder.session.session import Session
from coder.strategies.follow import LINEAR_ROUTE, follow_route
from tests.session.fakes import (
    PROVEN,
    RED,
    STILL_RED,
    UNTESTED,
    FakeRepository,
    FakeVerifier,
    events,
    kit,
    run_session,
    texts,
    with_models,
)
from tests.tools.fakes import FakeSandbox

FIX = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 2\n"
WORSE = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 3\n"


def patch(diff: str, text: str = "VALUE is 2 now.") -> ScriptStep:
    return ScriptStep(text=text, calls=(ScriptedCall(name="apply_patch", arguments={"diff": diff}),))


def say_after_first_request(text: str) -> Callable[[Event], Say | None]:
    def react(event: Event) -> Say | None:
        is_first = isinstance(event, BudgetSpent) and event.total.requests == 1
        return Say(text=text) if is_first else None

    return react


def sent_texts(context: SessionContext) -> list[str]:
    """Return the messages of the first request, after the opening one."""
    assert isinstance(context.model, ScriptedModel)
    return [message.text for message in context.model.requests[0].messages][1:]


def test_spent_attempts_end_with_report_without_delivery(tmp_path: Path) -> None:
    arguments = {"kind": "give_up", "summary": "It is deeper.", "places": ["a.py:1"]}
    last_word = ScriptStep(calls=(ScriptedCall(name="hand_over", arguments=arguments),))
    context = kit(
        tmp_path,
        [patch(WORSE, "A guess."), last_word],
        verifier=FakeVerifier(verdicts=[STILL_RED]),
        budget=Budget(attempts=1),
    )
    session_end = run_session(context)
    assert (session_end.kind, session_end.exit_code) == (VerdictKind.GAVE_UP, 4)
    assert isinstance(context.repository, FakeRepository)
    assert (context.repository.deliveries, context.repository.closed) == ([], True)
    assert "1. A guess. (a.py): The target is still red." in session_end.report
    assert "- a.py:1" in session_end.report
    assert session_end.summary == "It is deeper."


def test_a_dry_run_delivers_a_diff_and_no_branch(tmp_path: Path) -> None:
    repository = FakeRepository(root=tmp_path)
    session_end = run_session(kit(tmp_path, [patch(FIX)], repository=repository, dry_run=True))
    assert session_end.delivery is not None
    assert (session_end.delivery.branch, "VALUE = 2" in session_end.delivery.diff, repository.deliveries) == (
        "",
        True,
        [],
    )


def change_and_verify(*findings: Finding) -> Strategy:
    async def strategy(run: CandidateRun) -> Candidate:
        (run.candidate.worktree / "a.py").write_text("VALUE = 2\n", encoding="utf-8")
        await judge_change(run, await run.read_patch(), (), findings=findings)
        return run.candidate

    return strategy


def test_fix_without_red_test_on_head_is_a_diff(tmp_path: Path) -> None:
    """The bug is uncommitted: on plain HEAD no test of the fix is red."""
    shown = UNTESTED.model_copy(update={"reason": "A red test turned green.", "targets": (RED.id,)})
    repository = FakeRepository(root=tmp_path, dirty=True)
    verifier = FakeVerifier(verdicts=[shown, UNTESTED])
    context = kit(tmp_path, [patch(FIX)], repository=repository, verifier=verifier)
    context = replace(context, task=context.task.model_copy(update={"unrelated_tests": ("t.py::test_b",)}))

    session_end = run_session(context, change_and_verify())
    assert session_end.delivery is not None
    assert session_end.delivery.needs_uncommitted_work
    assert (session_end.summary, repository.deliveries) == ("A red test turned green.", [])
    assert verifier.excluded == [("t.py::test_b",)] * 2


@pytest.mark.parametrize("on_head", [False, True], ids=["on the dirty base", "on HEAD"])
@pytest.mark.parametrize(("effect", "kind"), [("cap", VerdictKind.PASSING), ("open", VerdictKind.FIXED)])
def test_judgement_on_head_raises_no_word(
    tmp_path: Path, effect: Effect, kind: VerdictKind, on_head: bool
) -> None:
    """What was known of the fix beside its tests, and what HEAD alone shows, count both."""
    repository = FakeRepository(root=tmp_path, dirty=True)
    known = Finding(rule="undecided-edits", effect=effect, text="the tests do not decide between 2 edits")
    seen = PROVEN.model_copy(update={"kind": kind if effect == "open" else PROVEN.kind, "findings": (known,)})
    verifier = FakeVerifier(verdicts=[PROVEN, seen] if on_head else [PROVEN])
    context = kit(tmp_path, [patch(FIX)], repository=repository, verifier=verifier)

    session_end = run_session(context, change_and_verify(*(() if on_head else (known,))))
    assert session_end.kind is kind
    assert session_end.verdict is not None and known in session_end.verdict.findings


def test_merges_proven_fix_on_request(tmp_path: Path) -> None:
    session_end = run_session(kit(tmp_path, [patch(FIX)], merge=True))
    assert session_end.delivery is not None
    assert session_end.delivery.merged


def test_first_request_failure_is_usage_error_later_gives_up(tmp_path: Path) -> None:
    first = run_session(kit(tmp_path, [ModelError("The key is wrong.")]))
    assert (first.kind, first.exit_code, first.summary) == (None, 2, "The key is wrong.")
    look = ScriptStep(calls=(ScriptedCall(name="search", arguments={"pattern": "VALUE"}),))
    later = run_session(kit(tmp_path, [look, ModelError("The server is down.")]))
    assert (later.kind, "The server is down." in later.summary) == (VerdictKind.GAVE_UP, True)


def test_untestable_base_costs_no_request(tmp_path: Path) -> None:
    report = TestReport(
        command="pytest", problem=RunProblem(kind="no_runner", text="pytest is missing: pip install pytest")
    )
    session_end = run_session(kit(tmp_path, [patch(FIX)], verifier=FakeVerifier(report=report)))
    assert (session_end.kind, session_end.exit_code, session_end.spent.requests) == (
        VerdictKind.NOT_TESTED,
        7,
        0,
    )
    assert "pip install pytest" in session_end.summary


@pytest.mark.parametrize("error", [ZeroDivisionError("ours"), GitError("git is gone")])
def test_internal_error_ends_as_failed(tmp_path: Path, error: Exception) -> None:
    async def raise_error(_run: CandidateRun) -> Candidate:
        raise error

    context = kit(tmp_path)
    session_end = run_session(context, raise_error)
    assert (session_end.kind, session_end.exit_code) == (None, 1)
    assert session_end.summary.endswith(str(error))
    (failed,) = events(context.log, Failed)
    assert ("in raise_error" in failed.error) is isinstance(error, ZeroDivisionError)


@pytest.mark.parametrize("paths", [(), ("a.py",)])
def test_stopped_session_kills_processes_and_tells_whether_it_changed_files(
    tmp_path: Path, paths: tuple[str, ...]
) -> None:
    context = kit(tmp_path)

    async def endless(run: CandidateRun) -> Candidate:
        run.log.append(FilesChanged(candidate=run.candidate.id, paths=paths, diff="a diff" if paths else ""))
        await asyncio.Event().wait()
        return run.candidate

    session_end = run_session(
        context, endless, react=lambda event: Stop() if isinstance(event, FilesChanged) else None
    )
    assert (session_end.kind, session_end.exit_code) == (None, 130)
    assert session_end.has_changes is bool(paths)
    assert isinstance(context.sandbox, FakeSandbox)
    assert context.sandbox.stopped


def test_user_message_reaches_model_after_open_calls(tmp_path: Path) -> None:
    context = kit(
        tmp_path,
        [ScriptStep(calls=(ScriptedCall(name="search", arguments={"pattern": "VALUE"}),)), patch(FIX)],
    )

    run_session(context, react=say_after_first_request("look at a.py"))
    roles = [message.role for message in context.model.requests[1].messages]  # type: ignore[attr-defined]
    assert roles == ["user", "assistant", "tool", "user"]
    assert context.model.requests[1].messages[-1].text == "The person adds: look at a.py"  # type: ignore[attr-defined]


def test_remark_comes_with_what_it_mentions(tmp_path: Path) -> None:
    context = kit(tmp_path, [patch(FIX)])
    (tmp_path / ".env").write_text("KEY=1\n")
    remarks = ("compare @a.py and @test_b", "see @.env", "ask ada@example.org")
    run_session(context, at_once=[Say(text=text) for text in remarks])
    sent = sent_texts(context)
    assert [text.splitlines()[0] for text in sent] == [
        "The person adds: compare @a.py and @test_b",
        "# Attached by the user: a.py (1 line)",
        "The person adds: see @.env",
        "The person adds: ask ada@example.org",
    ]
    assert "1| VALUE = 1" in sent[1]
    assert "# Attached by the user: test_b, tests/test_b.py:1" in sent[1]
    assert texts(context.log, Warned) == [
        ".env is private (deny_read), so nothing is attached. Write it without the @."
    ]


PICTURE = b"GIF89a" + b"AKIAABCDEFGHIJKLMNOP" * 3
"""An image whose bytes look like a secret."""


def test_images_go_to_the_model_and_stay_the_same(tmp_path: Path) -> None:
    image = Image(name="a.gif", media_type="image/gif", base64=b64encode(PICTURE).decode())
    context = kit(tmp_path)
    (tmp_path / "b.gif").write_bytes(PICTURE + b"b")
    search = ScriptStep(calls=(ScriptedCall(name="search", arguments={"pattern": "VALUE"}),))
    model = ScriptedModel([search, patch(FIX)], name="sees", accepts_images=True)
    attachment = Attachment(name="a.gif (image, 1 kB)", text="", image=image)
    task = context.task.model_copy(update={"attachments": (attachment,)})
    context = replace(with_models(context, model=model), task=task)
    run_session(context, react=say_after_first_request("see @b.gif and @a.py"))

    names = [
        [image.name for message in request.messages for image in getattr(message, "images", ())]
        for request in model.requests
    ]
    assert names == [["a.gif"], ["a.gif", "b.gif"]]
    started, *_ = context.log.records
    assert isinstance(started.event, SessionStarted) and started.event.task.images == ()
    records = [Record.model_validate_json(record.model_dump_json()) for record in context.log.records]
    stored = read_continuation("s1", records).messages
    assert stored[0] == model.requests[0].messages[0]
    assert [image.base64 for message in stored for image in getattr(message, "images", ())] == [
        b64encode(content).decode() for content in (PICTURE, PICTURE + b"b")
    ]


def test_remark_can_be_withdrawn_until_a_request_takes_it(tmp_path: Path) -> None:
    context = kit(
        tmp_path,
        [ScriptStep(calls=(ScriptedCall(name="search", arguments={"pattern": "VALUE"}),)), patch(FIX)],
    )
    says = [Say(text=text) for text in ("a", "b", "a")]
    run_session(
        context,
        at_once=[*says, Withdraw(text="a"), Withdraw(text="c")],
        react=lambda event: Withdraw(text="a") if isinstance(event, BudgetSpent) else None,
    )
    assert sent_texts(context) == ["The person adds: a", "The person adds: b"]


class SlowRepository(FakeRepository):
    """Repository that takes its time to deliver."""

    def deliver(
        self, patch: Patch, *, message: str, evidence: str, slug: str, steps_of: Candidate | None = None
    ) -> Delivery:
        time.sleep(0.3)
        return super().deliver(patch, message=message, evidence=evidence, slug=slug, steps_of=steps_of)


async def test_finishes_and_reports_started_delivery(tmp_path: Path) -> None:
    context = kit(tmp_path, [patch(FIX)], repository=SlowRepository(root=tmp_path))
    session = Session(context, follow_route(LINEAR_ROUTE), id="s1", version="0")
    running = asyncio.ensure_future(session.run())
    async for record in context.log.follow():
        if isinstance(record.event, Verified):
            asyncio.get_running_loop().call_later(0.1, session.send, Stop())
    session_end = await running
    assert session_end.kind is VerdictKind.PROVEN
    assert session_end.delivery is not None


class FailingRepository(FakeRepository):
    error: type[GitError] = GitError

    def deliver(
        self, patch: Patch, *, message: str, evidence: str, slug: str, steps_of: Candidate | None = None
    ) -> Delivery:
        raise self.error("git knows no name.")


@pytest.mark.parametrize("error", [IdentityError, GitError])
def test_delivers_a_diff_where_git_may_make_no_commit(tmp_path: Path, error: type[GitError]) -> None:
    repository = FailingRepository(root=tmp_path)
    repository.error = error
    context = kit(tmp_path, [patch(FIX)], repository=repository, merge=True)
    session_end = run_session(context)
    assert (session_end.kind, session_end.exit_code) == (VerdictKind.PROVEN, 0)
    assert session_end.delivery is not None
    assert session_end.delivery.diff
    assert session_end.delivery.branch == ""
    text = "The change is delivered as a diff, and no branch was made: git knows no name."
    assert events(context.log, Warned) == [Warned(text=text)]


def test_error_message_masks_quoted_key(tmp_path: Path) -> None:
    context = kit(tmp_path, [ModelError("Incorrect key provided: wisteria-sings-99")])
    secrets = Secrets(own=("wisteria-sings-99",))
    session_end = run_session(replace(context, secrets=secrets))
    assert session_end.summary == "Incorrect key provided: [masked: a secret of yours]"


class SlowBase(FakeVerifier):
    """Verifier whose tests of the base end only once the first request was answered."""

    asked: threading.Event

    def baseline(
        self, progress: Progress | None = None, *, whole: bool = False, near: Sequence[str] = ()
    ) -> TestReport:
        assert self.asked.wait(10)
        return self.report


@pytest.mark.parametrize("problem", [None, "usage"])
def test_slow_base_is_tested_beside_the_first_reply(
    tmp_path: Path, problem: Literal["usage"] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coder.session.session.BASELINE_WAIT_SECONDS", 0.05)
    asked = threading.Event()
    reason = RunProblem(kind=problem, text="pytest refused to run: no such option") if problem else None
    verifier = SlowBase(report=TestReport(command="pytest", results=(RED,), problem=reason))
    verifier.asked = asked
    look = ScriptStep(text="Looking.", calls=(ScriptedCall(name="read", arguments={"path": "a.py"}),))

    async def reply_after_base_was_told() -> None:
        asked.set()
        await asyncio.sleep(0.3)

    model = ScriptedModel([look, patch(FIX)], pause=reply_after_base_was_told)
    context = with_models(kit(tmp_path, verifier=verifier), model=model)
    ending = run_session(context)
    if reason:
        assert (ending.kind, ending.summary) == (VerdictKind.NOT_TESTED, reason.text)
        return
    assert ending.kind is VerdictKind.PROVEN
    first, second = (request.messages for request in model.requests[:2])
    assert "what they say comes with a later message" in first[-1].text
    assert "0 passed, 1 failed, 0 skipped" in second[-1].text
