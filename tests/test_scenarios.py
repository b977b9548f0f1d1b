"""Sessions from issue to verdict (tests/cases/scenarios): real git, real pytest, a scripted model.

issue.md      the issue                          before/   the repository's one commit
script.jsonl  the model's replies                dirty/    uncommitted files on top (optional)
after/        files as delivered (optional)      shared.txt  files of shared/, too (optional)

expect.json:

kind, requests, attempts, targets, phases, subject   as in the session's end
flags         options of the command line (search_seconds: before the model; mode: build;
              behavior_seconds: of comparing calls on both sides, none by default)
refused       tools whose calls failed, in order
changed       delivered paths
report, said  text in the report, or in the messages to the model
summary       text of the one-sentence summary of the end
dropped       candidates, with text of the reason
chosen        strategies
diagnosed     earlier and current classification of a failure
readers       reviewers, and whether they approve
plans         steps of each plan
stages        stages of a build as they ended, each with its components in alphabetical order
evidence      text of the notes
diff_only     no branch was made
editable      a venv that imports the checkout's own directory of that name
"""

import asyncio
import json
import shutil
import subprocess
import sysconfig
import venv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from coder.core.events import (
    Budget,
    CandidateDropped,
    Diagnosed,
    Event,
    MessageFinished,
    NoteMade,
    PhaseEntered,
    Record,
    SessionFinished,
    StageChanged,
    StrategyChosen,
    Task,
    ToolFinished,
)
from coder.core.notes import Findings, Plan
from coder.core.values import UserMessage
from coder.models.scripted import ScriptedModel, load_script
from coder.settings import Config
from coder.strategies.build import build_components
from coder.strategies.offline import offline_first
from coder.strategies.registry import build_strategy
from coder.wiring.session import Approach, SessionSetup
from tests.builders import init_repository, read_case, write
from tests.walls import walls

SCENARIOS = sorted((Path(__file__).parent / "cases" / "scenarios").glob("[0-9]*"))


def git(directory: Path, *arguments: str) -> str:
    result = subprocess.run(["git", *arguments], cwd=directory, capture_output=True, text=True, check=True)
    return result.stdout


def prepare_repository(scenario: Path, root: Path, expect: dict[str, Any]) -> None:
    """Create a repository with one commit, and uncommitted work if the scenario has some."""
    root.mkdir()
    write(root, read_case(scenario, "before"))
    init_repository(root, {".gitignore": ".venv/\n__pycache__/\n"}, message="Begin")
    if (scenario / "dirty").is_dir():
        shutil.copytree(scenario / "dirty", root, dirs_exist_ok=True)
    if source := expect.get("editable"):
        make_editable(root, root / source)


def make_editable(root: Path, source: Path) -> None:
    """Create a venv as `pip install -e .` does: a .pth file that puts the checkout on sys.path; pytest
    comes from our own environment.
    """
    venv.create(root / ".venv", with_pip=False)
    site = next((root / ".venv" / "lib").glob("python*/site-packages"))
    (site / "__editable__.pth").write_text(f"{source}\n", encoding="utf-8")
    (site / "pytest.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n", encoding="utf-8")


def run_scenario(scenario: Path, root: Path, expect: dict[str, Any]) -> tuple[SessionFinished, list[Record]]:
    flags = expect.get("flags", {})
    task = Task(
        issue=(scenario / "issue.md").read_text(encoding="utf-8").strip(),
        directory=root,
        only=tuple(flags.get("only", ())),
        single_file=flags.get("single_file", False),
        mode=flags.get("mode", "fix"),
        accept_test_edits=flags.get("accept_test_edits", False),
        trusted=True,
        budget=Budget(attempts=flags.get("attempts", 3)),
    )
    strategy = (
        build_components(rounds=flags.get("rounds", 2))
        if task.mode == "build"
        else build_strategy(flags.get("strategy", "linear"), width=3, rounds=2)
    )
    if seconds := flags.get("search_seconds"):
        strategy = offline_first(strategy, seconds=seconds)
    approach = Approach(
        model=ScriptedModel(load_script(scenario / "script.jsonl")), strategy=strategy, reason=""
    )
    config = Config(behavior_seconds=flags.get("behavior_seconds", 0.0))
    setup = SessionSetup(root=root, config=config, backend=walls(), trusted=task.trusted, approach=approach)
    with setup.open(task) as handle:
        session_end = asyncio.run(handle.run())
    return session_end, handle.log.records


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    return tmp_path / "repository"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.name)
def test_scenario(scenario: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expect = json.loads((scenario / "expect.json").read_text(encoding="utf-8"))
    if "editable" in expect:  # the venv in the repository is to be found
        monkeypatch.delenv("VIRTUAL_ENV")
    prepare_repository(scenario, root, expect)
    before = snapshot(root)
    session_end, records = run_scenario(scenario, root, expect)
    assert (
        snapshot(root, without_branch=session_end.delivery.branch if session_end.delivery else "") == before
    )
    assert observed(session_end, records, expect) == {
        name: value for name, value in expect.items() if name not in ("flags", "editable")
    }
    if after := read_case(scenario, "after"):
        assert delivered_files(root, session_end, after) == after


def observed(session_end: SessionFinished, records: list[Record], expect: dict[str, Any]) -> dict[str, Any]:
    """Return what happened, in the terms of expect.json; for expected words, those that occur."""
    events = [record.event for record in records]
    messages = "\n".join(
        event.message.text
        for event in events
        if isinstance(event, MessageFinished) and isinstance(event.message, UserMessage)
    )
    message = (
        session_end.delivery
        and session_end.delivery.commit
        and git(Path(repository(records)), "log", "-1", "--format=%s", session_end.delivery.commit)
    )
    facts: dict[str, Any] = {
        "kind": session_end.kind.value if session_end.kind else None,
        "requests": session_end.spent.requests,
        "attempts": session_end.attempts,
        "targets": list(session_end.verdict.targets) if session_end.verdict else [],
        "phases": [event.phase for event in events if isinstance(event, PhaseEntered)],
        "subject": (message or "").strip(),
        "refused": [
            event.message.name for event in events if isinstance(event, ToolFinished) and not event.message.ok
        ],
        "changed": [
            line[6:]
            for line in (session_end.delivery.diff if session_end.delivery else "").splitlines()
            if line.startswith("+++ b/")
        ],
        "report": [words for words in expect.get("report", []) if words in session_end.report],
        "said": [words for words in expect.get("said", []) if words in messages],
        "summary": next(
            (words for words in [expect.get("summary")] if words and words in session_end.summary),
            session_end.summary,
        ),
        "dropped": [
            [candidate, words]
            for candidate, words in expect.get("dropped", [])
            if any(_is_dropped(event, candidate, words) for event in events)
        ],
        "chosen": [event.strategy for event in events if isinstance(event, StrategyChosen)],
        "diagnosed": [
            [event.was, event.cause] for event in events if isinstance(event, Diagnosed) and event.was
        ],
        "readers": sorted(
            [event.candidate, event.note.approve]
            for event in events
            if isinstance(event, NoteMade) and isinstance(event.note, Findings)
        ),
        "plans": [
            len(event.note.steps)
            for event in events
            if isinstance(event, NoteMade) and isinstance(event.note, Plan)
        ],
        "evidence": [
            words
            for words in expect.get("evidence", [])
            if session_end.verdict and words in "\n".join(session_end.verdict.notes)
        ],
        "stages": observed_stages(events),
        "diff_only": bool(
            session_end.delivery and session_end.delivery.diff and not session_end.delivery.branch
        ),
    }
    return {name: facts[name] for name in expect if name in facts}


def observed_stages(events: Sequence[Event]) -> list[str]:
    """Return each stage as it ended, such as `FIX 1 done: counts failed, words done`."""
    ends = [event for event in events if isinstance(event, StageChanged) and event.state != "running"]
    parts = {
        end.stage: sorted(
            f"{other.component} {other.state}"
            for other in ends
            if other.stage == end.stage and other.component
        )
        for end in ends
    }
    return [
        f"{end.stage} {end.state}" + (f": {', '.join(parts[end.stage])}" if parts[end.stage] else "")
        for end in ends
        if not end.component
    ]


def _is_dropped(event: object, candidate: str, words: str) -> bool:
    """Return whether this candidate (empty: any) was dropped for a reason with these words."""
    return (
        isinstance(event, CandidateDropped) and candidate in ("", event.candidate) and words in event.reason
    )


def repository(records: list[Record]) -> str:
    return next(record.event.repository for record in records if record.event.type == "session_started")


def snapshot(root: Path, without_branch: str = "") -> dict[str, Any]:
    """Return everything of the user's that must stay unchanged."""
    refs = git(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    kept_refs = [
        line for line in refs if f"refs/heads/{without_branch} " not in f"{line} " or not without_branch
    ]
    return {
        "files": contents(root, skip=(".git", ".venv")),
        "index": (root / ".git" / "index").read_bytes(),
        "refs": [line for line in kept_refs if not line.startswith("refs/notes/coder")],
        "head": (root / ".git" / "HEAD").read_text(),
        "worktrees": git(root, "worktree", "list").count("\n"),
    }


def contents(directory: Path, skip: tuple[str, ...] = ()) -> dict[str, str]:
    files = (path for path in sorted(directory.rglob("*")) if path.is_file())
    relative = ((path, path.relative_to(directory)) for path in files)
    return {
        str(name): path.read_text(encoding="utf-8") for path, name in relative if name.parts[0] not in skip
    }


def delivered_files(root: Path, session_end: SessionFinished, names: Iterable[str]) -> dict[str, str]:
    """Return the delivered branch's content of these files."""
    assert session_end.delivery is not None
    return {name: git(root, "show", f"{session_end.delivery.branch}:{name}") for name in names}
