"""Properties of verdicts, and verdicts of earlier formats."""

import pytest

from coder.core.verdict import BehaviorReport, Finding, Verdict, VerdictKind
from coder.core.verdict_summary import describe_changes

CUT = Verdict(
    kind=VerdictKind.PASSING, reason="", targets=("t.py::t",), scope="reaching", tests_ran=4, tests_reaching=9
)
CAP = Finding(rule="weak-test", effect="cap", text="it asserts little")


@pytest.mark.parametrize(
    ("changed", "good_enough"),
    [
        ({}, True),
        ({"targets": ()}, False),
        ({"findings": (CAP,)}, False),
        ({"findings": (CAP.model_copy(update={"effect": "note"}),)}, True),
        ({"tests_reaching": 4}, False),
        ({"kind": VerdictKind.BROKEN}, False),
    ],
)
def test_lack_of_time_alone_calls_for_no_better_change(changed: dict[str, object], good_enough: bool) -> None:
    assert CUT.model_copy(update=changed).is_good_enough is good_enough


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
    assert "what the tests see is not compared" in describe_changes(behavior, has_targets=True)
