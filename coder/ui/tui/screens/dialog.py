"""Modal screen that appears while the user may be typing."""

import time
from typing import TypeVar

from textual.events import DescendantFocus, Key, Paste
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Static

from coder.ui.tui.keys import KeyedApp
from coder.ui.tui.widgets.prompt import Prompt

Result = TypeVar("Result")
PAUSE_SECONDS = 1.0
"""Time without a key after which keys are meant for the dialog: slow typists take 0.3 s a key."""
POLL_SECONDS = 0.1
WAITING = "… what you type goes into the prompt until you pause"


class Dialog(ModalScreen[Result]):
    """Takes keys once the user has paused typing; until then what is typed goes into the prompt.

    Its hint is the widget `keys`. Without a prompt the user has opened it, and it takes keys at once.
    """

    AUTO_FOCUS = ""

    def __init__(self) -> None:
        super().__init__()
        self._hint = ""
        """Hint that is shown once the dialog takes keys; empty from then on."""
        self._typed_at = 0.0
        self._polling: Timer | None = None

    def focus_first(self) -> None:
        """Focus the widget that takes the first key."""
        self.focus_next()

    def on_mount(self) -> None:
        if not self.app.screen_stack[0].query(Prompt):
            self.call_after_refresh(self.focus_first)
            return
        hint = self.query_one("#keys", Static)
        self._hint = str(hint.content)
        hint.update(WAITING)
        self._typed_at = self._seconds
        self._polling = self.set_interval(POLL_SECONDS, self._focus_after_pause)

    @property
    def _seconds(self) -> float:
        return self.app.clock() if isinstance(self.app, KeyedApp) else time.monotonic()

    def _focus_after_pause(self) -> None:
        if self._hint and self._seconds - self._typed_at >= PAUSE_SECONDS:
            self._take_keys()
            self.focus_first()

    def on_descendant_focus(self, _: DescendantFocus) -> None:
        """Wait no longer once the user has clicked on something."""
        self._take_keys()

    def _take_keys(self) -> None:
        if self._hint:
            self.query_one("#keys", Static).update(self._hint)
            self._hint = ""
        if self._polling is not None:
            self._polling.stop()

    def on_key(self, event: Key) -> None:
        """Pass what is typed on to the prompt as long as the user has not paused."""
        if not self._hint or event.key == "escape":
            return
        self._typed_at = self._seconds
        if event.is_printable and event.character:
            event.stop()
            self._insert_into_prompt(event.character)

    def on_paste(self, event: Paste) -> None:
        if self._hint:
            event.stop()
            self._typed_at = self._seconds
            self._insert_into_prompt(event.text)

    def _insert_into_prompt(self, text: str) -> None:
        for prompt in self.app.screen_stack[0].query(Prompt):
            prompt.insert(text)
