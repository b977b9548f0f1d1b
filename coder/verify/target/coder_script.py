"""Runner for one piece of an issue's code: `python coder_script.py FILE`.

Runs in the project's interpreter. Exit code 1 means that the code fails.
"""

import doctest
import sys
from pathlib import Path


def main(file: str) -> int:
    """Execute the code, or its doctest examples; an exception ends the process as usual."""
    text = Path(file).read_text(encoding="utf-8")
    if ">>>" not in text:
        exec(compile(text, "the issue", "exec"), {"__name__": "__main__"})
        return 0
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, "the issue", None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    return 1 if runner.run(test).failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
