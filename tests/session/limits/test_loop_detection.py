import pytest

from coder.session.phase import LoopDetector


@pytest.mark.parametrize(
    ("turns", "states"),
    [
        ("aaa", "new again lost"),
        ("ababab", "new new again again lost lost"),
        ("aAaa", "new new new again"),  # a capital is a turn that changes something
    ],
)
def test_repeated_turns_warn_once_then_stop(turns: str, states: str) -> None:
    detector = LoopDetector()
    assert [
        detector.record_turn((turn.lower(),), has_changed=turn.isupper()) for turn in turns
    ] == states.split()
