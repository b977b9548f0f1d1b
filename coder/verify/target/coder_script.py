"""Runner for an issue's code: `python coder_script.py FILE`.

Runs in the project's interpreter. FILE is JSON: statements that import names (`imports`), `modules` to take
further names from, `pieces` of code, and the `seconds` that all have together. The last line of output is a
list with an object for each piece: the exception that it raised as `error` (null for none), and as `value`
what it printed (`is_printed`) or what its last expression gives, empty without one; null for a piece that
ended the process, or did not end in time.
"""

import ast
import contextlib
import importlib
import io
import itertools
import json
import linecache
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from types import GeneratorType, ModuleType
from typing import Any

MOST_ITEMS = 30
"""Items that are taken of a generator."""
SOURCE = "the issue"
"""File name of the code."""


def print_answers(request: dict[str, Any]) -> None:
    """Execute pieces of code among the imported names, each in a fork of its own, and print their answers."""
    # Pickles, type hints and data classes look names up in the module that is called `__main__`.
    sys.modules["__main__"] = main = ModuleType("__main__")
    main.__file__ = SOURCE
    names = vars(main)
    for statement in request["imports"]:
        with contextlib.suppress(BaseException):
            exec(statement, names)
    modules = []
    for path in request["modules"]:
        with contextlib.suppress(BaseException):
            modules.append(importlib.import_module(path))
    end = time.monotonic() + request["seconds"]
    answers = [answer_in_fork(code, names, modules, end) for code in request["pieces"]]
    print()
    print(json.dumps(answers), flush=True)


def answer_in_fork(code: str, names: dict[str, Any], modules: list[Any], end: float) -> Any:
    """Return the answer of a piece of code that a fork executes until `end`, None if that one dies."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        signal.setitimer(signal.ITIMER_REAL, max(end - time.monotonic(), 0.001))
        with contextlib.suppress(BaseException), os.fdopen(writing, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(answer(code, names, modules)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as stream:
        text = stream.read()
    return json.loads(text) if text else None


def answer(text: str, names: dict[str, Any], modules: list[Any]) -> dict[str, Any]:
    """Return what a piece of code gives or raises; `names` lack some that the modules define."""
    module = ast.parse(text, SOURCE)
    code = compile(module, SOURCE, "exec")
    linecache.cache[SOURCE] = (len(text), None, text.splitlines(keepends=True), SOURCE)
    for imported in modules:
        missing = [name for name in code.co_names if name not in names and hasattr(imported, name)]
        names.update({name: getattr(imported, name) for name in missing})
    last: Any = module.body.pop() if module.body and isinstance(module.body[-1], ast.Expr) else None
    error, shown, type_name, printed = None, "", "", io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(module, SOURCE, "exec"), names)
            if last:
                value = eval(compile(ast.Expression(last.value), SOURCE, "eval"), names)
                if isinstance(value, GeneratorType):
                    value = list(itertools.islice(value, MOST_ITEMS))
                shown = repr(value)
                type_name = f"{type(value).__module__}.{type(value).__qualname__}"
    except (Exception, SystemExit) as raised:  # noqa: BLE001 (whatever the code raises is the answer)
        error = {"type": type(raised).__name__, "message": str(raised), "place": innermost_place(raised)}
        shown = type_name = ""
    is_printed = not error and bool(printed.getvalue().rstrip())
    shown = printed.getvalue().rstrip() if is_printed else shown
    return {"error": error, "value": shown, "type": type_name, "is_printed": is_printed}


def innermost_place(raised: BaseException) -> str:
    """Return the innermost line below the current directory in a traceback, as `shop/cart.py:12`."""
    tree = Path.cwd().resolve()
    for frame in reversed(traceback.extract_tb(raised.__traceback__)):
        path = Path(frame.filename).resolve()
        if tree in path.parents and path.is_file():
            return f"{path.relative_to(tree)}:{frame.lineno}"
    return ""


if __name__ == "__main__":
    print_answers(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
