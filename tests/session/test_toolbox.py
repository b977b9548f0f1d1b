import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from coder.core.events import MessageFinished, QuestionAnswered, QuestionAsked, ToolFinished
from coder.core.notes import Note
from coder.core.values import EDIT, EXPLAIN, LOCATE, AssistantMessage, Candidate, Phase, Policy, ToolCall
from coder.permissions.command_rules import Rule
from coder.session.approval import Approval, Permissions
from coder.session.context import CandidateRun, SessionContext
from coder.session.phase import OUTPUT_CHARACTERS, add_user_message, run_call, truncate_output
from tests.builders import write
from tests.session.fakes import FakeStore, events, kit
from tests.tools.fakes import FakeSandbox

THINKING_SECONDS = 0.5


def call(name: str, arguments: object) -> ToolCall:
    return ToolCall(
        id="1", name=name, arguments=arguments if isinstance(arguments, str) else json.dumps(arguments)
    )


def run_tool_call(
    context: SessionContext, tool_call: ToolCall, phase: Phase = LOCATE
) -> tuple[ToolFinished, Note | None]:
    candidate = Candidate(id="c1", worktree=context.repository.root, base="base")
    note = asyncio.run(run_call(context.on(candidate), phase, tool_call))
    tool_result = context.log.records[-1].event
    assert isinstance(tool_result, ToolFinished)
    return tool_result, note


@pytest.mark.parametrize(
    ("tool_call", "phase", "words"),
    [
        (call("open_file", {}), LOCATE, ("no tool 'open_file'", "apply_patch")),
        (call("search", '{"pattern": "VAL'), LOCATE, ("not valid JSON", "search(pattern: string")),
        (call("search", {"pattern": "VALUE", "colour": "red"}), LOCATE, ("colour",)),
        (call("hand_over", {"kind": "done", "summary": "all good"}), LOCATE, ("locate phase",)),
        (call("apply_patch", {"diff": "x"}), EXPLAIN, ("Nothing is changed in the explain phase",)),
    ],
    ids=["unknown tool", "malformed arguments", "unknown arguments", "note of another phase", "read-only"],
)
def test_refused_call_says_why_and_changes_nothing(
    tmp_path: Path, tool_call: ToolCall, phase: Phase, words: tuple[str, ...]
) -> None:
    tool_result, note = run_tool_call(kit(tmp_path), tool_call, phase)
    assert (tool_result.message.ok, note) == (False, None)
    assert all(part in tool_result.message.text for part in words)


def run(command: str, **more: object) -> ToolCall:
    return call("run_command", {"command": command, **more})


def test_refusal_carries_what_the_user_wants_instead(tmp_path: Path) -> None:
    context = kit(tmp_path, attended=True)
    calls = [run("make docs")]
    (question,) = run_reply(context, calls, "refuse", instruction="read docs/index.md")
    (finished,) = events(context.log, ToolFinished)
    assert question.takes_instruction
    assert finished.refused and not finished.message.ok
    assert "The user wants this instead: read docs/index.md" in finished.message.text
    assert "Go on without it" not in finished.message.text


def test_each_call_that_needs_it_is_asked_about(tmp_path: Path) -> None:
    context = kit(tmp_path, attended=True)
    calls = [call("search", {"pattern": "VALUE"}), run("make docs"), run("git push"), run("pip install x")]
    questions = run_reply(
        context, [wish.model_copy(update={"id": str(number)}) for number, wish in enumerate(calls)], "allow"
    )
    assert [question.text for question in questions] == [
        "Allow this? run: make docs   (runs without a sandbox)",
        "Allow this? run: pip install x   (installs packages)",
    ]
    tool_results = [event.message for event in events(context.log, ToolFinished)]
    assert [(message.call_id, message.ok) for message in tool_results] == [
        ("0", True),
        ("1", True),
        ("2", False),
        ("3", True),
    ]


def test_always_allowed_command_is_not_asked_again(tmp_path: Path) -> None:
    stored_rules: list[Rule] = []
    context = kit(tmp_path, attended=True)
    context = replace(context, approval=Approval(context.log, attended=True, remember=stored_rules.extend))
    (question,) = run_reply(context, [run("make docs")], "always")
    assert question.options == ("allow", "always", "refuse")
    assert run_reply(context, [run("make docs")], None) == []
    assert [(rule.action, rule.program, rule.arguments) for rule in stored_rules] == [
        ("allow", "make", ("docs",))
    ]
    assert len(run_reply(context, [run("make all")], "refuse")) == 1


def test_malformed_call_does_not_refuse_the_one_before_it(tmp_path: Path) -> None:
    context = replace(kit(tmp_path, attended=True), permissions=Permissions(mode="ask"))
    patch = call("apply_patch", {"diff": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 2\n"})
    malformed = ToolCall(id="2", name="apply_patch", arguments='{"diff": 1}')
    (question,) = run_reply(context, [patch, malformed], "allow")
    assert question.text == "Allow this? apply_patch: a.py   (changes files)"
    assert (tmp_path / "a.py").read_text() == "VALUE = 2\n"
    assert [event.message.ok for event in events(context.log, ToolFinished)] == [True, False]


def test_changes_nothing_in_read_only_mode(tmp_path: Path) -> None:
    context = replace(
        kit(tmp_path, attended=True), permissions=Permissions(mode="read-only", is_sandboxed=True)
    )
    tool_result, _ = run_tool_call(context, call("apply_patch", {"diff": "x"}), EDIT)
    assert "nothing is changed in the mode read-only" in tool_result.message.text
    run_reply(context, [run("make docs")], None)
    assert isinstance(context.sandbox, FakeSandbox)
    assert context.sandbox.policies == [Policy(writes=False)]


def test_masks_secrets_of_tool_output_in_log_and_blob(tmp_path: Path) -> None:
    context = kit(tmp_path)
    token = "ghp_" + "aB3d" * 9
    (tmp_path / "a.py").write_text(f"TOKEN = '{token}'\n")
    tool_result, _ = run_tool_call(context, call("search", {"pattern": "TOKEN"}))
    assert "[masked: GitHub token]" in tool_result.message.text
    assert token not in tool_result.message.text


def run_reply(
    context: SessionContext, calls: list[ToolCall], option: str | None, *, instruction: str = ""
) -> list[QuestionAsked]:
    """Execute all calls of a reply, and return its questions, each answered with the option."""
    candidate = Candidate(id="c1", worktree=context.repository.root, base="base")
    context.log.append(MessageFinished(candidate="c1", message=AssistantMessage(calls=tuple(calls))))
    before = len(context.log.records)

    async def scenario() -> None:
        work = asyncio.ensure_future(_run_all(context.on(candidate), calls))
        while option is not None and not work.done():
            await asyncio.sleep(0)
            for question in _questions(context, before):
                context.approval.deliver_answer(
                    QuestionAnswered(question=question.question, option=option, instruction=instruction)
                )
        await work

    asyncio.run(scenario())
    return _questions(context, before)


async def _run_all(run: CandidateRun, calls: list[ToolCall]) -> None:
    for wish in calls:
        await run_call(run, EDIT, wish)


def _questions(context: SessionContext, since: int) -> list[QuestionAsked]:
    return [record.event for record in context.log.records[since:] if isinstance(record.event, QuestionAsked)]


def test_cuts_long_output_and_keeps_full_copy(tmp_path: Path) -> None:
    context = kit(tmp_path)
    text = "a" * OUTPUT_CHARACTERS + "z" * 100
    shortened = truncate_output(text)
    assert len(shortened) < OUTPUT_CHARACTERS + 100
    assert shortened.startswith("aaa")
    assert shortened.endswith("zzz")
    assert isinstance(context.store, FakeStore)
    assert context.store.blobs[context.store.store_blob(text)] == text


async def test_time_of_a_command_excludes_the_wait_for_the_user(tmp_path: Path) -> None:
    context = kit(tmp_path, attended=True)
    candidate = Candidate(id="c1", worktree=tmp_path, base="base")
    context.log.append(MessageFinished(candidate="c1", message=AssistantMessage(calls=(run("make docs"),))))
    work = asyncio.ensure_future(run_call(context.on(candidate), EDIT, run("make docs")))
    async for record in context.log.follow():
        if isinstance(record.event, QuestionAsked):
            question = record.event.question
            break
    started = time.monotonic()
    await asyncio.sleep(THINKING_SECONDS)
    waited = time.monotonic() - started
    context.approval.deliver_answer(QuestionAnswered(question=question, option="allow"))
    await work
    waited = waited
    finished = context.log.records[-1].event
    assert isinstance(finished, ToolFinished)
    assert finished.seconds < waited


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("# The issue\nIt is slow.", False),
        ("# The issue\nshop/cart.py is slow.", True),
        ("from shop.cart import Cart", True),
        ("The carts of a shop-cart", False),
    ],
)
def test_file_is_read_once_something_has_named_it(tmp_path: Path, text: str, is_named: bool) -> None:
    context = kit(tmp_path)
    write(
        context.repository.root,
        {"shop/cart.py": "class Cart:\n    total = 1\n\n    def add(self):\n        pay()\n"},
    )
    candidate = Candidate(id="c1", worktree=context.repository.root, base="base")
    add_user_message(context.on(candidate), text)
    for shown in (is_named, True):  # what the outline has named is open
        tool_result, _ = run_tool_call(context, call("read", {"path": "shop/cart.py"}))
        assert ("pay()" in tool_result.message.text) is shown
