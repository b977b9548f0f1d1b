from coder.core.events import SessionFinished
from coder.core.messages import UsageTotals
from coder.ui.summary import format_cost, summary_lines

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


def test_cost_splits_seconds_and_leaves_out_waiting() -> None:
    stages = {"model": 30.2, "base": 4.1, "targets": 4.0, "your answers": 200.0, "other": 5.7}
    end = FINISHED.model_copy(update={"stages": stages, "seconds": 244.0, "spent": UsageTotals()})
    assert format_cost(end) == "44 s (tests 8 s, model 30 s, other 6 s)"
    assert format_cost(end.model_copy(update={"stages": {"other": 244.0}})) == "244 s"
