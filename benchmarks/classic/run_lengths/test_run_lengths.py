from run_lengths import decode, encode


def test_nothing():
    assert encode("") == []


def test_one_run():
    assert encode("aaa") == [("a", 3)]


def test_runs():
    assert encode("aabccc") == [("a", 2), ("b", 1), ("c", 3)]


def test_decode():
    assert decode([("x", 2), ("y", 1)]) == "xxy"


def test_there_and_back():
    assert decode(encode("wwwbw")) == "wwwbw"
