"""Contents of a model's context window, by kind of message."""

from collections import Counter
from collections.abc import Sequence

from coder.core.events import BudgetSpent, ContextCompacted, Record
from coder.core.messages import AssistantMessage, Message, ToolMessage
from coder.core.state import active_candidates, candidate_messages


def measure_context(messages: Sequence[Message]) -> dict[str, int]:
    """Return the characters of each kind of message, the largest first."""
    sizes = Counter[str]()
    for number, message in enumerate(messages):
        match message:
            case ToolMessage(name=name, text=text):
                sizes[f"results of {name}"] += len(text)
            case AssistantMessage(text=text, calls=calls, opaque=opaque):
                sizes["replies and calls of the model"] += len(text) + len(opaque)
                sizes["replies and calls of the model"] += sum(len(call.arguments) for call in calls)
            case _:
                sizes["opening message" if number == 0 else "further messages"] += len(message.text)
    return dict(sizes.most_common())


def describe_context(records: Sequence[Record]) -> list[str]:
    """Return what fills the context window of a session's model, one kind of message a line."""
    candidate = next(reversed(active_candidates(records)), "")
    sizes = measure_context(candidate_messages(records, candidate))
    total = sum(sizes.values())
    if not total:
        return ["No message has been sent yet."]
    lines = [f"{size / total:>5.0%}  {size:>9,} characters  {name}" for name, size in sizes.items()]
    requests = [
        record.event.usage
        for record in records
        if isinstance(record.event, BudgetSpent) and record.event.candidate == candidate
    ]
    if requests:
        newest = requests[-1]
        lines.append(
            f"The newest request had {newest.input_tokens:,} tokens with the system prompt and the tools; "
            f"{newest.cached_tokens:,} came from the provider's cache."
        )
    compactions = [record.event for record in records if isinstance(record.event, ContextCompacted)]
    if compactions:
        times = "once" if len(compactions) == 1 else f"{len(compactions)} times"
        lines.append(f"Older parts were shortened {times} to make room.")
    return lines
