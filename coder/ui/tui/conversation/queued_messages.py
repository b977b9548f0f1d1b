"""Messages of the user that no request to the model has taken yet."""

from typing import TYPE_CHECKING

from coder.ui.tui.screens.session import SessionScreen

if TYPE_CHECKING:
    from coder.core.events import Event
    from coder.session.log import EventLog


class QueuedMessages:
    """Keeps them in their order, and shows them."""

    def __init__(self, screen: SessionScreen) -> None:
        self._screen = screen
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        self._texts.append(text)
        self._screen.show_queue(self._texts)

    def remove_taken(self, event: "Event") -> None:
        """Remove the message that an event passes on to the model, if it does."""
        from coder.core.state import remark_text

        if (text := remark_text(event)) in self._texts:
            self._texts.remove(text)
            self._screen.show_queue(self._texts)

    def withdraw(self, log: "EventLog") -> str:
        """Remove and return the newest message that the log does not pass on; empty if there is none."""
        from coder.core.state import remark_text

        taken = [remark_text(record.event) for record in log.records]
        text = next((text for text in reversed(self._texts) if text not in taken), "")
        if text:
            self._texts.remove(text)
            self._screen.show_queue(self._texts)
        return text

    def take_all(self) -> str:
        """Remove all and return them, one a line."""
        text = "\n".join(self._texts)
        if self._texts:
            self._texts.clear()
            self._screen.show_queue(())
        return text
