from clock import minutes


def test_midnight():
    assert minutes("00:00") == 0
