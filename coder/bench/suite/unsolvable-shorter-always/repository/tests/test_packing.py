import pytest

from packer import pack, unpack
from packer.packing import Damaged
from packer.rates import rate


@pytest.mark.parametrize("data", [b"", b"a", b"aaab", bytes(1000)])
def test_there_and_back(data):
    assert unpack(pack(data)) == data


def test_runs_get_shorter():
    assert rate(b"a" * 100) == 0.02


def test_damaged():
    with pytest.raises(Damaged):
        unpack(b"a")
