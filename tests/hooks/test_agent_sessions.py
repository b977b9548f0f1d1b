"""Sessions of coding agents, in real repositories with a scripted judge: what is said, and to whom."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from coder import api
from coder.core.errors import UserError
from coder.core.verdict import Counts, Failure, TestResult, Verdict, VerdictKind
from coder.hooks.agents import AGENTS
from coder.hooks.judging import LINE_CHARACTERS, answer_agent
from tests.builders import by_hand, git, repo, write

FILES = {"clock.py": "A = 1\n", "test_clock.py": "TEST = 1\n", "notes.txt": "", "pkg/deep/x.py": "X = 1\n"}
TEST = "test_clock.py::test_nine"
OTHER = "test_clock.py::test_ten"


def result(label: str, *failing: str, red_before: int = 0) -> api.Result:
    kinds = {"NOT FIXED": VerdictKind.PASSING}
    failure = Failure(type="AssertionError", message="549 != 540")
    tests = tuple(TestResult(id=name, outcome="failed", failure=failure) for name in failing)
    verdict = Verdict(
        kind=kinds.get(label) or VerdictKind(label),
        reason="Reason.",
        broken=tests if label == "BROKEN" else (),
        still_red=tests if label == "NOT FIXED" else (),
        before=Counts(failed=red_before),
    )
    return api.Result(
        session="s9", label=label, exit_code=6, summary="Reason.", report="# Page\n", verdict=verdict
    )


BROKEN = result("BROKEN", TEST)
PROVEN = result("PROVEN")


@dataclass
class Agent:
    """An agent at work in a repository: edits files and ends turns."""

    root: Path
    name: str = "claude"
    session: str = "s1"
    verdicts: list[api.Result | UserError] = field(default_factory=list)
    """One for each judgement; the last one for all further ones."""
    bases: list[str] = field(default_factory=list)
    """Base tree of each judgement."""
    count: int = 0

    def judge(self, *, repository: Path, against: str) -> api.Result:
        assert repository == self.root
        self.bases.append(against)
        verdict = self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]
        if isinstance(verdict, UserError):
            raise verdict
        return verdict

    def send(self, event: str, *, cwd: str = "", project: str = "", **fields: Any) -> dict[str, str]:
        message = {
            "hook_event_name": event,
            "session_id": self.session,
            "cwd": cwd or str(self.root),
            **fields,
        }
        return answer_agent(AGENTS[self.name], message, judge=self.judge, project=project)

    def start(self) -> None:
        assert self.send(AGENTS[self.name].start_event) == {}

    def end_turn(self, *, is_continued: bool = False, **fields: Any) -> dict[str, str]:
        return self.send(AGENTS[self.name].stop_event, **{"stop_hook_active": is_continued, **fields})

    def edit(self, name: str = "clock.py") -> None:
        self.count += 1
        path = self.root / name
        path.write_text(f"{path.read_text() if path.exists() else ''}# edit {self.count}\n")


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Agent(repo(tmp_path / "repository", FILES), verdicts=[BROKEN])


def base_text(agent: Agent, name: str) -> str:
    return git(agent.root, "show", f"{agent.bases[-1]}:{name}")


def test_start_of_session_is_the_base_not_head(agent: Agent) -> None:
    agent.edit("clock.py")
    agent.edit("new.py")
    agent.start()
    agent.edit("pkg/deep/x.py")
    reason = agent.end_turn()["reason"]
    assert base_text(agent, "clock.py") == "A = 1\n# edit 1"
    assert base_text(agent, "new.py") == "# edit 2"
    assert "Changed in this session: pkg/deep/x.py." in reason


def test_base_follows_head_to_another_branch(agent: Agent) -> None:
    git(agent.root, "checkout", "-qb", "topic")
    agent.edit("notes.txt")
    git(agent.root, "commit", "-qam", "topic")
    git(agent.root, "checkout", "-q", "main")
    agent.edit("clock.py")
    agent.start()
    git(agent.root, "checkout", "-q", "topic")
    agent.edit("pkg/deep/x.py")
    agent.end_turn()
    git(agent.root, "commit", "-qam", "all of it")
    agent.edit("pkg/deep/x.py")
    agent.end_turn()
    for base in agent.bases:
        assert git(agent.root, "show", f"{base}:clock.py") == "A = 1\n# edit 2"


def test_refusal_is_short_and_asks_for_nothing_that_undoing_satisfies(agent: Agent) -> None:
    agent.verdicts = [
        result("BROKEN", *[f"test_clock.py::test_{'x' * 200}{n}" for n in range(9)], red_before=2)
    ]
    agent.start()
    agent.edit()
    reason = agent.end_turn()["reason"]
    lines = reason.split("\n")
    assert len(lines) <= 6
    assert max(map(len, lines)) <= LINE_CHARACTERS + 1
    assert "and 6 more" in reason or "…" in reason
    assert "red before the session: 2 tests" in reason
    assert "no checkout, restore, stash or deletion" in reason
    assert "Correct the change" not in reason


def test_users_work_that_the_agent_undid_is_named_with_the_way_back(agent: Agent) -> None:
    agent.verdicts = [PROVEN]
    agent.edit("clock.py")
    agent.start()
    git(agent.root, "checkout", "-q", "clock.py")
    agent.edit("pkg/deep/x.py")
    message = agent.end_turn()["systemMessage"]
    assert "gone from clock.py" in message
    command = message[message.index("git show") :].split()
    assert git(agent.root, *command[1:]) == "A = 1\n# edit 1"


STOP_FIELDS: dict[str, list[dict[str, Any]]] = {
    "gemini": [{"prompt": "Fix it.", "prompt_response": "I did." * number} for number in range(1, 6)],
    "claude": [{"stop_hook_active": number > 1} for number in range(1, 6)],
    "qwen": [{"stop_hook_active": number > 1} for number in range(1, 6)],
}
"""Fields of continued turns, of Gemini CLI 0.61 in a turn that called a tool."""


@pytest.mark.parametrize("name", ["gemini", "claude", *by_hand("qwen")])
def test_continued_turns_are_refused_as_often_as_rounds_allow(agent: Agent, name: str) -> None:
    agent.name = name
    agent.start()
    answers = []
    for fields in STOP_FIELDS[name]:
        agent.edit()
        answers.append(agent.end_turn(**fields))
    assert ["decision" in answer for answer in answers] == [True] * 3 + [False] * 2


def test_copilot_gets_the_answer_of_claude_code(agent: Agent) -> None:
    event = {"timestamp": "2026-11-28T12:00:00.000Z", "transcript_path": "/x", "stop_reason": "end_turn"}
    assert agent.send("SessionStart", timestamp=event["timestamp"], source="new", initial_prompt="Fix") == {}
    answers = []
    for _ in range(4):
        agent.edit()
        answers.append(agent.send("Stop", **event))
    assert [{*answer} for answer in answers] == [{"decision", "reason"}] * 3 + [{"systemMessage"}]
    assert answers[0]["decision"] == "block"
    agent.verdicts = [PROVEN]
    agent.edit()
    assert {*agent.send("Stop", **event)} == {"systemMessage"}


@pytest.mark.thorough
def test_session_has_a_limit_however_turns_are_marked(agent: Agent) -> None:
    agent.start()
    refusals = 0
    for _ in range(20):
        agent.edit()
        refusals += "decision" in agent.end_turn()
    assert refusals == 6


def test_new_prompt_of_the_user_begins_a_new_turn(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coder.hooks.judging.TURN_ROUNDS", 1)
    agent.name = "gemini"
    agent.start()
    answers = []
    for number, prompt in enumerate(("a", "a", "b")):
        agent.edit()
        answers.append(agent.end_turn(prompt=prompt, prompt_response="ok" * (number + 1)))
    assert ["decision" in answer for answer in answers] == [True, False, True]


@pytest.mark.thorough
def test_shell_in_another_directory_or_repository_changes_nothing(agent: Agent, tmp_path: Path) -> None:
    nested = repo(agent.root / "vendored", {"x.py": "\n"})
    for cwd in (agent.root / "pkg" / "deep", nested, tmp_path):
        agent.session = str(cwd)
        agent.start()
        agent.edit()
        assert agent.send("Stop", cwd=str(cwd))["decision"] == "block"


def test_change_of_tests_alone_is_one_quiet_line(agent: Agent) -> None:
    agent.start()
    agent.edit("test_clock.py")
    message = agent.end_turn()["systemMessage"]
    assert message.startswith("coder: only tests changed (test_clock.py)")
    assert (agent.end_turn(is_continued=True), agent.bases) == ({}, [])
    agent.edit("clock.py")
    assert "decision" in agent.end_turn()


def test_second_refusal_says_what_is_new(agent: Agent) -> None:
    agent.verdicts = [result("BROKEN", TEST), result("BROKEN", OTHER), result("BROKEN", OTHER)]
    agent.start()
    reasons = []
    for number in range(3):
        agent.edit()
        reasons.append(agent.end_turn(is_continued=number > 0)["reason"])
    assert "last refusal" not in reasons[0]
    assert f"Since the last refusal: failing now: {OTHER}; passing again: {TEST}." in reasons[1]
    assert "Since the last refusal: the same tests fail." in reasons[2]


@pytest.mark.parametrize(
    "verdict",
    [result("NOT TESTED"), *by_hand(UserError("It is not trusted."))],
    ids=["no tests", "no trust"],
)
def test_same_message_is_shown_once(agent: Agent, verdict: api.Result | UserError) -> None:
    agent.verdicts = [verdict]
    agent.start()
    answers = []
    for _ in range(3):
        agent.edit()
        answers.append(agent.end_turn())
    assert [bool(answer) for answer in answers] == [True, False, False]
    assert "decision" not in answers[0]


def test_command_that_failed_before_is_no_reason_to_refuse(agent: Agent) -> None:
    verdict = result("NOT FIXED", "make test")
    assert verdict.verdict
    runs = ({"label": "suite", "command": "make test", "counts": Counts()},)
    commands = verdict.verdict.model_validate({**verdict.verdict.model_dump(), "runs": runs})
    agent.verdicts = [verdict.model_copy(update={"verdict": commands})]
    agent.start()
    agent.edit()
    assert set(agent.end_turn()) == {"systemMessage"}


def test_session_whose_start_was_not_seen_is_told_but_not_refused(agent: Agent) -> None:
    agent.edit()
    message = agent.end_turn()["systemMessage"]
    assert "BROKEN" in message
    assert "start was not seen" in message
    agent.edit()
    assert "decision" in agent.end_turn()
    assert base_text(agent, "clock.py") == "A = 1\n# edit 1"


@pytest.mark.thorough
def test_check_that_was_stopped_is_named_by_the_next(agent: Agent) -> None:
    def stop(**_change: Any) -> api.Result:
        raise KeyboardInterrupt

    agent.verdicts = [PROVEN]
    agent.start()
    agent.edit()
    judge: Callable[..., api.Result] = agent.judge
    agent.judge = stop  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        agent.end_turn()
    agent.judge = judge  # type: ignore[method-assign]
    assert agent.end_turn()["systemMessage"].startswith("The last check of this state was stopped")


def test_spent_rounds_leave_the_verdict_on_the_commit(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coder.hooks.judging.TURN_ROUNDS", 0)
    agent.start()
    agent.edit()
    git(agent.root, "commit", "-qam", "done")
    assert "now it is your turn" in agent.end_turn()["systemMessage"]
    assert git(agent.root, "notes", "--ref=coder", "show", "HEAD") == "# Page"


@pytest.mark.thorough
def test_edit_that_keeps_size_and_time_is_judged(agent: Agent) -> None:
    path, long_ago = agent.root / "clock.py", (1_700_000_000, 1_700_000_000)
    os.utime(path, long_ago)
    git(agent.root, "update-index", "--refresh")
    agent.start()
    git(agent.root, "config", "core.trustctime", "false")
    git(agent.root, "config", "core.checkStat", "minimal")
    while time.time() < int(path.stat().st_ctime) + 1:  # git compares whole seconds
        time.sleep(0.01)
    path.write_text(path.read_text().swapcase())
    os.utime(path, long_ago)
    assert agent.end_turn()["decision"] == "block"


def ignore_file(root: Path) -> None:
    write(root, {".git/info/exclude": "hidden.py\n", "hidden.py": "x = 1\n"})


def filter_file(root: Path) -> None:
    git(root, "config", "filter.lfs.clean", "cat")
    write(root, {".git/info/attributes": "clock.py filter=lfs\n", "clock.py": "x = 1\n"})


def edit_nested_repository(root: Path) -> None:
    write(root / "nested", {"n.py": "y = 2\n"})


@pytest.mark.parametrize(
    ("hide", "name"),
    [(ignore_file, "hidden.py"), *by_hand((filter_file, "clock.py"), (edit_nested_repository, "nested"))],
)
def test_edit_that_cannot_be_judged_is_named_and_caps(
    agent: Agent, hide: Callable[[Path], None], name: str
) -> None:
    agent.verdicts = [PROVEN]
    repo(agent.root / "nested", {"n.py": "n\n"})
    agent.start()
    assert agent.end_turn() == {}
    hide(agent.root)
    message = agent.end_turn()["systemMessage"]
    assert message.startswith("coder verify judged nothing. Changed, but not judged: ")
    assert name in message
    agent.edit("pkg/deep/x.py")
    message = agent.end_turn()["systemMessage"]
    assert message.startswith("coder verify: FIXED.")
    assert name in message
