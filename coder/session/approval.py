"""Approval of commands and packages: rules, questions to the user, missing dependencies."""

import asyncio
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any, Literal, TypeVar

from coder.core import events
from coder.core.notes import Plan
from coder.core.values import Value
from coder.files.regular_files import is_within
from coder.patching.git_hunks import split_git_diff
from coder.permissions.command_rules import (
    SCRATCH,
    Action,
    Mode,
    ParsedCommand,
    ProgramRun,
    Rule,
    depends_on_arguments,
    find_built_in_rule,
    find_program_runs,
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
    rule = select_rule(rights.rules, ProgramRun(names=(name,)))
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
    parsed_command = parse_command(command)
    runs_found, uncertainty = find_program_runs(parsed_command)
    resolved_runs = [_resolve_program(run, root, rights.which) for run in runs_found]
    matching_rules = [_find_rule(rights, run, root) for run in resolved_runs]
    if denial := _denial_reason(resolved_runs, matching_rules):
        return PermissionDecision(action="deny", why=denial)
    doubts = [*([uncertainty] if uncertainty else []), *_unsafe_redirections(parsed_command, rights, root)]
    if any(not run.known and depends_on_arguments(rights.rules, run) for run in resolved_runs):
        doubts.append("an argument is only known when it runs")
    ask_reasons = dict.fromkeys(rule.why for rule in matching_rules if rule and rule.action == "ask")
    is_allowed = bool(matching_rules) and all(
        rule is not None and rule.action == "allow" for rule in matching_rules
    )
    needs_network = network or any(rule.network for rule in matching_rules if rule)
    network_is_allowed = is_allowed and any(rule.network for rule in matching_rules if rule)
    reasons = [
        *ask_reasons,
        *doubts,
        *(["wants the network"] if network and not network_is_allowed and not ask_reasons else []),
    ]
    runs_without_asking = rights.mode == "full" or (
        not reasons and (is_allowed or (rights.is_sandboxed and rights.mode != "ask"))
    )
    if runs_without_asking:
        return PermissionDecision(action="allow", network=needs_network)
    why = "; ".join(reasons) or ("runs a program" if rights.is_sandboxed else "runs without a sandbox")
    if rights.mode == "read-only":
        return PermissionDecision(action="deny", why=f"{why}: the mode read-only does not allow that")
    is_certain = not doubts and all(run.sure for run in resolved_runs)
    return PermissionDecision(
        action="ask",
        why=why,
        network=needs_network,
        rules=_exact_rules(resolved_runs, needs_network) if is_certain else (),
    )


def _denial_reason(runs_found: Sequence[ProgramRun], matching_rules: Sequence[Rule | None]) -> str:
    """Return why these runs are never allowed; empty if they may be."""
    if pipes_download_into_shell(runs_found):
        return "feeds a shell with what comes from the network"
    return next((rule.why for rule in matching_rules if rule and rule.action == "deny"), "")


def _find_rule(rights: Permissions, run: ProgramRun, root: Path) -> Rule | None:
    user_rule = select_rule(rights.rules, run)
    return user_rule or find_built_in_rule(run, root=str(root), is_sandboxed=rights.is_sandboxed)


def _unsafe_redirections(parsed_command: ParsedCommand, rights: Permissions, root: Path) -> list[str]:
    """Return redirections that forbid running without asking, whatever programs the command starts."""
    doubts = []
    for redirection in (
        redirection for simple in parsed_command.commands for redirection in simple.redirections
    ):
        target = redirection.target
        is_scratch = rights.is_sandboxed and SCRATCH.fullmatch(target.text) is not None
        is_unsafe = not is_scratch and (
            not target.sure or may_leave_root(target.text, str(root)) or is_read_denied(target.text)
        )
        if is_unsafe or (redirection.writes and rights.mode == "read-only"):
            scratch = (
                ": scratch files belong in $TMPDIR" if rights.is_sandboxed and redirection.writes else ""
            )
            doubts.append(f"{'writes to' if redirection.writes else 'reads'} {target.text}{scratch}")
    return doubts


def _resolve_program(run: ProgramRun, root: Path, which: FindProgram) -> ProgramRun:
    """Return the run with the names its program goes by, and whether the project brings the program along."""
    typed_name = run.names[0]
    name = typed_name.rpartition("/")[2]
    path = root / typed_name if "/" in typed_name else Path(which(typed_name) or typed_name)
    real_path = Path(os.path.realpath(path))
    path_on_search_path = which(name)
    is_own = (
        is_within(path, root)
        or path_on_search_path is None
        or os.path.realpath(path_on_search_path) != str(real_path)
    )
    has_outward_link = any(_is_link_out(argument, root) for argument in run.arguments)
    return run.model_copy(
        update={"names": (name, real_path.name), "own": is_own, "sure": run.sure and not has_outward_link}
    )


def _is_link_out(argument: str, root: Path) -> bool:
    """Tell whether the argument is a repository path that resolves to outside of it, or to a private file."""
    if argument.startswith("-") or len(argument) > 1000 or "\0" in argument:
        return False
    if not os.path.lexists(root / argument):
        return False
    real_path = os.path.realpath(root / argument)
    return not is_within(real_path, root) or is_read_denied(
        os.path.relpath(real_path, os.path.realpath(root))
    )


def _exact_rules(runs_found: Sequence[ProgramRun], network: bool) -> tuple[Rule, ...]:
    """Return rules that allow exactly these runs and no others."""
    return tuple(
        Rule(
            action="allow",
            program=escape(run.names[0]),
            arguments=tuple(map(escape, run.arguments)),
            why="as you have said before",
            network=network,
        )
        for run in runs_found
        if not run.own
    )


Reply = TypeVar("Reply", events.Answer, events.Decide, events.Amend)


class ApprovalRequest(Value):
    text: str
    """The action in one line: `run: pip install x`."""
    why: str
    """The reason for asking, in half a sentence."""
    rules: tuple[Rule, ...] = ()
    """Rules to remember if it is always allowed; empty if it cannot be."""


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

    async def permit(self, request: ApprovalRequest) -> events.QuestionAnswered:
        """Return whether a call may be carried out (REFUSE: it may not), and what is to be done instead."""
        text = f"Allow this? {request.text}   ({request.why})"
        options: tuple[str, ...] = (events.ALLOW, events.REFUSE)
        if self._remember is not None and request.rules:
            rules = "; ".join(dict.fromkeys(map(str, request.rules)))
            text += f"\n`{events.ALWAYS}` allows in this repository, from now on: {rules}"
            options = (events.ALLOW, events.ALWAYS, events.REFUSE)
        answer = await self._ask(text, options=options, default=events.REFUSE, takes_instruction=True)
        if answer.option == events.ALWAYS and self._remember is not None:
            self.rules += request.rules
            self._remember(request.rules)
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
            answer = await self._wait_for(events.Answer, question.question)
            option = answer.option if answer.option in options else default
            instruction = answer.instruction if takes_instruction and option == default else ""
            answered = answered.model_copy(
                update={"option": option, "by": "person", "instruction": instruction}
            )
        self._log.append(answered)
        return answered

    async def review_diff(self, review: events.ReviewAsked) -> events.ReviewAnswered:
        """Return the user's decision on the hunks of a diff; immediately all of them if unattended.

        The question's id is given here.
        """
        question = self._next_question_id()
        self._log.append(review.model_copy(update={"question": question}))
        if self.attended:
            decision = await self._wait_for(events.Decide, question)
            answer = events.ReviewAnswered(**decision.model_dump(), by="person")
        else:
            all_hunks = tuple(range(len(split_git_diff(review.diff))))
            answer = events.ReviewAnswered(question=question, accepted=all_hunks, by="default")
        self._log.append(answer)
        return answer

    async def review_plan(self, plan: Plan) -> Plan | None:
        """Return the plan to run, None if it is refused; immediately the plan itself if unattended."""
        question = self._next_question_id()
        self._log.append(events.PlanAsked(question=question, plan=plan))
        chosen = (await self._wait_for(events.Amend, question)).plan if self.attended else plan
        by: Literal["person", "default"] = "person" if self.attended else "default"
        self._log.append(events.PlanAnswered(question=question, plan=chosen, by=by))
        return chosen

    def deliver_answer(self, command: events.Answer | events.Decide | events.Amend) -> None:
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
