"""Widget of one line that unfolds."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widget import Widget


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
