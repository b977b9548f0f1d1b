import unittest

from clock import minutes


class ClockTests(unittest.TestCase):
    def test_midnight(self):
        self.assertEqual(minutes("00:00"), 0)

    def test_half_past_nine(self):
        self.assertEqual(minutes("09:30"), 570)
