import unittest

from double import double

CASES = {"zero": 0, "one": 1}


class TestDouble(unittest.TestCase):
    pass


for name, number in CASES.items():
    for label, sign in {"positive": 1, "negative": -1}.items():
        setattr(
            TestDouble,
            f"test_{name}_{label}",
            lambda self, n=number * sign: self.assertEqual(double(n), n + n),
        )
