import pytest

from caching import ExpiringCache


def test_writing_again_renews():
    now = [0.0]
    cache = ExpiringCache(3, 5.0, lambda: now[0])
    cache.put("a", 1)
    now[0] = 4.0
    cache.put("a", 2)
    now[0] = 8.0
    assert cache.get("a") == 2


def test_expired_values_take_no_place():
    now = [0.0]
    cache = ExpiringCache(1, 5.0, lambda: now[0])
    cache.put("a", 1)
    now[0] = 6.0
    assert len(cache) == 0
    cache.put("b", 2)
    assert cache.get("b") == 2


def test_capacity_is_positive():
    with pytest.raises(ValueError):
        ExpiringCache(-1, 1.0, lambda: 0.0)
