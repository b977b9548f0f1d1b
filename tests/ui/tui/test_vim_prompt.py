import pytest
from textual_vim_textarea.vim_textarea import Mode

from coder.core.events import Stop
from coder.ui.tui.keys import KeyBindings
from coder.ui.tui.prompt import VimPrompt
from tests.ui.tui.fakes import stage

VIM = KeyBindings(has_vim=True)
EDITED = {
    ("one two", "escape 0 d w"): "two",
    ("one two", "escape b x i X"): "one Xwo",
    ("one two", "escape 0 w c w"): "one ",
    ("one two", "escape 0 e a s"): "ones two",
    ("one", "escape I > escape A <"): ">one<",
    ("one", "escape o t w o escape k d d"): "two",
    ("one", "escape O t escape j x"): "t\nne",
    ("one", "escape x u"): "one",
    ("one", "escape h h x l x"): "n",
    ("one two three", "escape 0 2 d w"): "three",
    ("one", "escape z Z"): "one",
}
"""Texts of the prompt after what is typed and the keys that follow."""


@pytest.mark.thorough
async def test_edits_as_vim_does() -> None:
    texts = {}
    async with stage(keys=VIM) as terminal:
        prompt = terminal.app.screen.query_one(VimPrompt)
        for typed, keys in EDITED:
            await terminal.type(typed)
            await terminal.pilot.press(*keys.split())
            texts[typed, keys] = prompt.text
            prompt.text = ""
            if prompt.mode is Mode.NORMAL:
                await terminal.pilot.press("i")
    assert (terminal.texts, texts) == ([], EDITED)


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
