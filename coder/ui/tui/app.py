"""Textual application that starts sessions, forwards the user's input, and closes in order."""

import asyncio
import os
import select
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.events import Event, Paste
from textual.events import Key as KeyEvent
from textual.widgets import TextArea

from coder.core.errors import CoderError, UserError
from coder.ui.tui.commands import (
    HELP,
    Commands,
    PromptCommand,
    Services,
    TrustQuestion,
    TypedRequest,
    custom_purposes,
    interpret,
    parse_command,
)
from coder.ui.tui.conversation import ConversationScreen
from coder.ui.tui.keys import Dialog, KeyBindings
from coder.ui.tui.prompt import Prompt

HANGUP_SECONDS = 1.0
"""Time between two looks whether the terminal is there."""
INSTANT_COMMANDS = ("help", "quit", "context")
"""Commands that are carried out beside what runs."""
DOUBLE_KEY_SECONDS = 1.0
LEAVE_SECONDS = 3.0
"""Time in which the key has to be pressed again to leave: the first press is often meant for a selection."""


class CoderApp(App[None]):
    """Runs one session at a time, and shows each by following its log."""

    TITLE = "coder"
    ENABLE_COMMAND_PALETTE = False
    CSS_PATH: ClassVar[list[str | PurePath] | None] = ["app.tcss", "session.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop_or_rewind", "Stop, or rewind", id="stop"),
        Binding("ctrl+g", "deliver_now", "Deliver now", priority=True, id="deliver_now"),
        Binding(
            "ctrl+c",
            "copy_or_quit",
            "Copy what is selected, stop what runs, or quit",
            priority=True,
            id="copy",
        ),
        Binding("ctrl+q", "quit", "Quit", priority=True, id="leave"),
        Binding("f1", "help", "Commands and keys", id="help"),
        Binding("ctrl+z", "suspend_process", "Suspend", priority=True, id="suspend"),
        Binding("ctrl+underscore", "focused.undo", "Undo", priority=True, id="undo"),
    ]

    def __init__(
        self,
        services: Services,
        *,
        repository: str,
        keys: KeyBindings | None = None,
        first_message: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open on `repository`, ready for an issue.

        It is checked, and the model chosen, once the prompt is there. If it cannot be opened the application
        ends, and `failure` is the reason. `first_message` is sent at once. `clock` counts seconds.
        """
        super().__init__()
        self.clock = clock
        self.key_bindings = keys or KeyBindings()
        self.set_keymap({**self.key_bindings.changed})
        self._services = services
        self.failure: CoderError | None = None
        self._first_message = first_message
        self.conversation = ConversationScreen(
            repository,
            services,
            keys=self.key_bindings,
            alert=self.bell,  # for a user who looks elsewhere
            on_end=self._quit_if_asked,
            clock=clock,
        )
        self._commands = Commands(
            self._services,
            newest=lambda: self.conversation.newest,
            show_lines=self.conversation.show_lines,
            show_diff=self.conversation.show_diff,
            ask=self._ask_user,
        )
        self._escaped = -DOUBLE_KEY_SECONDS
        """Time at which esc was last pressed while nothing ran."""
        self._asked_to_leave = -LEAVE_SECONDS
        """Time at which the key that copies was last pressed with nothing to copy or empty."""
        self._quitting = False

    def get_default_screen(self) -> ConversationScreen:
        return self.conversation

    def on_mount(self) -> None:
        if not self.is_headless:
            self._hangup_timer = self.set_interval(HANGUP_SECONDS, self._leave_without_terminal)
        self.app_resume_signal.subscribe(self, lambda _: self.screen.refresh(layout=True))
        self.call_after_refresh(self._prepare)

    def action_suspend_process(self) -> None:
        """Suspend, unless no shell is there that could go on with it: its terminal began with coder."""
        if os.getsid(os.getppid()) == os.getsid(0):
            super().action_suspend_process()

    async def on_event(self, event: Event) -> None:
        """Let a dialog know of each key before anything acts on it."""
        if isinstance(event, KeyEvent | Paste) and not event.is_forwarded and isinstance(self.screen, Dialog):
            self.screen.check_time(event, self.clock() - (time.monotonic() - event.time))
        await super().on_event(event)

    async def _leave_without_terminal(self) -> None:
        """Quit if the terminal is gone: no signal says so where it is not the controlling one.

        The library would read its end of input over and over.
        """
        poll = select.poll()
        poll.register(sys.__stdin__.fileno() if sys.__stdin__ else 0, 0)
        if any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0)):
            self._hangup_timer.stop()
            await self.run_action("quit")

    def _prepare(self) -> None:
        """Start work that the first paint need not wait for."""
        self.conversation.query_one(Prompt).send(self._first_message)
        self.run_worker(self._open(), name="open")

    async def _open(self) -> None:
        """Open the repository, then load what the first request needs."""
        try:
            opened = await asyncio.to_thread(self._services.open)
        except CoderError as error:
            self.failure = error
            self.exit()
            return
        self.conversation.sandbox = opened.sandbox
        for notice in opened.notices:
            self.conversation.warn(notice)
        if opened.trust is None:
            self.conversation.is_open.set()
        else:
            self.run_worker(self._ask_for_trust(opened.trust))
        if opened.initial_log is not None:
            self.conversation.is_busy = True  # before a message can be sent
            self.run_worker(self.conversation.show(opened.initial_log))
        self.run_worker(self._warm_up(), name="warm up")

    async def _ask_for_trust(self, trust: TrustQuestion) -> None:
        self.bell()
        choice = await self._ask_user(f"{trust.text}\n\n{trust.details}", trust.options)
        if await asyncio.to_thread(trust.settle, choice):
            self.conversation.is_open.set()
        else:
            self.exit()

    async def _warm_up(self) -> None:
        """Load earlier messages, completion, the model, and what shows a session, while the user types."""
        messages = await asyncio.to_thread(self._services.read_messages)
        await asyncio.to_thread(import_module, "coder.ui.tui.completion")
        if not self.conversation.is_attached:  # the user has left already
            return
        for prompt in self.conversation.query(Prompt):  # none while the screen is taken down
            prompt.add_earlier(messages)
        await self.conversation.add_completion()
        await self._choose_model()
        await asyncio.to_thread(import_module, "coder.ui.tui.narrator")
        self.conversation.show_facts()

    async def _choose_model(self) -> None:
        try:
            self.conversation.show_model(await asyncio.to_thread(self._services.choose_model))
        except CoderError as error:
            self.conversation.warn(str(error))

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        is_command = message.text.startswith("!") or parse_command(message.text) is not None
        if is_command or not self.conversation.is_busy:
            self._carry_out(message.text, message.mode)
        elif self.conversation.can_listen:
            self.conversation.say(message.text)
        else:
            self.conversation.suggest(message.text)

    def on_prompt_recalled(self) -> None:
        """Take the newest queued message back into the prompt; show an earlier one if none is queued."""
        if text := self.conversation.withdraw():
            self.conversation.suggest(text)
        else:
            self.conversation.query_one(Prompt).recall_previous()

    def _carry_out(self, typed: str, mode: str = "fix") -> None:
        """Begin what was typed; what cannot be done goes back into the prompt."""
        command = parse_command(typed)
        if command is not None and command.name not in HELP:
            self.run_worker(self._expand(typed, mode))
            return
        try:
            self._begin(typed, interpret(self._services, typed, mode=mode))
        except UserError as error:
            self._refuse(typed, error)

    async def _expand(self, typed: str, mode: str) -> None:
        """Begin a command of the user's own, or of the repository's, which is kept in a file."""
        try:
            self._begin(typed, await asyncio.to_thread(interpret, self._services, typed, mode=mode))
        except UserError as error:
            self._refuse(typed, error)

    def _refuse(self, typed: str, error: UserError) -> None:
        self.conversation.warn(str(error))
        self.conversation.suggest(typed)
        self.conversation.query_one(Prompt).select_all()  # the next message replaces it

    def _begin(self, typed: str, asked: TypedRequest | PromptCommand) -> None:
        if isinstance(asked, TypedRequest) or asked.name not in INSTANT_COMMANDS:
            self._require_idle(typed)
        match asked:
            case TypedRequest():
                self.conversation.is_busy = True
                self.run_worker(self.conversation.request(self._commands.make_request(asked)))
            case PromptCommand("help", _):
                self.run_worker(self.action_help())
            case PromptCommand("quit", _):
                self.run_worker(self.action_quit())
            case PromptCommand("context", _):
                self._commands.show_context(self.conversation.current_log)
            case PromptCommand("new", _):
                self.conversation.forget()
            case PromptCommand(name, text):
                self.conversation.is_busy = True
                self.run_worker(
                    self._resume(text or "last") if name == "resume" else self._run_command(name, text)
                )

    def _require_idle(self, typed: str) -> None:
        if self.conversation.is_busy:
            stop = self.key_bindings.label("stop")
            raise UserError(f"{typed.split()[0]} has to wait until this has ended; {stop} stops it.")

    async def _resume(self, session: str) -> None:
        """Show a recorded session, whose model the next request asks unless the user names another."""
        await self.conversation.resume(session)
        await self._choose_model()

    async def _run_command(self, name: str, text: str) -> None:
        """Carry out a command that starts no session."""
        typed = f"! {text}" if name == "!" else f"/{name} {text}".strip()
        self.conversation.begin_command(typed)
        try:
            await self.conversation.wait_open()
            if name == "rewind":
                await self.conversation.go_back(self._commands.newest_id, text)
            else:
                await self._commands.run(name, text)
            if name == "model" and text:
                await self._choose_model()
        except CoderError as error:
            self.conversation.warn(str(error))
        finally:
            self.conversation.end()

    async def _ask_user(self, question: str, options: tuple[str, ...]) -> str:
        from coder.ui.tui.dialogs import ask_user

        return await ask_user(self, question, options=options)

    async def action_help(self) -> None:
        from coder.ui.tui.dialogs import HelpScreen

        purposes = await asyncio.to_thread(custom_purposes, self._services)
        self.push_screen(HelpScreen(self.key_bindings, purposes))

    def action_stop(self) -> None:
        """Stop the session, or the command of the prompt."""
        self.conversation.stop()
        self._commands.stop()

    def action_stop_or_rewind(self) -> None:
        """Stop the session; while none runs, the second press in a row goes back in the conversation."""
        if self.conversation.is_busy:
            self.action_stop()
            return
        escaped, self._escaped = self._escaped, self.clock()
        if self._escaped - escaped < DOUBLE_KEY_SECONDS and self.conversation.newest is not None:
            self._escaped = -DOUBLE_KEY_SECONDS
            self._carry_out("/rewind")

    def action_deliver_now(self) -> None:
        """Have the change judged by the tests that have run so far."""
        from coder.core.events import DeliverNow

        self.conversation.send(DeliverNow())

    def _quit_if_asked(self) -> None:
        if self._quitting:
            self.exit()

    async def action_quit(self) -> None:
        """Quit once the session has ended in order; quit immediately if asked again."""
        if not self.conversation.is_busy or self._quitting:
            self.exit()
        self._quitting = True
        self.action_stop()

    async def action_copy_or_quit(self) -> None:
        """Copy the selection, as terminals do; without one, empty the prompt; if it is empty, stop what runs.

        The second press in a row quits.
        """
        selection = self.screen.get_selected_text()
        if selection is None and isinstance(self.focused, TextArea):
            selection = self.focused.selected_text
        if selection:
            self.copy_to_clipboard(selection)
            self.screen.clear_selection()
        elif (prompt := self.conversation.query_one(Prompt)).text:
            prompt.put_away()
        elif self._quitting or self.clock() - self._asked_to_leave < LEAVE_SECONDS:
            await self.action_quit()
        else:
            self._asked_to_leave = self.clock()
            self.action_stop()
            self.notify(f"{self.key_bindings.label('copy')} again leaves", timeout=LEAVE_SECONDS)
