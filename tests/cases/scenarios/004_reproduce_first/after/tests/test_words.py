from words import initials


def test_two_parts():
    assert initials("ada lovelace") == "AL"


def test_two_spaces_in_a_row():
    assert initials("ada  lovelace") == "AL"
