"""A pytest plugin that writes what happened to a file, as JSON lines; it runs in the tested project's interpreter.

Stdlib only, Python 3.8 or later, pytest 6.2 or later. Loaded with `-p` through PYTEST_ADDOPTS. What to
do comes from the JSON file named in CODER_PYTEST_REQUEST; both variables are taken back at import, so that a pytest that a test
starts is none of our business.
"""

# A test may have replaced pathlib, and this must still write.
# ruff: noqa: PTH118, PTH123
from __future__ import annotations

import contextlib
import json
import linecache
import os
import re
import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from coder_limits import Endless  # type: ignore[import-not-found]  # it lies beside this file

MESSAGE = 2000
"""Characters kept of an exception's message."""
FRAMES = 30
PHASES = ("setup", "call", "teardown")
SECTION = 1200
"""Characters kept of each captured stream, from its end."""
REAL: dict[str, str] = {}
"""Where the files of frames really lie."""


VARIABLES = ("CODER_PYTEST_REQUEST", "PYTEST_ADDOPTS")
OURS = {name: os.environ.pop(name) for name in VARIABLES if name in os.environ}


def read_request() -> dict[str, Any]:
    """What the runner asks for; the person's own options go back to where they were."""
    with open(OURS["CODER_PYTEST_REQUEST"], encoding="utf-8") as file:
        request: dict[str, Any] = json.load(file)
    if request["addopts"]:
        os.environ["PYTEST_ADDOPTS"] = request["addopts"]
    return request


def pytest_configure(config: pytest.Config) -> None:
    if "CODER_PYTEST_REQUEST" in OURS:
        request = read_request()
        config.pluginmanager.register(Recorder(config, request, is_worker=hasattr(config, "workerinput")), "coder_recorder")
        if "endless" in request:
            config.pluginmanager.register(Endless(**request["endless"]), "coder_endless")


pytest_configure = pytest.hookimpl(tryfirst=True)(pytest_configure)


class Recorder:
    """Writes one line a phase; in an xdist worker it only adds to the reports that go to the controller."""

    def __init__(self, config: Any, request: dict[str, Any], is_worker: bool) -> None:
        self.config = config
        self.request = request
        self.is_worker = is_worker
        self.pid = os.getpid()
        self.loaded: dict[str, list[str]] = {}
        self.stopped = False
        """Was the session ended as was asked, before all tests had run?"""
        self.collecting: list[dict[str, Any]] = []
        """What was written about files that could not be collected, or were skipped."""
        # Bound now: a test may replace or forbid what the modules offer by the time that its report is written.
        self.calls = (os.open, os.write, os.fstat, os.getpid, json.dumps)
        self.opened: tuple[Any, ...] = ()
        """The report's path, its descriptor, and what that one led to when it was opened."""
        config.option.maxfail = 0
        config.option.continue_on_collection_errors = True

    def write(self, kind: str, **fields: Any) -> None:
        _, write, _, getpid, dumps = self.calls
        if self.is_worker or getpid() != self.pid:
            return
        write(self.descriptor(), dumps(dict(fields, kind=kind), default=str).encode("ascii") + b"\n")

    def descriptor(self) -> int:
        """Of the report: a test may close every descriptor there is, and open others in their places."""
        open_, _, fstat, _, _ = self.calls
        path = self.request["report"]
        if self.opened and self.opened[0] == path:
            with contextlib.suppress(OSError):
                if place_of(fstat(self.opened[1])) == self.opened[2]:
                    return int(self.opened[1])
        descriptor = open_(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.opened = (path, descriptor, place_of(fstat(descriptor)))
        return descriptor

    def begin_again(self, request: dict[str, Any], count: int) -> None:
        """In a fork: write what a session that runs `count` of the collected tests would have written by now."""
        self.request, self.pid = request, self.calls[3]()
        self.pytest_sessionstart()
        files = frozenset(name.partition("::")[0] for name in request["select"])
        for line in self.collecting:
            if not files or is_selected(line["id"].partition("::")[0], files):
                self.write("phase", **line)
        self.write("collected", count=count)

    def pytest_sessionstart(self) -> None:
        self.write("session", pytest=pytest.__version__, python=sys.version.split()[0])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        wanted = frozenset(self.request["select"])
        if wanted:
            others = [item for item in items if not is_selected(item.nodeid, wanted)]
            items[:] = [item for item in items if is_selected(item.nodeid, wanted)]
            config.hook.pytest_deselected(items=others)

    def pytest_collection_finish(self, session: Any) -> None:
        self.write("collected", count=len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self.write("collected", count=len(ids))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self) -> None:
        os.environ.update(OURS)  # for the workers about to be started; no test runs in this process

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.add_loaded(getattr(node, "workeroutput", {}).get("coder_loaded", {}))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, Any, None]:
        outcome = yield
        report = outcome.get_result()
        call = getattr(report, "call", None)
        if report.failed and call is not None and call.excinfo is not None:
            value = call.excinfo.value
            report.coder_failure = failure_of(value.__cause__ or value, self.request["tree"], rendered=report.longrepr)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed or (report.skipped and report.nodeid):
            outcome = "error" if report.failed else "skipped"
            line = {"id": report.nodeid, "when": "collect", "outcome": outcome, "seconds": 0.0, "xfail": False}
            self.collecting.append({**line, "failure": failure_in(report)})
            self.write("phase", **self.collecting[-1])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.write("start", id=nodeid)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, call: Any) -> Generator[None, Any, None]:
        outcome = yield
        report = outcome.get_result()
        if report.failed and call.excinfo is not None:
            value = unwrapped(call.excinfo.value)
            report.coder_failure = failure_of(value, self.request["tree"], rendered=report.longrepr or "")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "setup" and report.passed:  # it says nothing yet
            return
        self.write(
            "phase",
            id=report.nodeid,
            when=report.when if report.when in PHASES else "call",
            outcome=report.outcome,
            xfail=hasattr(report, "wasxfail"),
            seconds=getattr(report, "duration", 0.0),
            failure=failure_in(report) if report.failed else None,
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: Any, exitstatus: Any) -> None:
        self.add_loaded({name: [path] for name, path in loaded_from(self.request["watch"])})
        if self.is_worker:
            session.config.workeroutput["coder_loaded"] = self.loaded
        self.write("finish", exit=int(exitstatus), loaded=self.loaded, stopped=self.stopped)

    def add_loaded(self, found: dict[str, list[str]]) -> None:
        for name, paths in found.items():
            known = self.loaded.setdefault(name, [])
            known.extend(path for path in paths if path not in known)


def place_of(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def is_selected(nodeid: str, wanted: frozenset[str]) -> bool:
    """A test is meant by its own id, by its function's without parameters, its class's, its file's, or a directory's."""
    path, _, rest = nodeid.partition("::")
    names = rest.partition("[")[0].split("::") if rest else []
    folders = path.split("/")
    return (
        nodeid in wanted
        or any("::".join([path, *names[: index + 1]]) in wanted for index in range(len(names)))
        or any("/".join(folders[: index + 1]) in wanted for index in range(len(folders)))
    )


def loaded_from(watched: list[str]) -> Iterator[tuple[str, str]]:
    for name in watched:
        path = getattr(sys.modules.get(name), "__file__", None)
        if isinstance(path, str):
            yield name, os.path.realpath(path)


def failure_in(report: Any) -> dict[str, Any]:
    """The failure in a report, from pytest's own words where no exception was seen (a crashed worker, a strict xfail)."""
    described: dict[str, Any] = getattr(report, "coder_failure", None) or {}
    words = str(report.longrepr or "")
    if not described:
        name = (
            "Crash"
            if report.when not in ("collect", "setup", "call", "teardown")
            else re.sub(r"\W*([\w()]*).*", r"\1", words, flags=re.DOTALL)
        )
        described = {"type": name, "message": words[:MESSAGE], "frames": [], "text": words[:MESSAGE]}
    captured = [f"--- {title} ---\n{tail(text)}" for title, text in getattr(report, "sections", []) if text.strip()]
    return dict(described, text="\n".join([described["text"], *captured]))


def unwrapped(value: BaseException) -> BaseException:
    """What a doctest raised, instead of the exception that doctest puts around it."""
    if type(value).__name__ != "UnexpectedException":
        return value
    _, raised, _ = getattr(value, "exc_info", (None, None, None))
    return raised if isinstance(raised, BaseException) else value


def failure_of(value: BaseException, tree: str, rendered: Any) -> dict[str, Any]:
    message = message_of(value).replace(tree + os.sep, "")
    frames = list(frames_of(value, tree))
    shown = [source_at(frame, tree) for frame in telling(frames)]
    caused = [f"caused by {type(cause).__name__}: {message_of(cause)[:300]}" for cause in (value.__cause__,) if cause is not None]
    headline = f"{type(value).__name__}: {message}" if message else type(value).__name__
    text = "\n".join([headline, *caused, *shown]) if shown or not rendered else str(rendered)[-MESSAGE:].replace(tree + os.sep, "")
    return {"type": type(value).__name__, "message": message, "frames": frames, "text": text}


def message_of(value: BaseException) -> str:
    try:
        return str(value)[:MESSAGE]
    except Exception as error:  # noqa: BLE001 - an exception's own __str__ may do anything
        return f"<its text could not be made: {type(error).__name__}>"


def frames_of(value: BaseException, tree: str) -> Iterator[tuple[str, int, str]]:
    """From the first frame inside the tree on, the middle of a deep recursion left out."""
    found = []
    traceback = value.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        found.append((relative(code.co_filename, tree), traceback.tb_lineno, code.co_name))
        traceback = traceback.tb_next
    if isinstance(value, SyntaxError) and value.filename:
        found.append((relative(value.filename, tree), value.lineno or 0, ""))
    inside = [index for index, frame in enumerate(found) if is_inside(frame)]
    found = found[inside[0] :] if inside else found[-3:]
    yield from found if len(found) <= FRAMES else found[:5] + found[5 - FRAMES :]


def relative(path: str, tree: str) -> str:
    if path not in REAL:
        REAL[path] = os.path.realpath(path)
    for form in (path, REAL[path]):
        if form.startswith(tree + os.sep):
            return form[len(tree) + 1 :]
    return path


def is_inside(frame: tuple[str, int, str]) -> bool:
    return not frame[0].startswith(("/", "<"))


def telling(frames: list[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
    """The frame of the test and the two innermost ones inside the tree, outermost first."""
    inside = [frame for frame in frames if is_inside(frame)]
    return inside if len(inside) <= 3 else [inside[0], *inside[-2:]]


def source_at(frame: tuple[str, int, str], tree: str) -> str:
    path, line, function = frame
    shown = [f"{path}:{line} in {function}" if function else f"{path}:{line}"]
    for number in range(max(line - 2, 1), line + 2):
        text = linecache.getline(os.path.join(tree, path), number).rstrip()
        if text:
            shown.append(f"{'>' if number == line else ' '} {number:4} {text[:200]}")
    return "\n".join(shown)


def tail(text: str) -> str:
    return text if len(text) <= SECTION else "..." + text[-SECTION:]
