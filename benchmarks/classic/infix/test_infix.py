from infix import postfix


def test_one():
    assert postfix(["1"]) == ["1"]


def test_precedence():
    assert postfix("1 + 2 * 3".split()) == "1 2 3 * +".split()


def test_parentheses():
    assert postfix("( 1 + 2 ) * 3".split()) == "1 2 + 3 *".split()


def test_from_the_left():
    assert postfix("8 - 3 - 2".split()) == "8 3 - 2 -".split()


def test_mixed():
    assert postfix("8 / 4 / 2 + 1".split()) == "8 4 / 2 / 1 +".split()
