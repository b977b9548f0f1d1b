def test_never_worked():
    assert 1 == 2
