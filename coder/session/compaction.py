"""Compaction of a conversation before it fills the model's context window."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from coder.core import events
from coder.core.notes import Plan
from coder.core.plan import format_plan
from coder.core.state import candidate_messages, candidate_records
from coder.core.text import shorten_line
from coder.core.values import REMARK_OPENING, AssistantMessage, Message, UserMessage
from coder.core.verdict import VerdictKind

TARGET_SHARE = 0.5
"""Share of the room for messages that a compaction leaves filled.

A lower one makes compactions rarer: between two, each request begins with the one before it. Over 500 turns
of 8,000 characters in a window of 32,768 tokens, such a beginning is 77 % of all that is sent at 0.3, 74 %
at 0.45 and 73 % at 0.6.
"""
TURNS_BETWEEN = 5
"""Turns as large as the present ones for which a compaction makes room, where it can."""
RECENT_TURNS = 2
"""Newest replies whose results stay as long as anything else can be shortened."""
Measure = Callable[[tuple[Message, ...]], int]
"""Returns the tokens of a request with these messages."""


def compact(
    records: Sequence[events.Record],
    candidate: str,
    *,
    measure: Measure,
    limit: int,
    make_note: Callable[[], str],
) -> events.ContextCompacted | None:
    """Return how to shorten a conversation of more than `limit` tokens; None if it fits.

    Old results go first, those of `read` last. If that is not enough, a note replaces the older messages.
    The opening message, which holds the issue, and the newest failure stay.
    """
    compaction = _Compaction(records, candidate, measure)
    if compaction.size(events.ContextCompacted(candidate=candidate)) <= limit:
        return None
    least = measure(())
    share = least + int((limit - least) * TARGET_SHARE)
    target = max(least, min(share, limit - TURNS_BETWEEN * compaction.average_turn()))
    if (event := compaction.shorten_results(target)) is not None:
        return event
    note = make_note()
    return compaction.summarize(target, note) or compaction.shorten_everything(limit, note)


class _Compaction:
    """The search for the smallest compaction that is enough, measured by the messages that would be sent."""

    def __init__(self, records: Sequence[events.Record], candidate: str, measure: Measure) -> None:
        self._records = records
        self._candidate = candidate
        self._measure = measure
        self._own = candidate_records(records, candidate)
        self._replies = self._numbers_of(AssistantMessage)

    def _numbers_of(self, kind: type[AssistantMessage | UserMessage]) -> list[int]:
        """Return the records of messages of a kind."""
        return [
            record.number
            for record in self._own
            if isinstance(record.event, events.MessageFinished) and isinstance(record.event.message, kind)
        ]

    def size(self, event: events.ContextCompacted) -> int:
        """Return the tokens of the next request after this event."""
        record = self._records[-1].model_copy(update={"number": self._records[-1].number + 1, "event": event})
        return self._measure(candidate_messages([*self._records, record], self._candidate))

    def average_turn(self) -> int:
        """Return the tokens that a reply and its results have on average."""
        messages = candidate_messages(self._records, self._candidate)
        replies = sum(isinstance(message, AssistantMessage) for message in messages)
        fixed = tuple(message for message in messages if isinstance(message, UserMessage))
        return (self._measure(messages) - self._measure(fixed)) // max(1, replies)

    def shorten_results(self, target: int) -> events.ContextCompacted | None:
        """Return an event that shortens as few old results as possible; None if all are too few."""
        recent = self._replies[-RECENT_TURNS] if len(self._replies) >= RECENT_TURNS else 0
        results = [number for number in self._result_order() if number < recent]
        return self._find_smallest(
            len(results),
            lambda index: events.ContextCompacted(
                candidate=self._candidate, results=tuple(sorted(results[: index + 1]))
            ),
            target,
        )

    def summarize(self, target: int, note: str) -> events.ContextCompacted | None:
        """Return an event that replaces as few old messages as possible by the note."""
        replies = self._replies[1:]
        return self._find_smallest(len(replies), lambda index: self._summary(replies[index], note), target)

    def shorten_everything(self, limit: int, note: str) -> events.ContextCompacted:
        """Return an event that replaces all but the newest reply, and shortens its results as needed."""
        summary = self._summary(self._replies[-1] if self._replies else 0, note)
        results = [number for number in self._result_order() if number > summary.summarized]

        def shorten(count: int) -> events.ContextCompacted:
            return summary.model_copy(update={"results": tuple(sorted(results[:count]))})

        return self._find_smallest(len(results), shorten, limit) or shorten(len(results))

    def _summary(self, reply: int, note: str) -> events.ContextCompacted:
        """Return the event that replaces all before a reply, except for what is pinned."""
        cut = max(reply - 1, 0)
        pinned = tuple(number for number in self._pinned_records if number <= cut)
        return events.ContextCompacted(candidate=self._candidate, summarized=cut, pinned=pinned, note=note)

    def _find_smallest(
        self, count: int, make_event: Callable[[int], events.ContextCompacted], target: int
    ) -> events.ContextCompacted | None:
        """Return the first of `count` events that is enough; each shortens more than the one before it."""
        index = bisect_left(range(count), True, key=lambda index: self.size(make_event(index)) <= target)
        return make_event(index) if index < count else None

    def _result_order(self) -> list[int]:
        """Return the records with tool results: those of `read` after others, each from old to new.

        A patch needs the lines that were read. The newest test run comes last.
        """
        results = (events.ToolFinished, events.ConversationContinued)
        names = {
            record.number: record.event.message.name if isinstance(record.event, events.ToolFinished) else ""
            for record in self._own
            if isinstance(record.event, results)
        }
        newest_tests = [number for number, name in names.items() if name == "run_tests"][-1:]
        return sorted(names, key=lambda number: (number in newest_tests, names[number] == "read", number))

    @cached_property
    def _pinned_records(self) -> list[int]:
        """Return the records of the opening message and of the newest failure's explanation, in order."""
        messages = self._numbers_of(UserMessage)
        failures = [
            record.number
            for record in self._own
            if isinstance(record.event, events.Verified)
            and record.event.verdict.kind is not VerdictKind.PROVEN
        ]
        after_failure = (number for number in messages if failures and number > failures[-1])
        return sorted({*messages[:1], *filter(None, [next(after_failure, 0)])})


MAX_CALLS, MAX_NOTES, MAX_REQUESTS = 15, 8, 10
LINE_CHARACTERS, TEXT_CHARACTERS = 160, 600


def collect_facts(records: Sequence[events.Record], candidate: str) -> Mapping[str, str | tuple[str, ...]]:
    """Return facts of messages that a model no longer sees, by their names in the prompt."""
    own = candidate_records(records, candidate)
    sent = [event.message for event in events.events_of(own, events.MessageFinished)]
    remarks = [message.text for message in sent if isinstance(message, UserMessage)]
    earlier = [
        message.text
        for event in events.events_of(own, events.ConversationContinued)
        for message in event.messages
        if isinstance(message, UserMessage)
    ]
    changes = events.events_of(own, events.FilesChanged)
    calls = [event.call for event in events.events_of(own, events.ToolStarted)]
    notes = [f"{event.phase}: {event.note.summary}" for event in events.events_of(own, events.NoteMade)]
    verdicts = [event.verdict for event in events.events_of(own, events.Verified)]
    return {
        "requests": _shorten(earlier)[-MAX_REQUESTS:],
        "remarks": tuple(
            text.removeprefix(REMARK_OPENING) for text in remarks if text.startswith(REMARK_OPENING)
        ),
        "plan": _newest_plan(records),
        "findings": _shorten(notes)[-MAX_NOTES:],
        "changed": changes[-1].paths if changes else (),
        "verdicts": _shorten(f"{verdict.label}: {verdict.reason}" for verdict in verdicts)[-MAX_NOTES:],
        "calls": tuple(
            dict.fromkeys(shorten_line(f"{call.name} {call.arguments}", LINE_CHARACTERS) for call in calls)
        )[-MAX_CALLS:],
    }


def _shorten(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(shorten_line(text, TEXT_CHARACTERS) for text in texts)


def _newest_plan(records: Sequence[events.Record]) -> str:
    for record in reversed(records):
        match record.event:
            case events.PlanAnswered(plan=Plan() as plan) | events.NoteMade(note=Plan() as plan):
                return format_plan(plan)
            case _:
                continue
    return ""
