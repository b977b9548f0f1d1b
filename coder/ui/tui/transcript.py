"""The conversation on the screen: messages, replies, tool calls, stages; earlier ones on demand."""

import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from coder.core.events import StageChanged
from coder.core.messages import ToolCall, ToolMessage
from coder.core.values import sanitize_text
from coder.ui.describe import summarize_arguments
from coder.ui.tui.diff import render_diff_lines

if TYPE_CHECKING:
    from coder.core.events import Record

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

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for earlier events once the user has scrolled up to the line that stands for them."""
        super().watch_scroll_y(old_value, new_value)
        if new_value < old_value:
            self.ask_for_earlier()

    def ask_for_earlier(self) -> None:
        """Ask for earlier events if the line that stands for them is in view, or above it."""
        for earlier in self.query(EarlierRecords):
            if self.scroll_y <= earlier.virtual_region.bottom:
                earlier.call_next(earlier.ask)  # Textual stops messages of a child that its parent sends

    def insertion_below(self, widget: Widget) -> "Insertion":
        """Return the place below a widget."""
        return Insertion(self, widget)

    def keep_in_view(self, widget: Widget) -> None:
        """Keep what the user sees of a widget where it is, when others are mounted above it."""
        offset = widget.virtual_region.y - self.scroll_y
        self.call_after_refresh(
            lambda: self.scroll_to(y=widget.virtual_region.y - offset, animate=False, force=True)
        )

    def add(self, *widgets: Widget) -> None:
        self.mount(*widgets)

    def add_issue(self, text: str) -> None:
        """Show the issue unless it was shown last: it is shown when it is sent, and again by the log."""
        if not (self.children and isinstance(newest := self.children[-1], IssueText) and newest.text == text):
            self.mount(IssueText(text))

    async def remove_requests(self, texts: Sequence[str]) -> None:
        """Remove the newest requests and all below the first of them; nothing if that is not shown."""
        same = [widget for widget in self.query(IssueText) if texts and widget.text == texts[0]]
        count = texts.count(texts[0]) if texts else 0
        if 0 < count <= len(same):
            await self.remove_children(self.children[self.children.index(same[-count]) :])

    def add_line(self, text: str, kind: str) -> None:
        """Show a line of a kind that the style sheet knows, such as `phase` or `warning`."""
        self.mount(Static(sanitize_text(text), markup=False, classes=kind))


class Insertion:
    """Place inside a transcript where widgets are added, in order."""

    def __init__(self, transcript: Transcript, after: Widget) -> None:
        self._transcript = transcript
        self._after = after

    def add(self, *widgets: Widget) -> None:
        for widget in widgets:
            self._transcript.mount(widget, after=self._after)
            self._after = widget

    def add_issue(self, text: str) -> None:
        self.add(IssueText(text))

    def add_line(self, text: str, kind: str) -> None:
        """Show a line of a kind that the style sheet knows."""
        self.add(Static(sanitize_text(text), markup=False, classes=kind))


CHUNK = 100
"""Events that are shown at once: each costs about a millisecond."""


class EarlierRecords(Static, can_focus=True):
    """Asks for the events before those that are shown on Enter, a click, or when scrolled up to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "show", "show"),
        Binding("up,k", "app.focus_previous", show=False),
        Binding("down,j", "app.focus_next", show=False),
    ]

    class Wanted(Message):
        """Posted when the next chunk should be shown."""

        def __init__(self, earlier: "EarlierRecords") -> None:
            super().__init__()
            self.earlier = earlier

    def __init__(self, records: "Sequence[Record]") -> None:
        super().__init__(markup=False, classes="about")
        self._records = records
        self._is_asking = False

    def on_mount(self) -> None:
        self._show_count()

    def ask(self) -> None:
        """Ask for the next chunk, unless one is being shown."""
        if not self._is_asking:
            self._is_asking = True
            self.post_message(self.Wanted(self))

    def take_chunk(self) -> "Sequence[Record]":
        """Return the newest records that are not shown yet, and stand for those before them from now on."""
        chunk, self._records = self._records[-CHUNK:], self._records[:-CHUNK]
        self._show_count()
        return chunk

    def finish(self) -> None:
        """Be ready for the next chunk; without any, disappear."""
        self._is_asking = False
        if not self._records:
            self.remove()

    def _show_count(self) -> None:
        count = len(self._records)
        shown = "all" if count <= CHUNK else f"{CHUNK}"
        self.update(f"▸ {count:,} earlier events: enter, or scrolling up, shows {shown} of them")

    def action_show(self) -> None:
        self.ask()

    def on_click(self, event: Click) -> None:
        event.stop()
        self.ask()


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


class CallFold(Fold):
    """Name, arguments and outcome of a call; inside, its whole arguments and output."""

    def __init__(self, call: ToolCall) -> None:
        title = Content.assemble(
            (call.name, "bold"), "  ", sanitize_text(summarize_arguments(call.arguments))
        )
        super().__init__(title, self._content_widgets, remark="running")
        self._call = call
        self._answer: ToolMessage | None = None

    def finish(self, answer: ToolMessage, seconds: float, *, refused: bool = False) -> None:
        """Show the outcome; the output is shown as the model saw it."""
        self._answer = answer
        self.set_class(not answer.ok, "failed")
        failure = "refused" if refused else f"failed {seconds:.1f} s"
        self.set_remark(f"{seconds:.1f} s" if answer.ok else failure)

    def _content_widgets(self) -> Iterable[Widget]:
        yield from _argument_widgets(self._call.arguments)
        if self._answer is not None:
            yield Static(sanitize_text(self._answer.text), classes="output", markup=False)


def _argument_widgets(arguments: str) -> Iterable[Widget]:
    try:
        values = json.loads(arguments)
    except json.JSONDecodeError:
        values = None
    if not isinstance(values, dict):
        yield Static(sanitize_text(arguments), classes="arguments", markup=False)
        return
    for name, value in values.items():
        if name == "diff" and isinstance(value, str):
            yield from render_diff_lines(value, path="")
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield Static(sanitize_text(f"{name}: {text}"), classes="arguments", markup=False)


MARKS = {"running": ("…", "$text-muted"), "done": ("✓", "$success"), "failed": ("✗", "$error")}


class StageRow(Static):
    """Shows a stage and the state of each component in it."""

    def __init__(self, stage: str) -> None:
        super().__init__(markup=False, classes="stage")
        self._stage = stage
        self._changes: dict[str, StageChanged] = {}

    def show_change(self, event: StageChanged) -> None:
        """Show the newest state of the stage, or of one component in it."""
        self._changes[event.component] = event
        whole = self._changes.get("")
        parts = [change for name, change in self._changes.items() if name]
        pieces: list[str | tuple[str, str]] = [(self._stage, "bold")]
        pieces += [" ", MARKS[whole.state]] if whole else []
        for change in parts:
            pieces += [f"  {change.component} ", MARKS[change.state]]
        remarks = [change.remark for change in (*parts, *([whole] if whole else [])) if change.remark]
        pieces += [f"  {sanitize_text('; '.join(remarks))}"] if remarks else []
        self.update(Content.assemble(*pieces))


class StatusBar(Static):
    """Status of a session, its seconds, which tick while it runs, and the current activity."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take `clock`, which counts seconds from any origin."""
        super().__init__(markup=False)
        self._clock = clock
        self._standing = ""
        self._seconds = 0.0
        self._doing = ""
        self._shown_at = 0.0
        self._ticking = False
        self._stopping = False

    def on_mount(self) -> None:
        self.set_interval(1, self._draw)

    def begin(self, activity: str = "opening a session") -> None:
        """Show that a session is being opened, or another activity."""
        self._ticking, self._stopping = True, False
        self.show("", seconds=0.0, activity=activity)

    def show(self, status: str, *, seconds: float, activity: str) -> None:
        """Show a session's status at the given seconds since its start."""
        self._standing, self._seconds, self._doing = status, seconds, activity
        self._shown_at = self._clock()
        self._draw()

    def stop(self) -> None:
        """Show that the session is stopping, until it has ended."""
        self._stopping = True
        self._draw()

    def end(self) -> None:
        """Show nothing, because no session runs: its summary says how it ended."""
        self._ticking = self._stopping = False
        self._standing = self._doing = ""
        self._draw()

    def _draw(self) -> None:
        seconds = self._seconds + (self._clock() - self._shown_at if self._ticking else 0.0)
        elapsed = f"{seconds:.0f} s" if self._ticking or self._standing else ""
        doing = "stopping" if self._stopping else self._doing
        line = " · ".join(part for part in (self._standing, elapsed, doing) if part)
        if line != self.content:
            self.update(line, layout=False)


_MARKS = [
    (re.compile(r"^#{1,6} .*$", re.MULTILINE), "bold $text-primary"),
    (re.compile(r"^ *(?:[-*+]|\d+[.)]) ", re.MULTILINE), "bold $text-primary"),
    (re.compile(r"\*\*[^*\n]+\*\*"), "bold"),
    (re.compile(r"`[^`\n]+`"), "$text-warning"),
    (re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL), "$text-warning"),
]
_CODE_OR_NAME = re.compile(
    r"(?P<code>^```.*?(?:^```|\Z)|`[^`\n]+`)|(?P<name>[\w./-]*(?<!\w)__\w+__(?:[\w./:-]*\w)?)",
    re.MULTILINE | re.DOTALL,
)


def quote_names(text: str) -> str:
    """Return Markdown with names such as `a/__init__.py:3` as code, which Markdown takes for bold text."""
    return _CODE_OR_NAME.sub(lambda match: match["code"] or f"`{match['name']}`", text)


def highlight_markdown(text: str) -> Content:
    """Highlight headings, list marks, strong words and code, in unfinished text as well."""
    content = Content(sanitize_text(text))
    for mark, style in _MARKS:
        content = content.highlight_regex(mark, style=style)
    return content
