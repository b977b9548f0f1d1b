"""Runner for one piece of an issue's code: `python coder_script.py [--error] FILE`.

Runs in the project's interpreter. Exit code 1 means that the code fails. With `--error`, FILE is JSON:
statements that import names, modules to take further names from, and the code; the last line of output is
then the exception that the code raised, as JSON, or `null`.
"""

import contextlib
import doctest
import importlib
import json
import sys
from pathlib import Path
from typing import Any


def run_piece(text: str) -> int:
    """Execute the code, or its doctest examples; an exception ends the process as usual."""
    if ">>>" not in text:
        exec(compile(text, "the issue", "exec"), {"__name__": "__main__"})
        return 0
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, "the issue", None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    return 1 if runner.run(test).failed else 0


def print_error(request: dict[str, Any]) -> int:
    """Execute the code among the imported names, and print the exception that it raises."""
    code = compile(request["code"], "the issue", "exec")
    names = {"__name__": "__main__"}
    for statement in request["imports"]:
        with contextlib.suppress(BaseException):
            exec(statement, names)
    for module in request["modules"]:
        with contextlib.suppress(BaseException):
            imported = importlib.import_module(module)
            missing = [name for name in code.co_names if name not in names and hasattr(imported, name)]
            names.update({name: getattr(imported, name) for name in missing})
    error = None
    try:
        exec(code, names)
    except Exception as raised:  # noqa: BLE001 (whatever the code raises is the answer)
        error = {"type": type(raised).__name__, "message": str(raised)}
    print()
    print(json.dumps(error), flush=True)
    return 0


def main(arguments: list[str]) -> int:
    """Run what the command line asks for and return the exit code."""
    text = Path(arguments[-1]).read_text(encoding="utf-8")
    return print_error(json.loads(text)) if "--error" in arguments else run_piece(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
