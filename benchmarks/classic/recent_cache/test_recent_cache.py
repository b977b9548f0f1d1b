from recent_cache import RecentCache


def test_absent():
    assert RecentCache(1).get("a", 7) == 7


def test_kept():
    cache = RecentCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert (cache.get("a"), cache.get("b"), len(cache)) == (1, 2, 2)


def test_the_oldest_goes():
    cache = RecentCache(2)
    for key in "abc":
        cache.put(key, key.upper())
    assert [cache.get(key) for key in "abc"] == [None, "B", "C"]


def test_use_renews():
    cache = RecentCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
