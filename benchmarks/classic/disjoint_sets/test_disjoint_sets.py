from disjoint_sets import DisjointSets


def test_apart():
    assert not DisjointSets("ab").together("a", "b")


def test_joined():
    sets = DisjointSets("abc")
    assert sets.join("a", "b")
    assert sets.together("a", "b")
    assert not sets.together("a", "c")


def test_joined_twice():
    sets = DisjointSets("ab")
    assert sets.join("a", "b")
    assert not sets.join("b", "a")


def test_all_members_move():
    sets = DisjointSets("abcd")
    sets.join("a", "b")
    sets.join("a", "c")
    assert sets.together("b", "c")
    assert sets.together("a", "b")


def test_sets_of_two():
    sets = DisjointSets("abcd")
    sets.join("a", "b")
    sets.join("c", "d")
    sets.join("a", "d")
    assert all(sets.together("a", other) for other in "bcd")
