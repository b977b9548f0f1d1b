from coder.core.events import CandidateForked, FilesChanged, MessageFinished, SessionFinished, Verified
from coder.core.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from coder.core.values.candidate import Delivery
from coder.core.values.verdict import Verdict, VerdictKind
from coder.session.continuation import INTERRUPTED, read_continuation
from coder.session.log import EventLog

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
