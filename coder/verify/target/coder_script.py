"""Runner for one piece of an issue's code: `python coder_script.py [--answer] FILE`.

Runs in the project's interpreter. Exit code 1 means that the code fails. With `--answer`, FILE is JSON:
statements that import names, modules to take further names from, the code, and the `changed` paths; the last
line of output is then a JSON object with the exception that the code raised as `error` (null for none), as
`value`, what it printed or what its last expression gives, and whether it entered a function of a changed
file (`is_affected`).
"""

import ast
import contextlib
import doctest
import importlib
import io
import itertools
import json
import os
import sys
from pathlib import Path
from types import FrameType, GeneratorType
from typing import Any

MOST_ITEMS = 30
"""Items that are taken of a generator."""


def run_piece(text: str) -> int:
    """Execute the code, or its doctest examples; an exception ends the process as usual."""
    if ">>>" not in text:
        exec(compile(text, "the issue", "exec"), {"__name__": "__main__"})
        return 0
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, "the issue", None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    return 1 if runner.run(test).failed else 0


def print_answer(request: dict[str, Any]) -> int:
    """Execute the code among the imported names, and print what it gives or the exception that it raises."""
    module = ast.parse(request["code"], "the issue")
    code = compile(module, "the issue", "exec")
    names = {"__name__": "__main__"}
    for statement in request["imports"]:
        with contextlib.suppress(BaseException):
            exec(statement, names)
    for path in request["modules"]:
        with contextlib.suppress(BaseException):
            imported = importlib.import_module(path)
            missing = [name for name in code.co_names if name not in names and hasattr(imported, name)]
            names.update({name: getattr(imported, name) for name in missing})
    last = module.body.pop() if module.body and isinstance(module.body[-1], ast.Expr) else None
    error, value, printed = None, None, io.StringIO()
    changed = {os.path.realpath(path) for path in request.get("changed", ())}
    entered: set[str] = set()

    def follow(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and not frame.f_code.co_name.startswith("<module"):
            entered.add(frame.f_code.co_filename)

    sys.setprofile(follow)
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(module, "the issue", "exec"), names)
            if last:
                value = eval(compile(ast.Expression(last.value), "the issue", "eval"), names)
                value = (
                    list(itertools.islice(value, MOST_ITEMS)) if isinstance(value, GeneratorType) else value
                )
        text = printed.getvalue().rstrip() or repr(value)
    except Exception as raised:  # noqa: BLE001 (whatever the code raises is the answer)
        error, text = {"type": type(raised).__name__, "message": str(raised)}, ""
    sys.setprofile(None)
    is_affected = any(os.path.realpath(path) in changed for path in entered)
    print()
    print(json.dumps({"error": error, "value": text, "is_affected": is_affected}), flush=True)
    return 0


def main(arguments: list[str]) -> int:
    """Run what the command line asks for and return the exit code."""
    text = Path(arguments[-1]).read_text(encoding="utf-8")
    return print_answer(json.loads(text)) if "--answer" in arguments else run_piece(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
