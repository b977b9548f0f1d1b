"""The program."""

import sys
from pathlib import Path

from tally.counting import COUNTS
from tally.options import parsed

OK, UNREADABLE, TOO_FEW = 0, 1, 3


def main(arguments=None):
    """Count, print, and return the exit code."""
    options = parsed(arguments)
    code, total = OK, 0
    for name in options.files:
        try:
            text = Path(name).read_text(encoding="utf-8")
        except OSError as error:
            print(f"tally: {name}: {error.strerror}", file=sys.stderr)
            code = UNREADABLE
            continue
        count = COUNTS[options.what](text)
        total += count
        print(f"{count:7} {name}")
        code = TOO_FEW if count < options.least else OK
    if len(options.files) > 1:
        print(f"{total:7} total")
    return code
