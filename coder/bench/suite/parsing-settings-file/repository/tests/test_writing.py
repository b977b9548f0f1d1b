from plainconf import dump


def test_dump():
    assert dump({"": {}, "s": {"a": [1, 2]}}) == "[s]\na = [1, 2]\n"
