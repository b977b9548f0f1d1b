"""Runs of equal bytes."""

from itertools import groupby

LONGEST = 255


def runs(data):
    """Each run as (length, byte); runs longer than a byte can tell are split."""
    for byte, group in groupby(data):
        length = len(list(group))
        while length > LONGEST:
            yield LONGEST, byte
            length -= LONGEST
        yield length, byte
