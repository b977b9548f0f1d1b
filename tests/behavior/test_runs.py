"""Comparison of the behavior of real changes, in place and outside of the tests."""

import os
from pathlib import Path

import pytest

from coder.behavior.runs import BehaviorRuns, Side
from coder.core.ports import Limits
from coder.core.verdict import BehaviorReport, Finding
from coder.sandbox.process import ProcessSandbox
from coder.verify.project import find_project
from coder.verify.run import PytestRunner

BASE = """
import sys


def ordinal(number):
    if number % 10 in (1, 2, 3):
        return f"{number}{('st', 'nd', 'rd')[number % 10 - 1]}"
    return f"{number}th"


def total(prices):
    return sum(prices)
"""
TESTS = """
from shop import ordinal, total


def test_new():
    assert ordinal(11) == "11th"


def test_old():
    assert ordinal(1) == "1st"
    assert total([2, 1]) == 3
"""
CONDITION = "if number % 10 in (1, 2, 3):"
SPECIAL = "if {}:\n        return '11th'\n    " + CONDITION
RIGHT = BASE.replace(CONDITION, CONDITION[:-1] + " and number % 100 not in (11, 12, 13):")
CASES = {
    "right": (RIGHT, []),
    "modulus": (BASE.replace("% 10", "% 20"), []),
    "table": (BASE.replace(CONDITION, SPECIAL.format("number == 11")), ["narrow"]),
    "runner": (
        BASE.replace(CONDITION, SPECIAL.format("number == 11 and 'pytest' in sys.modules")),
        ["context", "narrow"],
    ),
    "sorts its argument": (RIGHT.replace("return sum", "prices.sort()\n    return sum"), ["other"]),
    "nothing": (BASE.replace("{number}th", "{number}TH").replace("TH", "th"), []),
}


@pytest.mark.parametrize("case", CASES)
def test_tells_what_a_change_does(
    tmp_path: Path, plain_venv: Path, sandbox: ProcessSandbox, case: str
) -> None:
    text, expected = CASES[case]
    report, found = compare(tmp_path, plain_venv, sandbox, text)
    assert [finding.rule.removeprefix("behavior-") for finding in found] == expected
    if case == "nothing":
        assert report is None
        return
    assert report is not None
    calls = {example.call: example.after for example in report.examples}
    if case == "modulus":
        assert calls["ordinal(31)"] == "'31th'"
    if case in ("right", "runner"):
        assert calls["ordinal(11)"] == "'11th'"


def compare(
    place: Path, venv: Path, sandbox: ProcessSandbox, text: str
) -> tuple[BehaviorReport | None, list[Finding]]:
    for side, source in (("base", BASE), ("change", text)):
        (place / side / "tests").mkdir(parents=True)
        (place / side / "shop.py").write_text(source)
        (place / side / "conftest.py").touch()
        (place / side / "tests/test_shop.py").write_text(TESTS)
    environment = {"PATH": os.environ["PATH"], "VIRTUAL_ENV": str(venv)}
    project = find_project(place / "base", sandbox=sandbox, environment=environment, test_command=None)
    runner = PytestRunner(
        project=project, sandbox=sandbox, scratch=sandbox.scratch, limits=Limits(wall_seconds=60.0)
    )
    runs = BehaviorRuns(Side(project, runner), sandbox=sandbox, scratch=sandbox.scratch, seconds=60)
    old = "tests/test_shop.py::test_old"
    return runs.examine(
        place / "base",
        place / "change",
        ["shop.py"],
        targets=["tests/test_shop.py::test_new"],
        tests=[old],
    )
