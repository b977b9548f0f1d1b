"""Lines typed at the terminal, with Ctrl-C."""

import asyncio
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from coder.ui.lines import read_line


class TerminalInput:
    """Reads lines from standard input; Ctrl-C ends the one that is being read."""

    def __init__(self) -> None:
        self._pending: asyncio.Task[str] | None = None

    async def read(self, prompt: str) -> str | None:
        """Show a prompt and return a line; None at the end of the input, or after Ctrl-C."""
        print(prompt, end="", flush=True)
        self._pending = asyncio.create_task(read_line())
        await asyncio.wait({self._pending})
        if self._pending.cancelled():
            print()
            return None
        return self._pending.result() or None

    def discard(self) -> None:
        """Forget what was typed before it was asked for."""
        if sys.stdin.isatty():
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    @contextmanager
    def on_interrupt(self, act: Callable[[], None]) -> Iterator[None]:
        """Let Ctrl-C end the line that is being read, and call `act`."""
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            act()
            if self._pending is not None:
                self._pending.cancel()

        loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
