from coder.session.limits.loop_detection import Wandering

TURN = ("search({})", "search: nothing")


def test_the_same_turn_is_told_once_and_then_too_much() -> None:
    wandering = Wandering()
    assert [wandering.seen(TURN, moved=False) for _ in range(3)] == ["new", "again", "lost"]


def test_circles_of_several_turns_are_seen() -> None:
    wandering = Wandering()
    assert [wandering.seen((name,), moved=False) for name in "ababab"] == [
        "new",
        "new",
        "again",
        "again",
        "lost",
        "lost",
    ]


def test_a_change_begins_anew() -> None:
    wandering = Wandering()
    assert [wandering.seen(TURN, moved=moved) for moved in (False, True, False, False)] == [
        "new",
        "new",
        "new",
        "again",
    ]
