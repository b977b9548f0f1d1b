"""Screens for the questions of a session, shown one at a time."""

from collections.abc import Callable

from textual.app import App

from coder.core.commands import Amend, Answer, Decide, SessionCommand
from coder.core.events import (
    Event,
    PlanAnswered,
    PlanAsked,
    QuestionAnswered,
    QuestionAsked,
    ReviewAnswered,
    ReviewAsked,
)
from coder.core.values.hunk import HunkDecisions
from coder.ui.tui.running import TrustQuestion
from coder.ui.tui.screens.plan import PlanDecision, PlanScreen
from coder.ui.tui.screens.question import ChosenOption, QuestionScreen
from coder.ui.tui.screens.review import ReviewScreen

AnyQuestionScreen = QuestionScreen | ReviewScreen | PlanScreen


async def ask_user(app: App[None], text: str, *, options: tuple[str, str]) -> str:
    """Ask a question that no session asks, from a worker; the second option is the safe one."""
    question = QuestionAsked(question="interface", text=text, options=options, default=options[1])
    return (await app.push_screen_wait(QuestionScreen(question))).option


async def ask_for_trust(app: App[None], trust: TrustQuestion) -> bool:
    """Ask whether the repository is trusted, and return whether the application goes on."""
    if await ask_user(app, trust.text, options=("trust", trust.decline)) != "trust":
        return trust.can_decline
    trust.trust()
    return True


class QuestionQueue:
    """Open questions of one session; the first is on the screen."""

    def __init__(
        self, app: App[None], send: Callable[[SessionCommand], None], alert: Callable[[str], None]
    ) -> None:
        """Take `alert`, which calls the user."""
        self._app = app
        self._send = send
        self._alert = alert
        self._open: dict[str, AnyQuestionScreen] = {}

    def handle_event(self, event: Event) -> None:
        """Show the question that an event asks, or close the one that it answers."""
        match event:
            case QuestionAsked(question=question):
                self._ask(question, QuestionScreen(event))
            case ReviewAsked(question=question):
                self._ask(question, ReviewScreen(event))
            case PlanAsked(question=question, plan=plan):
                self._ask(question, PlanScreen(plan))
            case (
                QuestionAnswered(question=question)
                | PlanAnswered(question=question)
                | ReviewAnswered(question=question)
            ):
                self._close(question)
            case _:
                pass

    def close(self) -> None:
        """Close all questions, because nothing waits for an answer any more."""
        for question in reversed([*self._open]):
            self._close(question)

    def _ask(self, question: str, screen: AnyQuestionScreen) -> None:
        self._open[question] = screen
        if len(self._open) == 1:
            self._alert("an answer is needed")
            self._show(question, screen)

    def _show(self, question: str, screen: AnyQuestionScreen) -> None:
        def send_answer(result: ChosenOption | HunkDecisions | PlanDecision | None) -> None:
            self._open.pop(question, None)
            if isinstance(result, ChosenOption):
                self._send(Answer(question=question, **result._asdict()))
            elif isinstance(result, PlanDecision):
                self._send(Amend(question=question, plan=result.plan))
            elif result is not None:
                self._send(Decide(question=question, **dict(result)))
            if self._open:
                self._show(*next(iter(self._open.items())))

        self._app.push_screen(screen, send_answer)

    def _close(self, question: str) -> None:
        screen = self._open.pop(question, None)
        if screen is not None and screen.is_attached:
            screen.pop_until_active()
            screen.dismiss()
