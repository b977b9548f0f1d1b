import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_two_words(self):
        self.assertEqual(slug("Hello World"), "hello-world")
