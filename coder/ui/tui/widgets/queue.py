"""Widget for messages that the model has not received yet."""

from collections.abc import Sequence

from textual.widgets import Static

from coder.core.values.text import sanitize_text, shorten_line

MOST_CHARACTERS = 200


class MessageQueue(Static):
    """One line a message; hidden where there is none."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.display = False

    def show(self, texts: Sequence[str]) -> None:
        self.display = bool(texts)
        lines = [f"queued: {shorten_line(sanitize_text(text), MOST_CHARACTERS)}" for text in texts]
        self.update("\n".join([*lines, "up takes the last one back"] if lines else []))
