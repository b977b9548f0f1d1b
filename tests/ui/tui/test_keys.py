import re
from collections.abc import Mapping

import pytest
from textual.binding import Binding

from coder.core.errors import UserError
from coder.core.events import PlanAnswered, QuestionAnswered, ReviewAnswered
from coder.ui.tui.app import CoderApp
from coder.ui.tui.conversation import ConversationScreen
from coder.ui.tui.dialogs import AnswerList, PlanScreen
from coder.ui.tui.keys import BINDINGS, VimScroll, describe_unknown_bindings, read_key_bindings
from coder.ui.tui.review import HunkChoice, HunkList, ReviewScreen
from tests.ui.tui import story
from tests.ui.tui.fakes import stage

WIDE = (100, 50)
HANDLED_BY_PROMPT = {"send", "new_line", "mode", "earlier", "later"}


def test_every_binding_has_a_name_and_the_default_key() -> None:
    bound = {
        binding.id: binding.key
        for owner in (CoderApp, ConversationScreen, ReviewScreen, HunkList, HunkChoice, VimScroll)
        for binding in owner.BINDINGS
        if isinstance(binding, Binding) and (binding.id or binding.key not in ("escape", "q"))
    }
    named = {name: key.default for name, key in BINDINGS.items() if name not in HANDLED_BY_PROMPT}
    dialogs = (PlanScreen, AnswerList)
    shared = [binding for owner in dialogs for binding in owner.BINDINGS if isinstance(binding, Binding)]
    bound |= {binding.id: binding.key for binding in shared if binding.id}
    assert bound == named
    assert {binding.key for binding in shared if not binding.id and not binding.key.isdecimal()} == {"escape"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"send": "contrl+x"}, "'contrl+x' is not the name of a key"),
        ({"help": "h"}, "'h' is not the name of a key, or a character"),
        ({"send": ""}, "'' is not the name of a key"),
        ({"save": "s"}, "'s' is not the name of a key, or a character"),
        ({"save": "ctrl+g"}, "ctrl+g is the key of deliver_now and of save"),
        ({"accept": "n"}, "n is the key of accept and of reject: give it another"),
        ({"deliver_now": "ctrl+d"}, "ctrl+d is the key of deliver_now and of half_page_down"),
        ({"send": "ctrl+q"}, "ctrl+q is the key of send and of leave"),
    ],
)
def test_refuses_unknown_keys_and_conflicts(settings: Mapping[str, str], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        read_key_bindings(settings)


def test_unknown_binding_is_named_and_ignored() -> None:
    settings = {"files": "t", "send": "f2"}
    assert read_key_bindings(settings).changed == {"send": "f2"}
    assert describe_unknown_bindings(settings) == ("[keys] files is no binding: F1 lists them.",)


async def test_prompt_uses_the_keys_of_the_settings() -> None:
    async with stage(keys=read_key_bindings({"send": "ctrl+s", "new_line": "enter"}), size=WIDE) as terminal:
        await terminal.type("a")
        await terminal.pilot.press("enter")
        await terminal.type("b")
        assert "ctrl+s send" in terminal.text
        await terminal.pilot.press("ctrl+s")
    assert (terminal.texts, terminal.draft) == (["a\nb"], "")


async def test_help_shows_the_keys_that_hold() -> None:
    async with stage(keys=read_key_bindings({"help": "f2"}), size=WIDE) as terminal:
        for key in ("f2", "question_mark"):
            await terminal.press(key, "end")
            assert "f2" in terminal.text and "show this list" in terminal.text
            assert "f1 " not in terminal.text
            await terminal.press("escape")
            assert not terminal.app.screen.is_modal


@pytest.mark.parametrize(
    ("typed", "key", "text"),
    [("a", "question_mark", "a?"), ("ab", "ctrl+underscore", "")],
    ids=["a question mark in a text is a character", "undo takes back what was typed"],
)
async def test_key_changes_the_text(typed: str, key: str, text: str) -> None:
    async with stage() as terminal:
        await terminal.type(typed)
        await terminal.pilot.press(key)
    assert (terminal.texts, terminal.draft) == ([], text)


@pytest.mark.thorough
async def test_review_has_the_keys_of_vim() -> None:
    accepted = {("G", "n", "enter"): (0, 1), ("G", "g", "n", "enter"): (1, 2), ("j", "n", "enter"): (0, 2)}
    async with stage(size=WIDE) as terminal:
        await terminal.fix(story.STARTED)
        for keys in accepted:
            await terminal.ask(story.REVIEW.model_copy(update={"question": " ".join(keys)}))
            await terminal.pilot.press(*keys)
            await terminal.settle()
    assert terminal.session.commands == [
        ReviewAnswered(question=" ".join(keys), accepted=hunks) for keys, hunks in accepted.items()
    ]


@pytest.mark.thorough
async def test_plan_and_question_use_the_keys_of_the_settings() -> None:
    async with stage(keys=read_key_bindings({"save": "f5", "reject": "x"}), size=WIDE) as terminal:
        await terminal.fix(story.STARTED)
        await terminal.ask(story.PLANNED)
        assert "f5 run it · ctrl+r refuse it" in terminal.text
        assert "Plan: f5 runs it as it is" in terminal.text
        await terminal.press("f5")
        await terminal.ask(story.QUESTION)
        assert "x, esc refuse" in terminal.text
        await terminal.press("x")
    assert [type(command) for command in terminal.session.commands] == [PlanAnswered, QuestionAnswered]
