import pytest

from paketo import newest, upgrades
from paketo.version import Version


@pytest.mark.parametrize(("older", "newer"), [("1.9.3", "1.10.0"), ("9", "10"), ("1.2", "1.2.10"), ("0.99", "0.100"), ("1.10rc1", "1.10")])
def test_order(older, newer):
    assert Version(older) < Version(newer)
    assert not Version(newer) < Version(older)


def test_newest():
    assert newest(["1.9.3", "1.10.0", "1.8"]) == "1.10.0"


def test_upgrades():
    assert upgrades("1.9", ["1.8", "1.10", "1.11", "2.0"], "x < 2") == ["1.10", "1.11"]


def test_same():
    assert Version("1.0") == Version("1.0.0")
    assert hash(Version("1.0")) == hash(Version("1"))
