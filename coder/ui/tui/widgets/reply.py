"""What the model says, while it says it and after."""

from textual.content import Content
from textual.widget import Widget

from coder.ui.tui.prose import prose

FRAME_SECONDS = 0.05
"""Streamed text is drawn this often: oftener costs a core and reads no better."""


class Reply(Widget):
    """Grows with what is streamed, and ends as the message that the log keeps."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self._waiting = False

    def render(self) -> Content:
        return prose(self._text.strip())

    def stream(self, text: str) -> None:
        """Add a piece; all that come before the next frame are drawn together."""
        self._text += text
        if not self._waiting:
            self._waiting = True
            self.set_timer(FRAME_SECONDS, self._draw)

    def finish(self, text: str) -> None:
        """Show the whole message, which is another one than what was streamed where the model was asked again."""
        if text.strip() != self._text.strip():
            self._text = text
            self._draw()

    def _draw(self) -> None:
        self._waiting = False
        self.refresh(layout=True)
