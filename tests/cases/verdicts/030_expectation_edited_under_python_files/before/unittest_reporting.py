import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_two_words(self):
        self.assertEqual(slug("Hello World"), "hello-world")

    def test_all_words(self):
        self.assertEqual(slug("a long title here"), "a-long-title-here")
