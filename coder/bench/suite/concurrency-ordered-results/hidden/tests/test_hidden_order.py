import threading

from crew import Pool


def test_a_slow_first_job():
    second_is_done = threading.Event()

    def work(item):
        if item == "slow":
            assert second_is_done.wait(10)
        else:
            second_is_done.set()
        return item

    assert Pool(2).map(work, ["slow", "fast"]) == ["slow", "fast"]


def test_the_last_job_first():
    turns = [threading.Event() for _ in range(5)]
    turns[4].set()

    def work(number):
        assert turns[number].wait(10)
        if number:
            turns[number - 1].set()
        return number * 10

    assert Pool(5).map(work, range(5)) == [0, 10, 20, 30, 40]
