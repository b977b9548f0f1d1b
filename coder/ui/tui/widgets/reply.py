"""What the model says, while it says it and after."""

from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownStream

from coder.ui.tui.text import printable


class Reply(Markdown):
    """Grows with what is streamed, and ends as the message that the log keeps."""

    def __init__(self) -> None:
        super().__init__(open_links=False)
        self._incoming: MarkdownStream | None = None

    async def stream(self, text: str) -> None:
        """Add a piece; pieces that come faster than they can be drawn are drawn together."""
        if self._incoming is None:
            self._incoming = Markdown.get_stream(self)
        await self._incoming.write(printable(text))

    async def finish(self, text: str | None = None) -> None:
        """Draw what has come; `text` is the whole message, drawn anew only where it differs (a reply that was asked for again)."""
        if self._incoming is not None:
            await self._incoming.stop()
            self._incoming = None
        if text is not None and self.source.strip() != (whole := printable(text).strip()):
            await self.update(whole)
