"""Screens that ask or tell something above the conversation, and the answers that they return."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from coder.core import events
from coder.core.errors import UserError
from coder.core.events import REFUSE, QuestionAsked, Restore
from coder.core.notes import Plan
from coder.core.plan import format_plan, parse_plan
from coder.core.text import sanitize_text, shorten_line
from coder.core.values import HunkDecisions
from coder.ui.tui.commands import help_lines
from coder.ui.tui.keys import Dialog, KeyBindings, VimScroll, find_key_bindings
from coder.ui.tui.review import ReviewScreen

if TYPE_CHECKING:
    from coder.session.log import EventLog
    from coder.ui.tui.commands import Services

MOST_NUMBERS = 9


class ChosenOption(NamedTuple):
    """The user's answer to a question."""

    option: str
    instruction: str = ""
    """What the model should do instead."""


class AnswerList(OptionList):
    """Options without a way from the first to the last: what is allowed for good is not chosen by a slip.

    A mark shows the chosen one where colors do not: in a terminal without them, and in a copied text.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "screen.agree", "yes", id="accept"),
        Binding("n", "screen.decline", "no", id="reject"),
        *(Binding(str(number), f"screen.choose({number})") for number in range(1, MOST_NUMBERS + 1)),
    ]

    def __init__(self, options: Sequence[str]) -> None:
        self._texts = options
        super().__init__(*(Option(f"  {option}") for option in options), markup=False)

    def watch_highlighted(self, highlighted: int | None) -> None:
        for index, option in enumerate(self._texts):
            self.replace_option_prompt_at_index(index, f"{'>' if index == highlighted else ' '} {option}")
        super().watch_highlighted(highlighted)

    def action_page_up(self) -> None:
        self.call_later(self.run_action, "screen.scroll_text(-1)")

    def action_page_down(self) -> None:
        self.call_later(self.run_action, "screen.scroll_text(1)")

    def action_cursor_up(self) -> None:
        if self.highlighted:
            super().action_cursor_up()

    def action_cursor_down(self) -> None:
        if self.highlighted != self.option_count - 1:
            super().action_cursor_down()
        else:
            for instruction in self.screen.query(Instruction):
                instruction.focus()


class Instruction(Input):
    """Line for another answer, or for what the model should do instead."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("up", "app.focus_previous", show=False)]

    def __init__(self, question: QuestionAsked) -> None:
        is_refusal = question.default == REFUSE
        super().__init__(
            placeholder="no, do this instead: …" if is_refusal else "another answer: …", compact=True
        )


class QuestionScreen(Dialog[ChosenOption]):
    """Dismisses with one of the options; the default option is highlighted first."""

    CSS_PATH = "question.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "decline", "the safe answer"),
        Binding("pageup", "scroll_text(-1)", show=False),
        Binding("pagedown", "scroll_text(1)", show=False),
    ]

    def __init__(self, question: QuestionAsked) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            with VerticalScroll(id="text", can_focus=False):
                yield Static(sanitize_text(self._question.text), markup=False)
            yield AnswerList(self._question.options)
            if self._question.takes_instruction:
                yield Instruction(self._question)
            yield Static(self._keys, id="keys", markup=False)

    @property
    def _keys(self) -> str:
        options, keys = self._question.options, find_key_bindings(self)
        yes = f"{keys.label('accept')} {options[0]}"
        agree = yes if self._is_yes_or_no else f"1-{min(len(options), MOST_NUMBERS)}"
        refusal = f"{keys.label('reject')}, esc {self._question.default.partition(',')[0]}"
        return f"enter · {agree} · {refusal}"

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit_text)

    def _fit_text(self) -> None:
        """Let the text scroll where options and keys leave it too little room."""
        dialog, text = self.query_one("#dialog"), self.query_one("#text")
        others = sum(child.outer_size.height + child.styles.margin.height for child in dialog.children[1:])
        room = self.size.height - dialog.gutter.height - text.styles.margin.height - others
        text.styles.max_height = max(1, room)

    def action_scroll_text(self, direction: int) -> None:
        text = self.query_one("#text", VerticalScroll)
        (text.scroll_page_up if direction < 0 else text.scroll_page_down)(animate=False)

    @property
    def _is_yes_or_no(self) -> bool:
        """True if the first option agrees and the last one declines."""
        question = self._question
        is_approval = question.takes_instruction and question.default == REFUSE
        return (is_approval or len(question.options) == 2) and question.default == question.options[-1]

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.highlighted = self._question.options.index(self._question.default)

    def focus_first(self) -> None:
        self.query_one(OptionList).focus()

    def action_agree(self) -> None:
        """Choose the first option of a question that can be declined."""
        if self._is_yes_or_no:
            self.dismiss(ChosenOption(self._question.options[0]))

    def action_decline(self) -> None:
        """Choose the option that is used when nobody answers."""
        self.dismiss(ChosenOption(self._question.default))

    def action_choose(self, number: int) -> None:
        """Choose an option by its number, from 1."""
        if number <= len(self._question.options):
            self.dismiss(ChosenOption(self._question.options[number - 1]))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(ChosenOption(self._question.options[event.option_index]))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Decline, and say what to do instead."""
        if instruction := event.value.strip():
            self.dismiss(ChosenOption(self._question.default, instruction))


PLAN_KEYS = "{save} run it · {refuse} refuse it · esc stop"
"""Hint, with names of bindings instead of their keys."""


class PlanDecision(NamedTuple):
    plan: Plan | None
    """None: the plan is refused."""


class PlanScreen(Dialog[PlanDecision]):
    """Dismisses with the plan in the editor; an invalid one stays there."""

    CSS_PATH = "plan.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "accept", "run it", id="save"),
        Binding("ctrl+r", "refuse", "refuse it", id="refuse"),
        Binding("escape", "app.stop", "stop"),
    ]

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan
        self._text = sanitize_text(format_plan(plan))

    def compose(self) -> ComposeResult:
        yield Static(id="outcome", markup=False)
        yield TextArea(self._text, soft_wrap=True, compact=True, highlight_cursor_line=False)
        yield Static(find_key_bindings(self).fill(PLAN_KEYS), id="keys", markup=False)

    def on_mount(self) -> None:
        self.on_text_area_changed()

    def focus_first(self) -> None:
        self.set_focus(self.query_one(TextArea))

    def on_text_area_changed(self) -> None:
        """Show after each change what would be run."""
        try:
            plan = self._read_plan()
        except ValueError as error:
            self._show_outcome(f"Not to be run yet: {error}", wrong=True)
        else:
            parts, noun = (plan.components, "component") if plan.components else (plan.steps, "step")
            count = f"{len(parts)} {noun}{'s' * (len(parts) != 1)}"
            save = find_key_bindings(self).label("save")
            self._show_outcome(
                f"Plan: {save} runs {'it as it is' if plan == self._plan else 'what you changed'}, {count}",
                wrong=False,
            )

    def action_accept(self) -> None:
        try:
            plan = self._read_plan()
        except ValueError:
            return  # the error is shown above the text already
        self.dismiss(PlanDecision(plan))

    def action_refuse(self) -> None:
        self.dismiss(PlanDecision(None))

    def _read_plan(self) -> Plan:
        """Return the plan in the editor; the original plan if nothing was changed."""
        text = self.query_one(TextArea).text
        if text == self._text:
            return self._plan
        plan = parse_plan(text)
        if bool(plan.components) != bool(self._plan.components):
            raise ValueError(f"it needs {'components' if self._plan.components else 'steps'}")
        return plan

    def _show_outcome(self, text: str, *, wrong: bool) -> None:
        self.query_one("#outcome", Static).set_class(wrong, "wrong").update(text)


class HelpText(VimScroll):
    """Scrolls line by line as well."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
    ]


class HelpScreen(ModalScreen[None]):
    """Scrolls with the arrow keys, or as vim does; closes with Esc."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q,enter,question_mark", "dismiss", "close")]

    def __init__(self, keys: KeyBindings, purposes: Mapping[str, str]) -> None:
        """Show the keys, and the commands with those of the user, by their `purposes`."""
        super().__init__()
        self._lines = help_lines(keys, purposes)

    def compose(self) -> ComposeResult:
        with HelpText(id="help"):
            yield Static("\n".join(self._lines), markup=False)
        yield Static("up, down scroll · esc close", id="keys", markup=False)


AnyQuestionScreen = QuestionScreen | ReviewScreen | PlanScreen


async def ask_user(app: App[Any], text: str, *, options: tuple[str, ...]) -> str:
    """Ask a question that no session asks, from a worker; the last option is the safe one."""
    question = events.QuestionAsked(question="interface", text=text, options=options, default=options[-1])
    return (await app.push_screen_wait(QuestionScreen(question))).option


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
                self._send(events.QuestionAnswered(question=question, **result._asdict()))
            elif isinstance(result, PlanDecision):
                self._send(events.PlanAnswered(question=question, plan=result.plan))
            elif result is not None:
                self._send(events.ReviewAnswered(question=question, **dict(result)))
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
