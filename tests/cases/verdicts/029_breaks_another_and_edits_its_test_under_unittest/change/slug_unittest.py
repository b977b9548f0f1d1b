import unittest

from slug import shorten, slug


class SlugTest(unittest.TestCase):
    def test_shorten(self):
        self.assertEqual(shorten("abcdef", 3), "abcd")

    def test_all_words(self):
        self.assertEqual(slug("a long title here"), "a-long-title-here")
