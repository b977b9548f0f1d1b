from tally.counting import count_lines, count_words, most_common


def test_counts():
    assert count_words("a b\nc") == 3
    assert count_lines("a b\nc") == 2


def test_most_common():
    assert most_common("b a b A c", 2) == [("a", 2), ("b", 2)]
