from caesar import shifted


def test_small_shift():
    assert shifted("abc", 3) == "def"


def test_other_characters_stay():
    assert shifted("a b, c!", 1) == "b c, d!"


def test_round_the_corner():
    assert shifted("xyz", 3) == "abc"
    assert shifted("Zoo", 1) == "App"


def test_back():
    assert shifted("Khoor", -3) == "Hello"
    assert shifted("abc", -3) == "xyz"
