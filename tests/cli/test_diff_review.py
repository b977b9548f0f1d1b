"""A change on a terminal, as `coder log diff`, `coder apply` and `coder fix --dry-run` show it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.cli.terminal import Terminal
from tests.models.fakes import Turn, serve
from tests.models.wires import chat_stream, openai_error
from tests.place import Place, call

DIFF = (
    "--- a/clock.py\n+++ b/clock.py\n@@ -1,3 +1,4 @@\n def minutes(text):\n+    # hours and minutes\n"
    '     hours, rest = text.split(":")\n-    return int(hours) * 60 - int(rest)\n'
    "+    return int(hours) * 60 + int(rest)\n"
)
PATCH = Turn(text="Minutes are added to the hours.", calls=(call("apply_patch", diff=DIFF),))


@pytest.fixture
def start(place: Place) -> Iterator[Callable[..., Terminal]]:
    """Return a function that starts the program on a terminal."""
    with ExitStack() as stack:

        def start(*arguments: str) -> Terminal:
            terminal = Terminal(
                place.command(*arguments), directory=place.repository, environment=place.environment
            )
            stack.callback(terminal.close)
            return terminal

        yield start


@pytest.mark.loopback
def test_a_fix_is_shown_before_it_is_applied(place: Place, start: Callable[..., Terminal]) -> None:
    with serve(chat_stream, openai_error, [PATCH]) as server:
        assert place.fix(server).returncode == 0
    terminal = start("apply", "last")
    terminal.wait_for("Apply: 1 hunk")
    terminal.press_until("q", "Apply it?")
    terminal.press("y\r")
    assert "which holds the fix" in terminal.finish()
    assert "+ int(rest)" in (place.repository / "clock.py").read_text()
