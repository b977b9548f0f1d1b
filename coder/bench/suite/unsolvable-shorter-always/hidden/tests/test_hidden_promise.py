import pytest

from packer import pack, unpack


def test_every_byte_comes_back():
    for byte in range(256):
        assert unpack(pack(bytes([byte]))) == bytes([byte])


@pytest.mark.parametrize("size", [1, 2, 3])
def test_shorter(size):
    assert all(len(pack(bytes([byte]) * size)) < size for byte in range(256))
