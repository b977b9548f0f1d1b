import pytest

from paketo.version import Version


@pytest.mark.parametrize(("older", "newer"), [("1.0", "1.1"), ("1.9", "2.0"), ("2.0rc1", "2.0"), ("2.0a2", "2.0b1")])
def test_order(older, newer):
    assert Version(older) < Version(newer)


def test_zeros_at_the_end_do_not_matter():
    assert Version("1.0.0") == Version("1")


def test_no_version():
    with pytest.raises(ValueError):
        Version("new")
