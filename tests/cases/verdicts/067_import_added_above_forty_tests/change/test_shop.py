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
def test_23(): assert total(['tea'] * 23) == 69
def test_24(): assert total(['tea'] * 24) == 72
def test_25(): assert total(['tea'] * 25) == 75
def test_26(): assert total(['tea'] * 26) == 78
def test_27(): assert total(['tea'] * 27) == 81
def test_28(): assert total(['tea'] * 28) == 84
def test_29(): assert total(['tea'] * 29) == 87
def test_30(): assert total(['tea'] * 30) == 90
def test_31(): assert total(['tea'] * 31) == 93
def test_32(): assert total(['tea'] * 32) == 96
def test_33(): assert total(['tea'] * 33) == 99
def test_34(): assert total(['tea'] * 34) == 102
def test_35(): assert total(['tea'] * 35) == 105
def test_36(): assert total(['tea'] * 36) == 108
def test_37(): assert total(['tea'] * 37) == 111
def test_38(): assert total(['tea'] * 38) == 114
def test_39(): assert total(['tea'] * 39) == 117
def test_40(): assert total(['tea'] * 40) == 120


def test_none():
    assert math.isclose(total(None), 0)
