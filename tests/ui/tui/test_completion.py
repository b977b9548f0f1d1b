from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import pytest

from coder.ui.tui.completion import Completion
from tests.ui.tui.fakes import FakeServices, Stage, stage


class Names(FakeServices):
    def list_paths(self) -> Sequence[str]:
        return ["clock/arithmetic.py", "clock/face.py", "my notes.md", "tests/test_arithmetic.py"]

    def list_symbols(self) -> Sequence[str]:
        return ["Clock", "add"]


def completing(names: Names | None = None) -> AbstractAsyncContextManager[Stage]:
    return stage(services=names or Names())


def listed(terminal: Stage) -> list[str]:
    """Return the visible lines of the list."""
    completion = terminal.app.screen.query_one(Completion)
    options = completion.option_list
    return (
        [str(options.get_option_at_index(row).prompt) for row in range(options.option_count)]
        if completion.display
        else []
    )


COMPLETED: dict[tuple[str, ...], str] = {
    ("/di", "tab"): "/diff ",
    ("/un", "enter"): "/undo ",
    ("/exp", "tab"): "/explain ",
    ("see @face", "tab"): "see @clock/face.py ",
    ("see @arith", "down", "enter"): "see @tests/test_arithmetic.py ",
    ("see @arith", "up", "down", "enter"): "see @clock/arithmetic.py ",
    ("@Clo", "tab"): "@Clock ",
    ("@notes", "tab"): '@"my notes.md" ',
    ("see @face", "escape", "x"): "see @facex",
    ("ada@face", "tab"): "ada@face",
    ("/ask dra", "tab"): "/ask dra",
}
"""Texts of the prompt after what is typed and the keys that follow."""


@pytest.mark.thorough
async def test_completes_commands_paths_and_symbols() -> None:
    texts = {}
    async with completing() as terminal:
        for typed, *keys in COMPLETED:
            await terminal.type(typed)
            await terminal.settle()
            await terminal.pilot.press(*keys)
            await terminal.settle()
            texts[typed, *keys] = terminal.prompt.text
            terminal.prompt.text = ""
            await terminal.settle()
    assert (terminal.texts, texts) == ([], COMPLETED)


async def test_list_shows_matches_above_the_prompt() -> None:
    async with completing() as terminal:
        await terminal.type("see @face")
        await terminal.settle()
        assert listed(terminal) == ["@clock/face.py"]
        lines = terminal.text.splitlines()
        rows = [number for number, line in enumerate(lines) if "@face" in line or "@clock/face.py" in line]
        assert "@clock/face.py" in lines[rows[0]] and "see @face" in lines[rows[1]]
        assert rows[1] == rows[0] + 2  # the border of the prompt is between them
        await terminal.type(" ")
        await terminal.settle()
        assert listed(terminal) == []


async def test_keys_in_one_burst_send_and_do_not_complete() -> None:
    for typed, keys, request in (("/do", " it", "it"), ("see @", "fa now", "see @fa now")):
        async with completing() as terminal:
            await terminal.type(typed)
            await terminal.settle()
            terminal.press_at_once(*("space" if key == " " else key for key in keys), "enter")
        assert (terminal.texts, terminal.draft) == ([request], "")
        assert terminal.requests[0].mode == ("change" if typed == "/do" else "fix")


async def test_escape_closes_the_list_and_stops_nothing() -> None:
    async with completing() as terminal:
        await terminal.say("a bug")
        await terminal.type("@fa")
        await terminal.settle()
        assert listed(terminal)
        await terminal.pilot.press("escape")
        assert listed(terminal) == [] and "stopping" not in terminal.text
