from clock import minutes


def test_midnight():
    assert minutes("00:00") == 0


def test_half_past_nine():
    assert minutes("09:30") == 570


def test_one_past():
    assert minutes("00:01") == 1
