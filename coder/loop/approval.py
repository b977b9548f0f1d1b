"""Questions to the person, each with an answer that holds when nobody gives one."""

import asyncio
from typing import TypeVar

from coder.core.events import QuestionAnswered, QuestionAsked, ReviewAnswered, ReviewAsked
from coder.core.hunks import hunks
from coder.core.words import Answer, Decide
from coder.loop.log import EventLog

Reply = TypeVar("Reply", Answer, Decide)


class Approval:
    """Asks through the log and waits for the word that answers."""

    def __init__(self, log: EventLog, *, attended: bool) -> None:
        self._log = log
        self._attended = attended
        self._answers: dict[str, asyncio.Future[Answer]] = {}
        self._decisions: dict[str, asyncio.Future[Decide]] = {}
        self._count = 0

    async def ask(self, text: str, *, options: tuple[str, ...], default: str) -> str:
        """The option chosen; `default`, at once, where nobody attends."""
        question = self._name()
        self._log.append(QuestionAsked(question=question, text=text, options=options, default=default))
        if not self._attended:
            self._log.append(QuestionAnswered(question=question, option=default, by="default"))
            return default
        option = (await _reply(self._answers, question)).option
        self._log.append(QuestionAnswered(question=question, option=option, by="person"))
        return option

    async def review(self, diff: str) -> tuple[int, ...]:
        """Numbers of the hunks of `diff` to deliver; all of them, at once, where nobody attends."""
        question = self._name()
        self._log.append(ReviewAsked(question=question, diff=diff))
        if not self._attended:
            everything = tuple(range(len(hunks(diff))))
            self._log.append(ReviewAnswered(question=question, accepted=everything, by="default"))
            return everything
        accepted = (await _reply(self._decisions, question)).accepted
        self._log.append(ReviewAnswered(question=question, accepted=accepted, by="person"))
        return accepted

    def answer(self, word: Answer | Decide) -> None:
        """Give the answer to a waiting question; one that nobody waits for is dropped."""
        match word:
            case Answer():
                _settle(self._answers, word)
            case Decide():
                _settle(self._decisions, word)

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
