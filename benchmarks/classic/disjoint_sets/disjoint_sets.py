"""Union-find."""


class DisjointSets:
    def __init__(self, items):
        self._parent = {item: item for item in items}

    def root(self, item):
        while self._parent[item] != item:
            self._parent[item] = self._parent[self._parent[item]]
            item = self._parent[item]
        return item

    def join(self, one, other):
        """Make one set of two; False where they were one already."""
        first, second = self.root(one), self.root(other)
        if first == second:
            return False
        self._parent[one] = second
        return True

    def together(self, one, other):
        return self.root(one) == self.root(other)
