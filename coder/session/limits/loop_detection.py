"""Notices a model that goes round in circles: the same calls, the same answers, and nothing changed in between."""

from collections.abc import Sequence
from typing import Literal

from coder.core.events import Record
from coder.core.messages import AssistantMessage, ToolMessage
from coder.core.state import conversation

LOST = (
    "The model went round in circles: the same calls with the same answers, three times over, and no change."
)


class Wandering:
    """Remembers the turns of one phase since files last changed."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, ...], int] = {}

    def seen(self, turn: tuple[str, ...], *, moved: bool) -> Literal["new", "again", "lost"]:
        """Is this turn (its calls and answers) one that was there before? The third time is one too many."""
        if moved:
            self._turns.clear()
            return "new"
        self._turns[turn] = self._turns.get(turn, 0) + 1
        if not turn or self._turns[turn] == 1:
            return "new"
        return "again" if self._turns[turn] == 2 else "lost"


def answers(records: Sequence[Record], candidate: str) -> tuple[str, ...]:
    """The calls of the newest reply with what they were answered; none where there was no call."""
    told: list[str] = []
    for message in reversed(conversation(records, candidate)):
        match message:
            case ToolMessage(name=name, text=text):
                told.append(f"{name}: {text}")
            case AssistantMessage(calls=calls):
                return (
                    tuple(sorted([*told, *(f"{call.name}({call.arguments})" for call in calls)]))
                    if calls
                    else ()
                )
            case _:
                continue
    return ()
