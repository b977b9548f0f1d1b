from paketo import newest, upgrades


def test_no_prereleases_unasked():
    assert newest(["1.0", "2.0b1"]) == "1.0"
    assert newest(["1.0", "2.0b1"], prereleases=True) == "2.0b1"


def test_upgrades():
    assert upgrades("1.1", ["1.0", "1.2", "2.0"], "paketo < 2") == ["1.2"]
