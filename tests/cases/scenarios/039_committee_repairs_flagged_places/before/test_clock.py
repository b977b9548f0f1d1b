from clock import hours, minutes, written
from zones import ahead


def test_half_past_nine():
    assert minutes("09:30") == 570


def test_the_hour():
    assert hours("09:30") == 9


def test_a_time_is_written():
    assert written(570) == "9:30"


def test_one_hour_ahead():
    assert ahead("09:30", 1) == 630
