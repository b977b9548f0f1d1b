"""Properties of verdicts, and verdicts of earlier formats."""

import pytest

from coder.core.verdict import BehaviorReport, Verdict, VerdictKind
from coder.core.verdict_summary import describe_changes


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
    assert verdict.linters is not None and verdict.linters.fixed == ("ruff check .",)


def test_sameness_is_no_comfort_where_tests_went_green() -> None:
    behavior = BehaviorReport(calls=9, compared=9, inputs=9, changed=0, examples=())
    assert describe_changes(behavior, has_targets=False).startswith("same results as before for 9 inputs")
    assert describe_changes(behavior, has_targets=True) == ""
