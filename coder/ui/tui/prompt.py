"""Input for an issue at first, and for remarks while a session runs."""

from collections.abc import Callable, Sequence

from textual.events import Key, Paste
from textual.message import Message
from textual.widgets import TextArea
from textual_vim_textarea.vim_textarea import Mode, VimTextArea

from coder.ui.tui.keys import KeyBindings

MODES = ("fix", "change", "ask", "plan", "build")
PLACEHOLDERS = {
    "fix": "Describe a bug, or paste an issue",
    "change": "Say what to change",
    "ask": "Ask about the code",
    "plan": "Say what to plan",
    "build": "Say what to build",
}
APP_ACTIONS = {
    "stop": "app.stop_or_rewind",
    "help": "app.help",
}
"""Actions of the application by the binding of the prompt."""
BUSY = "Say something to the model"
NO_MODEL_PLACEHOLDER = "No model is running; what you write waits until this has ended"


class Prompt(TextArea):
    """Sends its text on Enter, and grows with it up to a few lines."""

    class Sent(Message):
        """Posted when the user sends a text."""

        def __init__(self, text: str, mode: str) -> None:
            super().__init__()
            self.text = text
            self.mode = mode

    class Recalled(Message):
        """Posted when the user wants the newest message back while a session runs: it may be queued."""

    def __init__(self, keys: KeyBindings) -> None:
        super().__init__(compact=True, highlight_cursor_line=False, id="prompt")
        self.cursor_blink = False
        self._key_bindings = keys
        self.take_key: Callable[[str], bool] = lambda _: False
        """Handles a key before the prompt does, and returns whether it did."""
        self._busy_keys = ""
        self._mode = MODES[0]
        self._is_mode_chosen = False
        self._is_idle = True
        self._history: list[str] = []
        self._place = 0
        """Place in the history that is shown; its length for none."""

    def set_idle(self, mode: str = MODES[0]) -> None:
        """Expect a request, in a mode unless the user chooses another."""
        self._is_idle, self._is_mode_chosen = True, False
        self._show_mode(mode)

    def _show_mode(self, mode: str) -> None:
        self._mode = mode
        self.placeholder = PLACEHOLDERS[mode]
        self._show_title()
        self.border_subtitle = self._hint("send", "mode", "help")

    def _show_title(self) -> None:
        self.border_title = self._mode if self._is_idle else ""

    def set_busy(self, *, has_listener: bool) -> None:
        """Expect a remark; `has_listener` tells whether a model receives it."""
        self._is_idle = False
        self._show_title()
        self.placeholder = BUSY if has_listener else NO_MODEL_PLACEHOLDER
        self._busy_keys = self._hint("stop", *(["send"] if has_listener else []), "help")
        self.border_subtitle = self._busy_keys

    def offer_delivery(self, *, offered: bool) -> None:
        """Show or hide the key that delivers before all tests have run."""
        delivery = f"{self._hint('deliver_now')} · " if offered else ""
        self.border_subtitle = f"{delivery}{self._busy_keys}"

    def _hint(self, *names: str) -> str:
        return " · ".join(f"{self._key_bindings.label(name)} {name.replace('_', ' ')}" for name in names)

    def suggest(self, text: str) -> None:
        """Offer a text to send, unless the user has begun another one."""
        if not self.text:
            self.text = text
            self.move_cursor(self.document.end)

    async def _on_key(self, event: Key) -> None:
        """Handle the prompt's own keys before the editor, in the order typed.

        A binding would overtake letters that still wait.
        """
        if not self.take_key(event.key) and not await self._handle(event.key):
            return
        event.stop()
        event.prevent_default()

    async def _handle(self, key: str) -> bool:
        """Do what a key is bound to; return whether there was anything to do."""
        match self._key_bindings.find_name(key):
            case "send":
                self.send(self.text)
            case "new_line":
                self.insert("\n")
            case "mode" if self._is_idle:
                self._is_mode_chosen = True
                self._show_mode(MODES[(MODES.index(self._mode) + 1) % len(MODES)])
            case "earlier" if not self._is_idle and not self.text:
                self.post_message(self.Recalled())
            case "earlier":
                return self._recall(-1)
            case "later":
                return self._recall(1)
            case "stop" | "help" as name:
                await self.run_action(APP_ACTIONS[name])
            case "" if key == "question_mark" and not self.text:
                await self.run_action("app.help")
            case _:
                return False
        return True

    async def _on_paste(self, event: Paste) -> None:
        """Read carriage returns as ends of lines, as terminals send those of pasted text."""
        event.text = event.text.replace("\r\n", "\n").replace("\r", "\n")

    def _recall(self, step: int) -> bool:
        """Show an earlier or later message instead of an empty or recalled one; tell whether there is one."""
        recalled = self._history[self._place] if self._place < len(self._history) else ""
        if self.text != recalled or not 0 <= self._place + step <= len(self._history):
            return False
        self._place += step
        self.text = self._history[self._place] if self._place < len(self._history) else ""
        self.move_cursor(self.document.end)
        return True

    def add_earlier(self, texts: Sequence[str]) -> None:
        """Let messages of earlier sessions be recalled before those of this one."""
        self._history[:0] = texts
        self._place += len(texts)

    def recall_previous(self) -> None:
        """Show the message before the one that is shown."""
        self._recall(-1)

    def put_away(self) -> None:
        """Move the text into the history, from where it can be recalled."""
        self._remember(self.text)
        self.clear()

    def _remember(self, text: str) -> None:
        self._history.append(text)
        self._place = len(self._history)

    def send(self, typed: str) -> None:
        """Send a text, unless it is empty; another one in the editor stays there."""
        if text := typed.strip():
            if typed == self.text:
                self.put_away()
            else:
                self._remember(typed)
            is_question = text.endswith("?") and not self._is_mode_chosen
            self.post_message(self.Sent(text, "ask" if is_question else self._mode))


def make_prompt(keys: KeyBindings) -> Prompt:
    """Return a prompt; with the keys of vim where the user wants them."""
    if not keys.has_vim:
        return Prompt(keys)

    return VimPrompt(keys)


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
