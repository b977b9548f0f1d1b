"""Judgement of what a coding agent, or a push, leaves in a repository."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coder.core.errors import CoderError, UserError
from coder.core.paths import is_test_path
from coder.files.regular_files import state_directory
from coder.hooks.agents import Agent, AgentSession, read_session, state_file, text_digest, write_session
from coder.repo.git import state_lock
from coder.repo.history import PushedBranch, WorkTreeState, find_pushed_branches, read_work_tree

if TYPE_CHECKING:
    from coder.api import Result

Judge = Callable[..., "Result"]
Answer = dict[str, str]
TURN_ROUNDS, SESSION_ROUNDS = 3, 6
"""Refusals in one turn, and in one session: agents differ in how they mark turns."""
YOUR_TURN = "now it is your turn."
SHOWN_NAMES = 3
LINE_CHARACTERS = 300
"""Agents show a refusal to the user as an error, so it has six lines of this length at most."""


def answer_agent(agent: Agent, event: Mapping[str, Any], *, judge: Judge, project: str = "") -> Answer:
    """Return the answer to an event of an agent's session; empty if there is nothing to say.

    What the session changed is judged: its start is compared with now. A refusal makes the agent continue, at
    most three times in one turn of the user's. What cannot be judged is never refused. `project` is the
    directory that the agent was started in, where it tells.
    """
    name = event.get("hook_event_name")
    if name not in agent.events:
        return {}
    directory = project or str(event.get("cwd") or ".")
    identity = str(event.get("session_id") or directory)
    path = state_file(state_directory(), agent=agent.name, session=identity)
    with state_lock(path.with_suffix(".lock")):  # a hook that is installed twice judges once
        stored = read_session(path)
        try:
            state = read_work_tree(stored.root if stored else Path(directory))
        except UserError:
            return {}  # no repository, or one without commits
        session = stored or _begin_session(state, is_start_known=name == agent.start_event)
        if name == agent.start_event:
            write_session(path, session)
            return {}
        return _TurnEnd(agent, event, path, state, judge).answer(session)


def _begin_session(state: WorkTreeState, *, is_start_known: bool) -> AgentSession:
    start = state.commit if is_start_known else state.head
    return AgentSession(
        root=state.root,
        head=state.head,
        start=start,
        tree=state.git.resolve_tree(start),
        is_start_known=is_start_known,
        hidden=dict(state.hidden),
    )


@dataclass(frozen=True)
class _TurnEnd:
    agent: Agent
    event: Mapping[str, Any]
    path: Path
    state: WorkTreeState
    judge: Judge

    def answer(self, session: AgentSession) -> Answer:
        """Return the answer, and store what the session is from now on."""
        tree = self.state.tree
        if tree == session.tree:
            return self._tell(session, self._hidden_message(session, "coder verify judged nothing."))
        if tree == session.judged:
            return self._tell(session, self._unchanged_message(session))
        base = self.state.find_start(head=session.head, commit=session.start)
        changed = self.state.changed_paths(base)
        if not changed:
            return self._tell(session, self._hidden_message(session, "coder verify judged nothing."))
        if all(map(is_test_path, changed)):
            text = f"coder: only tests changed ({join_names(changed)}); judged once the source changes."
            return self._tell(session, text)
        return self._judge(session, base, changed)

    def _judge(self, session: AgentSession, base: str, changed: Sequence[str]) -> Answer:
        tree, idle = self.state.tree, replace(session, judging="")
        was_stopped = session.judging == tree
        write_session(self.path, replace(session, judging=tree))
        try:
            result = self.judge(repository=self.state.root, against=base)
        except CoderError as error:
            return self._tell(idle, f"coder could not judge the change: {error}")
        if result.label == "stopped":
            return self._tell(idle, f"coder verify was stopped before its verdict. {result.summary}")
        hidden = self._hidden_message(session, "")
        label = "FIXED" if hidden and result.label == "PROVEN" else result.label
        message = f"coder verify: {label}. {result.summary}{hidden}{self._lost_message(session)}"
        if was_stopped:
            message = f"The last check of this state was stopped before its end. {message}"
        judged = replace(idle, judged=tree, verdict=result.label, failing=())
        if session.is_start_known:
            return self._conclude(session, judged, result, changed, message)
        # What was there before is not known, so nothing is refused; the next turn is judged from here.
        message += " Judged against HEAD: the session's start was not seen."
        start = replace(judged, start=self.state.commit, head=self.state.head, tree=tree, is_start_known=True)
        start = replace(start, hidden=dict(self.state.hidden))
        return self._tell(start, message)

    def _conclude(
        self,
        session: AgentSession,
        judged: AgentSession,
        result: "Result",
        changed: Sequence[str],
        message: str,
    ) -> Answer:
        failing = failing_tests(result)
        if not failing:
            return self._tell(replace(judged, rounds=0), message)
        rounds = session.rounds * self._is_continued(session) + 1
        is_refused = rounds <= TURN_ROUNDS and session.refusals < SESSION_ROUNDS
        refusals = session.refusals + is_refused
        marked = replace(judged, failing=failing, rounds=rounds, refusals=refusals, message="")
        refused = replace(marked, **self._turn_marks())
        if not is_refused:
            is_committed = self.state.git.resolve_tree(self.state.head) == self.state.tree
            if is_committed and self.state.head != session.head:
                from coder.repo.delivery import add_note

                add_note(self.state.git, self.state.head, result.report)
            return self._tell(refused, f"{message} The agent was sent back in vain: {YOUR_TURN}")
        write_session(self.path, refused)
        reason = refusal_text(result, earlier=session.failing, changed=changed)
        lost = self._lost_message(session).strip()
        return {"decision": self.agent.refusal, "reason": reason, **({"systemMessage": lost} if lost else {})}

    def _tell(self, session: AgentSession, message: str) -> Answer:
        """Store the session and return a message to the user, unless it is the last one again."""
        write_session(self.path, replace(session, message=message or session.message))
        return {"systemMessage": message} if message and message != session.message else {}

    def _unchanged_message(self, session: AgentSession) -> str:
        if not session.failing or session.message.endswith(YOUR_TURN):
            return ""
        names = join_names(session.failing)
        return f"coder verify: {session.verdict}, and the agent left it so: {names}; {YOUR_TURN}"

    def _hidden_message(self, session: AgentSession, head: str) -> str:
        """Return a sentence about edits that git does not show; empty if there are none."""
        hidden = [name for name, state in self.state.hidden.items() if session.hidden.get(name) != state]
        return f"{head} Changed, but not judged: {join_names(hidden)}." if hidden else ""

    def _lost_message(self, session: AgentSession) -> str:
        """Return a sentence about the user's own work that the agent undid; empty if there is none."""
        lost = self.state.lost_paths(head=session.head, commit=session.start)
        if not lost:
            return ""
        return (
            f" Uncommitted work from before the session is gone from {join_names(lost)}; git still has it: "
            f"git show {session.start[:12]}:{lost[0]}"
        )

    def _is_continued(self, session: AgentSession) -> bool:
        if self.event.get("stop_hook_active", "prompt" not in self.event):
            return True
        # Gemini CLI marks a continued turn only as long as no tool was called in it.
        prompt, answer = (str(self.event.get(name) or "") for name in ("prompt", "prompt_response"))
        is_same_prompt = bool(prompt) and text_digest(prompt) == session.prompt
        return is_same_prompt and text_digest(answer[: session.answer_characters]) == session.answer

    def _turn_marks(self) -> dict[str, Any]:
        prompt, answer = (str(self.event.get(name) or "") for name in ("prompt", "prompt_response"))
        return {
            "prompt": text_digest(prompt) if prompt else "",
            "answer": text_digest(answer),
            "answer_characters": len(answer),
        }


def failing_tests(result: "Result") -> tuple[str, ...]:
    """Return why a change is sent back: the tests that it broke or left red; empty if it is not."""
    verdict = result.verdict
    if verdict is None or result.label not in ("BROKEN", "NOT FIXED"):
        return ()
    if result.label == "BROKEN":
        return tuple(test.id for test in verdict.broken) or (result.summary,)
    # A whole command that fails as before the session is not the agent's doing.
    commands = {run.command for run in verdict.runs}
    return tuple(test.id for test in verdict.still_red if test.id not in commands)


def refusal_text(result: "Result", *, earlier: Sequence[str], changed: Sequence[str]) -> str:
    """Return what sends an agent back, in six lines at most.

    No line may be satisfied by taking work back: what is in the tree may be the user's.
    """
    from coder.workspace.workspace import format_count

    verdict, failing = result.verdict, failing_tests(result)
    assert verdict is not None
    failures = {test.id: test.failure for test in verdict.failures}
    first = failures.get(failing[0])
    error = f": {first.type}: {first.message.partition(chr(10))[0]}" if first else ""
    since = "passed when this session began and fail now" if verdict.broken else "came with it and fail"
    red_before = verdict.before.failed if verdict.before else 0
    lines = [f"coder verify: {result.label}. {result.summary}"]
    if failures:
        lines.append(f"Tests that {since}: {join_names(failing)}{error}")
    lines.append(f"Changed in this session: {join_names(changed)}.")
    if earlier:
        new = [name for name in failing if name not in earlier]
        passing = [name for name in earlier if name not in failing]
        parts = [f"failing now: {join_names(new)}"] if new else []
        parts += [f"passing again: {join_names(passing)}"] if passing else []
        lines.append(f"Since the last refusal: {'; '.join(parts) or 'the same tests fail'}.")
    if red_before:
        lines.append(f"Not counted, since red before the session: {format_count(red_before, 'test')}.")
    lines.append(
        "Go on with the task until these pass with it. Take nothing back (no checkout, restore, stash or "
        "deletion): other work is in this tree too. Weaken and skip no test. Evidence: coder log evidence "
        f"{result.session}"
    )
    return "\n".join(line if len(line) <= LINE_CHARACTERS else f"{line[:LINE_CHARACTERS]}…" for line in lines)


def join_names(names: Sequence[str]) -> str:
    """Return the first few names, and the number of the others."""
    rest = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def judge_push(
    directory: Path, lines: str, *, remote: str, judge: Judge
) -> Iterator[tuple[PushedBranch, "Result | None"]]:
    """Judge each branch that a push changes; `lines` are those that git gives to a pre-push hook.

    A branch with an obstacle has no result.

    Raises:
        CoderError: a branch cannot be judged.
    """
    for branch in find_pushed_branches(directory, lines, remote=remote):
        if branch.obstacle:
            yield branch, None
        else:
            yield branch, judge(branch.commit, repository=directory, against=branch.base)


def is_push_refused(branch: PushedBranch, result: "Result") -> bool:
    """Tell whether a push is refused: where an agent would be sent back, which is not for tests alone."""
    return bool(failing_tests(result)) and not all(map(is_test_path, branch.changed))


QUIET_SECONDS = 2.0
"""Time without an edit before a change is judged."""
LOOK_SHARE = 20
"""Looking at the work tree may take one part in so many of the time."""


@dataclass(frozen=True, kw_only=True)
class LiveVerdict:
    """The judgement of one state of a checkout."""

    tree: str
    result: "Result | None"
    """None if there is no change, or it could not be judged."""
    text: str
    """One sentence."""


def watch_verdicts(
    directory: Path,
    *,
    base: str = "",
    judge: Judge,
    report_start: Callable[[Sequence[str]], None] = lambda _paths: None,
    read: Callable[[Path], WorkTreeState] = read_work_tree,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[LiveVerdict]:
    """Yield a verdict on each state in which a checkout comes to rest, without end.

    Commits made meanwhile belong to the change. `base` is the commit to compare with; empty is the present
    HEAD. `report_start` is called with the changed paths before each judgement.

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
            yield _judge(state, base, judge, report_start)
            continue
        sleep(max(QUIET_SECONDS / 4, LOOK_SHARE * (clock() - looked_at)))


def _judge(
    state: WorkTreeState, base: str, judge: Judge, report_start: Callable[[Sequence[str]], None]
) -> LiveVerdict:
    start = state.find_base(base)
    changed = state.changed_paths(start)
    if not changed:
        return LiveVerdict(tree=state.tree, result=None, text="Nothing differs from the start any more.")
    report_start(changed)
    try:
        result = judge(repository=state.root, against=start)
    except CoderError as error:
        return LiveVerdict(tree=state.tree, result=None, text=str(error))
    return LiveVerdict(tree=state.tree, result=result, text=result.summary)
