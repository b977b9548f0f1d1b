from crew.results import Results


def test_first_failure():
    results = Results()
    results.fail(2, KeyError("b"))
    results.fail(1, KeyError("a"))
    assert results.first_failure.args == ("a",)
