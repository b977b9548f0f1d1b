import asyncio
import threading
from typing import Any

import pytest
from textual.events import Key, Paste
from textual.widgets import Static

from coder.core.errors import UserError
from coder.core.events import (
    DeliverNow,
    DeliverNowOffered,
    MessageFinished,
    QuestionAnswered,
    QuestionAsked,
    Say,
    Stop,
    Warned,
    Withdraw,
)
from coder.core.values import UserMessage
from coder.session.log import RunningSession
from coder.ui.tui.app import LEAVE_SECONDS, CoderApp
from coder.ui.tui.commands import OpenedRepository, SessionModel, UserRequest
from coder.ui.tui.transcript import StatusBar, Transcript
from tests.ui.tui import story
from tests.ui.tui.fakes import (
    FakeServices,
    FakeSession,
    Stage,
    closed_log,
    replay_app,
    services_that,
    stage,
)

NO_MODEL = "There is no model to ask: set a key."


async def test_blank_input_is_not_sent_and_two_lines_start_a_session() -> None:
    async with stage() as terminal:
        await terminal.say(" \n ")
        assert terminal.requests == []
        terminal.prompt.clear()
        await terminal.type("it")
        await terminal.pilot.press("ctrl+j")
        await terminal.type("breaks")
        await terminal.press("enter")
        assert "it\n" in terminal.text and "breaks" in terminal.text
    assert (terminal.texts, terminal.draft) == (["it\nbreaks"], "")


async def test_messages_of_earlier_sessions_come_back() -> None:
    services = FakeServices()
    services.messages.append("the first bug")
    async with stage(services=services) as terminal:
        await terminal.say("/help")
        await terminal.pilot.press("escape")
        for keys, text in ((("up", "up"), "the first bug"), (("up",), "the first bug"), (("down",), "/help")):
            await terminal.pilot.press(*keys)
            assert terminal.prompt.text == text


async def test_input_during_a_session_goes_to_it_from_any_focus() -> None:
    async with stage() as terminal:
        await terminal.fix(story.STARTED)
        await terminal.pilot.press("shift+tab", "x", "y")
        assert terminal.prompt.text == "xy"
        await terminal.say("keep the signature")
        await terminal.type("a dra")
        await terminal.ask(story.QUESTION)
        await terminal.press("n")
        await terminal.type("ft")
    assert terminal.draft == "a draft"  # survives the question
    answer = QuestionAnswered(question="q1", option="refuse")
    assert terminal.session.commands == [Say(text="keep the signature"), answer]


async def test_keys_typed_before_the_prompt_has_the_focus_are_kept() -> None:
    async with stage() as terminal:
        screen = terminal.app.screen
        screen.set_focus(None)
        for character in "ab":
            screen._forward_event(Key(character, character))
        screen.set_focus(terminal.prompt)
        terminal.prompt.has_focus = True  # before the screen handles the keys
        await terminal.settle()
        await terminal.type("c")
    assert terminal.draft == "abc"


async def test_escape_stops_immediately_and_once_and_the_mode_stays() -> None:
    async with stage() as terminal:
        terminal.session.obedient = False
        await terminal.fix(story.STARTED, *story.SPEAKING)
        await terminal.pilot.press("escape")
        assert terminal.session.commands == [Stop()]
        assert "stopping" in terminal.text
        await terminal.pilot.press("escape")
        await terminal.tell(*story.PATCHED)
        assert "stopping" in terminal.text
        await terminal.end(story.INTERRUPTED)
        assert "─ fix ─" in terminal.text
    assert terminal.session.commands == [Stop()]


async def test_key_delivers_now_and_is_shown_while_offered() -> None:
    async with stage() as terminal:
        await terminal.fix(story.STARTED)
        assert "deliver now" not in terminal.text
        await terminal.tell(DeliverNowOffered(offered=True))
        assert "ctrl+g deliver now" in terminal.text
        await terminal.pilot.press("ctrl+g")
        await terminal.tell(DeliverNowOffered(offered=False))
        assert "deliver now" not in terminal.text
    assert terminal.session.commands == [DeliverNow()]


async def test_next_message_continues_session_as_change_or_question() -> None:
    async with stage() as terminal:
        await terminal.fix(story.STARTED, issue="the first")
        await terminal.end(story.FINISHED)
        assert "coder/clock-add-wraps-1a2b" in terminal.text
        assert "apply: /apply; undo: /undo" in " ".join(terminal.text.split())
        await terminal.say("now rename it")
        await terminal.end(story.FINISHED)
        await terminal.say("why is that?")
    assert [(request.text, request.mode, request.continues != "") for request in terminal.requests] == [
        ("the first", "fix", False),
        ("now rename it", "change", True),
        ("why is that?", "ask", True),
    ]


async def test_failed_start_is_explained_and_restores_input() -> None:
    async def start(request: UserRequest) -> RunningSession:
        raise UserError(NO_MODEL)

    async with stage(start=start) as terminal:
        await terminal.say("a bug")
        assert NO_MODEL in terminal.text
    assert terminal.draft == "a bug"


async def test_stop_during_start_reaches_session_when_ready() -> None:
    session, is_open = FakeSession(), asyncio.Event()

    async def start(request: UserRequest) -> FakeSession:
        await is_open.wait()
        return session

    async with stage(start=start) as terminal:
        await terminal.say("a bug")
        await terminal.say("a remark that nobody can hear yet")
        assert terminal.prompt.text == "a remark that nobody can hear yet"
        await terminal.pilot.press("escape")
        assert "stopping" in terminal.text
        is_open.set()
        await terminal.settle()
        assert "Interrupted" in terminal.text
    assert session.commands == [Stop()]


async def test_ctrl_c_copies_a_selection_and_leaves_only_the_second_time_in_a_row() -> None:
    async with stage() as terminal:
        await terminal.type("a bug")
        await terminal.pilot.press("ctrl+shift+left", "ctrl+c")
        assert (terminal.app.clipboard, terminal.is_closing) == ("bug", False)
        terminal.prompt.clear()
        for _ in range(2):
            terminal.pass_time(LEAVE_SECONDS)
            await terminal.press("ctrl+c")
            assert "ctrl+c again leaves" in terminal.text
            assert not terminal.is_closing
        await terminal.pilot.press("ctrl+c")
        assert terminal.is_closing


async def test_quitting_stops_a_session_and_waits_for_its_end() -> None:
    async with stage() as terminal:
        terminal.session.obedient = False
        await terminal.fix(story.STARTED)
        await terminal.pilot.press("ctrl+q")
        assert terminal.session.commands == [Stop()]
        assert not terminal.is_closing
        await terminal.end(story.INTERRUPTED)
        assert terminal.is_closing


async def test_first_ctrl_c_stops_what_runs_and_stays() -> None:
    async with stage() as terminal:
        await terminal.fix(story.STARTED)
        await terminal.press("ctrl+c")
        assert terminal.session.commands == [Stop()]
        assert "ctrl+c again leaves" in terminal.text
        assert not terminal.is_closing
        await terminal.pilot.press("ctrl+c")
        assert terminal.is_closing


async def test_asks_its_services_off_the_event_loop_and_shows_notices() -> None:
    on_loop: set[str] = set()

    class WatchedServices(FakeServices):
        def __getattribute__(self, name: str) -> Any:
            method = super().__getattribute__(name)

            def call(*arguments: Any) -> Any:
                if threading.current_thread() is threading.main_thread():
                    on_loop.add(name)
                return method(*arguments)

            return call if callable(method) else method

    services = WatchedServices()
    services.open = lambda: OpenedRepository(notices=("[keys] files is no binding.",))
    async with stage(services=services) as terminal:
        assert "acme:large" in terminal.text and "[keys] files is no binding." in terminal.text
        for text in ("/explian x", "/sessions", "!ls", "/help"):
            terminal.prompt.clear()
            await terminal.say(text)
        assert terminal.app.screen.is_modal
    assert on_loop == set()


@pytest.mark.parametrize("text", ["a bug", "/sessions"])
async def test_what_is_stopped_before_the_repository_is_open_never_begins(text: str) -> None:
    may_open, begun = threading.Event(), list[object]()

    def open_repository() -> OpenedRepository:
        may_open.wait()
        return OpenedRepository()

    async def start(request: UserRequest) -> RunningSession:
        begun.append(request)
        raise UserError("not today")

    def answer(command: str, _text: str) -> list[str]:
        begun.append(command)
        return []

    app = app_that(start=start, open=open_repository, answer=answer)
    async with app.run_test() as pilot:
        terminal = Stage(app, pilot, FakeSession(), [])
        try:
            await terminal.say(text)
            await pilot.press("escape")
        finally:
            may_open.set()
        await terminal.settle()
        assert "Stopped before it began" in terminal.text
        assert begun == []


async def test_requests_wait_until_the_repository_is_open() -> None:
    may_open, requests = threading.Event(), list[UserRequest]()

    def open_repository() -> OpenedRepository:
        may_open.wait()
        return OpenedRepository()

    async def start(request: UserRequest) -> RunningSession:
        requests.append(request)
        raise UserError("not today")

    app = app_that(start=start, open=open_repository)
    async with app.run_test() as pilot:
        terminal = Stage(app, pilot, FakeSession(), requests)
        try:
            terminal.prompt.text = "a bug"
            await pilot.press("enter")
            await pilot.pause()
            assert requests == []
        finally:
            may_open.set()
        while not terminal.prompt.text:  # what cannot be opened goes back into the prompt
            await pilot.pause()
    assert terminal.texts == ["a bug"]


def app_that(**methods: Any) -> CoderApp:
    return CoderApp(services_that(**methods), repository="/r")


async def test_a_repository_that_cannot_be_opened_ends_the_interface() -> None:
    def refuse() -> OpenedRepository:
        raise UserError("No sandbox works on this machine.")

    app = app_that(open=refuse)
    async with app.run_test() as pilot:
        while app.failure is None:
            await pilot.pause()
    assert str(app.failure) == "No sandbox works on this machine."


async def test_without_model_explains_and_defers_remarks() -> None:
    async with stage(services=services_that(choose_model=lambda: SessionModel("", NO_MODEL))) as terminal:
        await terminal.settle()
        assert "no model" in terminal.text and f"No model: {NO_MODEL}" in terminal.text
        await terminal.fix(story.STARTED)
        assert "No model is running" in terminal.text and "Say something" not in terminal.text
        await terminal.say("look at add")
    assert (terminal.draft, terminal.session.commands) == ("look at add", [])


async def test_recorded_session_is_read_only() -> None:
    question = QuestionAsked(question="q1", text="Deliver it?", options=("yes", "no"), default="no")
    answer = QuestionAnswered(question="q1", option="no", by="person")
    async with stage(replay_app(closed_log(story.STARTED, question, answer, story.FINISHED))) as terminal:
        await terminal.settle()
        assert len(terminal.app.screen_stack) == 1  # an answered question opens no screen
        assert "PROVEN" in terminal.text and "/undo 20260101-clock" in terminal.text
        await terminal.say("another bug")
        assert "Nothing can be started here" in terminal.text


async def test_commands_are_carried_out_and_unknown_ones_refused() -> None:
    async with stage() as terminal:
        await terminal.say("/undoo")
        assert "There is no command /undoo" in terminal.text
        assert terminal.prompt.text == "/undoo"
        await terminal.pilot.press("ctrl+c")
        await terminal.say("/ask where is \u202eit\u2066")
        assert "where is �it�" in terminal.text  # no bidirectional controls
    assert [(request.text, request.mode) for request in terminal.requests] == [
        ("where is \u202eit\u2066", "ask")
    ]


async def test_custom_command_sends_its_request() -> None:
    async with stage(services=FakeServices(), size=(80, 120)) as terminal:
        await terminal.say("/theirs")
        assert "theirs is a command of this repository, which is not trusted." in terminal.text
        await terminal.say("/explian minutes")
        assert "There is no command /explian. Do you mean /explain?" in terminal.text
        await terminal.say("/help")
        assert "NAME  explain a name" in terminal.text and "never shadows" not in terminal.text
        await terminal.pilot.press("escape")
        await terminal.say("/explain minutes")
    assert [(request.text, request.mode) for request in terminal.requests] == [
        ("What does minutes do?", "ask")
    ]


async def test_key_changes_mode_and_history_comes_back() -> None:
    async with stage() as terminal:
        await terminal.pilot.press("shift+tab", "shift+tab", "shift+tab")
        await terminal.say("rename it")
        await terminal.end(story.FINISHED)
        await terminal.pilot.press("up")
        assert terminal.prompt.text == "rename it"
        await terminal.pilot.press("down")
    assert (terminal.draft, [request.mode for request in terminal.requests]) == ("", ["plan"])


TAKEN = MessageFinished(candidate="c1", message=UserMessage(text="The person adds: first"))


async def test_queued_message_is_shown_until_taken_and_can_be_taken_back() -> None:
    async with stage() as terminal:
        await terminal.fix(story.STARTED)
        for text in ("first", "second", "third"):
            await terminal.say(text)
        assert "queued: first" in terminal.text and "queued: third" in terminal.text
        await terminal.tell(TAKEN)
        assert "queued: first" not in terminal.text
        await terminal.press("up")
        assert "queued: second" in terminal.text and "queued: third" not in terminal.text
    says = [Say(text=text) for text in ("first", "second", "third")]
    assert (terminal.draft, terminal.session.commands) == ("third", [*says, Withdraw(text="third")])


async def test_pasted_carriage_returns_end_lines() -> None:
    async with stage() as terminal:
        terminal.app.post_message(Paste("one\rtwo\r\nthree"))
        await terminal.pilot.pause()
        await terminal.press("enter")
    assert terminal.texts == ["one\ntwo\nthree"]


def warnings_shown(terminal: Stage) -> list[int]:
    """Return the numbers of the warnings in the transcript."""
    transcript = terminal.app.screen.query_one(Transcript)
    lines = [str(child.render()) for child in transcript.children if isinstance(child, Static)]
    return [int(line.split()[1]) for line in lines if line.startswith("warning")]


async def test_long_session_opens_with_its_end() -> None:
    warnings = [Warned(text=f"warning {number}") for number in range(400)]
    async with stage(replay_app(closed_log(story.STARTED, *warnings, story.FINISHED))) as terminal:
        await terminal.settle()
        assert warnings_shown(terminal) == [*range(370, 400)]
        assert "coder/clock-add-wraps-1a2b" in terminal.text
        terminal.app.screen.query_one(Transcript).scroll_home(animate=False)
        await terminal.settle()
        assert "370 earlier events: coder log show" in terminal.text


async def test_start_shows_examples_and_facts() -> None:
    async with stage(services=services_that(open=lambda: OpenedRepository(sandbox="full"))) as terminal:
        await terminal.settle()
        assert "Try:  a description of a bug" in terminal.text and "sandbox full" in terminal.text
        await terminal.pilot.click(StatusBar, offset=(3, 0))
        assert terminal.prompt.text == "/doctor"
