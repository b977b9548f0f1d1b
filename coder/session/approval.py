"""Approval of commands and packages: rules, questions to the user, missing dependencies."""

import asyncio
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any, TypeVar

from coder.core import events
from coder.core.notes import Plan
from coder.core.values import Value
from coder.files.regular_files import is_within
from coder.patching.git_hunks import split_git_diff
from coder.permissions.command_rules import (
    BUILT_IN,
    UNKNOWN,
    Action,
    Mode,
    ProgramRun,
    Rule,
    find_built_in_rule,
    may_leave_root,
    parse_command,
    pipes_download_into_shell,
    select_rule,
)
from coder.permissions.secrets import is_read_denied
from coder.session.log import EventLog

FindProgram = Callable[[str], str | None]


@dataclass(frozen=True, kw_only=True)
class Permissions:
    """Standing permissions that the user has granted; nothing a model says changes them."""

    mode: Mode = "auto-edit"
    is_sandboxed: bool = False
    """Whether commands run in a sandbox that keeps files and network out of reach."""
    rules: tuple[Rule, ...] = ()
    """The user's own rules and those by which a repository narrows them; they precede the built-in rules."""
    which: FindProgram = shutil.which


class PermissionDecision(Value):
    action: Action
    why: str = ""
    """Half a sentence for the user and the model."""
    network: bool = False
    """Whether it runs with network access once it is allowed."""
    rules: tuple[Rule, ...] = ()
    """Rules to remember if the user never wants to be asked again; empty if it must be asked each time."""


def decide_change(rights: Permissions) -> PermissionDecision:
    """Decide whether files of the candidate's worktree may be changed."""
    if rights.mode == "read-only":
        return PermissionDecision(action="deny", why="nothing is changed in the mode read-only")
    return PermissionDecision(action="ask" if rights.mode == "ask" else "allow", why="changes files")


def decide_server_tool(rights: Permissions, name: str) -> PermissionDecision:
    """Decide whether a tool of an MCP server may be called; rules name it like a program.

    What a server says of its tools, such as that they only read, decides nothing.
    """
    rule = select_rule(rights.rules, ProgramRun(words=(name,)))
    if rule is not None and rule.action == "deny":
        return PermissionDecision(action="deny", why=rule.why)
    is_asked = rule is not None and rule.action == "ask"
    if (rights.mode == "full" and not is_asked) or (rule is not None and rule.action == "allow"):
        return PermissionDecision(action="allow")
    why = "is done by an MCP server, outside the sandbox"
    if rights.mode == "read-only":
        return PermissionDecision(action="deny", why=f"{why}: the mode read-only does not allow that")
    always = Rule(action="allow", program=escape(name), why="as you have said before")
    return PermissionDecision(action="ask", why=why, rules=(always,))


def decide_command(
    rights: Permissions, command: str, *, root: Path, network: bool = False
) -> PermissionDecision:
    """Decide whether a shell command may run in `root`; `network` tells if it is meant to use the network."""
    parsed = parse_command(command)
    runs = [_find_file(run, root, rights.which) for run in parsed.runs]
    rules = [
        select_rule(rights.rules, run)
        or find_built_in_rule(run, root=str(root), is_sandboxed=rights.is_sandboxed)
        for run in runs
    ]
    if pipes_download_into_shell(runs):
        return PermissionDecision(action="deny", why="feeds a shell with what comes from the network")
    for rule in rules:
        if rule is not None and rule.action == "deny":
            return PermissionDecision(action="deny", why=rule.why)
    reasons = dict.fromkeys(rule.why for rule in rules if rule and rule.action == "ask")
    doubts = [parsed.unsure] if parsed.unsure else []
    if any(rule.may_match(run) for run in runs if not run.is_literal for rule in (*rights.rules, *BUILT_IN)):
        doubts.append("an argument is only known when it runs")
    doubts += [f"reads {name}" for name in parsed.files if is_read_denied(name)]
    is_plain = (
        not (doubts or parsed.sets_variables)
        and all(run.is_literal for run in runs)
        and not any(UNKNOWN in name or may_leave_root(name, str(root)) for name in parsed.files)
    )
    is_allowed = is_plain and bool(runs) and all(rule and rule.action == "allow" for rule in rules)
    has_network_rule = any(rule.network for rule in rules if rule)
    needs_network = network or has_network_rule
    if network and not reasons and not (is_allowed and has_network_rule):
        doubts.append("wants the network")
    reasons.update(dict.fromkeys(doubts))
    is_held = rights.is_sandboxed and rights.mode != "ask"
    if rights.mode == "full" or (not reasons and (is_allowed or is_held)):
        return PermissionDecision(action="allow", network=needs_network)
    why = "; ".join(reasons) or ("runs a program" if rights.is_sandboxed else "runs without a sandbox")
    if rights.mode == "read-only":
        return PermissionDecision(action="deny", why=f"{why}: the mode read-only does not allow that")
    exact_rules = tuple(
        Rule(
            action="allow",
            program=escape(run.words[0]),
            arguments=tuple(map(escape, run.arguments)),
            why="as you have said before",
            network=needs_network,
        )
        for run in runs
        if is_plain and not run.is_own
    )
    return PermissionDecision(action="ask", why=why, network=needs_network, rules=exact_rules)


def _find_file(run: ProgramRun, root: Path, which: FindProgram) -> ProgramRun:
    """Return the run with the name of the file that it starts, and whether the project brings it along."""
    program = run.words[0]
    path = which(program) if "/" not in program else str(root / program)
    is_own = path is None or "/" in program or is_within(Path(path), root)
    file = Path(os.path.realpath(path or program)).name
    return run.model_copy(update={"file": file, "is_own": is_own})


Reply = TypeVar("Reply", bound=events.UserAnswer)


class Approval:
    """Asks the user through the event log and waits for the matching answer."""

    def __init__(
        self, log: EventLog, *, attended: bool, remember: Callable[[Sequence[Rule]], None] | None = None
    ) -> None:
        """Take `remember` to keep rules for the repository beyond this session; None disables "always"."""
        self._log = log
        self.attended = attended
        """Whether a user can answer."""
        self._remember = remember
        self._waiting: dict[tuple[type[Value], str], asyncio.Future[Any]] = {}
        """Questions without an answer, by its type and their id."""
        self._count = 0
        self.rules: tuple[Rule, ...] = ()
        """Rules for what the user has always allowed in this session."""

    async def permit(self, action: str, decision: PermissionDecision) -> events.QuestionAnswered:
        """Return whether a call may be carried out (REFUSE: it may not), and what is to be done instead.

        `action` is its description in one line: `run: pip install x`.
        """
        text = f"Allow this? {action}   ({decision.why})"
        options: tuple[str, ...] = (events.ALLOW, events.REFUSE)
        if self._remember is not None and decision.rules:
            rules = "; ".join(dict.fromkeys(map(str, decision.rules)))
            text += f"\n`{events.ALWAYS}` allows in this repository, from now on: {rules}"
            options = (events.ALLOW, events.ALWAYS, events.REFUSE)
        answer = await self._ask(text, options=options, default=events.REFUSE, takes_instruction=True)
        if answer.option == events.ALWAYS and self._remember is not None:
            self.rules += decision.rules
            self._remember(decision.rules)
        return answer

    async def ask(
        self, text: str, *, options: tuple[str, ...], default: str, takes_text: bool = False
    ) -> str:
        """Return the option that the user chooses, or immediately `default` if the session is unattended.

        With `takes_text` the user may type another answer instead of the default.
        """
        answer = await self._ask(text, options=options, default=default, takes_instruction=takes_text)
        return answer.instruction.strip() or answer.option

    async def _ask(
        self, text: str, *, options: tuple[str, ...], default: str, takes_instruction: bool = False
    ) -> events.QuestionAnswered:
        question = events.QuestionAsked(
            question=self._next_question_id(),
            text=text,
            options=options,
            default=default,
            takes_instruction=takes_instruction,
        )
        self._log.append(question)
        answered = events.QuestionAnswered(question=question.question, option=default, by="default")
        if self.attended:
            answered = await self._wait_for(events.QuestionAnswered, question.question)
            option = answered.option if answered.option in options else default
            instruction = answered.instruction if takes_instruction and option == default else ""
            answered = answered.model_copy(update={"option": option, "instruction": instruction})
        self._log.append(answered)
        return answered

    async def review_diff(self, review: events.ReviewAsked) -> events.ReviewAnswered:
        """Return the user's decision on the hunks of a diff; immediately all of them if unattended.

        The question's id is given here.
        """
        question = self._next_question_id()
        self._log.append(review.model_copy(update={"question": question}))
        if self.attended:
            answer = await self._wait_for(events.ReviewAnswered, question)
        else:
            all_hunks = tuple(range(len(split_git_diff(review.diff))))
            answer = events.ReviewAnswered(question=question, accepted=all_hunks, by="default")
        self._log.append(answer)
        return answer

    async def review_plan(self, plan: Plan) -> Plan | None:
        """Return the plan to run, None if it is refused; immediately the plan itself if unattended."""
        question = self._next_question_id()
        self._log.append(events.PlanAsked(question=question, plan=plan))
        answer = (
            await self._wait_for(events.PlanAnswered, question)
            if self.attended
            else events.PlanAnswered(question=question, plan=plan, by="default")
        )
        self._log.append(answer)
        return answer.plan

    def deliver_answer(self, command: events.UserAnswer) -> None:
        """Pass an answer to the question that waits for it; drop it if none does."""
        future = self._waiting.get((type(command), command.question))
        if future is not None and not future.done():
            future.set_result(command)

    async def _wait_for(self, kind: type[Reply], question: str) -> Reply:
        future = self._waiting[kind, question] = asyncio.get_running_loop().create_future()
        try:
            reply: Reply = await future
            return reply
        finally:
            del self._waiting[kind, question]

    def _next_question_id(self) -> str:
        self._count += 1
        return f"q{self._count}"
