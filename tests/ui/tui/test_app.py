import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from textual.events import Key, Paste
from textual.widgets import Static

from coder.core.errors import UserError
from coder.core.events import (
    Answer,
    DeliverNow,
    DeliverNowOffered,
    MessageFinished,
    QuestionAnswered,
    QuestionAsked,
    Say,
    SessionCommand,
    Stop,
    Warned,
    Withdraw,
)
from coder.core.messages import UserMessage
from coder.session.log import EventLog
from coder.store.jsonl import read_records
from coder.ui.tui.app import LEAVE_SECONDS, CoderApp
from coder.ui.tui.prompt import Prompt
from coder.ui.tui.services import (
    OpenedRepository,
    Overview,
    RunningSession,
    Services,
    SessionModel,
    UserRequest,
)
from coder.ui.tui.transcript import EarlierRecords, StatusBar, Transcript
from tests.session.fakes import ticking_clock
from tests.ui.tui import story
from tests.ui.tui.fakes import FakeSession, Stage, replay_app, stage
from tests.ui.tui.test_rewinding import FakeArchive

LOGS = Path(__file__).parents[2] / "logs"
NO_MODEL = "There is no model to ask: set a key."


def play(scene: Callable[[Stage], Awaitable[None]], app: CoderApp | None = None) -> Stage:
    async def scenario() -> Stage:
        async with stage(app) as terminal:
            await scene(terminal)
            await terminal.settle()
        return terminal

    return asyncio.run(scenario())


def prompt_text(terminal: Stage) -> str:
    return terminal.app.screen.query_one(Prompt).text


def test_blank_input_is_not_sent_and_two_lines_start_a_session() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.say(" \n ")
        assert terminal.requests == []
        terminal.app.screen.query_one(Prompt).clear()
        await terminal.type("it")
        await terminal.pilot.press("ctrl+j")
        await terminal.type("breaks")
        await terminal.pilot.press("enter")
        await terminal.settle()
        assert "it\n" in terminal.text and "breaks" in terminal.text
        assert prompt_text(terminal) == ""

    assert [request.text for request in play(scene).requests] == ["it\nbreaks"]


def test_keys_in_one_burst_keep_their_order() -> None:
    async def scene(terminal: Stage) -> None:
        terminal.press_at_once("a", "space", "b", "u", "g", "enter")

    assert [request.text for request in play(scene).requests] == ["a bug"]


class FakeHistory:
    """History of one earlier message."""

    def __init__(self) -> None:
        self.messages = ["the first bug"]

    def read(self) -> Sequence[str]:
        return tuple(self.messages)

    def add(self, text: str) -> None:
        self.messages.append(text)


def app_with(services: Services, model: Callable[[], SessionModel]) -> CoderApp:
    async def start(_: UserRequest) -> RunningSession:
        return FakeSession()

    return CoderApp(start, repository="/r", model=model, services=services, clock=lambda: 0.0)


def test_messages_of_earlier_sessions_come_back() -> None:
    history = FakeHistory()

    async def scene(terminal: Stage) -> None:
        await terminal.say("/help")
        await terminal.pilot.press("up", "up")
        assert prompt_text(terminal) == "the first bug"
        await terminal.pilot.press("up")
        assert prompt_text(terminal) == "the first bug"
        await terminal.pilot.press("down")
        assert prompt_text(terminal) == "/help"

    play(scene, app_with(Services(history=history), lambda: SessionModel("acme:large")))
    assert history.messages == ["the first bug", "/help"]


def test_resumed_session_brings_its_model() -> None:
    archive = FakeArchive()
    names = iter(["", "acme:small"])

    async def scene(terminal: Stage) -> None:
        assert "acme:small" not in terminal.text
        await terminal.say("/resume")
        await terminal.settle()
        assert "acme:small" in terminal.text

    play(scene, app_with(Services(archive=archive), lambda: SessionModel(next(names), "no key is set")))


def test_answered_questions_of_a_recorded_session_open_no_screen() -> None:
    question = QuestionAsked(question="q1", text="Deliver it?", options=("yes", "no"), default="no")
    log = EventLog(clock=ticking_clock())
    for event in (
        story.STARTED,
        question,
        QuestionAnswered(question="q1", option="no", by="person"),
        story.FINISHED,
    ):
        log.append(event)
    log.close()

    async def scene(terminal: Stage) -> None:
        await terminal.settle()
        assert "PROVEN" in terminal.text
        assert len(terminal.app.screen_stack) == 1

    play(scene, replay_app(log))


def test_input_during_a_session_goes_to_it_from_any_focus() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.fix(*story.LOCATED)
        await terminal.pilot.press("shift+tab", "x", "y")
        assert prompt_text(terminal) == "xy"
        await terminal.say("keep the signature")
        await terminal.type("a dra")
        terminal.session.tell(story.QUESTION)
        await terminal.wait_for_question()
        await terminal.pilot.press("n")
        await terminal.settle()
        await terminal.type("ft")
        assert prompt_text(terminal) == "a draft"  # survives the question

    answer = Answer(question="q1", option="refuse")
    assert play(scene).session.commands == [Say(text="keep the signature"), answer]


def test_keys_typed_before_the_prompt_has_the_focus_are_kept() -> None:
    async def scene(terminal: Stage) -> None:
        screen = terminal.app.screen
        screen.set_focus(None)
        for character in "ab":
            screen._forward_event(Key(character, character))
        prompt = screen.query_one(Prompt)
        screen.set_focus(prompt)
        prompt.has_focus = True  # before the screen handles the keys
        await terminal.settle()
        await terminal.type("c")
        await terminal.settle()
        assert prompt_text(terminal) == "abc"

    play(scene)


def test_escape_stops_immediately_and_once_and_the_mode_stays() -> None:
    async def scene(terminal: Stage) -> None:
        terminal.session.obedient = False
        await terminal.fix(*story.LOCATED, *story.SPEAKING)
        await terminal.pilot.press("escape")
        assert terminal.session.commands == [Stop()]
        assert "stopping" in terminal.text
        await terminal.pilot.press("escape")
        terminal.session.tell(*story.PATCHED)
        await terminal.settle()
        assert "stopping" in terminal.text
        terminal.session.end(story.INTERRUPTED)
        await terminal.settle()
        assert "─ fix ─" in terminal.text

    assert play(scene).session.commands == [Stop()]


def test_key_delivers_now_and_is_shown_while_offered() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.fix(*story.LOCATED)
        assert "deliver now" not in terminal.text
        terminal.session.tell(DeliverNowOffered(offered=True))
        await terminal.settle()
        assert "ctrl+g deliver now" in terminal.text
        await terminal.pilot.press("ctrl+g")
        terminal.session.tell(DeliverNowOffered(offered=False))
        await terminal.settle()
        assert "deliver now" not in terminal.text

    assert play(scene).session.commands == [DeliverNow()]


def test_next_message_continues_session_as_change_or_question() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.fix(*story.LOCATED, issue="the first")
        terminal.session.end(story.FINISHED)
        await terminal.settle()
        assert "coder/clock-add-wraps-1a2b" in terminal.text
        assert "apply: /apply; undo: /undo" in " ".join(terminal.text.split())
        await terminal.say("now rename it")
        terminal.session.end(story.FINISHED)
        await terminal.settle()
        await terminal.say("why is that?")

    requests = play(scene).requests
    assert [(request.text, request.mode, request.continues != "") for request in requests] == [
        ("the first", "fix", False),
        ("now rename it", "change", True),
        ("why is that?", "ask", True),
    ]


def test_failed_start_is_explained_and_restores_input() -> None:
    async def start(request: UserRequest) -> RunningSession:
        raise UserError(NO_MODEL)

    async def scene(terminal: Stage) -> None:
        await terminal.say("a bug")
        await terminal.settle()
        assert NO_MODEL in terminal.text
        assert prompt_text(terminal) == "a bug"

    play(scene, CoderApp(start, repository="/r", model=lambda: SessionModel("acme:large")))


def test_stop_during_start_reaches_session_when_ready() -> None:
    session, is_open = FakeSession(), asyncio.Event()

    async def start(request: UserRequest) -> FakeSession:
        await is_open.wait()
        return session

    async def scene(terminal: Stage) -> None:
        await terminal.say("a bug")
        await terminal.say("a remark that nobody can hear yet")
        assert prompt_text(terminal) == "a remark that nobody can hear yet"
        await terminal.pilot.press("escape")
        assert "stopping" in terminal.text
        is_open.set()
        await terminal.settle()
        assert "Interrupted" in terminal.text

    play(scene, CoderApp(start, repository="/r", model=lambda: SessionModel("acme:large")))
    assert session.commands == [Stop()]


def test_ctrl_c_copies_a_selection_and_leaves_only_the_second_time_in_a_row() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.type("a bug")
        await terminal.pilot.press("ctrl+shift+left", "ctrl+c")
        assert (terminal.app.clipboard, terminal.is_closing) == ("bug", False)
        terminal.app.screen.query_one(Prompt).clear()
        for _ in range(2):
            terminal.pass_time(LEAVE_SECONDS)
            await terminal.pilot.press("ctrl+c")
            await terminal.settle()
            assert "ctrl+c again leaves" in terminal.text
            assert not terminal.is_closing
        await terminal.pilot.press("ctrl+c")
        assert terminal.is_closing

    play(scene)


def test_ctrl_q_leaves_immediately_when_idle() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.pilot.press("ctrl+q")
        assert terminal.is_closing

    play(scene)


def test_quitting_stops_a_session_and_waits_for_its_end() -> None:
    async def scene(terminal: Stage) -> None:
        terminal.session.obedient = False
        await terminal.fix(*story.LOCATED)
        await terminal.pilot.press("ctrl+q")
        assert terminal.session.commands == [Stop()]
        assert not terminal.is_closing
        terminal.session.end(story.INTERRUPTED)
        await terminal.settle()
        assert terminal.is_closing

    play(scene)


def test_first_message_is_sent_and_what_was_typed_stays() -> None:
    async def start(_: UserRequest) -> RunningSession:
        return FakeSession()

    app = CoderApp(
        start,
        repository="/r",
        model=lambda: SessionModel("acme:large"),
        first_message="a bug\nin two lines",
        draft="and more",
    )

    async def scene(terminal: Stage) -> None:
        await terminal.settle()
        assert "in two lines" in terminal.text
        assert prompt_text(terminal) == "and more"

    play(scene, app)


def test_quitting_twice_does_not_wait() -> None:
    async def scene(terminal: Stage) -> None:
        terminal.session.obedient = False
        await terminal.fix(*story.LOCATED)
        await terminal.pilot.press("ctrl+c", "ctrl+c")
        assert not terminal.is_closing
        terminal.pass_time(LEAVE_SECONDS)
        await terminal.pilot.press("ctrl+c")
        assert terminal.is_closing

    play(scene)


def test_first_ctrl_c_stops_what_runs_and_stays() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.fix(*story.LOCATED)
        await terminal.pilot.press("ctrl+c")
        await terminal.settle()
        assert terminal.session.commands == [Stop()]
        assert "ctrl+c again leaves" in terminal.text
        assert not terminal.is_closing
        await terminal.pilot.press("ctrl+c")
        assert terminal.is_closing

    play(scene)


def test_resolves_model_off_event_loop() -> None:
    threads: list[threading.Thread] = []

    def model() -> SessionModel:
        threads.append(threading.current_thread())
        return SessionModel("acme:small")

    async def scene(terminal: Stage) -> None:
        await terminal.settle()
        assert "acme:small" in terminal.text

    async def start(request: UserRequest) -> RunningSession:
        raise AssertionError(request)

    play(scene, CoderApp(start, repository="/r", model=model))
    assert threads != [threading.main_thread()]


def test_reports_missing_model_before_input() -> None:
    def model() -> SessionModel:
        raise UserError(NO_MODEL)

    async def start(request: UserRequest) -> RunningSession:
        raise AssertionError(request)

    async def scene(terminal: Stage) -> None:
        await terminal.settle()
        assert NO_MODEL in terminal.text

    play(scene, CoderApp(start, repository="/r", model=model))


def test_requests_wait_until_the_repository_is_open() -> None:
    may_open, requests = threading.Event(), list[UserRequest]()

    def open_repository() -> OpenedRepository:
        may_open.wait()
        return OpenedRepository()

    async def start(request: UserRequest) -> RunningSession:
        requests.append(request)
        raise UserError("not today")

    async def scenario() -> None:
        app = CoderApp(
            start,
            repository="/r",
            model=lambda: SessionModel("acme:large"),
            open_repository=open_repository,
            draft="a bug",
        )
        async with app.run_test() as pilot:
            try:
                while app.screen.query_one(Prompt).text != "a bug":
                    await pilot.pause()
                await pilot.press("enter")
                await pilot.pause()
                assert requests == []
            finally:
                may_open.set()
            while not app.screen.query_one(Prompt).text:  # what cannot be opened goes back into the prompt
                await pilot.pause()
        assert [request.text for request in requests] == ["a bug"]

    asyncio.run(scenario())


def test_a_repository_that_cannot_be_opened_ends_the_interface() -> None:
    async def start(request: UserRequest) -> RunningSession:
        raise AssertionError(request)

    def refuse() -> OpenedRepository:
        raise UserError("No sandbox works on this machine.")

    app = CoderApp(start, repository="/r", model=lambda: SessionModel("m"), open_repository=refuse)

    async def scenario() -> None:
        async with app.run_test() as pilot:
            while app.failure is None:
                await pilot.pause()

    asyncio.run(scenario())
    assert str(app.failure) == "No sandbox works on this machine."


def test_notices_are_shown_when_the_repository_is_open() -> None:
    async def start(request: UserRequest) -> RunningSession:
        raise AssertionError(request)

    async def scene(terminal: Stage) -> None:
        await terminal.settle()
        assert "The change of yesterday is broken." in terminal.text

    app = CoderApp(
        start,
        repository="/r",
        model=lambda: SessionModel("m"),
        open_repository=lambda: OpenedRepository(notices=("The change of yesterday is broken.",)),
    )
    play(scene, app)


def test_without_model_explains_and_defers_remarks() -> None:
    session = FakeSession()

    async def start(request: UserRequest) -> RunningSession:
        return session

    async def scene(terminal: Stage) -> None:
        await terminal.settle()
        assert "no model" in terminal.text and f"No model: {NO_MODEL}" in terminal.text
        await terminal.fix(*story.LOCATED)
        session.tell(*story.LOCATED)
        await terminal.settle()
        assert "No model is running" in terminal.text and "Say something" not in terminal.text
        await terminal.say("look at add")
        assert prompt_text(terminal) == "look at add"

    play(scene, CoderApp(start, repository="/r", model=lambda: SessionModel("", NO_MODEL)))
    assert session.commands == []


def test_recorded_session_is_read_only() -> None:
    log = EventLog(clock=ticking_clock())
    for event in [*story.LOCATED, story.FINISHED]:
        log.append(event)
    log.close()

    async def scene(terminal: Stage) -> None:
        await terminal.settle()
        assert "/undo 20260101-clock" in terminal.text
        await terminal.say("another bug")
        await terminal.settle()
        assert "This is the record of a session" in terminal.text

    play(scene, replay_app(log))


def test_recorded_research_shows_its_roles() -> None:
    log = EventLog(records=read_records(LOGS / "format-1-research"))
    log.close()

    async def scenario() -> None:
        async with stage(replay_app(log), size=(110, 90)) as terminal:
            await terminal.settle()
            assert "evaluate-2: synthesize: Enough." in terminal.text
            assert "Key findings" in terminal.text

    asyncio.run(scenario())


def test_starts_with_given_session() -> None:
    session = FakeSession()

    async def start(request: UserRequest) -> RunningSession:
        raise AssertionError(request)

    async def scene(terminal: Stage) -> None:
        session.tell(*story.LOCATED)
        await terminal.settle()
        assert story.ISSUE in terminal.text
        await terminal.say("a remark")
        await terminal.pilot.press("escape")

    play(
        scene,
        CoderApp(
            start,
            repository="/r",
            model=lambda: SessionModel("acme:large"),
            open_repository=lambda: OpenedRepository(initial_session=session),
        ),
    )
    commands: list[SessionCommand] = [Say(text="a remark"), Stop()]
    assert session.commands == commands


def test_commands_are_carried_out_and_unknown_ones_refused() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.say("/undoo")
        assert "There is no command /undoo" in terminal.text
        assert prompt_text(terminal) == "/undoo"
        await terminal.pilot.press("ctrl+c")
        await terminal.say("/ask where is \u202eit\u2066")
        await terminal.settle()
        assert "where is �it�" in terminal.text  # no bidirectional controls

    requests = play(scene).requests
    assert [(request.text, request.mode) for request in requests] == [("where is \u202eit\u2066", "ask")]


def test_key_changes_mode_and_history_comes_back() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.pilot.press("shift+tab", "shift+tab", "shift+tab")
        await terminal.say("rename it")
        terminal.session.end(story.FINISHED)
        await terminal.settle()
        await terminal.pilot.press("up")
        assert prompt_text(terminal) == "rename it"
        await terminal.pilot.press("down")
        assert prompt_text(terminal) == ""

    assert [request.mode for request in play(scene).requests] == ["plan"]


def test_help_lists_commands_until_closed_and_palette_runs_them() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.type("a draft")
        await terminal.pilot.press("f1")
        await terminal.settle()
        assert terminal.app.screen.is_modal and "/fix" in terminal.text
        await terminal.pilot.press("escape")
        await terminal.settle()
        assert prompt_text(terminal) == "a draft"
        await terminal.pilot.press("ctrl+p")
        await terminal.type("/new")
        await terminal.settle()
        await terminal.pilot.press("enter")
        await terminal.settle()
        assert "The next message begins a new session." in terminal.text

    play(scene)


def test_queued_message_is_shown_until_taken_and_can_be_taken_back() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.fix(*story.LOCATED)
        for text in ("first", "second", "third"):
            await terminal.say(text)
        await terminal.settle()
        assert "queued: first" in terminal.text and "queued: third" in terminal.text
        terminal.session.tell(
            MessageFinished(candidate="c1", message=UserMessage(text="The person adds: first"))
        )
        await terminal.settle()
        assert "queued: first" not in terminal.text
        await terminal.pilot.press("up")
        assert prompt_text(terminal) == "third"
        await terminal.settle()
        assert "queued: second" in terminal.text and "queued: third" not in terminal.text

    says = [Say(text=text) for text in ("first", "second", "third")]
    assert play(scene).session.commands == [*says, Withdraw(text="third")]


def test_message_taken_in_the_same_moment_is_not_withdrawn() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.fix(*story.LOCATED)
        await terminal.say("first")
        terminal.session.log.append(
            MessageFinished(candidate="c1", message=UserMessage(text="The person adds: first"))
        )
        await terminal.pilot.press("up")
        assert prompt_text(terminal) == "first"  # as an earlier message, to be sent again
        await terminal.settle()

    assert play(scene).session.commands == [Say(text="first")]


def test_carriage_returns_of_a_paste_end_lines() -> None:
    async def scene(terminal: Stage) -> None:
        for text in ("one\rtwo\r\n", "\r".join(["line"] * 20)):
            terminal.app.post_message(Paste(text))
            await terminal.pilot.pause()
        assert prompt_text(terminal) == "one\ntwo\n[pasted 20 lines]"
        await terminal.pilot.press("enter")

    assert [request.text for request in play(scene).requests] == ["one\ntwo\n" + "\n".join(["line"] * 20)]


def test_long_paste_is_folded_and_sent_in_full() -> None:
    log, words = "\n".join(f"line {number}" for number in range(120)), "x" * 3_000

    async def scene(terminal: Stage) -> None:
        await terminal.type("see ")
        for text in (log, log.upper(), log, "short", words):
            terminal.app.post_message(Paste(text))
            await terminal.pilot.pause()
        assert prompt_text(terminal) == (
            "see [pasted 120 lines][pasted 120 lines, 2][pasted 120 lines]short[pasted 3,000 characters]"
        )
        await terminal.pilot.press("enter")
        await terminal.settle()
        assert "line 19" in terminal.text and "lines more]" in terminal.text
        terminal.session.end(story.FINISHED)
        await terminal.settle()
        await terminal.pilot.press("up")
        assert prompt_text(terminal).startswith("see [pasted 120 lines]")

    assert [request.text for request in play(scene).requests] == [f"see {log}{log.upper()}{log}short{words}"]


def test_remark_that_came_too_late_returns_to_prompt() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.fix(*story.LOCATED)
        await terminal.say("and rename it")
        terminal.session.end(story.FINISHED)
        await terminal.settle()
        assert prompt_text(terminal) == "and rename it"

    play(scene)


def long_log(count: int) -> EventLog:
    log = EventLog(clock=ticking_clock())
    log.append(story.STARTED)
    for number in range(count):
        log.append(Warned(text=f"warning {number}"))
    log.append(story.FINISHED)
    log.close()
    return log


def warnings_shown(terminal: Stage) -> list[str]:
    transcript = terminal.app.screen.query_one(Transcript)
    lines = [str(child.render()) for child in transcript.children if isinstance(child, Static)]
    return [line for line in lines if line.startswith("warning")]


@pytest.mark.thorough
def test_long_session_opens_with_its_end_and_scrolling_up_shows_chunks_in_place() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.settle()
        assert warnings_shown(terminal)[0] == "warning 370"
        assert "coder/clock-add-wraps-1a2b" in terminal.text
        transcript = terminal.app.screen.query_one(Transcript)
        assert "370 earlier events" in str(terminal.app.screen.query_one(EarlierRecords).render())
        transcript.scroll_home(animate=False)
        await terminal.pilot.press("pageup")
        await terminal.settle()
        assert [*map(int, (line.split()[1] for line in warnings_shown(terminal)))] == [*range(270, 400)]
        assert "warning 370" in terminal.text and "warning 300" not in terminal.text  # where the user reads
        terminal.app.screen.query_one(EarlierRecords).focus(scroll_visible=False)
        await terminal.pilot.press("enter")
        await terminal.settle()
        assert len(warnings_shown(terminal)) == 230
        for _ in range(2):
            transcript.scroll_home(animate=False)
            await terminal.pilot.press("pageup")
            await terminal.settle()
        assert [*map(int, (line.split()[1] for line in warnings_shown(terminal)))] == [*range(400)]
        assert not transcript.query(EarlierRecords)

    play(scene, replay_app(long_log(400)))


def test_start_shows_what_was_red_and_enter_fixes_it() -> None:
    overview = Overview(
        "main*", "pytest", ("test_a.py::test_b", "test_c.py::test_d"), ("/resume s1  PROVEN",), "full"
    )

    async def scene(terminal: Stage) -> None:
        await terminal.settle()
        assert "red when they last ran: test_a.py::test_b and 1 more" in terminal.text
        assert "/resume s1  PROVEN" in terminal.text and "main* · sandbox full" in terminal.text
        assert "enter: fix test_a.py::test_b" in terminal.text
        await terminal.pilot.click(StatusBar, offset=(3, 0))
        assert prompt_text(terminal) == "/diff"
        terminal.app.screen.query_one(Prompt).clear()
        await terminal.pilot.press("enter")
        await terminal.settle()

    requests: list[UserRequest] = []

    async def start(request: UserRequest) -> FakeSession:
        requests.append(request)
        return FakeSession()

    services = Services(overview=lambda: overview)
    app = CoderApp(start, repository="/r", model=lambda: SessionModel("acme:large"), services=services)
    play(scene, app)
    assert [request.text for request in requests] == ["test_a.py::test_b fails."]
