"""Input for an issue at first, and for remarks while a session runs."""

from textual.events import Key
from textual.message import Message
from textual.widgets import TextArea

NEW_LINE = ("ctrl+j", "shift+enter", "alt+enter")
"""Only the first works in every terminal: many send the others as a plain Enter."""
IDLE = "Describe a bug, or paste an issue"
BUSY = "Say something to the model"
NO_MODEL_PLACEHOLDER = "No model listens; what you write waits until this has ended"


class Prompt(TextArea):
    """Sends its text on Enter, and grows with it up to a few lines."""

    class Sent(Message):
        """Posted when the user sends a text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__(compact=True, highlight_cursor_line=False, id="prompt")
        self.cursor_blink = False
        self._busy_keys = ""

    def set_idle(self) -> None:
        """Expect an issue."""
        self.placeholder = IDLE
        self.border_subtitle = "enter send · ctrl+j new line · ctrl+q quit"

    def set_busy(self, *, has_listener: bool) -> None:
        """Expect a remark; `heard` tells whether a model receives it."""
        self.placeholder = BUSY if has_listener else NO_MODEL_PLACEHOLDER
        self._busy_keys = "esc stop · enter send" if has_listener else "esc stop"
        self.border_subtitle = self._busy_keys

    def offer_delivery(self, *, offered: bool) -> None:
        """Show or hide the key that delivers before all tests have run."""
        self.border_subtitle = f"ctrl+g deliver now · {self._busy_keys}" if offered else self._busy_keys

    def suggest(self, text: str) -> None:
        """Offer a text to send, unless the user has begun another one."""
        if not self.text:
            self.text = text
            self.move_cursor(self.document.end)

    async def _on_key(self, event: Key) -> None:
        """Handle the prompt's own keys before the editor, in the order typed.

        A binding would overtake letters that still wait.
        """
        if event.key == "enter":
            self._send()
        elif event.key in NEW_LINE:
            self.insert("\n")
        else:
            return
        event.stop()
        event.prevent_default()

    def _send(self) -> None:
        if text := self.text.strip():
            self.clear()
            self.post_message(self.Sent(text))
