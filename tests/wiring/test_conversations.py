"""Stored sessions: open requests, the model that goes on with them, and what they have spent."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from coder.core.errors import UserError
from coder.core.events import BudgetSpent, Mode, SessionFinished, Task
from coder.core.values import Usage, UsageTotals
from coder.core.verdict import VerdictKind
from coder.settings import Config
from coder.wiring.conversations import (
    WENT_BACK,
    MoneyLimit,
    find_continuation,
    find_money_limit,
    inherit_model,
)
from tests.stored_sessions import store_session

PROVEN = SessionFinished(kind=VerdictKind.PROVEN, summary="", exit_code=0)
INTERRUPTED = SessionFinished(kind=None, summary="Interrupted", exit_code=130)
REWOUND = SessionFinished(kind=None, summary=WENT_BACK, exit_code=130)
URL = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def store(
    root: Path,
    number: int,
    issue: str,
    finished: SessionFinished | None,
    *,
    continues: int = 0,
    mode: Mode = "fix",
    model: str = "no model",
    base_url: str | None = None,
) -> None:
    task = Task(issue=issue, directory=root, mode=mode, continues=f"s{continues}" if continues else "")
    events = () if finished is None else (finished,)
    store_session(root, f"s{number}", *events, task=task, model=model, base_url=base_url)


def test_requests_interrupted_since_the_last_result_are_open(tmp_path: Path) -> None:
    store(tmp_path, 1, "the oldest", INTERRUPTED)
    store(tmp_path, 2, "done", PROVEN, continues=1)
    store(tmp_path, 3, "interrupted", INTERRUPTED, continues=2)
    store(tmp_path, 4, "what is it?", INTERRUPTED, continues=3, mode="ask")
    store(tmp_path, 5, "gone back before", REWOUND, continues=4)
    store(tmp_path, 6, "killed", None, continues=5)
    assert find_continuation("s6", tmp_path).unfinished_requests == ("killed", "interrupted")
    assert find_continuation("s2", tmp_path).unfinished_requests == ()


def test_model_and_server_of_a_conversation_are_the_newest_recorded(tmp_path: Path) -> None:
    store(tmp_path, 1, "one", PROVEN, model="openai:large")
    store(tmp_path, 2, "two", PROVEN, continues=1, model="openai:hand", base_url=URL)
    store(tmp_path, 3, "three", PROVEN, continues=2)
    inherited = inherit_model(Config(), "s3", tmp_path)
    assert (inherited.model, inherited.base_url) == ("openai:hand", URL)


def test_own_settings_and_unknown_servers_leave_the_model_open(tmp_path: Path) -> None:
    store(tmp_path, 1, "one", PROVEN, model="openai:large")
    store(tmp_path, 2, "two", PROVEN, model="openai:hand", base_url="")
    assert inherit_model(Config(), "s1", tmp_path) == Config()
    assert inherit_model(Config(), "s2", tmp_path) == Config(model="openai:hand")
    for config in (Config(model="google:small"), Config(base_url="http://localhost:1/v1")):
        assert inherit_model(config, "s2", tmp_path) == config
    assert inherit_model(Config(), "", tmp_path) == Config()


NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


@pytest.fixture
def paid_sessions() -> None:
    for name, usd in (("20261124-a", 2), ("20261125-b", 1), ("20261125-c", None)):
        usage = Usage(input_tokens=10, output_tokens=5, cost_usd=None if usd is None else Decimal(usd))
        spent = BudgetSpent(candidate="c1", usage=usage, total=UsageTotals().plus(usage), role="planner")
        store_session(Path("/r"), name, spent, model="m")


@pytest.mark.usefixtures("paid_sessions")
def test_limits_of_session_and_day_leave_the_stricter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert find_money_limit(Config(), NOW) is None
    assert find_money_limit(Config(max_usd=Decimal(1), max_usd_per_day=Decimal(3)), NOW) == MoneyLimit(
        Decimal(1),
        "the limit of $1 (max_usd)",
    )
    assert find_money_limit(Config(max_usd=Decimal(5), max_usd_per_day=Decimal(3)), NOW) == MoneyLimit(
        Decimal(2),
        f"the day's limit of $3, of which $2.0000 is left (max_usd_per_day in {tmp_path}/coder/config.toml)",
    )


@pytest.mark.usefixtures("paid_sessions")
def test_reached_limit_is_one_clear_line() -> None:
    with pytest.raises(UserError, match=r"\$1.00 of \$1.00 allowed per day are spent"):
        find_money_limit(Config(max_usd_per_day=Decimal(1)), NOW)


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        (
            "day",
            [
                "2026-11-24 1 10 0 5 $2.0000",
                "2026-11-25 2 20 0 10 $1.0000 and 1 request of unknown price",
            ],
        ),
        ("month", ["2026-11 3 30 0 15 $3.0000 and 1 request of unknown price"]),
        ("model", ["m 3 30 0 15 $3.0000 and 1 request of unknown price"]),
    ],
)
@pytest.mark.usefixtures("paid_sessions")
def test_costs_are_added_up(by: str, rows: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["log", "cost", "--by", by]) == 0
    assert [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()[1:]] == rows
