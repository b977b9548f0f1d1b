import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping

import pytest
from textual.binding import Binding

from coder.core.errors import UserError
from coder.core.events import Amend, Answer, Decide, Stop
from coder.ui.tui.app import CoderApp
from coder.ui.tui.dialogs import AnswerList, PlanScreen, VimScroll
from coder.ui.tui.keys import BINDINGS, CLOSING_KEYS, KeyBindings, KeyedApp, read_key_bindings
from coder.ui.tui.prompt import Prompt
from coder.ui.tui.review import HunkChoice, HunkEditor, HunkList, LineList, ReviewScreen
from coder.ui.tui.services import SessionModel, UserRequest
from coder.ui.tui.session_screen import SessionScreen
from tests.ui.tui import story
from tests.ui.tui.fakes import FakeSession, Stage, stage

HANDLED_BY_PROMPT = {"send", "new_line", "mode", "earlier", "later"}


def play(
    scene: Callable[[Stage], Awaitable[None]], keys: KeyBindings, session: FakeSession | None = None
) -> tuple[list[str], str]:
    """Return the texts of the requests of a scene, and the text left in the prompt."""
    texts: list[str] = []

    async def start(request: UserRequest) -> FakeSession:
        texts.append(request.text)
        return session or FakeSession()

    async def scenario() -> str:
        app = CoderApp(start, repository="/r", model=lambda: SessionModel("acme:large"), keys=keys)
        async with stage(app, size=(100, 50)) as terminal:
            await scene(terminal)
            await terminal.settle()
            return app.query_one(Prompt).text if not app.screen.is_modal else ""

    return texts, asyncio.run(scenario())


def test_every_binding_has_a_name_and_the_default_key() -> None:
    bound = {
        binding.id: binding.key
        for owner in (KeyedApp, CoderApp, SessionScreen, ReviewScreen, HunkList, HunkChoice, VimScroll)
        for binding in owner.BINDINGS
        if isinstance(binding, Binding) and (binding.id or binding.key not in CLOSING_KEYS)
    }
    named = {name: key.default for name, key in BINDINGS.items() if name not in HANDLED_BY_PROMPT}
    dialogs = (PlanScreen, HunkEditor, LineList, AnswerList)
    shared = [binding for owner in dialogs for binding in owner.BINDINGS if isinstance(binding, Binding)]
    bound |= {binding.id: binding.key for binding in shared if binding.id}
    assert bound == named
    assert {binding.key for binding in shared if not binding.id and not binding.key.isdecimal()} == {"escape"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sned": "f2"}, "'sned', which is not a key binding. There are: send, new_line"),
        ({"send": "contrl+x"}, "'contrl+x' is not a key name. Keys are such as f2"),
        ({"help": "h"}, "'h' is a character that you type"),
        ({"send": ""}, "'' is not a key name"),
        ({"accept": "escape"}, "'escape' closes the review"),
        ({"accept": "1"}, "'1' is the number of an answer"),
        ({"save": "escape"}, "'escape' is a key of the editor itself"),
        ({"refuse": "ctrl+z"}, "is a key of the editor itself"),
        ({"save": "s"}, "'s' is a character that you type"),
        ({"save": "ctrl+g"}, "ctrl+g is the key of deliver_now and of save"),
        ({"accept": "n"}, "n is the key of accept and of reject: give one of them another"),
        ({"deliver_now": "ctrl+d"}, "ctrl+d is the key of deliver_now and of half_page_down"),
        ({"send": "ctrl+q"}, "ctrl+q is the key of send and of leave: give one of them another"),
    ],
)
def test_refuses_unknown_names_and_keys_and_conflicts(settings: Mapping[str, str], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        read_key_bindings(settings)


def test_prompt_uses_the_keys_of_the_settings() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.type("a")
        await terminal.pilot.press("enter")
        await terminal.type("b")
        assert "ctrl+s send" in terminal.text
        await terminal.pilot.press("ctrl+s")

    keys = read_key_bindings({"send": "ctrl+s", "new_line": "enter"})
    assert play(scene, keys) == (["a\nb"], "")


def test_stop_and_leave_can_trade_their_keys() -> None:
    session = FakeSession()

    async def scene(terminal: Stage) -> None:
        await terminal.say("a bug")
        await terminal.pilot.press("escape")
        await terminal.pilot.press("ctrl+x")

    play(scene, read_key_bindings({"stop": "ctrl+x", "leave": "ctrl+c", "copy": "ctrl+q"}), session)
    assert session.commands == [Stop()]


def test_help_shows_the_keys_that_hold() -> None:
    async def scene(terminal: Stage) -> None:
        for key in ("f2", "question_mark"):
            await terminal.pilot.press(key)
            await terminal.settle()
            await terminal.pilot.press("end")
            await terminal.settle()
            assert "f2" in terminal.text and "show this list" in terminal.text
            assert "f1 " not in terminal.text
            await terminal.pilot.press("escape")
            await terminal.settle()
            assert not terminal.app.screen.is_modal

    play(scene, read_key_bindings({"help": "f2"}))


def test_question_mark_in_a_text_is_a_character() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.type("a")
        await terminal.pilot.press("question_mark")

    assert play(scene, KeyBindings()) == ([], "a?")


@pytest.mark.thorough
def test_review_has_the_keys_of_vim() -> None:
    session = FakeSession()
    accepted = {("G", "n", "enter"): (0, 1), ("G", "g", "n", "enter"): (1, 2), ("j", "n", "enter"): (0, 2)}

    async def scene(terminal: Stage) -> None:
        await terminal.say("a bug")
        session.tell(*story.LOCATED)
        for keys in accepted:
            session.tell(story.REVIEW.model_copy(update={"question": " ".join(keys)}))
            await terminal.wait_for_question()
            await terminal.pilot.press(*keys)
            await terminal.settle()

    play(scene, KeyBindings(), session)
    assert session.commands == [
        Decide(question=" ".join(keys), accepted=hunks) for keys, hunks in accepted.items()
    ]


def test_review_uses_the_keys_of_the_settings_and_shows_them() -> None:
    session = FakeSession()

    async def scene(terminal: Stage) -> None:
        await terminal.say("a bug")
        session.tell(*story.LOCATED, story.REVIEW)
        await terminal.wait_for_question()
        text = " ".join(terminal.text.split())
        assert "space accept · x reject" in text and "ctrl+s confirm" in text
        assert "ctrl+s delivers the whole fix" in text
        await terminal.pilot.press("x", "space", "x", "ctrl+s")
        await terminal.settle()

    changed = {"accept": "space", "turn": "z", "reject": "x", "confirm": "ctrl+s"}
    play(scene, read_key_bindings(changed), session)
    assert [command.accepted for command in session.commands if isinstance(command, Decide)] == [(1,)]


def test_plan_and_question_use_the_keys_of_the_settings() -> None:
    session = FakeSession()

    async def scene(terminal: Stage) -> None:
        await terminal.say("a bug")
        session.tell(*story.LOCATED, story.PLANNED)
        await terminal.wait_for_question()
        assert "f5 run it · ctrl+r refuse it" in terminal.text
        assert "Plan: f5 runs it as it is" in terminal.text
        await terminal.pilot.press("f5")
        await terminal.settle()
        session.tell(story.QUESTION)
        await terminal.wait_for_question()
        assert "x, esc refuse" in terminal.text
        await terminal.pilot.press("x")
        await terminal.settle()

    play(scene, read_key_bindings({"save": "f5", "reject": "x"}), session)
    assert [type(command) for command in session.commands] == [Amend, Answer]


def test_lines_are_chosen_with_the_keys_of_the_settings() -> None:
    session = FakeSession()

    async def scene(terminal: Stage) -> None:
        await terminal.say("a bug")
        session.tell(*story.LOCATED, story.REVIEW)
        await terminal.wait_for_question()
        await terminal.pilot.press("down", "l")
        await terminal.settle()
        assert "x line · a/r all · ctrl+s keep the choice" in " ".join(terminal.text.split())
        for key in ("x", "ctrl+s", "ctrl+s"):
            await terminal.pilot.press(key)
            await terminal.settle()

    play(scene, read_key_bindings({"reject": "x", "confirm": "ctrl+s"}), session)
    (decision,) = [command for command in session.commands if isinstance(command, Decide)]
    assert [edit.omitted for edit in decision.edits] == [(3,)]


def test_help_scrolls_as_vim_does() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.pilot.resize_terminal(100, 24)
        await terminal.pilot.press("f1")
        await terminal.settle()
        text = terminal.app.screen.query_one("#help")
        places = []
        for key in ("ctrl+d", "j", "ctrl+u", "G", "k", "g"):
            await terminal.pilot.press(key)
            await terminal.settle()
            places.append(text.scroll_y)
        half, last = text.size.height // 2, text.max_scroll_y
        assert places == [half, half + 1, 1, last, last - 1, 0]

    play(scene, KeyBindings())


def test_undo_takes_back_what_was_typed() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.type("ab")
        await terminal.pilot.press("ctrl+underscore")

    assert play(scene, KeyBindings()) == ([], "")
