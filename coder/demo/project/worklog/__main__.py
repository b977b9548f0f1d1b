"""python -m worklog FILE"""

import sys
from pathlib import Path

from worklog.entries import parse
from worklog.report import render


def main(arguments):
    if len(arguments) != 1:
        print("usage: python -m worklog FILE", file=sys.stderr)
        return 2
    print(render(parse(Path(arguments[0]).read_text(encoding="utf-8"))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
