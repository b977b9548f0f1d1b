from pathlib import Path

import pytest

from coder.core.events import (
    CandidateForked,
    FilesChanged,
    MessageFinished,
    SessionFinished,
    Verified,
)
from coder.core.values import AssistantMessage, Delivery, ToolCall, ToolMessage, UserMessage
from coder.core.verdict import Verdict, VerdictKind
from coder.session.continuation import INTERRUPTED, read_continuation
from coder.session.log import EventLog, read_records

LOGS = Path(__file__).parents[1] / "logs"

LOOK = AssistantMessage(calls=(ToolCall(id="1", name="read", arguments="{}"),))


def test_open_calls_of_stopped_session_are_answered() -> None:
    log = EventLog()
    log.append(CandidateForked(candidate="c1"))
    log.append(MessageFinished(candidate="c1", message=UserMessage(text="It is wrong.")))
    log.append(MessageFinished(candidate="c1", message=LOOK))
    log.append(FilesChanged(candidate="c1", paths=("a.py",), diff="unfinished"))
    earlier = read_continuation("s", log.records)
    assert earlier.diff == "unfinished"
    assert earlier.messages[-1] == ToolMessage(call_id="1", name="read", text=INTERRUPTED, ok=False)
    assert (earlier.commit, earlier.branch) == ("", "")


def test_conversation_is_that_of_delivered_candidate() -> None:
    verdict = Verdict(kind=VerdictKind.PROVEN, reason="", tree="t")
    log = EventLog()
    for name in ("c1", "c2"):
        log.append(CandidateForked(candidate=name))
        log.append(MessageFinished(candidate=name, message=UserMessage(text=name)))
    log.append(Verified(candidate="c2", attempt=1, verdict=verdict))
    delivery = Delivery(diff="d", branch="coder/b", commit="c")
    log.append(
        SessionFinished(kind=VerdictKind.PROVEN, summary="", verdict=verdict, delivery=delivery, exit_code=0)
    )
    earlier = read_continuation("s", log.records)
    assert earlier.messages == (UserMessage(text="c2"),)
    assert (earlier.commit, earlier.branch) == ("c", "coder/b")


@pytest.mark.parametrize("directory", sorted(path.name for path in LOGS.iterdir() if path.is_dir()))
def test_any_beginning_of_a_recorded_session_can_be_continued(directory: str) -> None:
    records = read_records(LOGS / directory)
    for length in range(len(records) + 1):
        messages = read_continuation("s", records[:length]).messages
        open_calls: set[str] = set()
        for message in messages:
            match message:
                case AssistantMessage(calls=calls):
                    assert not open_calls
                    open_calls = {call.id for call in calls}
                case ToolMessage(call_id=call_id):
                    open_calls.remove(call_id)
                case UserMessage():
                    assert not open_calls
        assert not open_calls


def test_plan_of_a_stopped_build_is_continued() -> None:
    records = read_records(LOGS / "format-1-build")
    assert read_continuation("s", records).plan is None  # it was delivered
    plan = read_continuation("s", records[:-1]).plan
    assert plan is not None and [part.name for part in plan.components] == ["words", "counts", "report"]
