from coder.core.events import SessionFinished
from coder.core.messages import UsageTotals
from coder.ui.summary import format_stages, summary_lines

FINISHED = SessionFinished(
    kind=None, summary="Interrupted.", spent=UsageTotals(requests=3, input_tokens=9_000), exit_code=130
)


def summary_text(session_end: SessionFinished) -> str:
    return "\n".join(line.plain for line in summary_lines(session_end, session="s1"))


def test_splits_cost_by_role() -> None:
    roles = {
        "executor": UsageTotals(requests=1, input_tokens=3_000),
        "reviewer": UsageTotals(requests=2, input_tokens=6_000),
    }
    assert "of which executor 1 with 3.0k; reviewer 2 with 6.0k" in summary_text(
        FINISHED.model_copy(update={"roles": roles})
    )


def test_does_not_name_single_role() -> None:
    assert "of which" not in summary_text(FINISHED)


def test_stages_shown_add_up() -> None:
    stages = {"model": 30.2, "base": 0.4, "targets": 4.1, "other": 5.3}
    assert format_stages(stages) == " (model 30, tests of the issue 4, other 6)"
    assert format_stages({"base": 0.4, "other": 5.0}) == ""
    assert format_stages({}) == ""
