from quoted_fields import fields


def test_plain():
    assert fields("a,b,c") == ["a", "b", "c"]


def test_empty_fields():
    assert fields(",") == ["", ""]
    assert fields("") == [""]


def test_separator_in_quotes():
    assert fields('"a,b",c') == ["a,b", "c"]


def test_doubled_quotes():
    assert fields('"say ""hi""",x') == ['say "hi"', "x"]


def test_other_separator():
    assert fields("a;b", ";") == ["a", "b"]
