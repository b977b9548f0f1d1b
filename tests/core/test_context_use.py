from coder.core.events import BudgetSpent, CandidateForked, ContextCompacted, MessageFinished, ToolFinished
from coder.core.messages import AssistantMessage, ToolCall, ToolMessage, Usage, UsageTotals, UserMessage
from coder.core.state import describe_context
from coder.session.log import EventLog


def test_shares_are_by_kind_with_the_largest_first() -> None:
    log = EventLog()
    log.append(CandidateForked(candidate="c1"))
    log.append(MessageFinished(candidate="c1", message=UserMessage(text="i" * 60)))
    call = ToolCall(id="1", name="read", arguments="{" + "a" * 9)
    log.append(MessageFinished(candidate="c1", message=AssistantMessage(text="t" * 30, calls=(call,))))
    usage = Usage(input_tokens=1234, cached_tokens=1000)
    log.append(BudgetSpent(candidate="c1", usage=usage, total=UsageTotals()))
    message = ToolMessage(call_id="1", name="read", text="r" * 100)
    log.append(ToolFinished(candidate="c1", message=message, seconds=0.0))
    assert describe_context(log.records) == [
        "  50%        100 characters  results of read",
        "  30%         60 characters  opening message",
        "  20%         40 characters  replies and calls of the model",
        "The newest request had 1,234 tokens with the system prompt and the tools; 1,000 came from the "
        "provider's cache.",
    ]
    log.append(ContextCompacted(candidate="c1", results=(5,)))
    assert describe_context(log.records)[-1] == "Older parts were shortened once to make room."


def test_session_without_a_message_says_so() -> None:
    assert describe_context([]) == ["No message has been sent yet."]
