from bill import pay, split_bill


def test_split_bill():
    assert split_bill(9, 3) == [3, 3, 3]


def test_pay():
    assert pay(5, 3) == 2
