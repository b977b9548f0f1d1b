"""Pytest plugin that writes the results of a run as JSON lines.

Runs in the project's interpreter. Standard library only, Python 3.8 or later, pytest 6.2 or later. Loaded
with `-p` through PYTEST_ADDOPTS. The request comes from coder_start, which reads it before anything of the
project is imported, or else from the JSON file named in CODER_PYTEST_REQUEST; both variables are removed, so
that a pytest started by a test is not affected. (PYTEST_DONT_REWRITE: coder_start imports it before pytest
does.)
"""

# A test may have replaced pathlib, and this must still write.
# ruff: noqa: PTH123
from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from coder_failure import describe_exception, report_failure, unwrap_doctest  # type: ignore[import-not-found]  # on the import path of the run
from coder_limits import EndlessTestPlugin  # type: ignore[import-not-found]
from coder_observe import Observer  # type: ignore[import-not-found]
from coder_selection import files_of_shard, is_selected  # type: ignore[import-not-found]
from coder_sign import make_signer  # type: ignore[import-not-found]

PHASES = ("setup", "call", "teardown")
VARIABLES = ("CODER_PYTEST_REQUEST", "PYTEST_ADDOPTS")
REMOVED_VARIABLES = {name: os.environ.pop(name) for name in VARIABLES if name in os.environ}
START_CONTEXT: list[Any] = []
"""Set by coder_start: the request, the audit, and the recorder of lines or None."""


def read_request() -> dict[str, Any]:
    """Return the request of the runner, and restore the user's own options."""
    if START_CONTEXT:
        request: dict[str, Any] = START_CONTEXT[0][0]
    else:
        with open(REMOVED_VARIABLES["CODER_PYTEST_REQUEST"], encoding="utf-8") as file:
            request = json.load(file)
    if request["addopts"]:
        os.environ["PYTEST_ADDOPTS"] = request["addopts"]
    elif START_CONTEXT:
        os.environ.pop("PYTEST_ADDOPTS", None)
    return request


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    if START_CONTEXT:
        read_request()
        START_CONTEXT[0][1].keep()


def pytest_configure(config: pytest.Config) -> None:
    if START_CONTEXT or "CODER_PYTEST_REQUEST" in REMOVED_VARIABLES:
        request = read_request()
        recorder = Recorder(config, request)
        config.pluginmanager.register(recorder, "coder_recorder")
        if "endless" in request:
            config.pluginmanager.register(EndlessTestPlugin(**request["endless"]), "coder_endless")
        if request.get("stream"):
            config.pluginmanager.register(FileByFile(recorder), "coder_stream")


pytest_configure = pytest.hookimpl(tryfirst=True)(pytest_configure)


class Recorder:
    """Plugin that writes one line per phase."""

    def __init__(self, config: Any, request: dict[str, Any]) -> None:
        self.config = config
        self.audit: Any = START_CONTEXT[0][1] if START_CONTEXT else None
        self.lines: Any = START_CONTEXT[0][2] if START_CONTEXT else None
        self.sign = make_signer(request.pop("key")) if "key" in request else None
        self.observer = Observer() if request.get("observe") else None
        self.request = request
        self.reached: dict[str, None] = {}
        """Accesses of the tree's code to the machinery that observes it, from the audit."""
        self.pid = os.getpid()
        # Bound now: a test may have replaced these functions by the time its report is written.
        self.calls = (os.open, os.write, os.fstat, os.getpid, json.dumps)
        self.opened: tuple[Any, ...] = ()
        """Path of the report, its descriptor, and the identity of the open file."""
        # One process: what workers of xdist tell is not sealed, and large runs are shared out already.
        config.option.dist, config.option.tx = "no", []
        config.option.maxfail = 0
        config.option.continue_on_collection_errors = True
        if request.get("collect"):
            config.option.collectonly, config.option.verbose = True, -2

    def write(self, kind: str, **fields: Any) -> None:
        _, write, _, getpid, dumps = self.calls
        if getpid() != self.pid:
            return
        if fields.get("id"):
            fields["id"] = self.request.get("prefix", "") + fields["id"]
        record = dumps(dict(fields, kind=kind), default=str).encode("ascii")
        remaining = (record if self.sign is None else self.sign(record)) + b"\n"
        while remaining:
            remaining = remaining[write(self.descriptor(), remaining) :]

    def descriptor(self) -> int:
        """Return the descriptor of the report.

        It is opened again if a test closed it or opened another file in its place.
        """
        open_, _, fstat, _, _ = self.calls
        path = self.request["report"]
        if self.opened and self.opened[0] == path:
            with contextlib.suppress(OSError):
                if file_identity(fstat(self.opened[1])) == self.opened[2]:
                    return int(self.opened[1])
        descriptor = open_(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.opened = (path, descriptor, file_identity(fstat(descriptor)))
        return descriptor

    def pytest_sessionstart(self) -> None:
        self.write("session", pytest=pytest.__version__, python=sys.version.split()[0])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        selected = frozenset(self.request["select"])
        if selected:
            others = [item for item in items if not is_selected(item.nodeid, selected)]
            items[:] = [item for item in items if is_selected(item.nodeid, selected)]
            config.hook.pytest_deselected(items=others)
        items[:] = self.share_of(items)

    def share_of(self, nodes: list[Any]) -> list[Any]:
        """Return the items, or files, that this process of several has to run."""
        if not self.request.get("shard"):
            return nodes
        mine = files_of_shard(map(file_of, nodes), self.request["weights"], *self.request["shard"])
        return [node for node in nodes if file_of(node) in mine]

    def pytest_collection_finish(self, session: Any) -> None:
        if self.request.get("collect"):
            for item in session.items:
                self.write("listed", id=item.nodeid)
        else:
            self.write("collected", count=len(session.items), all=True)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, Any, None]:
        outcome = yield
        report = outcome.get_result()
        call = getattr(report, "call", None)
        if report.failed and call is not None and call.excinfo is not None:
            value = call.excinfo.value
            report.coder_failure = describe_exception(
                value.__cause__ or value, self.request["tree"], rendered=report.longrepr
            )

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed or (report.skipped and report.nodeid):
            outcome = "error" if report.failed else "skipped"
            line = {
                "id": report.nodeid,
                "when": "collect",
                "outcome": outcome,
                "seconds": 0.0,
                "xfail": False,
            }
            self.write("phase", **line, failure=report_failure(report))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.write("start", id=nodeid)
        if self.lines is not None:
            self.lines.begin_test()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, Any, None]:
        if self.observer is None:
            yield
            return
        self.observer.begin(getattr(item, "function", None))
        yield
        self.observer.end()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, call: Any) -> Generator[None, Any, None]:
        outcome = yield
        report = outcome.get_result()
        if self.observer is not None and call.when == "call":
            report.coder_body = self.observer.seen
            self.collect_audit()
        if report.failed and call.excinfo is not None:
            value = unwrap_doctest(call.excinfo.value)
            report.coder_failure = describe_exception(
                value, self.request["tree"], rendered=report.longrepr or ""
            )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "setup" and report.passed:  # the outcome is not known yet
            return
        self.write(
            "phase",
            id=report.nodeid,
            when=report.when if report.when in PHASES else "call",
            outcome=report.outcome,
            xfail=hasattr(report, "wasxfail"),
            seconds=getattr(report, "duration", 0.0),
            failure=report_failure(report) if report.failed else None,
            body=getattr(report, "coder_body", None),
        )

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        """Tell what is known once the last test has ended, before plugins report for longer, perhaps."""
        yield
        self.write("ended", **self.findings())

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, exitstatus: Any) -> None:
        self.write("finish", exit=int(exitstatus), **self.findings())

    def findings(self) -> dict[str, Any]:
        """Return which files were loaded, which lines ran, and what the audit has seen."""
        loaded = {name: [path] for name, path in watched_files(self.request["watch"])}
        self.collect_audit()
        lines = self.lines and self.lines.findings(has_started_processes=self.audit.has_started_processes)
        return {"loaded": loaded, "reached": [*self.reached], "lines": lines}

    def collect_audit(self) -> None:
        """Add new findings of the audit."""
        try:
            self.reached.update(dict.fromkeys(self.audit.findings() if self.audit is not None else ()))
        except Exception as error:  # noqa: BLE001 - the finish record must be written in any case
            self.reached[f"the functions of pytest could not be compared: {type(error).__name__}"] = None


class FileByFile:
    """Plugin that collects each file only once the tests of those before it have run.

    A run that is cut off has the results of the first files, then, also where collecting all takes longer
    than the run may. Hooks that order or deselect tests see those of one file at a time.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.nodes: list[Any] = []
        """What the arguments stand for: modules that were not imported yet, as a rule."""
        self.count = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: Any) -> None:
        """Have pytest find the files, and leave what is in them for later."""

        def keep(node: Any) -> Iterator[Any]:
            self.nodes.append(node)
            return iter(())

        session.genitems = keep

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        del session.genitems
        nodes, self.recorder.request["shard"] = self.recorder.share_of(self.nodes), None
        for node, next_node in zip(nodes, [*nodes[1:], None]):  # noqa: B905 - new in Python 3.10
            items = self.collect(session, node, is_last=next_node is None)
            if items:
                tear_down_towards(session, items[0])
            for item, next_item in zip(items, [*items[1:], next_node]):  # noqa: B905
                self.run(session, item, next_item)
        return True

    def collect(self, session: Any, node: Any, is_last: bool) -> list[Any]:
        """Return the tests of a file that are to be run."""
        with observed_warnings(session.config):
            session.items = list(session.genitems(node))
        session.config.hook.pytest_collection_modifyitems(
            session=session, config=session.config, items=session.items
        )
        self.count += len(session.items)
        session.testscollected = self.count
        if self.recorder.request.get("collect"):
            self.recorder.pytest_collection_finish(session)
            return []
        self.recorder.write("collected", count=self.count, all=is_last)
        return list(session.items)

    def run(self, session: Any, item: Any, next_item: Any) -> None:
        """Run one test, as pytest's own loop does; after it fixtures are kept that the next one may use.

        For the last of a file this is the next file, in whose place in the tree its tests will be.
        """
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


def tear_down_towards(session: Any, item: Any) -> None:
    """Tear down what a test does not need of the one before, which was followed by a file without tests."""
    state = session._setupstate
    if hasattr(state, "_teardown_towards"):  # pytest before 7
        state._teardown_towards(item.listchain())
    else:
        state.teardown_exact(item)


def observed_warnings(config: Any) -> Any:
    """Return a context in which the project's filters of warnings hold, as in any collection."""
    try:
        from _pytest.warnings import catch_warnings_for_item
    except ImportError:
        return contextlib.nullcontext()
    return catch_warnings_for_item(config=config, ihook=config.hook, when="collect", item=None)


def file_of(item: Any) -> str:
    """Return the file of a test, relative to the root."""
    return str(item.nodeid.partition("::")[0])


def file_identity(status: os.stat_result) -> tuple[int, int]:
    """Return the identity of a file: device and inode."""
    return status.st_dev, status.st_ino


def watched_files(watched: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each watched module that is imported, with its resolved path."""
    for name in watched:
        path = getattr(sys.modules.get(name), "__file__", None)
        if isinstance(path, str):
            yield name, os.path.realpath(path)
