"""The conversation on the screen: messages, replies, tool calls, stages."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from coder.core.text import sanitize_text

MOST_ISSUE_LINES = 20
"""Lines of a request that are shown; all of them are in the message to the model, which unfolds."""


class IssueText(Static):
    """Issue that the user asked to fix."""

    def __init__(self, text: str) -> None:
        lines = sanitize_text(text).splitlines()
        hidden = len(lines) - MOST_ISSUE_LINES
        shown = [*lines[:MOST_ISSUE_LINES], f"[{hidden} lines more]"] if hidden > 1 else lines
        super().__init__("\n".join(shown), markup=False)
        self.text = text


class Fold(Widget, can_focus=True):
    """Title with a remark at the end of its line; its content unfolds on Enter or a click."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "unfold", "unfold"),
        Binding("up,k", "app.focus_previous", show=False),
        Binding("down,j", "app.focus_next", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"fold--arrow", "fold--remark"}

    class Turned(Message):
        """Posted when the content should be shown or hidden."""

        def __init__(self, fold: "Fold") -> None:
            super().__init__()
            self.fold = fold

    def __init__(self, title: Content, fill: Callable[[], Iterable[Widget]], *, remark: str = "") -> None:
        """Take `fill`, which makes the content each time it is shown."""
        super().__init__()
        self._title = title
        self._fill = fill
        self._remark = remark
        self._inside: Vertical | None = None

    def render(self) -> Content:
        arrow = Content.styled("▾ " if self._inside else "▸ ", self.get_visual_style("fold--arrow"))
        remark = Content.styled(self._remark, self.get_visual_style("fold--remark"))
        room = max(self.content_size.width - arrow.cell_length - remark.cell_length - 1, 1)
        title = self._title.truncate(room, ellipsis=True)
        return Content.assemble(arrow, title.pad_right(room - title.cell_length + 1), remark)

    def toggle(self) -> Vertical | None:
        """Unfold and return the content, for the owner to mount below; or fold and return None."""
        if self._inside is not None:
            self._inside.remove()
            self._inside = None
        else:
            self._inside = Vertical(*self._fill(), classes="inside")
        self.refresh()
        return self._inside

    def set_remark(self, text: str) -> None:
        """Replace the remark, and refill unfolded content."""
        self._remark = text
        self.refresh()
        if self._inside is not None:
            self._inside.remove_children()
            self._inside.mount(*self._fill())

    def action_unfold(self) -> None:
        self.post_message(self.Turned(self))

    def on_click(self, event: Click) -> None:
        event.stop()
        self.action_unfold()


class Transcript(VerticalScroll, can_focus=False):
    """Follows new widgets as long as the user has not scrolled up.

    Widgets are mounted when there is time, so that a long log is drawn once and not for each record.
    """

    def on_mount(self) -> None:
        self.anchor()

    async def on_fold_turned(self, message: Fold.Turned) -> None:
        """Show the content, and keep its first line in view for the user."""
        inside = message.fold.toggle()
        if inside is not None:
            await self.mount(inside, after=message.fold)
            self.call_after_refresh(self._reveal, message.fold, inside)

    def _reveal(self, fold: Fold, inside: Widget) -> None:
        fits = fold.size.height + inside.size.height <= self.size.height
        self.scroll_to_widget(inside if fits else fold, animate=False, top=not fits, force=True)

    def add(self, *widgets: Widget) -> None:
        self.mount(*widgets)

    def add_issue(self, text: str) -> None:
        """Show the issue unless it was shown last: it is shown when it is sent, and again by the log."""
        if not (self.children and isinstance(newest := self.children[-1], IssueText) and newest.text == text):
            self.mount(IssueText(text))

    def add_line(self, text: str, kind: str) -> None:
        """Show a line of a kind that the style sheet knows, such as `phase` or `warning`."""
        self.mount(Static(sanitize_text(text), markup=False, classes=kind))


class StatusBar(Static):
    """Status of a session, its seconds, which tick while it runs, and the current activity."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take `clock`, which counts seconds from any origin."""
        super().__init__(markup=False)
        self._clock = clock
        self._standing = ""
        self._seconds = 0.0
        self._doing = ""
        self._idle: str | Content = ""
        self._shown_at = 0.0
        self._ticking = False
        self._stopping = False

    def on_mount(self) -> None:
        self.set_interval(1, self._draw)

    def begin(self, activity: str = "opening a session") -> None:
        self._ticking, self._stopping = True, False
        self.show("", seconds=0.0, activity=activity)

    def show(self, status: str, *, seconds: float, activity: str) -> None:
        self._standing, self._seconds, self._doing = status, seconds, activity
        self._shown_at = self._clock()
        self._draw()

    def stop(self) -> None:
        """Show that the session is stopping, until it has ended."""
        self._stopping = True
        self._draw()

    def show_idle(self, facts: Sequence[tuple[str, str]]) -> None:
        """Show facts while no session runs, each with the command of the prompt that a click on it types."""
        texts = [Content(text).stylize(f"@click=screen.type_command('{command}')") for text, command in facts]
        self._idle = Content(" · ").join(texts)
        self._draw()

    def end(self) -> None:
        """Show no session, because none runs: its summary says how it ended."""
        self._ticking = self._stopping = False
        self._standing = self._doing = ""
        self._draw()

    def _draw(self) -> None:
        seconds = self._seconds + (self._clock() - self._shown_at if self._ticking else 0.0)
        elapsed = f"{seconds:.0f} s" if self._ticking or self._standing else ""
        doing = "stopping" if self._stopping else self._doing
        line: str | Content = " · ".join(part for part in (self._standing, elapsed, doing) if part)
        line = line or self._idle
        if line != self.content:
            self.update(line, layout=False)
