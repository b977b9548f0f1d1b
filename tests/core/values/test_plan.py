import pytest
from hypothesis import given
from hypothesis import strategies as st

from coder.core.notes import Plan, Step
from coder.core.values.plan import format_plan, parse_plan

PLAN = Plan(
    summary="The sign goes.",
    steps=(
        Step(intent="A test shows it.", files=("tests/test_a.py",), check="tests/test_a.py::test_a"),
        Step(intent="It is gone."),
    ),
)
TEXT = """\
## The plan
The sign goes.

1. A test shows it.
   - files: tests/test_a.py
   - seen by: tests/test_a.py::test_a
2. It is gone."""
WORDS = st.lists(st.from_regex(r"[a-z][a-z:'(,]{0,9}", fullmatch=True), min_size=1, max_size=5).map(" ".join)
PATHS = st.lists(st.from_regex(r"[a-z]{1,5}/[a-z]{1,5}\.py", fullmatch=True), max_size=3).map(tuple)
STEPS = st.lists(
    st.builds(Step, intent=WORDS, files=PATHS, check=WORDS | st.just("")), min_size=1, max_size=4
).map(tuple)


def test_a_plan_is_written_as_steps() -> None:
    assert format_plan(PLAN) == TEXT
    assert (
        format_plan(Plan(summary="One\nidea", steps=(Step(intent="Two\n- lines"),)))
        == "## The plan\nOne idea\n\n1. Two - lines"
    )


@given(st.builds(Plan, summary=WORDS, steps=STEPS))
def test_plan_round_trips(plan: Plan) -> None:
    assert parse_plan(format_plan(plan)) == plan


def test_reads_handwritten_plan() -> None:
    text = """
# Dates

Look at *months* first.

2) Month ends are kept,
   also in leap years.
   * Files: `a.py`, b.py ,
   * check: a date in February stays there

1. The rest.
"""
    steps = (
        Step(
            intent="Month ends are kept, also in leap years.",
            files=("a.py", "b.py"),
            check="a date in February stays there",
        ),
        Step(intent="The rest."),
    )
    assert parse_plan(text) == Plan(summary="Look at *months* first.", steps=steps)
    assert parse_plan("1. It is gone.") == Plan(summary="It is gone.", steps=(Step(intent="It is gone."),))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "there is no step in it; "),
        ("- a\n- b\n", "there is no step in it; "),
        (TEXT.replace("seen by", "sean by"), "line 6 belongs to no step: '- sean by: "),
        (f"{TEXT}\nAnd all is well.", "line 8 belongs to no step: 'And all is well.'; "),
    ],
)
def test_refuses_invalid_plan_with_line(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match="a step is a line") as error:
        parse_plan(text)
    assert str(error.value).startswith(fault)
    assert "\n" not in str(error.value)
