"""Report of counts."""

import sys

from tally.counts import count_words


def format_report(counts: dict[str, int]) -> str:
    """Return a line for each word, most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return "\n".join(f"{count} {word}" for word, count in ordered)


def main(argv: list[str] | None = None) -> int:
    """Report the words of a file, or of standard input."""
    arguments = sys.argv[1:] if argv is None else argv
    text = open(arguments[0]).read() if arguments else sys.stdin.read()
    print(format_report(count_words(text)))
    return 0
