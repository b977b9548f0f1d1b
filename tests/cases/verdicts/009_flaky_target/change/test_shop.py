from shop import cheapest, total


def test_cheapest():
    assert cheapest(["cake", "tea"]) == "tea"


def test_total_of_nothing():
    assert total([]) == 0


def test_total():
    from pathlib import Path

    count = Path(__file__).parent.parent / "count"
    count.write_text(count.read_text() + "x" if count.exists() else "x")
    assert len(count.read_text()) != 2
