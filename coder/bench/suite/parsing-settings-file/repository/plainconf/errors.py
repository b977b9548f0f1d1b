"""What can be wrong with a file."""


class Malformed(ValueError):
    """A line that means nothing."""

    def __init__(self, number, line):
        super().__init__(f"line {number}: {line!r}")
        self.number = number
