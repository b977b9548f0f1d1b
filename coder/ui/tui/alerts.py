"""Alerts of the terminal: bell, notification (OSC 9) and window title."""

from collections.abc import Callable

from coder.core.values.text import sanitize_text, shorten_line

SAVE_TITLE, RESTORE_TITLE = "\x1b[22;2t", "\x1b[23;2t"
LONGEST_TITLE = 80


class TerminalAlerts:
    """Bell, notification and title, for a user who looks elsewhere."""

    def __init__(self, write: Callable[[str], None], *, name: str) -> None:
        """Take `write`, which sends text to the terminal as it is, and the name of the repository."""
        self._write = write
        self._name = name
        self._is_started = False

    def start(self) -> None:
        """Alert the user from now on, until it is stopped."""
        self._is_started = True
        self._send(SAVE_TITLE)
        self.show_state("")

    def show_state(self, state: str) -> None:
        """Show the state in the title, such as `working`; empty is idle."""
        title = " - ".join(part for part in (state, "coder", self._name) if part)
        self._send(f"\x1b]2;{_clean(title)}\x07")

    def notify(self, text: str) -> None:
        """Ring the bell and show a notification, and the text as state."""
        self._send(f"\x07\x1b]9;{_clean(f'coder: {text}')}\x07")
        self.show_state(text)

    def stop(self) -> None:
        """Restore the title."""
        self._send(RESTORE_TITLE)
        self._is_started = False

    def _send(self, text: str) -> None:
        if self._is_started:
            self._write(text)


def _clean(text: str) -> str:
    return shorten_line(sanitize_text(text), LONGEST_TITLE)
