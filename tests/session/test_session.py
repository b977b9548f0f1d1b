import asyncio
import time
from base64 import b64encode
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from coder.core.errors import GitError, ModelError, UserError
from coder.core.events import (
    BudgetSpent,
    Failed,
    FilesChanged,
    Record,
    Say,
    SessionFinished,
    SessionStarted,
    Stop,
    Verified,
    Warned,
    Withdraw,
)
from coder.core.messages import Image, Usage
from coder.core.task import Attachment, Budget
from coder.core.values import Candidate, Delivery, NewCommit, Patch
from coder.core.verdict import RunProblem, TestReport, VerdictKind
from coder.models.scripted import ScriptedCall, ScriptedModel, ScriptStep
from coder.permissions.secrets import Secrets
from coder.session.context import SessionContext, Strategy
from coder.session.continuation import read_continuation
from coder.session.session import Session
from coder.strategies.follow import LINEAR_ROUTE, follow_route
from coder.strategies.verify_phase import judge_change
from tests.session.fakes import (
    PROVEN,
    RED,
    STILL_RED,
    UNTESTED,
    FakeRepository,
    FakeSandbox,
    FakeVerifier,
    kit,
    with_models,
)

FIX = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 2\n"
WORSE = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 3\n"
AGAIN = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-VALUE = 3\n+VALUE = 2\n"


def patch(diff: str, text: str = "VALUE is 2 now.") -> ScriptStep:
    return ScriptStep(text=text, calls=(ScriptedCall(name="apply_patch", arguments={"diff": diff}),))


def run_session(context: SessionContext, strategy: Strategy | None = None) -> SessionFinished:
    return asyncio.run(Session(context, strategy or follow_route(LINEAR_ROUTE), id="s1", version="0").run())


def test_delivers_proven_fix_as_one_commit(tmp_path: Path) -> None:
    repository = FakeRepository(root=tmp_path)
    context = kit(tmp_path, [patch(FIX)], repository=repository)
    session_end = run_session(context)
    assert (session_end.kind, session_end.exit_code, session_end.spent.requests) == (VerdictKind.PROVEN, 0, 1)
    assert repository.deliveries == [
        "VALUE is 2 now\n\ntests/test_a.py::test_a fails\n\nCoder-Verdict: PROVEN\n"
    ]
    assert session_end.delivery is not None
    assert session_end.delivery.branch == "coder/value-is-2-now-1"
    assert repository.closed


def test_red_verification_spends_attempt_and_informs_model(tmp_path: Path) -> None:
    context = kit(tmp_path, [patch(WORSE), patch(AGAIN)], verifier=FakeVerifier(verdicts=[STILL_RED, PROVEN]))
    session_end = run_session(context)
    assert (session_end.kind, session_end.attempts, session_end.spent.requests) == (VerdictKind.PROVEN, 2, 2)
    last = context.model.requests[-1].messages[-1]  # type: ignore[attr-defined]  # the scripted model keeps what it was asked
    assert "The target is still red. In a.py:1." in last.text
    assert "2 more attempts" in last.text


def test_spent_attempts_end_with_report_without_delivery(tmp_path: Path) -> None:
    last_word = ScriptStep(
        calls=(
            ScriptedCall(
                name="hand_over",
                arguments={"kind": "give_up", "summary": "It is deeper.", "places": ["a.py:1"]},
            ),
        )
    )
    repository = FakeRepository(root=tmp_path)
    verifier = FakeVerifier(verdicts=[STILL_RED])
    context = kit(
        tmp_path,
        [patch(WORSE, "A guess."), last_word],
        verifier=verifier,
        repository=repository,
        budget=Budget(attempts=1),
    )
    session_end = run_session(context)
    assert (session_end.kind, session_end.exit_code) == (VerdictKind.GAVE_UP, 4)
    assert repository.deliveries == []
    assert "1. A guess. (a.py): The target is still red." in session_end.report
    assert "- a.py:1" in session_end.report
    assert session_end.summary == "It is deeper."


def test_change_without_test_is_at_most_passing(tmp_path: Path) -> None:
    no_test = ScriptStep(
        calls=(
            ScriptedCall(
                name="hand_over",
                arguments={"kind": "reproduction", "summary": "cannot be tested", "tests": []},
            ),
        )
    )
    session_end = run_session(
        kit(tmp_path, [patch(FIX), no_test], verifier=FakeVerifier(verdicts=[UNTESTED]))
    )
    assert (session_end.kind, session_end.exit_code) == (VerdictKind.PASSING, 3)


def test_a_dry_run_delivers_a_diff_and_no_branch(tmp_path: Path) -> None:
    repository = FakeRepository(root=tmp_path)
    session_end = run_session(kit(tmp_path, [patch(FIX)], repository=repository, dry_run=True))
    assert session_end.delivery is not None
    assert (session_end.delivery.branch, "VALUE = 2" in session_end.delivery.diff, repository.deliveries) == (
        "",
        True,
        [],
    )


def test_a_fix_that_needs_uncommitted_work_is_a_diff(tmp_path: Path) -> None:
    session_end = run_session(
        kit(tmp_path, [patch(FIX)], repository=FakeRepository(root=tmp_path, dirty=True, fits_on_head=False))
    )
    assert session_end.delivery is not None
    assert session_end.delivery.needs_uncommitted_work
    assert session_end.delivery.branch == ""


def test_fix_without_red_test_on_head_is_a_diff(tmp_path: Path) -> None:
    """The bug is uncommitted: on plain HEAD no test of the fix is red."""
    shown = UNTESTED.model_copy(update={"reason": "A red test turned green.", "targets": (RED.id,)})
    repository = FakeRepository(root=tmp_path, dirty=True)
    context = kit(
        tmp_path,
        [patch(FIX)],
        repository=repository,
        verifier=FakeVerifier(verdicts=[shown, UNTESTED]),
    )

    async def change_and_verify(context: SessionContext, candidate: Candidate) -> Candidate:
        (tmp_path / "a.py").write_text("VALUE = 2\n", encoding="utf-8")
        change = context.repository.candidate_patch(candidate)
        await judge_change(context, candidate, change, ())
        return candidate

    session_end = run_session(context, change_and_verify)
    assert session_end.delivery is not None
    assert session_end.delivery.needs_uncommitted_work
    assert (session_end.summary, repository.deliveries) == ("A red test turned green.", [])


def test_merges_proven_fix_on_request(tmp_path: Path) -> None:
    session_end = run_session(kit(tmp_path, [patch(FIX)], merge=True))
    assert session_end.delivery is not None
    assert session_end.delivery.merged


def test_token_limit_ends_session_before_call(tmp_path: Path) -> None:
    session_end = run_session(kit(tmp_path, [patch(FIX)], budget=Budget(tokens=100)))
    assert (session_end.kind, session_end.exit_code, session_end.spent.requests) == (VerdictKind.LIMIT, 5, 0)


def test_money_limit_ends_session(tmp_path: Path) -> None:
    dear = patch(WORSE).model_copy(update={"usage": Usage(cost_usd=Decimal("0.6"))})
    context = kit(
        tmp_path,
        [dear, patch(AGAIN)],
        verifier=FakeVerifier(verdicts=[STILL_RED]),
        budget=Budget(usd=Decimal(1)),
    )
    assert run_session(context).kind is VerdictKind.LIMIT


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
        VerdictKind.INCONCLUSIVE,
        7,
        0,
    )
    assert "pip install pytest" in session_end.summary


def test_internal_error_ends_as_failed_with_traceback(tmp_path: Path) -> None:
    async def raise_error(kit: SessionContext, candidate: Candidate) -> Candidate:
        raise ZeroDivisionError("ours")

    context = kit(tmp_path)
    session_end = run_session(context, raise_error)
    assert (session_end.kind, session_end.exit_code) == (None, 1)
    failed = next(record.event for record in context.log.records if isinstance(record.event, Failed))
    assert "in raise_error" in failed.error


def test_git_failure_is_reported_in_one_line(tmp_path: Path) -> None:
    async def raise_error(kit: SessionContext, candidate: Candidate) -> Candidate:
        raise GitError("git is gone")

    assert run_session(kit(tmp_path), raise_error).summary == "coder failed: git is gone"


@pytest.mark.parametrize("paths", [(), ("a.py",)])
def test_stopped_session_tells_whether_it_changed_files(tmp_path: Path, paths: tuple[str, ...]) -> None:
    context = kit(tmp_path)

    async def endless(kit: SessionContext, candidate: Candidate) -> Candidate:
        kit.log.append(FilesChanged(candidate=candidate.id, paths=paths, diff="a diff" if paths else ""))
        session.send(Stop())
        await asyncio.Event().wait()
        return candidate

    session = Session(context, endless, id="s1", version="0")
    assert asyncio.run(session.run()).has_changes is bool(paths)


def test_stop_ends_session_and_kills_processes(tmp_path: Path) -> None:
    context = kit(tmp_path)

    async def endless(kit: SessionContext, candidate: Candidate) -> Candidate:
        await asyncio.Event().wait()
        return candidate

    async def scenario() -> SessionFinished:
        session = Session(context, endless, id="s1", version="0")
        running = asyncio.ensure_future(session.run())
        await asyncio.sleep(0.05)
        session.send(Stop())
        return await asyncio.wait_for(running, 5)

    session_end = asyncio.run(scenario())
    assert (session_end.kind, session_end.exit_code) == (None, 130)
    assert isinstance(context.sandbox, FakeSandbox)
    assert context.sandbox.stopped


def test_user_message_reaches_model_after_open_calls(tmp_path: Path) -> None:
    context = kit(
        tmp_path,
        [ScriptStep(calls=(ScriptedCall(name="search", arguments={"pattern": "VALUE"}),)), patch(FIX)],
    )

    async def scenario() -> None:
        session = Session(context, follow_route(LINEAR_ROUTE), id="s1", version="0")
        running = asyncio.ensure_future(session.run())
        async for record in context.log.follow():
            if isinstance(record.event, BudgetSpent) and record.event.total.requests == 1:
                session.send(Say(text="look at a.py"))
        await running

    asyncio.run(scenario())
    roles = [message.role for message in context.model.requests[1].messages]  # type: ignore[attr-defined]
    assert roles == ["user", "assistant", "tool", "user"]
    assert context.model.requests[1].messages[-1].text == "The person adds: look at a.py"  # type: ignore[attr-defined]


def test_remark_comes_with_what_it_mentions(tmp_path: Path) -> None:
    context = kit(tmp_path, [patch(FIX)])
    (tmp_path / ".env").write_text("KEY=1\n")
    session = Session(context, follow_route(LINEAR_ROUTE), id="s1", version="0")
    for text in ("compare @a.py and @test_b", "see @.env", "ask ada@example.org"):
        session.send(Say(text=text))
    asyncio.run(session.run())
    texts = [message.text for message in context.model.requests[0].messages][1:]  # type: ignore[attr-defined]
    assert [text.splitlines()[0] for text in texts] == [
        "The person adds: compare @a.py and @test_b",
        "# Attached by the user: a.py (1 line)",
        "The person adds: see @.env",
        "The person adds: ask ada@example.org",
    ]
    assert "1| VALUE = 1" in texts[1]
    assert "# Attached by the user: test_b, tests/test_b.py:1" in texts[1]
    warnings = [record.event.text for record in context.log.records if isinstance(record.event, Warned)]
    assert warnings == [".env is private (deny_read), so nothing is attached. Write it without the @."]


PICTURE = b"GIF89a" + b"AKIAABCDEFGHIJKLMNOP" * 3
"""An image whose bytes look like a secret."""


def test_images_go_to_models_that_accept_them_and_stay_the_same(tmp_path: Path) -> None:
    image = Image(name="a.gif", media_type="image/gif", base64=b64encode(PICTURE).decode())
    context = kit(tmp_path)
    (tmp_path / "b.gif").write_bytes(PICTURE + b"b")
    search = ScriptStep(calls=(ScriptedCall(name="search", arguments={"pattern": "VALUE"}),))
    model = ScriptedModel([search, ModelError("It is down.")], name="sees", accepts_images=True)
    spare = ScriptedModel([patch(FIX)], name="blind")
    attachment = Attachment(name="a.gif (image, 1 kB)", text="", image=image)
    task = context.task.model_copy(update={"attachments": (attachment,)})
    context = replace(with_models(context, by_role={"executor": (model, spare)}), task=task)
    session = Session(context, follow_route(LINEAR_ROUTE), id="s1", version="0")

    async def scenario() -> None:
        running = asyncio.ensure_future(session.run())
        async for record in context.log.follow():
            if isinstance(record.event, BudgetSpent) and record.event.total.requests == 1:
                session.send(Say(text="see @b.gif and @a.py"))
        await running

    asyncio.run(scenario())

    def image_names(model: ScriptedModel) -> list[list[str]]:
        return [
            [image.name for message in request.messages for image in getattr(message, "images", ())]
            for request in model.requests
        ]

    assert (image_names(model), image_names(spare)) == ([["a.gif"], ["a.gif", "b.gif"]], [[]])
    assert "[Not sent to you, because you accept no images: a.gif]" in spare.requests[0].messages[0].text
    started, *_ = context.log.records
    assert isinstance(started.event, SessionStarted) and started.event.task.images == ()
    records = [Record.model_validate_json(record.model_dump_json()) for record in context.log.records]
    stored = read_continuation("s1", records).messages
    assert stored[0] == model.requests[0].messages[0]
    assert [image.base64 for message in stored for image in getattr(message, "images", ())] == [
        b64encode(content).decode() for content in (PICTURE, PICTURE + b"b")
    ]


def test_image_of_a_remark_is_refused_in_one_line(tmp_path: Path) -> None:
    context = kit(tmp_path, [patch(FIX)])
    (tmp_path / "b.gif").write_bytes(PICTURE)
    session = Session(context, follow_route(LINEAR_ROUTE), id="s1", version="0")
    session.send(Say(text="see @b.gif"))
    asyncio.run(session.run())
    texts = [message.text for message in context.model.requests[0].messages]  # type: ignore[attr-defined]
    assert texts[1:] == ["The person adds: see @b.gif"]
    warnings = [record.event.text for record in context.log.records if isinstance(record.event, Warned)]
    assert warnings == ["scripted:test does not accept images; b.gif is not attached."]


def test_remark_can_be_withdrawn_until_a_request_takes_it(tmp_path: Path) -> None:
    context = kit(
        tmp_path,
        [ScriptStep(calls=(ScriptedCall(name="search", arguments={"pattern": "VALUE"}),)), patch(FIX)],
    )
    session = Session(context, follow_route(LINEAR_ROUTE), id="s1", version="0")
    for command in (Say(text="a"), Say(text="b"), Say(text="a"), Withdraw(text="a"), Withdraw(text="c")):
        session.send(command)

    async def scenario() -> None:
        running = asyncio.ensure_future(session.run())
        async for record in context.log.follow():
            if isinstance(record.event, BudgetSpent):
                session.send(Withdraw(text="a"))
        await running

    asyncio.run(scenario())
    texts = [message.text for message in context.model.requests[0].messages]  # type: ignore[attr-defined]
    assert texts[1:] == ["The person adds: a", "The person adds: b"]


class SlowRepository(FakeRepository):
    """Repository that takes its time to deliver."""

    def deliver(
        self, patch: Patch, *, message: str, evidence: str, slug: str, steps_of: Candidate | None = None
    ) -> Delivery:
        time.sleep(0.3)
        return super().deliver(patch, message=message, evidence=evidence, slug=slug, steps_of=steps_of)


def test_finishes_and_reports_started_delivery(tmp_path: Path) -> None:
    context = kit(tmp_path, [patch(FIX)], repository=SlowRepository(root=tmp_path))

    async def scenario() -> SessionFinished:
        session = Session(context, follow_route(LINEAR_ROUTE), id="s1", version="0")
        running = asyncio.ensure_future(session.run())
        async for record in context.log.follow():
            if isinstance(record.event, Verified):
                asyncio.get_running_loop().call_later(0.1, session.send, Stop())
        return await running

    session_end = asyncio.run(scenario())
    assert session_end.kind is VerdictKind.PROVEN
    assert session_end.delivery is not None


class UnmergeableRepository(FakeRepository):
    def merge(self, delivery: Delivery) -> NewCommit:
        raise UserError("a.py is dirty.")


def test_refused_merge_leaves_branch(tmp_path: Path) -> None:
    context = kit(tmp_path, [patch(FIX)], repository=UnmergeableRepository(root=tmp_path), merge=True)
    session_end = run_session(context)
    assert (session_end.kind, session_end.exit_code) == (VerdictKind.PROVEN, 0)
    assert session_end.delivery is not None
    assert (session_end.delivery.merged, session_end.delivery.branch) == (False, "coder/value-is-2-now-1")
    assert Warned(text="Not merged: a.py is dirty.") in [record.event for record in context.log.records]


class UnsigningRepository(FakeRepository):
    def deliver(
        self, patch: Patch, *, message: str, evidence: str, slug: str, steps_of: Candidate | None = None
    ) -> Delivery:
        delivery = super().deliver(patch, message=message, evidence=evidence, slug=slug, steps_of=steps_of)
        return delivery.model_copy(update={"unsigned": "c0ffee is not signed."})

    def merge(self, delivery: Delivery) -> NewCommit:
        return NewCommit(id=delivery.commit, unsigned="c0ffee is not signed here.")


def test_warns_of_unsigned_commits(tmp_path: Path) -> None:
    context = kit(tmp_path, [patch(FIX)], repository=UnsigningRepository(root=tmp_path), merge=True)
    assert run_session(context).kind is VerdictKind.PROVEN
    warnings = [record.event for record in context.log.records if isinstance(record.event, Warned)]
    assert warnings == [Warned(text="c0ffee is not signed."), Warned(text="c0ffee is not signed here.")]


def test_error_message_masks_quoted_key(tmp_path: Path) -> None:
    context = kit(tmp_path, [ModelError("Incorrect key provided: wisteria-sings-99")])
    secrets = Secrets(own=("wisteria-sings-99",))
    session_end = run_session(replace(context, secrets=secrets))
    assert session_end.summary == "Incorrect key provided: [masked: a secret of yours]"
