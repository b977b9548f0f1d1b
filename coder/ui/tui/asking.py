"""Questions of a session as dialogs, and the answers that they return."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from textual.app import App

from coder.core import events
from coder.core.errors import UserError
from coder.core.events import Restore
from coder.core.text import sanitize_text, shorten_line
from coder.core.values import HunkDecisions
from coder.ui.tui.dialogs import ChosenOption, PlanDecision, PlanScreen, QuestionScreen
from coder.ui.tui.review import ReviewScreen
from coder.ui.tui.services import TRUST_ALWAYS, TrustQuestion

if TYPE_CHECKING:
    from coder.session.log import EventLog
    from coder.ui.tui.services import Services


AnyQuestionScreen = QuestionScreen | ReviewScreen | PlanScreen


async def ask_user(app: App[Any], text: str, *, options: tuple[str, ...]) -> str:
    """Ask a question that no session asks, from a worker; the last option is the safe one."""
    question = events.QuestionAsked(question="interface", text=text, options=options, default=options[-1])
    return (await app.push_screen_wait(QuestionScreen(question))).option


async def ask_for_trust(app: App[Any], trust: TrustQuestion) -> bool:
    """Ask whether the repository is trusted, and return whether the application goes on."""
    choice = await ask_user(app, f"{trust.text}\n\n{trust.details}", options=trust.options)
    if choice == trust.decline:
        return trust.can_decline
    await asyncio.to_thread(trust.trust, choice == TRUST_ALWAYS)
    return True


class QuestionQueue:
    """Open questions of one session; the first is on the screen."""

    def __init__(
        self, app: App[Any], send: Callable[[events.SessionCommand], None], alert: Callable[[], None]
    ) -> None:
        """Take `alert`, which calls the user."""
        self._app = app
        self._send = send
        self._alert = alert
        self._open: dict[str, AnyQuestionScreen] = {}

    def handle_event(self, event: events.Event) -> None:
        """Show the question that an event asks, or close the one that it answers."""
        match event:
            case events.QuestionAsked(question=question):
                self._ask(question, QuestionScreen(event))
            case events.ReviewAsked(question=question):
                self._ask(question, ReviewScreen(event))
            case events.PlanAsked(question=question, plan=plan):
                self._ask(question, PlanScreen(plan))
            case (
                events.QuestionAnswered(question=question)
                | events.PlanAnswered(question=question)
                | events.ReviewAnswered(question=question)
            ):
                self._close(question)

    def close(self) -> None:
        """Close all questions, because nothing waits for an answer any more."""
        for question in reversed([*self._open]):
            self._close(question)

    def _ask(self, question: str, screen: AnyQuestionScreen) -> None:
        self._open[question] = screen
        if len(self._open) == 1:
            self._alert()
            self._show(question, screen)

    def _show(self, question: str, screen: AnyQuestionScreen) -> None:
        def send_answer(result: ChosenOption | HunkDecisions | PlanDecision | None) -> None:
            self._open.pop(question, None)
            if isinstance(result, ChosenOption):
                self._send(events.Answer(question=question, **result._asdict()))
            elif isinstance(result, PlanDecision):
                self._send(events.Amend(question=question, plan=result.plan))
            elif result is not None:
                self._send(events.Decide(question=question, **dict(result)))
            if self._open:
                self._show(*next(iter(self._open.items())))

        self._app.push_screen(screen, send_answer)

    def _close(self, question: str) -> None:
        screen = self._open.pop(question, None)
        if screen is not None and screen.is_attached:
            screen.pop_until_active()
            screen.dismiss()


PARTS: dict[str, Restore] = {
    "code and conversation": "both",
    "conversation only": "conversation",
    "code only": "code",
}
STAY = "stay here"
TEXT_CHARACTERS = 60


async def go_back(
    app: App[Any], services: "Services", session: str, typed: str
) -> "tuple[EventLog, str] | None":
    """Store the point before a request that the user types or chooses; return its log, and a sentence.

    Call it from a worker. None: the user stays.

    Raises:
        CoderError: there is nothing to go back to, or what is typed is no number of a request.
    """
    if not session:
        raise UserError("There is nothing to go back to yet.")
    requests = await asyncio.to_thread(services.list_requests, session)
    if typed and not (typed.isdecimal() and 1 <= int(typed) <= len(requests)):
        raise UserError(f"There is no request {typed}: this conversation has {len(requests)}.")
    request = int(typed) if typed else await _choose_request(app, requests)
    if request is None:
        return None
    part = await ask_user(app, f"What goes back to before request {request}?", options=(*PARTS, STAY))
    if part == STAY:
        return None
    stored, sentence = await asyncio.to_thread(services.go_back, session, request, PARTS[part])
    return await asyncio.to_thread(services.load_session, stored), sentence


async def _choose_request(app: App[Any], requests: Sequence[str]) -> int | None:
    lines = [
        f"{number}  {sanitize_text(shorten_line(' '.join(text.split()), TEXT_CHARACTERS))}"
        for number, text in enumerate(requests, start=1)
    ]
    line = await ask_user(app, "Go back to before which request?", options=(*lines, STAY))
    return None if line == STAY else int(line.split()[0])
