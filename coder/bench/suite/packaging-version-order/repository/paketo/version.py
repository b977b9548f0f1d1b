"""Versions and their order."""

import re
from functools import total_ordering

PATTERN = re.compile(r"(\d+(?:\.\d+)*)(?:(a|b|rc)(\d+))?")
STAGES = {"a": 0, "b": 1, "rc": 2, None: 3}


@total_ordering
class Version:
    """A release such as 1.2.3, or a pre-release such as 2.0rc1."""

    def __init__(self, text):
        found = PATTERN.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"{text!r} is no version")
        self.text = text.strip()
        self.release = tuple(part for part in found[1].split("."))
        self.stage = found[2]
        self.number = int(found[3] or 0)

    @property
    def is_prerelease(self):
        return self.stage is not None

    @property
    def _key(self):
        release = list(self.release)
        while len(release) > 1 and not int(release[-1]):
            release.pop()
        return (tuple(release), STAGES[self.stage], self.number)

    def __eq__(self, other):
        return isinstance(other, Version) and self._key == other._key

    def __lt__(self, other):
        return self._key < other._key

    def __hash__(self):
        return hash(self._key)

    def __str__(self):
        return self.text
