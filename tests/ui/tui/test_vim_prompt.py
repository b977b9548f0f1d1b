import pytest

from coder.core.events import Stop
from coder.ui.tui.keys import KeyBindings
from tests.ui.tui.fakes import stage

VIM = KeyBindings(has_vim=True)


async def test_border_shows_the_mode_and_enter_sends_in_both() -> None:
    async with stage(keys=VIM) as terminal:
        assert "fix · insert" in terminal.text
        await terminal.type("a bug")
        await terminal.press("escape")
        assert "fix · normal" in terminal.text
        await terminal.pilot.press("2", "d")
        await terminal.settle()
        assert "normal d" in terminal.text
        await terminal.pilot.press("escape", "enter")
        await terminal.settle()
        assert "insert" in terminal.text
    assert (terminal.texts, terminal.draft) == (["a bug"], "")


async def test_escape_leaves_insert_mode_first_and_stops_then() -> None:
    async with stage(keys=VIM) as terminal:
        await terminal.say("a bug")
        await terminal.pilot.press("escape")
        assert terminal.session.commands == []
        await terminal.pilot.press("escape")
    assert terminal.session.commands == [Stop()]


@pytest.mark.parametrize(("keys", "sent"), [(VIM, "a bug"), (KeyBindings(), "a bug:w")])
async def test_colon_w_sends_and_other_modes_need_vim(keys: KeyBindings, sent: str) -> None:
    async with stage(keys=keys) as terminal:
        await terminal.type("a bug")
        await terminal.pilot.press("escape", "colon", "w", "enter")
    assert (terminal.texts, terminal.draft) == ([sent], "")
