"""Calls and values that are shortened between elements."""

import pytest

from coder.core.text import cut_after_line
from coder.core.verdict import BehaviorExample, BehaviorReport
from coder.core.verdict_summary import lines_of_examples, shorten_results, shorten_value

PERIODS = [f"Period({start}, {start + 90})" for start in range(0, 1080, 90)]
LIST = f"[{', '.join(PERIODS)}]"


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("ordinal(33)", "", "ordinal(33)"),
        (f"merge({LIST})", "", "merge([Period(0, 90), Period(90, 180), Period(180, 270), …])"),
        (
            LIST,
            LIST.replace("Period(540, 630)", "Period(0, 1)"),
            "[…, Period(360, 450), Period(450, 540), Period(540, 630), …]",
        ),
        (
            f"Log(entries={LIST}, name='a').total(1)",
            "",
            "Log(entries=[Period(0, 90), Period(90, 180), …], name='a').total(1)",
        ),
        (f"{{'a': {LIST}, 'b': 1}}", f"{{'a': {LIST}, 'b': 2}}", "{…, 'b': 1}"),
        ("x" * 50 + "...#0123abcd", "", "x" * 50 + "…"),
        (
            f"raises ValueError: it can't be (as {'so ' * 30}",
            "",
            f"raises ValueError: it can't be (as {'so ' * 11}…",
        ),
        (f"'{'a' * 90}b'", f"'{'a' * 90}c'", f"'…{'a' * 64}b'"),
        (f"f({'(' * 300}", "", f"f({'(' * 66}…"),
    ],
)
def test_leaves_out_whole_elements(text: str, other: str, expected: str) -> None:
    assert shorten_value(text, other=other) == expected


CACHE = "LRUCache(_size=2, _data={{1: 'updated', 2: 2}}, _max=2, _order=OrderedDict{{{}}})"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("5", "6", ("5", "6")),
        (
            f"None; arguments now {CACHE.format('1: None, 2: None')}.__setitem__(1, 'updated')",
            f"None; arguments now {CACHE.format('2: None, 1: None')}.__setitem__(1, 'updated')",
            (
                "leaves LRUCache(…, _order=OrderedDict{1: None, 2: None})",
                "leaves LRUCache(…, _order=OrderedDict{2: None, 1: None})",
            ),
        ),
        (
            "None; arguments now f([1, 2], 3)",
            "None; arguments now f([2, 1], 3)",
            ("leaves f([1, 2], 3)", "leaves f([2, 1], 3)"),
        ),
        ("2", "2; arguments now T(n=1).count(3)", ("leaves all as it was", "leaves T(n=1)")),
        (
            "2; arguments now T(n=1).add(3)",
            "3; arguments now T(n=1).add(3)",
            ("2", "3"),
        ),
        (
            "2; arguments now T(n=1).add(3)",
            "3; arguments now T(n=2).add(3)",
            ("2; arguments now T(n=1).add(3)", "3; arguments now T(n=2).add(3)"),
        ),
        (f"2; arguments now f({LIST})", "3; arguments now f([])", ("2", "3")),
        (
            f"<Result>; state Result(output='a', rows={LIST}); state Runner(runs=1)",
            f"<Result>; state Result(output='b', rows={LIST}); state Runner(runs=1)",
            ("leaves Result(output='a', …)", "leaves Result(output='b', …)"),
        ),
        (
            "<T>; state T(n=1)",
            "<T>; state T(n=1); state f(T(n=2))",
            ("leaves all as it was", "leaves f(T(n=2))"),
        ),
    ],
)
def test_results_that_differ_in_state_alone_show_the_state(
    before: str, after: str, shown: tuple[str, str]
) -> None:
    assert shorten_results(before, after, limit=55) == shown


def test_cuts_a_text_after_a_line() -> None:
    assert cut_after_line("one\ntwo", 7) == "one\ntwo"
    assert cut_after_line("one\ntwo\nthree", 8) == "one\ntwo\n[... cut here]"
    assert cut_after_line("one\ntwo\nthree", 6) == "one\n[... cut here]"


def test_examples_show_what_tells_their_calls_apart() -> None:
    long = ", ".join(f"'word number {number}'" for number in range(9))
    rows = [
        BehaviorExample(call=f"join({long}, sep={sep!r})", before="1", after="2", tested=sep == "-")
        for sep in "-+"
    ]
    report = BehaviorReport(examples=tuple(rows), calls=2, compared=2, inputs=2, changed=2)
    for sep, lines in zip("-+", lines_of_examples(report), strict=True):
        assert f"sep={sep!r}" in lines[0]
