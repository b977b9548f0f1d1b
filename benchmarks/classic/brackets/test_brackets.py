from brackets import balanced


def test_nothing():
    assert balanced("")


def test_nested():
    assert balanced("f(a[1], {2: 3})")


def test_crossed():
    assert not balanced("([)]")


def test_closed_too_often():
    assert not balanced("())")


def test_left_open():
    assert not balanced("((a)")
    assert not balanced("[")
