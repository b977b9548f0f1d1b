from best_run import best_run


def test_one():
    assert best_run([5]) == 5


def test_all_positive():
    assert best_run([1, 2, 3]) == 6


def test_mixed():
    assert best_run([-2, 1, -3, 4, -1, 2, 1, -5, 4]) == 6


def test_all_negative():
    assert best_run([-3, -1, -2]) == -1
