from words import initials


def test_two_parts():
    assert initials("ada lovelace") == "AL"
