from coder.session.limits.loop_detection import Wandering

TURN = ("search({})", "search: nothing")


def test_repeated_turn_warns_once_then_stops() -> None:
    wandering = Wandering()
    assert [wandering.seen(TURN, moved=False) for _ in range(3)] == ["new", "again", "lost"]


def test_detects_cycles_of_several_turns() -> None:
    wandering = Wandering()
    assert [wandering.seen((name,), moved=False) for name in "ababab"] == [
        "new",
        "new",
        "again",
        "again",
        "lost",
        "lost",
    ]


def test_change_resets_detection() -> None:
    wandering = Wandering()
    assert [wandering.seen(TURN, moved=moved) for moved in (False, True, False, False)] == [
        "new",
        "new",
        "new",
        "again",
    ]
