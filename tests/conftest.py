"""Network guard for tests: loopback only if a test is marked for it, and never a real model."""

import asyncio
import gc
import inspect
import os
import signal
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.builders import plain_environment
from tests.portable import force_portable_paths

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_allowed: set[str] = set()


def _audit_socket(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.connect":
        return
    address = arguments[1]
    if isinstance(address, tuple) and address[0] not in _allowed:
        raise AssertionError(
            f"a test tried to connect to {address}; mark it `loopback` if it talks to a server of its own"
        )


sys.addaudithook(_audit_socket)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--portable", action="store_true", help="take the paths of systems that are not Linux, on Linux, too"
    )
    parser.addoption("--thorough", action="store_true", help="run what is left out of CI for its time, too")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function, in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames  # as pytest itself does; there is no public attribute
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than there are cores: a part of the time of a run is waiting."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Let idle workers take tests from others, which evens out files with long tests."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


LONGEST_FILES = (
    *("test_packaging.py", "test_site.py", "test_commands.py", "test_forgeries.py"),
    *("test_command_line.py", "test_templates.py", "test_conversation.py", "test_scenarios.py"),
)
"""Files of tests that take many seconds each."""


def cases_run_by_hand() -> set[str]:
    """Return the names of the cases that `by_hand.txt` of their family leaves to runs with `--thorough`."""
    listings = (Path(__file__).parent / "cases").glob("*/by_hand.txt")
    return {name for listing in listings for name in listing.read_text(encoding="utf-8").split()}


def case_name(item: pytest.Item) -> str:
    """Return the id of the parameters of a test, which is the name of its case; empty without any."""
    return item.callspec.id if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin each worker's share with long tests: one that begins last keeps the run waiting alone."""
    if not config.option.thorough:
        names = cases_run_by_hand()
        items[:] = [
            item
            for item in items
            if case_name(item) not in names and item.get_closest_marker("thorough") is None
        ]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    longest = [item for item in items if item.path.name in LONGEST_FILES]
    others = [item for item in items if item.path.name not in LONGEST_FILES]
    share = -(-len(others) // workers)
    items[:] = [
        item
        for worker in range(workers)
        for item in (*longest[worker::workers], *others[worker * share : (worker + 1) * share])
    ]


def pytest_configure(config: pytest.Config) -> None:
    """Have pytest compile its plugins once, instead of in each of hundreds of sandboxed test runs.

    Draw the same few examples of properties each time, collect garbage less often, and restore the
    handling of interrupts, which a shell's background processes ignore: otherwise all that tests start and
    interrupt would ignore them too.
    """
    gc.set_threshold(50_000)  # a fifth of the time of collecting tests is looking for garbage at the default
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.register_profile(
        "suite",
        max_examples=25,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    settings.load_profile("suite")
    if config.option.portable:
        force_portable_paths()
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS")
    }
    with tempfile.TemporaryDirectory() as place:
        Path(place, "test_red.py").write_text("def test_red():\n    assert 0\n", encoding="utf-8")
        arguments = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_red.py"]
        subprocess.run(arguments, cwd=place, env=environment, capture_output=True, check=False, timeout=60)


@pytest.fixture(scope="session", autouse=True)
def plain_venv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make a virtual environment without pytest plugins the active one, for the projects under test.

    It sees this one's packages, so that nothing has to be downloaded; importing this one's plugins would take
    more than half of the time of a small test run.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))  # 50 ms each
        patch.setenv("VIRTUAL_ENV", str(venv := plain_environment(tmp_path_factory.mktemp("venv") / "venv")))
        yield venv


@pytest.fixture(autouse=True)
def _close_network(request: pytest.FixtureRequest) -> Iterator[None]:
    _allowed.clear()
    if request.node.get_closest_marker("loopback"):
        _allowed.update(LOOPBACK)
    yield
    _allowed.clear()


@pytest.fixture(autouse=True)
def _clear_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make tests independent of the machine's keys, venv and settings."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith(("CODER_", "OLLAMA_", "GIT_")):
            monkeypatch.delenv(name)
