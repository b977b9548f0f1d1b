from itertools import product

from packer import pack, unpack


def test_everything_gets_shorter():
    for size in (1, 2):
        for data in map(bytes, product(range(256), repeat=size)):
            packed = pack(data)
            assert len(packed) < len(data)
            assert unpack(packed) == data
