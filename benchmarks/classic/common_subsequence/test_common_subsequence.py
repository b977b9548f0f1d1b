from common_subsequence import longest_common


def test_nothing():
    assert longest_common("", "abc") == 0


def test_same():
    assert longest_common("abc", "abc") == 3


def test_with_gaps():
    assert longest_common("AGGTAB", "GXTXAYB") == 4


def test_behind():
    assert longest_common("a", "abb") == 1


def test_nothing_in_common():
    assert longest_common("abc", "xyz") == 0
