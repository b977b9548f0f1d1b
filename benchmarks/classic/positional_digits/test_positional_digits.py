from positional_digits import read, written


def test_zero():
    assert written(0, 2) == "0"


def test_palindromes():
    assert written(5, 2) == "101"


def test_written():
    assert written(6, 2) == "110"
    assert written(255, 16) == "ff"
    assert written(1000, 36) == "rs"


def test_read():
    assert read("ff", 16) == 255


def test_there_and_back():
    assert read(written(123456, 7), 7) == 123456
