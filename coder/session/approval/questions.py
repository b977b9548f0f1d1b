"""Questions to the user, each with a default answer for unattended sessions."""

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
from coder.patching.git_hunks import split_git_diff
from coder.permissions.command_rules import Rule
from coder.session.log import EventLog

Reply = TypeVar("Reply", Answer, Decide, Amend)
ALLOW, ALWAYS, REFUSE = "allow", "always", "refuse"


class ApprovalRequest(Value):
    """Request for permission to carry out one tool call."""

    call: ToolCall
    text: str
    """The action in one line: `run: pip install x`."""
    why: str
    """The reason for asking, in half a sentence."""
    rules: tuple[Rule, ...] = ()
    """Rules to remember if it is always allowed; empty if it cannot be."""


class Permission(Value):
    """Answer of the user to a request."""

    is_granted: bool
    instruction: str = ""
    """What the model should do instead."""


class Approval:
    """Asks the user through the event log and waits for the matching answer."""

    def __init__(
        self, log: EventLog, *, attended: bool, remember: Callable[[Sequence[Rule]], None] | None = None
    ) -> None:
        """Take `remember` to keep rules for the repository beyond this session; None disables "always"."""
        self._log = log
        self._attended = attended
        self._remember = remember
        self._answers: dict[str, asyncio.Future[Answer]] = {}
        self._decisions: dict[str, asyncio.Future[Decide]] = {}
        self._amendments: dict[str, asyncio.Future[Amend]] = {}
        self._count = 0
        self._permitted: dict[ToolCall, Permission] = {}
        """Decisions of the newest question that are not used yet.

        An answer holds for one call, because ids of calls repeat.
        """
        self.rules: tuple[Rule, ...] = ()
        """Rules for what the user has always allowed in this session."""

    @property
    def attended(self) -> bool:
        """Whether a user is there to answer."""
        return self._attended

    async def permit(self, call: ToolCall, requests: Sequence[ApprovalRequest]) -> Permission:
        """Return whether the call may be carried out, and what the user wants instead.

        The first of a reply's requests asks for all of them in one question.
        """
        if call not in self._permitted:
            answer = await self._ask_for_permission(requests)
            if answer.option == ALWAYS and self._remember is not None:
                rules = tuple(rule for request in requests for rule in request.rules)
                self.rules += rules
                self._remember(rules)
            permission = Permission(is_granted=answer.option != REFUSE, instruction=answer.instruction)
            self._permitted = {request.call: permission for request in requests}
        return self._permitted.pop(call)

    async def _ask_for_permission(self, requests: Sequence[ApprovalRequest]) -> QuestionAnswered:
        lines = [f"{request.text}   ({request.why})" for request in requests]
        text = (
            f"Allow this? {lines[0]}"
            if len(lines) == 1
            else "\n".join(["Allow all of this?", *(f"  - {line}" for line in lines)])
        )
        can_always_allow = self._remember is not None and all(request.rules for request in requests)
        if can_always_allow:
            rules = dict.fromkeys(str(rule) for request in requests for rule in request.rules)
            text += f"\n`{ALWAYS}` allows in this repository, from now on: {'; '.join(rules)}"
        options = (ALLOW, ALWAYS, REFUSE) if can_always_allow else (ALLOW, REFUSE)
        return await self._ask(text, options=options, default=REFUSE, takes_instruction=True)

    async def ask(self, text: str, *, options: tuple[str, ...], default: str) -> str:
        """Return the option that the user chooses, or immediately `default` if the session is unattended."""
        return (await self._ask(text, options=options, default=default)).option

    async def _ask(
        self, text: str, *, options: tuple[str, ...], default: str, takes_instruction: bool = False
    ) -> QuestionAnswered:
        question = QuestionAsked(
            question=self._next_question_id(),
            text=text,
            options=options,
            default=default,
            takes_instruction=takes_instruction,
        )
        self._log.append(question)
        answered = QuestionAnswered(question=question.question, option=default, by="default")
        if self._attended:
            answer = await _reply(self._answers, question.question)
            option = answer.option if answer.option in options else default
            instruction = answer.instruction if takes_instruction and option == default else ""
            answered = answered.model_copy(
                update={"option": option, "by": "person", "instruction": instruction}
            )
        self._log.append(answered)
        return answered

    async def review_diff(self, review: ReviewAsked) -> ReviewAnswered:
        """Return the user's decision on the hunks of a diff; immediately all of them if unattended.

        The question's id is given here.
        """
        question = self._next_question_id()
        self._log.append(review.model_copy(update={"question": question}))
        if not self._attended:
            all_hunks = tuple(range(len(split_git_diff(review.diff))))
            answer = ReviewAnswered(question=question, accepted=all_hunks, by="default")
        else:
            decision = await _reply(self._decisions, question)
            answer = ReviewAnswered(
                question=question,
                accepted=decision.accepted,
                comments=decision.comments,
                edits=decision.edits,
                refused=decision.refused,
                by="person",
            )
        self._log.append(answer)
        return answer

    async def review_plan(self, plan: Plan) -> Plan | None:
        """Return the plan to run, None if it is refused; immediately the plan itself if unattended."""
        question = self._next_question_id()
        self._log.append(PlanAsked(question=question, plan=plan))
        if not self._attended:
            self._log.append(PlanAnswered(question=question, plan=plan, by="default"))
            return plan
        approved_plan = (await _reply(self._amendments, question)).plan
        self._log.append(PlanAnswered(question=question, plan=approved_plan, by="person"))
        return approved_plan

    def deliver_answer(self, command: Answer | Decide | Amend) -> None:
        """Pass an answer to the question that waits for it; drop it if none does."""
        match command:
            case Answer():
                _resolve_future(self._answers, command)
            case Decide():
                _resolve_future(self._decisions, command)
            case Amend():
                _resolve_future(self._amendments, command)

    def _next_question_id(self) -> str:
        self._count += 1
        return f"q{self._count}"


async def _reply(waiting: dict[str, asyncio.Future[Reply]], question: str) -> Reply:
    waiting[question] = asyncio.get_running_loop().create_future()
    try:
        return await waiting[question]
    finally:
        del waiting[question]


def _resolve_future(waiting: dict[str, asyncio.Future[Reply]], word: Reply) -> None:
    future = waiting.get(word.question)
    if future is not None and not future.done():
        future.set_result(word)
