from tally import split_words


def test_splits_words():
    assert split_words("To be, to") == ["to", "be", "to"]
