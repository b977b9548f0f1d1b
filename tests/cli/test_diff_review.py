"""Reviews on a terminal: `coder log diff`, `coder apply` and `coder fix --dry-run`, driven by keys."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.builders import git
from tests.cli.terminal import Terminal
from tests.models.fakes import Turn, serve
from tests.models.wires import chat_stream, openai_error
from tests.place import Place, call

DIFF = (
    "--- a/clock.py\n+++ b/clock.py\n@@ -1,3 +1,4 @@\n def minutes(text):\n+    # hours and minutes\n"
    '     hours, rest = text.split(":")\n-    return int(hours) * 60 - int(rest)\n'
    "+    return int(hours) * 60 + int(rest)\n"
)
DELETE_SECOND_LINE, KEEP = ("\x1b[B", "\x0b", "\x7f"), "\x13"
"""Keys in the editor of a hunk: down, delete to the end of the line, join with the line before; ctrl+s."""
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
def test_an_applied_part_is_taken_out_by_the_command_that_is_named(
    place: Place, start: Callable[..., Terminal]
) -> None:
    with serve(chat_stream, openai_error, [PATCH]) as server:
        assert place.fix(server).returncode == 0
    terminal = start("apply", "last")
    terminal.wait_for("enter applies the whole fix")
    terminal.press_until("e", "New lines of clock.py")
    terminal.press(*DELETE_SECOND_LINE, KEEP)
    terminal.wait_for("applies them, uncommitted and not verified")
    terminal.press("\r")
    command = "".join(terminal.finish().partition("take it out: ")[2].split("\r\n"))

    undone = place.coder("undo", "last", "--yes").stdout
    assert undone.startswith("Deleted the branch coder/")
    assert f"is still in your files. Take it out: {command}" in undone
    assert "+ int(rest)" in (place.repository / "clock.py").read_text()
    assert place.coder(*shlex.split(command)[1:]).returncode == 0
    assert git(place.repository, "status", "--porcelain") == ""
