from coder.session.turn import LoopDetector

TURN = ("search({})", "search: nothing")


def test_repeated_turn_warns_once_then_stops() -> None:
    wandering = LoopDetector()
    assert [wandering.record_turn(TURN, has_changed=False) for _ in range(3)] == ["new", "again", "lost"]


def test_detects_cycles_of_several_turns() -> None:
    wandering = LoopDetector()
    assert [wandering.record_turn((name,), has_changed=False) for name in "ababab"] == [
        "new",
        "new",
        "again",
        "again",
        "lost",
        "lost",
    ]


def test_change_resets_detection() -> None:
    wandering = LoopDetector()
    assert [wandering.record_turn(TURN, has_changed=moved) for moved in (False, True, False, False)] == [
        "new",
        "new",
        "new",
        "again",
    ]
