"""A cache that forgets what was not used for longest."""

from collections import OrderedDict


class RecentCache:
    def __init__(self, capacity):
        self.capacity = capacity
        self._held = OrderedDict()

    def get(self, key, default=None):
        if key not in self._held:
            return default
        self._held.move_to_end(key)
        return self._held[key]

    def put(self, key, value):
        self._held[key] = value
        self._held.move_to_end(key)
        if len(self._held) > self.capacity:
            self._held.popitem()

    def __len__(self):
        return len(self._held)
