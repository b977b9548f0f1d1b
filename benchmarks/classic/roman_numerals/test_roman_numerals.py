import pytest

from roman_numerals import parse


@pytest.mark.parametrize(("numeral", "number"), [("I", 1), ("IV", 4), ("XL", 40), ("MDCLXVI", 1666)])
def test_each_sign_once(numeral, number):
    assert parse(numeral) == number


@pytest.mark.parametrize(("numeral", "number"), [("III", 3), ("MCMXCIV", 1994), ("XXVII", 27), ("MM", 2000)])
def test_repeated_signs(numeral, number):
    assert parse(numeral) == number
