"""Carts."""

from collections import Counter

from lampshop.catalogue import price


class Cart:
    """Articles and how many of each."""

    def __init__(self):
        self.articles = Counter()

    def add(self, article, count=1):
        price(article)
        self.articles[article] += count

    def total(self):
        """In cents."""
        return sum(price(article) * count for article, count in self.articles.items())
