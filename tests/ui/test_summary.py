from coder.core.events import SessionFinished
from coder.core.messages import UsageTotals
from coder.ui.summary import format_cost

FINISHED = SessionFinished(
    kind=None, summary="Interrupted.", spent=UsageTotals(requests=3, input_tokens=9_000), exit_code=130
)


def test_cost_splits_seconds_and_leaves_out_waiting() -> None:
    stages = {"model": 30.2, "base": 4.1, "targets": 4.0, "your answers": 200.0, "other": 5.7}
    end = FINISHED.model_copy(update={"stages": stages, "seconds": 244.0, "spent": UsageTotals()})
    assert format_cost(end) == "44 s (tests 8 s, model 30 s, other 6 s)"
    assert format_cost(end.model_copy(update={"stages": {"other": 244.0}})) == "244 s"
