"""Detection of repeated tool calls that return the same results while no file changes."""

from collections.abc import Sequence
from typing import Literal

from coder.core.events import Record
from coder.core.messages import AssistantMessage, ToolMessage
from coder.core.state import candidate_messages

LOOP_SUMMARY = (
    "The model went round in circles: the same calls with the same answers, three times over, and no change."
)


class LoopDetector:
    """Counts the identical turns of one phase since files last changed."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, ...], int] = {}

    def record_turn(self, turn: tuple[str, ...], *, has_changed: bool) -> Literal["new", "again", "lost"]:
        """Record a turn (its calls and results) and return whether it is new, repeated, or repeated twice."""
        if has_changed:
            self._turns.clear()
            return "new"
        self._turns[turn] = self._turns.get(turn, 0) + 1
        if not turn or self._turns[turn] == 1:
            return "new"
        return "again" if self._turns[turn] == 2 else "lost"


def latest_call_results(records: Sequence[Record], candidate: str) -> tuple[str, ...]:
    """Return the calls of the newest reply with their results, sorted; empty if it has no call."""
    results: list[str] = []
    for message in reversed(candidate_messages(records, candidate)):
        match message:
            case ToolMessage(name=name, text=text):
                results.append(f"{name}: {text}")
            case AssistantMessage(calls=calls):
                return (
                    tuple(sorted([*results, *(f"{call.name}({call.arguments})" for call in calls)]))
                    if calls
                    else ()
                )
            case _:
                continue
    return ()
