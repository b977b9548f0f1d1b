"""Lines of a batch."""

import json

import pytest

from coder.batch.issues import parse_issues


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "it is no JSON"),
        ("[1]", "it is no JSON object"),
        ("[" * 100_000, "it is no JSON"),
        ('{"isue": "x"}', "'issue' is missing; unknown field 'isue' (there are id, issue, repo"),
        ('{"issue": " "}', "issue: the issue is empty"),
        ('{"issue": 3}', "issue: it should be text"),
        ('{"issue": "x", "strategy": "magic"}', "strategy: it should be"),
        ('{"issue": "x", "max_usd": -1}', "max_usd: it should be greater than 0"),
        *(
            (json.dumps({"issue": "x", "id": identity}), "id: an id has letters")
            for identity in ("../x", ".lock", "running", "a/b", "x" * 101)
        ),
        ('{"issue": "y", "id": "A"}', "its id 'A' is that of line 1"),
    ],
)
def test_bad_line_is_one_reason_and_the_others_stay(line: str, reason: str) -> None:
    issues, rejected = parse_issues(['{"issue": "x", "id": "a"}', line, "", '{"issue": "z", "id": "b"}'])
    assert [issue.id for issue in issues] == ["a", "b"]
    assert [(rejection.line, reason in rejection.reason) for rejection in rejected] == [(2, True)]


def test_derived_id_depends_on_the_whole_line_alone() -> None:
    lines = [json.dumps({"issue": "Sum is wrong: 1 + 1!", "base": base}) for base in ("HEAD", "v1")]
    first, second = (parse_issues(order)[0] for order in (lines, lines[::-1]))
    assert {issue.id for issue in first} == {issue.id for issue in second}
    assert len({issue.id for issue in first}) == 2
    assert all(issue.id.startswith("sum-is-wrong-1-1-") for issue in first)


def test_line_that_occurs_twice_is_done_once() -> None:
    issues, rejected = parse_issues(['{"issue": "x"}'] * 2)
    assert (len(issues), [rejection.line for rejection in rejected]) == (1, [2])
