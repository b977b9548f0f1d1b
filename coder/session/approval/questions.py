"""Questions to the person, each with an answer that holds when nobody gives one."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from coder.core.commands import Amend, Answer, Decide
from coder.core.events import (
    PlanAnswered,
    PlanAsked,
    QuestionAnswered,
    QuestionAsked,
    ReviewAnswered,
    ReviewAsked,
)
from coder.core.messages import ToolCall
from coder.core.notes import Plan
from coder.core.values.base import Value
from coder.patching.git_hunks import hunks
from coder.permissions.command_rules import Rule
from coder.session.log import EventLog

Reply = TypeVar("Reply", Answer, Decide, Amend)
ALLOW, ALWAYS, REFUSE = "allow", "always", "refuse"


class Wish(Value):
    """Something that a model wants to do and may not do unasked."""

    call: ToolCall
    text: str
    """What it is, in a line: `run: pip install x`."""
    why: str
    """What speaks against it, in half a sentence."""
    rules: tuple[Rule, ...] = ()
    """What to remember, should it be allowed always; none: it cannot be."""


class Approval:
    """Asks through the log and waits for the word that answers; nothing else is ever taken for an answer."""

    def __init__(
        self, log: EventLog, *, attended: bool, remember: Callable[[Sequence[Rule]], None] | None = None
    ) -> None:
        """`remember` keeps rules for the repository beyond this session; None: nothing can be allowed always."""
        self._log = log
        self._attended = attended
        self._remember = remember
        self._answers: dict[str, asyncio.Future[Answer]] = {}
        self._decisions: dict[str, asyncio.Future[Decide]] = {}
        self._amendments: dict[str, asyncio.Future[Amend]] = {}
        self._count = 0
        self._permitted: dict[ToolCall, bool] = {}
        """Of the newest question, what has not been carried out yet: an answer holds for one call, and ids of calls come again."""
        self.rules: tuple[Rule, ...] = ()
        """What has been allowed always in this session."""

    @property
    def attended(self) -> bool:
        """Is there somebody to answer?"""
        return self._attended

    async def permit(self, call: ToolCall, wishes: Sequence[Wish]) -> bool:
        """May the call be carried out? The first of a reply's wishes asks for all of them in one question."""
        if call not in self._permitted:
            option = await self._put(wishes)
            if option == ALWAYS and self._remember is not None:
                rules = tuple(rule for wish in wishes for rule in wish.rules)
                self.rules += rules
                self._remember(rules)
            self._permitted = {wish.call: option != REFUSE for wish in wishes}
        return self._permitted.pop(call)

    async def _put(self, wishes: Sequence[Wish]) -> str:
        lines = [f"{wish.text}   ({wish.why})" for wish in wishes]
        text = (
            f"Allow this? {lines[0]}"
            if len(lines) == 1
            else "\n".join(["Allow all of this?", *(f"  - {line}" for line in lines)])
        )
        lasting = self._remember is not None and all(wish.rules for wish in wishes)
        options = (ALLOW, ALWAYS, REFUSE) if lasting else (ALLOW, REFUSE)
        return await self.ask(text, options=options, default=REFUSE)

    async def ask(self, text: str, *, options: tuple[str, ...], default: str) -> str:
        """The option chosen; `default`, at once, where nobody attends."""
        question = self._name()
        self._log.append(QuestionAsked(question=question, text=text, options=options, default=default))
        if not self._attended:
            self._log.append(QuestionAnswered(question=question, option=default, by="default"))
            return default
        option = (await _reply(self._answers, question)).option
        option = option if option in options else default
        self._log.append(QuestionAnswered(question=question, option=option, by="person"))
        return option

    async def review(self, diff: str, droppable: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Numbers of the hunks of `diff` to deliver; all of them, at once, where nobody attends. `droppable` ones change no verdict."""
        question = self._name()
        self._log.append(ReviewAsked(question=question, diff=diff, droppable=droppable))
        if not self._attended:
            everything = tuple(range(len(hunks(diff))))
            self._log.append(ReviewAnswered(question=question, accepted=everything, by="default"))
            return everything
        accepted = (await _reply(self._decisions, question)).accepted
        self._log.append(ReviewAnswered(question=question, accepted=accepted, by="person"))
        return accepted

    async def plan(self, plan: Plan) -> Plan | None:
        """The plan as it is to be run, None for not at all; as it is, at once, where nobody attends."""
        question = self._name()
        self._log.append(PlanAsked(question=question, plan=plan))
        if not self._attended:
            self._log.append(PlanAnswered(question=question, plan=plan, by="default"))
            return plan
        wanted = (await _reply(self._amendments, question)).plan
        self._log.append(PlanAnswered(question=question, plan=wanted, by="person"))
        return wanted

    def answer(self, word: Answer | Decide | Amend) -> None:
        """Give the answer to a waiting question; one that nobody waits for is dropped."""
        match word:
            case Answer():
                _settle(self._answers, word)
            case Decide():
                _settle(self._decisions, word)
            case Amend():
                _settle(self._amendments, word)

    def _name(self) -> str:
        self._count += 1
        return f"q{self._count}"


async def _reply(waiting: dict[str, asyncio.Future[Reply]], question: str) -> Reply:
    waiting[question] = asyncio.get_running_loop().create_future()
    try:
        return await waiting[question]
    finally:
        del waiting[question]


def _settle(waiting: dict[str, asyncio.Future[Reply]], word: Reply) -> None:
    future = waiting.get(word.question)
    if future is not None and not future.done():
        future.set_result(word)
