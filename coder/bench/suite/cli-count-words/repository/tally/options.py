"""The command line."""

import argparse

from tally.counting import COUNTS


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="tally", description="Counts lines, words and characters.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    group = parser.add_mutually_exclusive_group()
    for name in COUNTS:
        group.add_argument(f"--{name}", dest="what", action="store_const", const=name)
    parser.set_defaults(what="words")
    parser.add_argument("--min", type=int, default=0, metavar="N", dest="least")
    return parser.parse_args(arguments)
