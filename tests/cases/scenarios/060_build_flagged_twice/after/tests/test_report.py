from tally.report import format_report


def test_lists_most_frequent_word_first():
    assert format_report({"be": 1, "to": 2}) == "2 to\n1 be"
