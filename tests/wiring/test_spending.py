from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from coder.core.errors import UserError
from coder.core.events import BudgetSpent
from coder.core.messages import Usage, UsageTotals
from coder.settings import Config
from coder.wiring.spending import find_money_limit
from tests.stored_sessions import store_session

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name, usd in (("20261124-a", 2), ("20261125-b", 1), ("20261125-c", None)):
        usage = Usage(input_tokens=10, output_tokens=5, cost_usd=None if usd is None else Decimal(usd))
        spent = BudgetSpent(candidate="c1", usage=usage, total=UsageTotals().plus(usage), role="planner")
        store_session(Path("/r"), name, spent, model="m")


def test_limits_of_day_and_month_leave_the_rest() -> None:
    assert find_money_limit(Config(), NOW) is None
    day = find_money_limit(Config(max_usd=Decimal(5), max_usd_per_day=Decimal(3)), NOW)
    month = find_money_limit(Config(max_usd_per_day=Decimal(9), max_usd_per_month=Decimal(4)), NOW)
    assert day is not None
    assert month is not None
    assert (day.usd, month.usd) == (Decimal(2), Decimal(1))


def test_names_setting_of_strictest_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    limit = find_money_limit(Config(max_usd=Decimal(5), max_usd_per_day=Decimal(3)), NOW)
    assert limit is not None
    assert limit.phrase == (
        f"the day's limit of $3, of which $2.0000 is left (max_usd_per_day in {tmp_path}/coder/config.toml)"
    )


def test_reached_limit_is_one_clear_line() -> None:
    with pytest.raises(UserError, match=r"\$3.00 of \$3.00 allowed per month are spent"):
        find_money_limit(Config(max_usd_per_month=Decimal(3)), NOW)


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        ("day", ["2026-11-24,1,10,0,5,2.0000,0", "2026-11-25,2,20,0,10,1.0000,1"]),
        ("month", ["2026-11,3,30,0,15,3.0000,1"]),
        ("role", ["planner,3,30,0,15,3.0000,1"]),
        ("model", ["m,3,30,0,15,3.0000,1"]),
    ],
)
def test_costs_are_added_up(by: str, rows: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["log", "cost", "--by", by, "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == rows


def test_table_shows_known_cost_beside_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["log", "cost"]) == 0
    assert capsys.readouterr().out.endswith("$1.0000 and 1 request of unknown price\n")
