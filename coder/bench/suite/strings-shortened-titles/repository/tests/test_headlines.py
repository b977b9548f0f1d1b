from pressroom import headline


def test_kicker():
    assert headline("rain again", kicker="weather") == "WEATHER: Rain Again"
