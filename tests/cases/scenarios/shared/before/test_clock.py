from clock import minutes


def test_midnight():
    assert minutes("00:00") == 0


def test_half_past_nine():
    assert minutes("09:30") == 570
