from grid_distance import distances

GRAPH = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["e"], "x": ["a"]}


def test_alone():
    assert distances({}, "z") == {"z": 0}


def test_neighbours():
    assert distances({"a": ["b"]}, "a") == {"a": 0, "b": 1}


def test_far():
    assert distances(GRAPH, "a") == {"a": 0, "b": 1, "c": 1, "d": 2, "e": 3}


def test_farther():
    assert distances(GRAPH, "x")["e"] == 4
