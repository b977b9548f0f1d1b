"""Tables of benchmark results."""

import csv
import io
import json

from coder.bench.tables import results_csv, results_markdown
from coder.core.verdict import VerdictKind
from tests.bench.outcomes import outcome

RUNS = [outcome("b", kind=VerdictKind.GAVE_UP), outcome("a"), outcome("a", model="m:two", solves=False)]


def test_markdown_has_a_row_for_each_group_and_run() -> None:
    text = results_markdown(RUNS)
    assert (
        "| linear | m:one | 2 | 1 of 2 (50 %, 9 to 91) | 1 of 2 (50 %, 9 to 91) | 1 of 2 (50 %, 9 to 91) "
        "| 0 | 0 | none | 1.0 | 2.0 | 100, 40, 10 | 0.0200 | 4.0 |"
    ) in text
    assert "| a | linear | m:two | 1 | PROVEN | 1 fail | 1 | 2 | 110 | 0.0200 | 4.0 |  |" in text
    assert (
        "| b | linear | m:one | 1 | GAVE UP | nothing delivered | 1 | 2 | 110 | 0.0200 | 4.0 | done |" in text
    )
    assert len([line for line in text.splitlines() if line.startswith("|")]) == 2 + 2 + 2 + 3


def test_csv_can_be_read_back() -> None:
    rows = [*csv.DictReader(io.StringIO(results_csv(RUNS)))]
    assert [(row["task"], row["model"], row["verdict"]) for row in rows] == [
        ("a", "m:one", "PROVEN"),
        ("a", "m:two", "PROVEN"),
        ("b", "m:one", "GAVE UP"),
    ]
    assert json.loads(rows[0]["tokens_by_role"])["executor"]["input_tokens"] == 100
