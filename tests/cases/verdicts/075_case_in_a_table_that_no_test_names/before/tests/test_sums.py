import unittest

from calc import add
from tests import tables


class TestSums(unittest.TestCase):
    pass


def attach(kind):
    for name, first, second, total in tables.read(kind):
        def method(self, first=int(first), second=int(second), total=int(total)):
            self.assertEqual(add(first, second), total)

        setattr(TestSums, f"test_{kind}_{name}", method)


for prefix in ("simple", "large"):
    attach(f"{prefix}_sums")
