"""Prompt with vim's modes, by a text area that knows vim's commands."""

from textual.events import Key
from textual_vim_textarea.vim_textarea import Mode, VimTextArea

from coder.ui.tui.keys import KeyBindings
from coder.ui.tui.widgets.prompt import Prompt

SCROLLING = {"ctrl+d": "screen.scroll(1)", "ctrl+u": "screen.scroll(-1)"}


class VimPrompt(Prompt, VimTextArea):  # type: ignore[misc]  # the library has no types
    """Begins each message in insert mode; escape enters normal mode, and there it stops what runs.

    `:w` sends, `:q` leaves.
    """

    def __init__(self, keys: KeyBindings) -> None:
        super().__init__(keys)
        self.mode = Mode.INSERT

    async def _on_key(self, event: Key) -> None:
        """Handle the keys that mean something else than without vim, before the prompt does."""
        is_pending = self.status_text != "NORMAL"
        if event.key == "escape" and is_pending and not self.take_key(event.key):
            self._enter_normal_mode(shift_cursor_left=self.mode is Mode.INSERT)
        elif self.mode is Mode.COMMAND:
            await self._handle_command_key(event)
        elif self.mode is Mode.NORMAL and event.key in SCROLLING:
            await self.run_action(SCROLLING[event.key])
        else:
            return
        event.stop()
        event.prevent_default()
        self._show_title()

    def put_away(self) -> None:
        super().put_away()
        self.mode = Mode.INSERT

    def _show_title(self) -> None:
        """Show vim's mode, and what a command still waits for, beside that of the request."""
        super()._show_title()
        status = self.status_text.strip("- ").lower()
        self.border_title = " · ".join(filter(None, (self.border_title, status)))

    def on_vim_text_area_mode_changed(self, event: VimTextArea.ModeChanged) -> None:
        event.stop()
        self._show_title()

    def on_vim_text_area_status_changed(self, event: VimTextArea.StatusChanged) -> None:
        event.stop()
        self._show_title()

    def on_vim_text_area_save_requested(self) -> None:
        self.send(self.text)

    async def on_vim_text_area_quit_requested(self) -> None:
        await self.run_action("app.quit")
