"""Main screen: transcript, status line and prompt."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Key
from textual.screen import Screen
from textual.widgets import Static

from coder.core.text import sanitize_text, shorten_line
from coder.ui.tui.keys import KeyBindings
from coder.ui.tui.prompt import Prompt, make_prompt
from coder.ui.tui.services import Overview, Services, SessionModel
from coder.ui.tui.transcript import StatusBar, Transcript

if TYPE_CHECKING:
    from coder.core.events import Record
    from coder.ui.tui.narrator import Narrator

GREETING = (
    "What is wrong? Describe a bug: it is fixed on a branch of its own and proven by tests, and your files "
    "stay as they are."
)

EXAMPLES = (
    "Try:  a description of a bug, or the text of an issue",
    "      where is the discount computed?   (a question: nothing is changed)",
    "      /verify   (judges your uncommitted work)",
    "      @ completes a file or symbol, ! runs a command",
)


class SessionScreen(Screen[None]):
    """Shows sessions one after the other in the same transcript."""

    AUTO_FOCUS = "Prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll(-1)", show=False, priority=True, id="scroll_up"),
        Binding("pagedown", "scroll(1)", show=False, priority=True, id="scroll_down"),
        Binding("ctrl+end", "follow", show=False, priority=True, id="follow"),
    ]

    def __init__(
        self, repository: str, *, keys: KeyBindings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._key_bindings = keys
        self._repository = repository
        self._clock = clock
        self._narrator: Narrator | None = None

    def compose(self) -> ComposeResult:
        yield Masthead(self._repository)
        yield Transcript()
        yield MessageQueue()
        yield StatusBar(self._clock)
        yield make_prompt(self._key_bindings)

    def on_mount(self) -> None:
        self.query_one(Transcript).add_line(GREETING, "greeting")
        self.query_one(Prompt).set_idle()

    def show_model(self, choice: SessionModel) -> None:
        """Show the model; without one, show the reason and thereby how to get one."""
        for masthead in self.query(Masthead):  # empty if the user has quit meanwhile
            masthead.show_model(choice.name or "no model")
        for transcript in self.query(Transcript):
            if not choice.name:
                transcript.add_line(f"No model: {choice.reason}", "greeting")

    async def add_completion(self, services: Services) -> None:
        """Complete commands and names in the prompt from now on."""
        from coder.ui.tui.completion import Completion

        for prompt in self.query(Prompt):  # empty if the user has quit meanwhile
            completion = Completion(prompt, services)
            await self.mount(completion)
            prompt.take_key = completion.take_key

    def show_overview(self, overview: Overview, facts: Sequence[tuple[str, str]]) -> None:
        """Show what a person wants to know first, unless a request has been sent; the facts stay."""
        self.show_idle(facts)
        if self._narrator is not None:
            return
        lines = [f"tests: {overview.test_command}", *overview.sessions, "", *EXAMPLES]
        self.show_lines(lines, "about")

    def show_idle(self, facts: Sequence[tuple[str, str]]) -> None:
        """Show facts in the status line while no session runs."""
        for status_bar in self.query(StatusBar):
            status_bar.show_idle(facts)

    def action_type_command(self, command: str) -> None:
        """Type a command into the empty prompt."""
        self.suggest(command)
        self.query_one(Prompt).focus()

    def begin(self, issue: str = "", *, has_listener: bool, is_recorded: bool = False) -> None:
        """Prepare for a session that is being opened.

        Without an `issue`, the log will show it. `has_listener` tells whether a model receives the user's
        remarks, `is_recorded` whether the session has ended already.
        """
        from coder.ui.tui.narrator import Narrator

        transcript, status_bar = self.query_one(Transcript), self.query_one(StatusBar)
        prompt = self.query_one(Prompt)
        self._narrator = Narrator(transcript, status_bar, prompt, is_recorded=is_recorded)
        status_bar.begin()
        prompt.set_busy(has_listener=has_listener)
        transcript.anchor()
        if issue:
            transcript.add_issue(issue)

    def show_record(self, record: "Record") -> None:
        assert self._narrator is not None, "a session begins before it is told"
        self._narrator.show_record(record)

    def skip_records(self, records: "Sequence[Record]") -> None:
        """Show that there are earlier records."""
        assert self._narrator is not None, "a session begins before it is told"
        self._narrator.skip(records)

    def stop(self) -> None:
        """Show that the session will end soon."""
        self.query_one(StatusBar).stop()

    def end(self, *, mode: str) -> None:
        """Show that the session has ended and the next request may come, in a mode."""
        self.query_one(StatusBar).end()
        self.query_one(Prompt).set_idle(mode)

    def begin_command(self, text: str) -> None:
        self.show_lines([text], "command")
        self.query_one(StatusBar).begin(f"running {text}")
        self.query_one(Prompt).set_busy(has_listener=False)
        self.query_one(Transcript).anchor()

    async def remove_requests(self, texts: Sequence[str]) -> None:
        """Show no longer the newest requests, by their texts, and what came of them."""
        await self.query_one(Transcript).remove_requests(texts)

    def show_lines(self, lines: Iterable[str], kind: str = "output") -> None:
        """Show lines for the user, such as the answer to a command."""
        for transcript in self.query(Transcript):
            for line in lines:
                transcript.add_line(line or " ", kind)

    def show_diff(self, diff: str) -> None:
        from coder.ui.tui.diff import render_diff

        self.query_one(Transcript).add(*render_diff(diff))

    def reset(self) -> None:
        """Show that the next request continues nothing."""
        self.query_one(Transcript).add_line("The next message begins a new session.", "about")
        self.query_one(Prompt).set_idle()

    def warn(self, text: str) -> None:
        for transcript in self.query(Transcript):
            transcript.add_line(text, "warning")

    def show_queue(self, texts: Sequence[str]) -> None:
        """Show the messages that wait for the model's next request."""
        for queue in self.query(MessageQueue):
            queue.show(texts)

    def send(self, text: str) -> None:
        self.query_one(Prompt).send(text)

    def suggest(self, text: str, *, mode: str = "") -> None:
        prompt = self.query_one(Prompt)
        if mode:
            prompt.set_idle(mode)
        prompt.suggest(text)

    def action_scroll(self, direction: int) -> None:
        transcript = self.query_one(Transcript)
        (transcript.scroll_page_up if direction < 0 else transcript.scroll_page_down)(animate=False)

    def action_follow(self) -> None:
        """Scroll back to the newest line."""
        self.query_one(Transcript).anchor()

    def on_key(self, event: Key) -> None:
        """Pass printable keys to the prompt from wherever they are typed, and those typed before the prompt
        has the focus.

        Keys that the prompt has handled do not come here.
        """
        if event.is_printable and event.character:
            prompt = self.query_one(Prompt)
            event.stop()
            prompt.focus()
            prompt.insert(event.character)


class Masthead(Horizontal):
    """First line of the screen."""

    def __init__(self, repository: str) -> None:
        super().__init__()
        self._repository = repository

    def compose(self) -> ComposeResult:
        yield Static("coder", classes="name")
        yield Static(self._repository, classes="repository", markup=False)
        yield Static("", classes="model", markup=False)

    def show_model(self, name: str) -> None:
        for widget in self.query(".model").results(Static):  # empty if the user has quit meanwhile
            widget.update(name)


MOST_CHARACTERS = 200


class MessageQueue(Static):
    """One line a message; hidden where there is none."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.display = False

    def show(self, texts: Sequence[str]) -> None:
        self.display = bool(texts)
        lines = [f"queued: {shorten_line(sanitize_text(text), MOST_CHARACTERS)}" for text in texts]
        self.update("\n".join([*lines, "up takes the last one back"] if lines else []))
