from palindrome import is_palindrome


def test_sentence():
    assert is_palindrome("A man, a plan, a canal: Panama!")


def test_no_palindrome():
    assert not is_palindrome("palindrome")


def test_digits_count():
    assert not is_palindrome("1a2")
    assert is_palindrome("2002-2002")


def test_empty():
    assert is_palindrome("")
