from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from coder.core.errors import UserError
from coder.core.events import BudgetSpent
from coder.core.messages import Usage, UsageTotals
from coder.settings import Config
from coder.wiring.conversations import MoneyLimit, find_money_limit
from tests.stored_sessions import store_session

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name, usd in (("20261124-a", 2), ("20261125-b", 1), ("20261125-c", None)):
        usage = Usage(input_tokens=10, output_tokens=5, cost_usd=None if usd is None else Decimal(usd))
        spent = BudgetSpent(candidate="c1", usage=usage, total=UsageTotals().plus(usage), role="planner")
        store_session(Path("/r"), name, spent, model="m")


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
def test_costs_are_added_up(by: str, rows: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["log", "cost", "--by", by]) == 0
    assert [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()[1:]] == rows
