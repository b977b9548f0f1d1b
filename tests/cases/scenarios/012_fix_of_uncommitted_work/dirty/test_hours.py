from clock import hours


def test_hours():
    assert hours("01:00") == 1
