"""Runs one piece of code of an issue in the project's interpreter: python coder_script.py FILE; exit 1 says that it fails."""

import doctest
import sys
from pathlib import Path


def main(file: str) -> int:
    """Code that raises ends the process as Python does."""
    text = Path(file).read_text(encoding="utf-8")
    if ">>>" not in text:
        exec(compile(text, "the issue", "exec"), {"__name__": "__main__"})
        return 0
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, "the issue", None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    return 1 if runner.run(test).failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
