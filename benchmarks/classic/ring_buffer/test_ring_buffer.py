from ring_buffer import RingBuffer


def filled(capacity, items):
    buffer = RingBuffer(capacity)
    for item in items:
        buffer.put(item)
    return buffer


def test_empty():
    assert filled(3, []).items() == []
    assert filled(3, []).oldest() is None


def test_not_full():
    assert filled(3, [1, 2]).items() == [1, 2]


def test_full():
    assert filled(3, [1, 2, 3, 4]).items() == [2, 3, 4]
    assert len(filled(3, [1, 2, 3, 4])) == 3


def test_oldest_after_a_round():
    assert filled(2, [1, 2, 3, 4]).oldest() == 3
    assert filled(3, range(20)).oldest() == 17
