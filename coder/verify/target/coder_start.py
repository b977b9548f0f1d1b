"""Start of a test runner for evidence, with the recorder loaded before the tested tree can be imported.

Standard library only, Python 3.8 or later; runs as a script in the project's interpreter. The request, a JSON
file named in CODER_PYTEST_REQUEST, is deleted before any code of the project runs.
"""

# ruff: noqa: PTH100, PTH108, PTH109, PTH120, PTH123 - nothing is imported that the project may have a module for
from __future__ import annotations

import json
import os
import runpy
import sys
import threading
import time
from typing import Any


def main() -> None:
    """Become the requested runner; its arguments are those of this process."""
    here = os.path.dirname(os.path.abspath(__file__))
    file = os.environ.pop("CODER_PYTEST_REQUEST")
    with open(file, encoding="utf-8") as opened:
        request = json.load(opened)
    os.unlink(file)
    from coder_audit import Audit  # type: ignore[import-not-found]  # on the import path of the run

    audit = Audit(request["tree"], (file, request["report"], here))
    other_entries = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    folder = os.path.dirname(os.path.abspath(request["script"])) if request["script"] else os.getcwd()
    shadowing = request["shadowing"]
    project = [entry for entry in (folder, *request["path"]) if entry not in shadowing]
    installed = [index for index, entry in enumerate(other_entries) if entry.endswith("-packages")]
    behind = installed[0] if installed else len(other_entries)
    other_entries[behind:behind] = shadowing
    sys.path[:] = [*(project if request["own_runner"] else []), here, *other_entries]
    calls = make_call_recorder(request)
    lines = make_line_recorder(request)
    recorder = load_recorder(request, audit, lines)
    if calls is not None:
        calls.watch(recorder.Recorder if request["runner"] == "pytest" else type(recorder))
    sys.path[:] = [*project, *other_entries, here]
    os.environ["PYTHONPATH"] = os.pathsep.join(request["path"])
    if lines is not None:
        lines.start()
    try:
        run_tests(request, recorder)
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else int(bool(ending.code))
        threading.Thread(target=end_after, args=(request["linger"], code), daemon=True).start()
        raise


def run_tests(request: dict[str, Any], recorder: Any) -> None:
    """Run the runner, which ends with SystemExit."""
    if request["runner"] != "pytest":
        recorder.run()
    elif request["script"]:
        sys.argv[0] = request["script"]
        runpy.run_path(request["script"], run_name="__main__")
    else:
        sys.argv[0] = "pytest"
        runpy.run_module("pytest", run_name="__main__", alter_sys=True)


def end_after(seconds: float, code: int) -> None:
    """End this process although a thread or a child of the tests has not ended."""
    time.sleep(seconds)
    os.write(2, b"coder: a thread or child of the tests outlived them by %g s and was ended\n" % seconds)
    os._exit(code)


def make_call_recorder(request: dict[str, Any]) -> Any:
    """Return what answers calls in place, None if no calls are requested."""
    if not request.get("calls"):
        return None
    sys.path.insert(0, request["calls"]["modules"])
    from coder_calls import CallRecorder  # type: ignore[import-not-found]

    sys.path.remove(request["calls"]["modules"])
    return CallRecorder({**request["calls"], "answers": request["answers"]}, request["tree"])


def make_line_recorder(request: dict[str, Any]) -> Any:
    """Return what notes which of the changed lines run, None if nobody asks."""
    if not request.get("lines"):
        return None
    from coder_lines import LineRecorder  # type: ignore[import-not-found]

    return LineRecorder(request["tree"], request["lines"])


def load_recorder(request: dict[str, Any], audit: Any, lines: Any) -> Any:
    """Return the recorder of the runner, which binds all functions that it needs at import."""
    if request["runner"] != "pytest":
        from coder_unittest_report import Recorder  # type: ignore[import-not-found]

        return Recorder(request, audit, lines)
    options = os.environ.get("PYTEST_ADDOPTS")
    import coder_pytest_report  # type: ignore[import-not-found]

    coder_pytest_report.START_CONTEXT.append((request, audit, lines))
    if options is not None:  # taken back as the plugin was imported; pytest has still to read it
        os.environ["PYTEST_ADDOPTS"] = options
    return coder_pytest_report


if __name__ == "__main__":
    main()
