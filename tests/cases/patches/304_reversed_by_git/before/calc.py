"""Sums."""

import math


def add(a, b):
    """Add."""
    return a + b


def area(r):
    total = math.pi * r
    return total


class Box:
    def size(self):
        total = 0
        for item in self.items:
            total += item.size
        return total

    def weight(self):
        total = 0
        for item in self.items:
            total += item.weight
        return total
