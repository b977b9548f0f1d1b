import math

from shop import total


def test_1(): assert total(['tea'] * 1) == 3
def test_2(): assert total(['tea'] * 2) == 6
def test_3(): assert total(['tea'] * 3) == 9
def test_4(): assert total(['tea'] * 4) == 12
def test_5(): assert total(['tea'] * 5) == 15
def test_6(): assert total(['tea'] * 6) == 18
def test_7(): assert total(['tea'] * 7) == 21
def test_8(): assert total(['tea'] * 8) == 24
def test_9(): assert total(['tea'] * 9) == 27
def test_10(): assert total(['tea'] * 10) == 30
def test_11(): assert total(['tea'] * 11) == 33
def test_12(): assert total(['tea'] * 12) == 36
def test_13(): assert total(['tea'] * 13) == 39
def test_14(): assert total(['tea'] * 14) == 42
def test_15(): assert total(['tea'] * 15) == 45
def test_16(): assert total(['tea'] * 16) == 48
def test_17(): assert total(['tea'] * 17) == 51
def test_18(): assert total(['tea'] * 18) == 54
def test_19(): assert total(['tea'] * 19) == 57
def test_20(): assert total(['tea'] * 20) == 60
def test_21(): assert total(['tea'] * 21) == 63
def test_22(): assert total(['tea'] * 22) == 66


def test_none():
    assert math.isclose(total(None), 0)
