"""New tests that assert something other than behaviour."""

import pytest

from coder.core.verdict import TestReport, TestResult
from coder.verify.checks.test_quality import weak_test_findings
from coder.verify.languages import find_edited_definitions

WEAK = {
    "assert isinstance(median([1, 2]), float)": "asserts only the type of a result",
    "assert type(median([1, 2])) is float": "asserts only the type of a result",
    "if shop.__version__ < '2':\n        raise AssertionError\n    assert len(split(1)) == 1": (
        "asks for the version"
    ),
    "expected = 1 if getattr(shop, 'EXACT', None) else 2\n    assert f() == expected": (
        "asks whether there is a EXACT"
    ),
    "with mock.patch('shop.pricing.shifted', return_value=1):\n        assert total() == 1": (
        "replaces what the change defines (shifted)"
    ),
    "monkeypatch.setattr(pricing, 'shifted', lambda: 1)\n    assert total() == 1": (
        "replaces what the change defines (shifted)"
    ),
    "try:\n        assert f() == 1\n    except ValueError:\n        pass": (
        "swallows errors of the code that it asserts about"
    ),
    "assert total([200], 10) == pytest.approx(180, rel=0.03)": "compares with a wide tolerance",
    "assert abs(total([200], 10) - 180) < 20": "compares with a wide tolerance",
}
HONEST = (
    "assert total([200], 10) == 180",
    "assert isinstance(f(), list)\n    assert f() == [1]",
    "assert total([200], 10) == pytest.approx(180)",
    "with mock.patch('shop.pricing.requests.get'):\n        assert total() == 1",
    "try:\n        assert f() == 1\n    except ValueError:\n        pytest.fail('no')",
    "with pytest.raises(ValueError):\n        f()",
)


def weaknesses(body: str, *, issue: str = "It is wrong.", before: TestReport | None = None) -> list[str]:
    text = f"def test_new():\n    {body}\n"
    result = TestResult(id="test_a.py::test_new", outcome="passed")
    return weak_test_findings(
        {"test_a.py": text},
        [result],
        before or TestReport(command="pytest"),
        changed={"shifted"},
        issue=issue,
    )


@pytest.mark.parametrize("body", WEAK)
def test_names_weakness_of_new_test(body: str) -> None:
    assert weaknesses(body) == [f"test_a.py::test_new {WEAK[body]}"]


@pytest.mark.parametrize("body", HONEST)
def test_accepts_assertions_about_behaviour(body: str) -> None:
    assert weaknesses(body) == []


def test_accepts_weakness_named_in_issue_and_old_tests() -> None:
    assert weaknesses("assert isinstance(median([1]), float)", issue="median returns int, not float") == []
    base_report = TestReport(
        command="pytest", results=(TestResult(id="test_a.py::test_new", outcome="failed"),)
    )
    assert weaknesses("assert isinstance(median([1]), float)", before=base_report) == []


def test_lists_definitions_that_differ() -> None:
    old, new = "A = 1\ndef f():\n    return 1\n", "A = 2\ndef f():\n    return 1\ndef g():\n    return 2\n"
    assert find_edited_definitions({"a.py": old}, {"a.py": new}) == {"A", "g"}
