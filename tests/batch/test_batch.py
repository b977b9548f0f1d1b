"""Issues of a batch, and batches with an executor that answers at once."""

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from coder.batch import Batch, BatchFolder, BatchIssue, BatchOptions, IssueProgress, parse_issues
from coder.core.events import BudgetSpent, Record, SessionFinished, SessionStarted
from coder.core.values import Usage, UsageTotals
from coder.core.verdict import VerdictKind
from coder.executors.executor import (
    CallEvent,
    CallFailed,
    CallFinished,
    CallOutput,
    CallRestarted,
    CallStarted,
    InlineData,
)
from coder.session.log import utc_now
from coder.wiring.elsewhere import Files, SessionCall
from tests.builders import repo


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "it is no JSON"),
        ("[1]", "it is no JSON object"),
        ("[" * 100_000, "it is no JSON"),
        ('{"isue": "x"}', "'issue' is missing; unknown field 'isue' (there are id, issue, repo"),
        ('{"issue": " "}', "issue: the issue is empty"),
        ('{"issue": 3}', "issue: it should be text"),
        ('{"issue": "x", "strategy": "magic"}', "strategy: it should be"),
        ('{"issue": "x", "max_usd": -1}', "max_usd: it should be greater than 0"),
        *(
            (json.dumps({"issue": "x", "id": identity}), "id: an id has letters")
            for identity in ("../x", ".lock", "running", "a/b", "x" * 101)
        ),
        ('{"issue": "y", "id": "A"}', "its id 'A' is that of line 1"),
    ],
)
def test_bad_line_is_one_reason_and_the_others_stay(line: str, reason: str) -> None:
    issues, rejected = parse_issues(['{"issue": "x", "id": "a"}', line, "", '{"issue": "z", "id": "b"}'])
    assert [issue.id for issue in issues] == ["a", "b"]
    assert [(rejection.line, reason in rejection.reason) for rejection in rejected] == [(2, True)]


def test_derived_id_depends_on_the_whole_line_alone() -> None:
    lines = [json.dumps({"issue": "Sum is wrong: 1 + 1!", "base": base}) for base in ("HEAD", "v1")]
    first, second = (parse_issues(order)[0] for order in (lines, lines[::-1]))
    assert {issue.id for issue in first} == {issue.id for issue in second}
    assert len({issue.id for issue in first}) == 2
    assert all(issue.id.startswith("sum-is-wrong-1-1-") for issue in first)


def test_line_that_occurs_twice_is_done_once() -> None:
    issues, rejected = parse_issues(['{"issue": "x"}'] * 2)
    assert (len(issues), [rejection.line for rejection in rejected]) == (1, [2])


Answer = Callable[[str, SessionCall], Iterator[CallEvent[Files]]]


def make_files(
    call: SessionCall, *, usd: str = "0", kind: VerdictKind | None = VerdictKind.PROVEN
) -> dict[str, bytes]:
    """Return the files of a session that ended at once."""
    start = SessionStarted(
        session="s",
        task=call.task,
        repository=str(call.task.directory),
        head=str(call.task.base),
        base=str(call.task.base),
        dirty=False,
        model="no model",
        version="1",
    )
    spent = UsageTotals(cost_usd=Decimal(usd))
    finish = SessionFinished(kind=kind, summary="how it\nended", spent=spent, exit_code=0)
    records = Record(number=1, at=utc_now(), event=start), Record(number=2, at=utc_now(), event=finish)
    lines = ['{"format":3}', *(record.model_dump_json() for record in records)]
    return {"events.jsonl": "".join(f"{line}\n" for line in lines).encode()}


def payment(usd: str) -> str:
    usage = Usage(input_tokens=1, output_tokens=1, cost_usd=Decimal(usd))
    event = BudgetSpent(candidate="c1", usage=usage, total=UsageTotals())
    return Record(number=1, at=utc_now(), event=event).model_dump_json()


def finish(key: str, call: SessionCall) -> Iterator[CallEvent[Files]]:
    yield CallFinished(key, make_files(call, usd="0.25"))


@dataclass
class InstantExecutor:
    """Runs no function: `answers` by key, else `finish`, say what came of a call."""

    answers: dict[str, Answer] = field(default_factory=dict)
    calls: list[SessionCall] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    is_local = True
    label = "nothing"
    slots = 1

    def __enter__(self) -> "InstantExecutor":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def share(self, data: bytes) -> InlineData:
        return InlineData(data)

    def run(
        self,
        function: object,
        arguments: Iterable[tuple[str, Any]],
        *,
        stop: Event | None = None,
    ) -> Iterator[CallEvent[Any]]:
        for key, call in arguments:
            self.calls.append(call)
            self.keys.append(key)
            yield CallStarted(key, "here")
            yield from self.answers.get(key, finish)(key, call)


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo(tmp_path / "r", {"a.py": "A = 1\n"}))


def run_batch(
    folder: Path, executor: InstantExecutor, *ids: str, **options: Any
) -> tuple[dict[str, IssueProgress], Decimal]:
    issues = [
        BatchIssue(id=identity, issue="x", repo="gone" if "gone" in identity else "") for identity in ids
    ]
    store = BatchFolder(folder)
    with store.lock():
        run = Batch(
            issues,
            options=BatchOptions(beside=folder.parent, **options),
            folder=store,
            executor=executor,
            report=lambda entry: None,
        )
        run.run()
    return run.progress, run.spent_usd


def test_resumed_batch_runs_only_missing_and_changed_issues(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    run_batch(folder, InstantExecutor(), "a", "b")
    (folder / "b" / "result.json").unlink()
    changed = (folder / "a" / "result.json").read_text(encoding="utf-8")
    run_batch(folder, again := InstantExecutor(), "a", "b", "c")
    assert again.keys == ["b", "c"]
    (folder / "a" / "result.json").write_text(
        changed.replace('"digest": "', '"digest": "0'), encoding="utf-8"
    )
    run_batch(folder, changes := InstantExecutor(), "a", "b", "c")
    assert changes.keys == ["a"]


def test_cost_of_a_lost_attempt_is_counted(tmp_path: Path) -> None:
    def lose_once(key: str, call: SessionCall) -> Iterator[CallEvent[Files]]:
        yield CallOutput(key, payment("0.50"))
        yield CallRestarted(key, "killed")
        yield CallStarted(key, "there")
        yield CallOutput(key, payment("0.25"))
        yield CallFinished(key, make_files(call, usd="0.25"))

    progress, spent = run_batch(tmp_path / "out", InstantExecutor({"a": lose_once}), "a")
    assert (progress["a"].state, spent) == ("done", Decimal("0.75"))
    _, later = run_batch(tmp_path / "out", InstantExecutor(), "a")
    assert later == spent
    assert [*(tmp_path / "out" / "running").iterdir()] == []


def test_money_that_is_left_is_shared_equally(tmp_path: Path) -> None:
    executor = InstantExecutor()
    run_batch(tmp_path / "out", executor, "a", "b", "c", max_usd=Decimal("1.5"))
    assert [call.config.max_usd for call in executor.calls] == [Decimal(x) for x in ("0.5", "0.625", "1.0")]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_usd": Decimal("0.25")}, "the money limit of the batch is reached"),
        ({"max_seconds": 0.5}, "the time limit of the batch is reached"),
    ],
)
def test_says_which_limit_keeps_issues_from_beginning(
    tmp_path: Path, options: dict[str, Any], reason: str
) -> None:
    def spend_all(key: str, call: SessionCall) -> Iterator[CallEvent[Files]]:
        yield CallFinished(key, make_files(call, usd="0.25"))

    progress, _ = run_batch(tmp_path / "out", InstantExecutor({"a": spend_all}), "a", "b", **options)
    assert (progress["b"].state, progress["b"].reason) == ("not done", reason)


def test_each_failure_is_one_reason_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(key: str, call: SessionCall) -> Iterator[CallEvent[Files]]:
        yield CallFinished(key, make_files(call, kind=None))

    def fail(key: str, call: SessionCall) -> Iterator[CallEvent[Files]]:
        yield CallFailed(key, "its worker died 2 times (killed by SIGKILL)")

    real = os.fsync
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill_disk(key: str, call: SessionCall) -> Iterator[CallEvent[Files]]:
        def refuse(_descriptor: int) -> None:
            raise full

        monkeypatch.setattr(os, "fsync", refuse)
        yield CallFinished(key, make_files(call))
        monkeypatch.setattr(os, "fsync", real)

    executor = InstantExecutor({"stopped": stop, "dead": fail, "full": fill_disk})
    progress, _ = run_batch(tmp_path / "out", executor, "stopped", "dead", "full", "gone", "fine")
    assert {key: entry.reason for key, entry in progress.items()} == {
        "stopped": "how it ended",
        "dead": "its worker died 2 times (killed by SIGKILL)",
        "full": "its result cannot be stored: No space left on device",
        "gone": f"{tmp_path / 'gone'} is not a directory; name the repository to work in.",
        "fine": "",
    }
    assert sorted(BatchFolder(tmp_path / "out").read_results()) == ["fine"]
    assert not [*(tmp_path / "out" / "running").glob("*.draft")]
