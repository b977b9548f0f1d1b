"""Properties of verdicts, and verdicts of earlier formats."""

import pytest

from coder.core.verdict import (
    BehaviorExample,
    BehaviorReport,
    Failure,
    LineCoverage,
    LintReport,
    TestResult,
    Verdict,
    VerdictKind,
)
from coder.core.verdict_summary import describe_changes, evidence_rows


@pytest.mark.parametrize(
    ("kind", "cut_short", "good_enough"),
    [
        ("PROVEN", False, True),
        ("FIXED", False, True),
        ("PASSING", False, False),
        ("PASSING", True, True),
        ("BROKEN", True, False),
    ],
)
def test_no_better_change_is_sought_once_it_is_fixed(kind: str, cut_short: bool, good_enough: bool) -> None:
    verdict = Verdict(kind=VerdictKind(kind), reason="", cut_short=cut_short)
    assert verdict.is_good_enough is good_enough


def test_reads_former_names_of_fields() -> None:
    former = {
        "kind": "PROVEN",
        "reason": "",
        "scope": "impacted",
        "guarded": {"unguarded": [{"path": "a.py", "line": 1, "what": "is left out"}], "tried": 2},
        "checked": {"mended": ["ruff check ."]},
    }
    verdict = Verdict.model_validate(former)
    assert verdict.scope == "reaching"
    assert verdict.mutation is not None and verdict.mutation.share == "1 of 2"
    assert verdict.linters == LintReport()


def test_sameness_is_no_comfort_where_tests_went_green() -> None:
    behavior = BehaviorReport(calls=9, compared=9, inputs=9, changed=0, examples=())
    (line,) = describe_changes(behavior, has_targets=False)
    assert line.startswith("same results as before in 9 tried calls")
    assert describe_changes(behavior, has_targets=True) == ()


def test_examples_show_results_before_and_now() -> None:
    short = BehaviorExample(call="f(1)", before="2", after="3", tested=True)
    long = BehaviorExample(
        call=f"merge({[*range(30)]})", before=f"{[*range(30)]}", after=f"{[*range(1, 30)]}"
    )
    behavior = BehaviorReport(calls=9, compared=9, inputs=9, changed=3, examples=(short, long, long, long))
    call_line, *lines = describe_changes(behavior, has_targets=True)
    assert call_line == "f(1)  2 → 3"
    assert lines[0].startswith("merge([") and lines[1].startswith("  before  [0, 1")
    assert lines[2].startswith("  now     [1, 2") and lines[2].endswith("  not tested")
    assert lines[3:6] == lines[:3]
    assert lines[6:] == ["3 of 9 tried calls now answer differently"]
    assert max(map(len, lines)) <= 90


@pytest.mark.parametrize(
    ("message", "headline"),
    [
        ("assert 1 == 2\n +  where", "AssertionError: assert 1 == 2"),
        (
            "Traceback (most recent call last):\n  File 'x'\nKeyError: 'a'\nassert 1 == 0",
            "AssertionError: KeyError: 'a'",
        ),
        ("Expected values to be equal:\n\n1 !== 2\n", "AssertionError: Expected values to be equal: 1 !== 2"),
        ("", "AssertionError"),
    ],
)
def test_headline_is_the_telling_line(message: str, headline: str) -> None:
    assert Failure(type="AssertionError", message=message).headline == headline


@pytest.mark.parametrize(
    ("reason", "headline"),
    [
        ("2 tests still fail with the change: a, b.", "2 tests still fail with the change."),
        (
            "The change breaks 1 test that passed before: t::a.",
            "The change breaks 1 test that passed before.",
        ),
        ("The issue's `f({'a': 1})` gives 2 as before.", "The issue's `f({'a': 1})` gives 2 as before."),
        (
            "1 test still fails with the change: a; the issue's `f({'a': 1})` gives 2 as before.",
            "1 test still fails with the change; the issue's `f({'a': 1})` gives 2 as before.",
        ),
    ],
)
def test_headline_of_red_tests_leaves_their_names_out(reason: str, headline: str) -> None:
    red = TestResult(id="a", outcome="failed")
    assert Verdict(kind=VerdictKind.NOT_FIXED, reason=reason, still_red=(red,)).headline == headline


@pytest.mark.parametrize(
    ("coverage", "targets", "shown"),
    [
        (LineCoverage(lines=3, executed=2, missing=("a.py:34",)), ("t",), "no test that ran runs a.py:34"),
        (LineCoverage(lines=3, executed=3), (), ""),
        (None, (), ""),
    ],
)
def test_changed_lines_that_no_test_runs_are_shown(
    coverage: LineCoverage | None, targets: tuple[str, ...], shown: str
) -> None:
    verdict = Verdict(kind=VerdictKind.PASSING, reason="Passing.", coverage=coverage, targets=targets)
    texts = [row.text for row in evidence_rows(verdict) if row.name == "untested"]
    assert [text.startswith(shown) for text in texts] == [True] * bool(shown)


def test_equal_answers_say_nothing_where_no_test_runs_the_change() -> None:
    behavior = BehaviorReport(calls=9, compared=9, inputs=9, changed=0, examples=())
    coverage = LineCoverage(lines=1, executed=0, tests=2, missing=("a.py:34",))
    verdict = Verdict(kind=VerdictKind.PASSING, reason="No.", coverage=coverage, behavior=behavior)
    assert [*evidence_rows(verdict)] == []
    seen = verdict.model_copy(update={"behavior": behavior.model_copy(update={"changed": 2})})
    assert next(evidence_rows(seen)).text == "2 of 9 tried calls now answer differently"


def test_skipped_test_is_called_so() -> None:
    skipped = TestResult(id="t.py::test_a", outcome="skipped")
    verdict = Verdict(kind=VerdictKind.BROKEN, reason="Broken.", broken=(skipped,))
    assert next(evidence_rows(verdict)).text == "passed before, fails now: t.py::test_a: skipped now"
