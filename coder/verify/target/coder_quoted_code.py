"""Runner for one piece of code that an issue quotes: `python coder_quoted_code.py FILE`.

Runs in the project's interpreter. FILE is JSON: statements that import names, modules to take further names
from, and the code. The last line of output is the exception that the code raised, as JSON; `null` if none.
"""

import contextlib
import importlib
import json
import sys
from pathlib import Path


def main(file: str) -> int:
    """Execute the code and print how it ended."""
    request = json.loads(Path(file).read_text(encoding="utf-8"))
    code = compile(request["code"], "the issue", "exec")
    names = {"__name__": "__main__"}
    for statement in request["imports"]:
        with contextlib.suppress(BaseException):
            exec(statement, names)
    for module in request["modules"]:
        with contextlib.suppress(BaseException):
            imported = importlib.import_module(module)
            names.update(
                {
                    name: getattr(imported, name)
                    for name in code.co_names
                    if name not in names and hasattr(imported, name)
                }
            )
    error = None
    try:
        exec(code, names)
    except Exception as raised:  # noqa: BLE001 (whatever the code raises is the answer)
        error = {"type": type(raised).__name__, "message": str(raised)}
    print()
    print(json.dumps(error), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
