"""The line-oriented interface, with typed lines and services that the test plays."""

import asyncio
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rich.console import Console

from coder.core.errors import GitError
from coder.core.events import (
    AnyQuestion,
    PlanAnswered,
    PlanAsked,
    QuestionAnswered,
    QuestionAsked,
    Restore,
    ReviewAnswered,
    ReviewAsked,
    SessionCommand,
    Stop,
)
from coder.core.events import Event as LogEvent
from coder.core.values import HunkComment
from coder.session.log import EventLog, run_and_follow
from coder.ui.dialogue import Dialogue
from coder.ui.lines import answer_command, describe_question
from coder.ui.tui.commands import OpenedRepository, TrustQuestion, UserRequest
from tests.ui.tui import story
from tests.ui.tui.fakes import FakeServices, FakeSession, closed_log, services_that

QUESTION = QuestionAsked(
    question="q", text="Run it?", options=("allow", "always", "refuse"), default="refuse"
)
REVIEW = ReviewAsked(question="r", diff=story.FINISHED.delivery.diff if story.FINISHED.delivery else "")


class OneSession(FakeServices):
    """Services with one session, and a shell that asks about one command."""

    def answer(self, command: str, text: str) -> Sequence[str]:
        return ["20260101-clock  PROVEN"] if command == "sessions" else super().answer(command, text)

    def load_session(self, session: str) -> EventLog:
        log = closed_log(story.STARTED, story.FINISHED)
        return log if session == "last" else super().load_session(session)

    def go_back(self, session: str, request: int, restore: Restore) -> tuple[str, str]:
        return "last", f"Back before request {request} of {session}; nothing was deleted."

    def find_objection(self, command: str) -> str:
        return "it installs" if command.startswith("pip") else ""


@dataclass
class Played:
    """A dialogue that has ended."""

    output: str
    requests: list[UserRequest]
    commands: list[SessionCommand]
    prompts: list[str]


@dataclass
class Typist:
    """Types lines, each when it is asked for the next one."""

    lines: list[str]
    prompts: list[str] = field(default_factory=list)

    async def read(self, prompt: str) -> str | None:
        self.prompts.append(prompt)
        return self.lines.pop(0) if self.lines else None


def play(
    *lines: str, events: Sequence[LogEvent] = (), opened: OpenedRepository | None = None, stops: bool = False
) -> Played:
    """Type lines; each request runs a session of these events, which ends when its questions are answered."""
    typist, requests, sessions = Typist([*lines]), list[UserRequest](), list[FakeSession]()
    output = io.StringIO()

    async def start(request: UserRequest) -> FakeSession:
        requests.append(request)
        session = AnsweredSession(questions=sum(isinstance(event, AnyQuestion) for event in events))
        sessions.append(session)
        session.tell(story.STARTED, *events)
        if not session.questions:
            session.end(story.FINISHED)
        return session

    services = OneSession()
    services.start, services.open = start, lambda: opened or OpenedRepository()
    dialogue = Dialogue(
        services,
        console=Console(file=output, no_color=True, highlight=False),
        read_line=typist.read,
        discard_input=lambda: None,
    )
    asyncio.run(dialogue.run())
    sent = [command for session in sessions for command in session.commands]
    return Played(output.getvalue(), requests, sent, typist.prompts)


@dataclass
class AnsweredSession(FakeSession):
    """Session that ends once its questions are answered."""

    questions: int = 0

    def send(self, command: SessionCommand) -> None:
        self.commands.append(command)
        if len(self.commands) == self.questions:
            self.end(story.FINISHED)


def test_custom_command_sends_its_request() -> None:
    played = play("/theirs", "/help", "/explain minutes")
    assert "theirs is a command of this repository, which is not trusted." in played.output
    assert "/explain NAME  explain a name" in played.output
    assert [(request.text, request.mode) for request in played.requests] == [("What does minutes do?", "ask")]


def test_request_is_told_in_plain_lines_and_the_next_continues_it() -> None:
    played = play("a bug", "now rename it", "why?")
    assert [(request.text, request.mode, request.continues) for request in played.requests] == [
        ("a bug", "fix", ""),
        ("now rename it", "change", "20260101-clock"),
        ("why?", "ask", "20260101-clock"),
    ]
    assert played.prompts == ["fix: ", "change: ", "change: ", "change: "]
    assert "PROVEN" in played.output and "apply: /apply" in played.output
    assert not set(played.output) & {"\x1b", "─", "│", "╭", "█", "⠋"}


def test_questions_are_answered_by_typing() -> None:
    played = play(
        "a bug",
        "y",
        "use a table instead",
        "",
        events=[QUESTION, REVIEW, PlanAsked(question="p", plan=story.PLAN)],
    )
    assert played.commands == [
        QuestionAnswered(question="q", option="allow"),
        ReviewAnswered(
            question="r", accepted=(0, 1, 2), comments=(HunkComment(hunk=0, text="use a table instead"),)
        ),
        PlanAnswered(question="p", plan=None),
    ]
    assert played.prompts[1] == "y: allow, n: refuse, 2: always > "


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("read the docs", QuestionAnswered(question="q", option="refuse", instruction="read the docs")),
        ("no", QuestionAnswered(question="q", option="refuse")),
        ("2", QuestionAnswered(question="q", option="always")),
    ],
)
def test_refusal_says_what_to_do_instead(reply: str, answer: QuestionAnswered) -> None:
    played = play("a bug", reply, events=[QUESTION.model_copy(update={"takes_instruction": True})])
    assert played.commands == [answer]
    assert played.prompts[1] == "y: allow, n: refuse, 2: always, or what to do instead > "


def test_the_end_of_the_input_is_the_safe_answer() -> None:
    assert play("a bug", events=[QUESTION]).commands == [QuestionAnswered(question="q", option="refuse")]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("/apply", "Applied last."),
        ("/undo", "There is nothing to take back."),
        ("/sessions", "20260101-clock  PROVEN"),
        ("/cost month", "costs by month"),
        ("/diff last", "diff --git"),
        ("/diff", "Nothing has been changed yet."),
        ("/undo x y", "/undo takes one word, not 'x y'."),
        ("/frob", "There is no command /frob."),
        (
            "/theme",
            "/theme no longer exists: start coder with TEXTUAL_THEME=textual-light, or another one.",
        ),
        ("/Undo x", "There is no command /Undo. Do you mean /undo?"),
        ("/!ls", "There is no command /!ls. Without the slash, !ls runs in the sandbox."),
        ("/model nope", "No provider is known"),
        ("/effort low", "From the next request on: effort low"),
        ("/doctor", "ok  sandbox"),
        ("/fix", "/fix TEXT"),
        ("/rewind 1", "There is no conversation to go back in yet."),
        ("/resume nope", "No session named 'nope'."),
        ("/resume", "PROVEN"),
        ("/help", "/apply bring the newest change onto your branch"),
        ("!", "! needs a command"),
        ("!ls", "output of ls"),
    ],
)
def test_commands_use_the_services(typed: str, expected: str) -> None:
    assert expected in play(typed).output


def test_rewinding_and_new_sessions_change_what_is_continued() -> None:
    played = play("a bug", "/rewind 1", "/new", "another bug")
    assert "Back before request 1 of 20260101-clock" in played.output
    assert played.requests[1].continues == ""


@pytest.mark.parametrize(
    ("reply", "can_decline", "for_good", "goes_on"),
    [
        ("y", True, [False], True),
        ("2", True, [True], True),
        ("n", True, [], True),
        ("n", False, [], False),
        ("", False, [], False),
    ],
)
def test_trust_is_asked_first(reply: str, can_decline: bool, for_good: list[bool], goes_on: bool) -> None:
    decisions: list[bool] = []
    trust = TrustQuestion("Trust this repository?", "", "leave", can_decline, decisions.append)
    played = play(reply, "a bug", opened=OpenedRepository(trust=trust))
    assert decisions == for_good
    assert bool(played.requests) == goes_on


@pytest.mark.parametrize(
    ("reply", "option"),
    [
        ("y", "allow"),
        ("Yes", "allow"),
        ("n", "refuse"),
        ("", "refuse"),
        ("2", "always"),
        ("always", "always"),
        ("9", "refuse"),
        ("maybe", "refuse"),
    ],
)
def test_unclear_answers_are_the_safe_one(reply: str, option: str) -> None:
    assert answer_command(QUESTION, reply) == QuestionAnswered(question="q", option=option)


@pytest.mark.parametrize(
    ("reply", "option"),
    [
        *(("y", "deliver"), ("", "deliver"), ("n", "drop"), ("No", "drop"), ("a", "accept the edited tests")),
        *(("2", "accept the edited tests"), ("drop", "drop"), ("what?", "deliver")),
    ],
)
def test_keys_name_the_options_where_the_first_is_the_default(reply: str, option: str) -> None:
    options = ("deliver", "accept the edited tests", "drop")
    question = QuestionAsked(question="q", text="Deliver it?", options=options, default="deliver")
    assert describe_question(question).prompt == ("y: deliver, n: drop, a: accept the edited tests [y/n/a] ")
    assert answer_command(question, reply) == QuestionAnswered(question="q", option=option)


@pytest.mark.parametrize(
    ("reply", "accepted"), [("y", (0, 1, 2)), ("n", ()), ("", ()), ("3, 1", (0, 2)), ("7", ())]
)
def test_review_is_accepted_or_refused_by_hunk(reply: str, accepted: tuple[int, ...]) -> None:
    assert answer_command(REVIEW, reply) == ReviewAnswered(question="r", accepted=accepted)


def test_stop_reaches_the_session_that_runs(tmp_path: Path) -> None:
    session = FakeSession()

    async def start(_: UserRequest) -> FakeSession:
        session.tell(story.STARTED)
        asyncio.get_running_loop().call_soon(dialogue.stop)
        return session

    typist = Typist(["a bug"])
    dialogue = Dialogue(
        services_that(start=start),
        console=Console(file=io.StringIO()),
        read_line=typist.read,
        discard_input=lambda: None,
    )
    asyncio.run(dialogue.run())
    assert session.commands == [Stop()]


class BrokenSession(FakeSession):
    async def run(self) -> None:
        raise GitError("git worktree failed")


@pytest.mark.parametrize("session", [BrokenSession(), FakeSession()])
async def test_an_error_of_a_session_or_its_reader_is_raised_as_itself(session: FakeSession) -> None:
    async def read() -> None:
        if isinstance(session, BrokenSession):
            await asyncio.Event().wait()
        raise GitError("the reader is gone")

    with pytest.raises(GitError):
        await run_and_follow(session, read())
    assert session.commands == ([] if isinstance(session, BrokenSession) else [Stop()])
