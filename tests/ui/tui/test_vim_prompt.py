import pytest

from coder.core.events import Stop
from coder.ui.tui.keys import KeyBindings
from tests.ui.tui.fakes import FakeSession, Stage
from tests.ui.tui.test_keys import play


@pytest.mark.parametrize(
    ("typed", "keys", "text"),
    [
        ("one two", "escape 0 d w", "two"),
        ("one two", "escape b x i X", "one Xwo"),
        ("one two", "escape 0 w c w", "one "),
        ("one two", "escape 0 e a s", "ones two"),
        ("one", "escape I > escape A <", ">one<"),
        ("one", "escape o t w o escape k d d", "two"),
        ("one", "escape O t escape j x", "t\nne"),
        ("one", "escape x u", "one"),
        ("one", "escape h h x l x", "n"),
        ("one two three", "escape 0 2 d w", "three"),
        ("one", "escape z Z", "one"),
    ],
)
def test_edits_as_vim_does(typed: str, keys: str, text: str) -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.type(typed)
        await terminal.pilot.press(*keys.split())

    assert play(scene, KeyBindings(has_vim=True)) == ([], text)


def test_border_shows_the_mode_and_enter_sends_in_both() -> None:
    async def scene(terminal: Stage) -> None:
        assert "fix · insert" in terminal.text
        await terminal.type("a bug")
        await terminal.pilot.press("escape")
        await terminal.settle()
        assert "fix · normal" in terminal.text
        await terminal.pilot.press("2", "d")
        await terminal.settle()
        assert "normal d" in terminal.text
        await terminal.pilot.press("escape", "enter")
        await terminal.settle()
        assert "insert" in terminal.text

    assert play(scene, KeyBindings(has_vim=True)) == (["a bug"], "")


def test_escape_leaves_insert_mode_first_and_stops_then() -> None:
    session = FakeSession()

    async def scene(terminal: Stage) -> None:
        await terminal.say("a bug")
        await terminal.pilot.press("escape")
        assert session.commands == []
        await terminal.pilot.press("escape")

    play(scene, KeyBindings(has_vim=True), session)
    assert session.commands == [Stop()]


def test_colon_w_sends_and_other_modes_need_vim() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.type("a bug")
        await terminal.pilot.press("escape", "colon", "w", "enter")

    assert play(scene, KeyBindings(has_vim=True)) == (["a bug"], "")
    assert play(scene, KeyBindings()) == (["a bug:w"], "")
