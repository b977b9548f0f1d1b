"""Tables and the page."""

import csv
import io
import json
import re
from html.parser import HTMLParser

from coder.bench.page import Point, results_page, scatter_plot
from coder.bench.runner import Outcome
from coder.bench.tables import compare_runs, markdown_table, results_csv, results_json, results_markdown
from coder.core.verdict import VerdictKind
from tests.bench.outcomes import outcome

RUNS = [outcome("b", kind=VerdictKind.GAVE_UP), outcome("a"), outcome("a", model="m:two", solves=False)]


class BalanceParser(HTMLParser):
    """Parser that counts unclosed elements and external references."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.foreign: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.foreign += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_markdown_has_a_row_for_each_group_and_run() -> None:
    text = results_markdown(RUNS)
    assert (
        "| linear | m:one | 2 | 1 of 2 (50 %, 9 to 91) | 1 of 2 (50 %, 9 to 91) | 0 | none | 1.0 | "
        "2.0 | 100, 40, 10 | 0.0200 | 4.0 |"
    ) in text
    assert "| a | linear | m:two | 1 | PROVEN | 1 fail | 1 | 2 | 110 | 0.0200 | 4.0 |  |" in text
    assert (
        "| b | linear | m:one | 1 | GAVE UP | nothing delivered | 1 | 2 | 110 | 0.0200 | 4.0 | done |" in text
    )
    assert len([line for line in text.splitlines() if line.startswith("|")]) == 2 + 2 + 2 + 3


def test_a_bar_in_a_cell_is_no_border() -> None:
    assert markdown_table(["h"], [["a|b"]]).splitlines()[-1] == "| a\\|b |"


def test_csv_can_be_read_back() -> None:
    rows = [*csv.DictReader(io.StringIO(results_csv(RUNS)))]
    assert [(row["task"], row["model"], row["verdict"]) for row in rows] == [
        ("a", "m:one", "PROVEN"),
        ("a", "m:two", "PROVEN"),
        ("b", "m:one", "GAVE UP"),
    ]
    assert json.loads(rows[0]["tokens_by_role"])["executor"]["input_tokens"] == 100


def test_json_holds_sums_and_runs() -> None:
    payload = json.loads(results_json(RUNS))
    assert [group["model"] for group in payload["sums"]] == ["m:one", "m:two"]
    assert payload["runs"][0]["diff"] == "+x\n"


def test_page_is_self_contained_and_escapes_input() -> None:
    hostile = outcome("<b>", diff="+</pre><script>\n", summary="<i>")
    text = results_page("bench", [*RUNS, hostile], compare_runs(RUNS, [hostile]))
    parser = BalanceParser()
    parser.feed(text)
    assert (parser.open, parser.foreign, parser.seen.count("svg")) == ([], [], 3)
    assert not {"script", "i", "b"} & {*parser.seen}


def test_page_lists_each_task_by_strategy() -> None:
    runs = [
        outcome("a"),
        outcome("a", model="m:two", solves=False),
        outcome("b", kind=VerdictKind.GAVE_UP),
        *_unsolvable(),
        *_three_outcomes(),
    ]
    rows = re.findall(
        r"<tr>(.*?)</tr>",
        results_page("bench", runs).partition("<h2>Task by task</h2>")[2].partition("</table>")[0],
    )
    cells = [[re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td>(.*?)</td>", row)] for row in rows]
    assert cells == [
        [],
        ["a", "solved", "wrong"],
        ["b", "not solved", "not run"],
        ["c", "2 of 3", "not run"],
        ["u", "left alone", "not run"],
    ]


def _unsolvable() -> list[Outcome]:
    return [outcome("u", kind=VerdictKind.GAVE_UP, solvable=False)]


def _three_outcomes() -> list[Outcome]:
    return [outcome("c", seed=seed, solves=seed != 2) for seed in (1, 2, 3)]


def test_separates_overlapping_marks() -> None:
    points = [Point(label=label, x=1, y=1, low=0, high=1) for label in "abc"]
    drawing = scatter_plot(
        [*points, Point(label="d", x=2, y=1, low=0, high=1)], across="attempts", up="solved"
    )
    first, second, third, fourth = map(float, re.findall(r'cx="([\d.]+)"', drawing))
    assert (second - first, third - second) == (12, 12)
    assert (second, fourth) == (48 + 358 / 2, 406)


def test_spread_marks_shift_neighbours() -> None:
    drawing = scatter_plot(
        [Point(label="p", x=x, y=1, low=0, high=1) for x in (40, 40, 41.5, 60)], across="seconds", up="solved"
    )
    places = [float(place) for place in re.findall(r'cx="([\d.]+)"', drawing)]
    assert [round(place - places[0], 1) for place in places[:3]] == [0, 12, 24]
    assert places[3] == 406


def test_places_points_correctly() -> None:
    drawing = scatter_plot(
        [Point(label="x", x=1, y=1, low=0, high=1), Point(label="y", x=0, y=0, low=0, high=1)],
        across="USD",
        up="solved",
    )
    assert re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawing) == [("406.0", "14.0"), ("48.0", "216.0")]
