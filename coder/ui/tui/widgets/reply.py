"""Widget for a reply of the model, during streaming and after."""

from textual.content import Content
from textual.widget import Widget

from coder.ui.tui.prose import highlight_markdown

FRAME_SECONDS = 0.05
"""Time between updates of streamed text; shorter ones occupy a core and read no better."""


class ReplyView(Widget):
    """Grows with the streamed text, and ends as the message in the log."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self._waiting = False

    def render(self) -> Content:
        return highlight_markdown(self._text.strip())

    def stream(self, text: str) -> None:
        """Add a piece; all pieces before the next frame are drawn together."""
        self._text += text
        if not self._waiting:
            self._waiting = True
            self.set_timer(FRAME_SECONDS, self._draw)

    def finish(self, text: str) -> None:
        """Show the whole message, which differs from the streamed text if the model was asked again."""
        if text.strip() != self._text.strip():
            self._text = text
            self._draw()

    def _draw(self) -> None:
        self._waiting = False
        self.refresh(layout=True)
