"""Questions to the person, each with an answer that holds when nobody gives one."""

import asyncio

from coder.core.events import QuestionAnswered, QuestionAsked
from coder.core.words import Answer
from coder.loop.log import EventLog


class Approval:
    """Asks through the log and waits for the word that answers."""

    def __init__(self, log: EventLog, *, attended: bool) -> None:
        self._log = log
        self._attended = attended
        self._waiting: dict[str, asyncio.Future[str]] = {}
        self._count = 0

    async def ask(self, text: str, *, options: tuple[str, ...], default: str) -> str:
        """The option chosen; `default`, at once, where nobody attends."""
        self._count += 1
        question = f"q{self._count}"
        self._log.append(QuestionAsked(question=question, text=text, options=options, default=default))
        if not self._attended:
            self._log.append(QuestionAnswered(question=question, option=default, by="default"))
            return default
        self._waiting[question] = asyncio.get_running_loop().create_future()
        try:
            option = await self._waiting[question]
        finally:
            del self._waiting[question]
        self._log.append(QuestionAnswered(question=question, option=option, by="person"))
        return option

    def answer(self, word: Answer) -> None:
        """Give the answer to a waiting question; one that nobody waits for is dropped."""
        waiting = self._waiting.get(word.question)
        if waiting is not None and not waiting.done():
            waiting.set_result(word.option)
