from bill import bill


def test_bill():
    assert bill(["cake", "tea"]) == "4 with service"
