import pytest

from coder.core.notes import Component, Plan, Step
from coder.core.plan import find_plan_fault, format_plan, order_components, parse_plan

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


def test_a_plan_is_written_as_steps() -> None:
    assert format_plan(PLAN) == TEXT
    assert (
        format_plan(Plan(summary="One\nidea", steps=(Step(intent="Two\n- lines"),)))
        == "## The plan\nOne idea\n\n1. Two - lines"
    )


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


COMPONENTS = Plan(
    summary="It counts words.",
    components=(
        Component(
            name="words", purpose="Splits text.", path="tally/words.py", tests=("tests/test_words.py",)
        ),
        Component(
            name="counts",
            purpose="Counts words: all of them.",
            path="tally/counts.py",
            api=("def count(text: str, *, most: int) -> dict[str, int]", "class CountError(Exception)"),
            dependencies=("words",),
            tests=("tests/test_counts.py", "tests/test_more.py"),
        ),
    ),
)


def test_components_round_trip() -> None:
    text = format_plan(COMPONENTS)
    assert parse_plan(text) == COMPONENTS
    assert parse_plan(text.partition("\n\n")[2]).components == COMPONENTS.components


def changed(**update: object) -> Plan:
    first, second = COMPONENTS.components
    return COMPONENTS.model_copy(update={"components": (first, second.model_copy(update=update))})


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        (COMPONENTS, ""),
        (Plan(summary="x"), "it needs one to 12 components"),
        (changed(name="words"), "'words' is no unique name"),
        (changed(name="../x"), "'../x' is no unique name"),
        (changed(dependencies=("nobody",)), "counts needs nobody, which no component is called"),
        (changed(tests=()), "counts has no tests"),
        (changed(path="/etc/x.py"), "'/etc/x.py' is no path of a Python file"),
        (changed(path="a/../../x.py"), "'a/../../x.py' is no path of a Python file"),
        (changed(path="tests/test_x.py"), "'tests/test_x.py' is a test file"),
        (changed(tests=("checks.py",)), "'checks.py' is no test file"),
        (changed(path="tally/words.py"), "tally/words.py belongs to words and to counts"),
        (changed(dependencies=("counts",)), "counts needs counts: a circle"),
    ],
)
def test_faults_of_components(plan: Plan, fault: str) -> None:
    assert fault in find_plan_fault(plan)
    assert bool(find_plan_fault(plan)) == bool(fault)


def test_components_follow_those_they_import() -> None:
    first, second = COMPONENTS.components
    assert order_components((second, first)) == (first, second)
