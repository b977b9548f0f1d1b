import unittest

from slug import slugify


class Slugs(unittest.TestCase):
    def test_case(self):
        self.assertEqual(slugify("A"), "a")
