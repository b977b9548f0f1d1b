"""Judgement of what a coding agent, or a push, leaves in a repository."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coder import api
from coder.core.errors import CoderError, UserError
from coder.directories import state_directory
from coder.hooks.agents import Agent, AgentSession, read_session, state_file, write_session
from coder.repo.existing_change import PushedBranch, WorkTreeState, find_pushed_branches, read_work_tree

MOST_CHARACTERS = 6_000
"""Longest report that is sent back to an agent."""
Judge = Callable[..., api.Result]


def answer_agent(
    agent: Agent, event: Mapping[str, Any], *, rounds: int, judge: Judge = api.verify
) -> dict[str, str]:
    """Return the answer to an event of an agent's session; empty if there is nothing to say.

    A refusal makes the agent continue, at most `rounds` times in one turn of the user's. What cannot be
    judged is never refused.
    """
    name, directory = event.get("hook_event_name"), Path(str(event.get("cwd") or "."))
    if name not in agent.events:
        return {}
    try:
        state = read_work_tree(directory)
    except UserError:
        return {}  # no repository, or one without commits
    path = state_file(
        state_directory(), agent=agent.name, session=str(event.get("session_id", "")), root=state.root
    )
    stored = read_session(path)
    session = stored or AgentSession(base=state.head, tree=state.tree)
    if stored is None:
        if name == agent.stop_event:  # the hook is newer than the session: its uncommitted work counts
            session = session.model_copy(update={"tree": ""})
        write_session(path, session)
    if name == agent.start_event or state.tree in (session.tree, state.base_tree(session.base)):
        return {}
    if state.tree == session.judged:
        return _refuse(agent, session, path, rounds=rounds) if session.refusal else {}
    try:
        result = judge(repository=state.root, against=state.find_base(session.base))
    except CoderError as error:
        return {"systemMessage": f"coder could not judge the change: {error}"}
    refusal = refusal_reason(result)
    is_continued = bool(refusal) and event.get("stop_hook_active", True)
    session = session.model_copy(
        update={
            "judged": state.tree,
            "refusal": refusal,
            "rounds": session.rounds if is_continued else 0,
        }
    )
    if refusal:
        return _refuse(agent, session, path, rounds=rounds)
    write_session(path, session)
    return {"systemMessage": f"coder verify: {result.label}. {result.summary}"}


def _refuse(agent: Agent, session: AgentSession, path: Path, *, rounds: int) -> dict[str, str]:
    """Send the agent back, tell the user once that this was in vain, and then be silent."""
    write_session(path, session.model_copy(update={"rounds": session.rounds + 1}))
    if session.rounds < rounds:
        return {"decision": agent.refusal, "reason": session.refusal}
    first_line = session.refusal.partition("\n")[0]
    message = f"{first_line} The agent was sent back {rounds} times: now it is your turn."
    return {"systemMessage": message} if session.rounds == rounds else {}


def refusal_reason(result: api.Result) -> str:
    """Return why a change is sent back, with the evidence; empty if it is not."""
    if result.label not in ("BROKEN", "NOT FIXED"):
        return ""
    report = result.report
    if len(report) > MOST_CHARACTERS:
        report = f"{report[:MOST_CHARACTERS]}\n(shortened; all of it: coder log show {result.session})\n"
    return (
        f"coder verify: {result.label}. {result.summary}\n\n"
        "Correct the change. Do not weaken, skip or delete tests to pass.\n\n"
        f"{report}"
    )


def judge_push(
    directory: Path, lines: str, *, remote: str, judge: Judge = api.verify
) -> Iterator[tuple[PushedBranch, api.Result]]:
    """Judge each branch that a push changes; `lines` are those that git gives to a pre-push hook.

    Raises:
        CoderError: a branch cannot be judged.
    """
    for branch in find_pushed_branches(directory, lines, remote=remote):
        yield branch, judge(branch.commit, repository=directory, against=branch.base)


QUIET_SECONDS = 2.0
"""Time without an edit before a change is judged."""
LOOK_SHARE = 20
"""Looking at the work tree may take one part in so many of the time."""


@dataclass(frozen=True, kw_only=True)
class LiveVerdict:
    """The judgement of one state of a checkout."""

    tree: str
    result: api.Result | None
    """None if there is no change, or it could not be judged."""
    text: str
    """One sentence."""


def watch_verdicts(
    directory: Path,
    *,
    base: str = "",
    judge: Judge = api.verify,
    read: Callable[[Path], WorkTreeState] = read_work_tree,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[LiveVerdict]:
    """Yield a verdict on each state in which a checkout comes to rest, without end.

    Commits made meanwhile belong to the change. `base` is the commit to compare with; empty is the present
    HEAD.

    Raises:
        UserError: there is no repository that can be worked with.
    """
    first = read(directory)
    base = base or first.head
    seen, judged, quiet_since = first.tree, "", clock() - QUIET_SECONDS
    if first.tree == first.base_tree(base):
        judged = first.tree
    while True:
        looked_at = clock()
        state = read(directory)
        if state.tree != seen:
            seen, quiet_since = state.tree, clock()
        elif seen != judged and clock() - quiet_since >= QUIET_SECONDS:
            judged = seen
            yield _judge(state, base, judge)
            continue
        sleep(max(QUIET_SECONDS / 4, LOOK_SHARE * (clock() - looked_at)))


def _judge(state: WorkTreeState, base: str, judge: Judge) -> LiveVerdict:
    if state.tree == state.base_tree(base):
        return LiveVerdict(tree=state.tree, result=None, text="Nothing differs from the start any more.")
    try:
        result = judge(repository=state.root, against=state.find_base(base))
    except CoderError as error:
        return LiveVerdict(tree=state.tree, result=None, text=str(error))
    return LiveVerdict(tree=state.tree, result=result, text=result.summary)
