def check_total(found, expected):
    assert found == expected
