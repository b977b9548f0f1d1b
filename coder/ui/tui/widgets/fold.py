"""One line that unfolds."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static


class Fold(Vertical, can_focus=True):
    """A title, and what it stands for on Enter or a click."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "unfold", "unfold"),
        Binding("up,k", "app.focus_previous", show=False),
        Binding("down,j", "app.focus_next", show=False),
    ]

    class Unfolded(Message):
        """There is more to read now."""

        def __init__(self, fold: "Fold") -> None:
            super().__init__()
            self.fold = fold

    def __init__(self, title: Content, fill: Callable[[], Iterable[Widget]], *, remark: str = "") -> None:
        """`fill` makes the inside each time it is unfolded; `remark` stands at the end of the line, and is never cut."""
        super().__init__()
        self._title = title
        self._fill = fill
        self._remark = remark

    def compose(self) -> ComposeResult:
        with Horizontal(classes="title"):
            yield Static("▸", classes="arrow")
            yield Static(self._title, classes="what")
            yield Static(self._remark, classes="remark", markup=False)

    @property
    def unfolded(self) -> bool:
        return bool(self.query(".inside"))

    async def action_unfold(self) -> None:
        if self.unfolded:
            await self.query(".inside").remove()
        else:
            await self.mount(Vertical(*self._fill(), classes="inside"))
            self.post_message(self.Unfolded(self))
        self.query_one(".arrow", Static).update("▾" if self.unfolded else "▸")

    async def on_click(self, event: Click) -> None:
        """Toggle on the title; the inside is for selecting text."""
        if event.widget is not None and event.widget.parent is self.query_one(".title"):
            await self.action_unfold()

    async def remark(self, text: str) -> None:
        """Replace the remark; what is unfolded is filled anew."""
        self.query_one(".remark", Static).update(text)
        for inside in self.query(".inside"):
            await inside.remove_children()
            await inside.mount(*self._fill())
