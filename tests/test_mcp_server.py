"""MCP server as a client sees it: the real command over its standard streams."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from coder.settings import trust_repository
from tests.place import FIX, ISSUE, Place
from tests.portable import coder_command
from tests.walls import flags

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="mcp is not installed")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    trust_repository(place.repository, place.environment)
    return place


@asynccontextmanager
async def connect(place: Place) -> AsyncIterator[Any]:
    import mcp  # a second, and all workers collect this file

    command, *arguments = coder_command("mcp", "serve", "--repo", str(place.repository), *flags())
    parameters = mcp.StdioServerParameters(command=command, args=arguments, env=place.environment)
    async with mcp.Client(parameters) as client:
        yield client


def test_lists_finds_applies_and_judges(place: Place) -> None:
    """One conversation: to start the server is most of the time."""
    lines: list[str] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        lines.append(message or "")

    async def work() -> dict[str, Any]:
        async with connect(place) as client:

            async def call(name: str, **arguments: Any) -> Any:
                result = await client.call_tool(name, arguments, progress_callback=report)
                return result.content[0].text if result.is_error else result.structured_content

            return {
                "tools": (await client.list_tools()).tools,
                "misspelt": await call("verify", revison="HEAD"),
                "missing": await call("locate_fault", tests=["tests/test_none.py::test_none"]),
                "nothing": await call("verify"),
                "located": await call("locate", issue="minutes() is wrong for 09:30"),
                "fixed": await call("fix", issue=ISSUE, dry_run=True),
                "suspects": await call("locate_fault"),
                "applied": await call("apply", diff=f"Here it is:\n```\n{FIX}```\n"),
                "judged": await call("verify", issue=ISSUE),
                "refused": await call("apply", diff=FIX),
            }

    answers = asyncio.run(work())
    tools = {tool.name: tool for tool in answers["tools"]}
    assert list(tools) == ["verify", "locate", "locate_fault", "apply", "fix"]
    assert [name for name, tool in tools.items() if len(tool.description) > 120] == []
    assert {"label", "summary", "broken"} < set(tools["verify"].output_schema["properties"])
    assert set(tools["apply"].input_schema["properties"]) == {"diff", "check", "reverse"}
    assert not any("'format': 'path'" in str(tool.output_schema) for tool in tools.values())
    assert "revison" in answers["misspelt"]
    assert "tests/test_none.py::test_none" in answers["missing"]["problem"]
    assert "by themselves" not in answers["missing"]["problem"]
    assert "no uncommitted work" in answers["nothing"]
    assert answers["located"]["definitions"][0]["name"] == "minutes"
    assert (answers["fixed"]["label"], answers["fixed"]["branch"]) == ("PROVEN", "")
    assert "+ int(rest)" in answers["fixed"]["diff"]
    assert answers["suspects"]["suspects"][0]["place"] == "clock.py::minutes"
    assert answers["applied"]["files"][0] | {"path": "clock.py", "added": 1} == answers["applied"]["files"][0]
    assert (answers["judged"]["label"], answers["judged"]["broken"]) == ("PROVEN", [])
    assert answers["judged"]["report"].startswith("PROVEN")
    assert "changes nothing" in answers["refused"]
    assert "verify" in lines


def test_without_the_package_says_what_to_install(place: Place) -> None:
    script = (
        "import sys; sys.modules['mcp'] = None; sys.argv = ['coder', 'mcp', 'serve']\n"
        "from coder.__main__ import main\nmain()"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], env=place.environment, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr.count("\n"), "pip install 'mcp" in result.stderr) == (2, 1, True)


def test_refuses_to_serve_where_no_repository_is(place: Place, tmp_path: Path) -> None:
    command = coder_command("mcp", "serve", "--repo", str(tmp_path / "none"))
    with subprocess.Popen(
        command, env=place.environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:  # whose client stays
        assert server.stderr
        message = server.stderr.read()
    assert (server.returncode, "none" in message) == (2, True)


class Wire:
    """A server process, spoken to line by line."""

    def __init__(self, place: Place) -> None:
        self.process = subprocess.Popen(
            coder_command("mcp", "serve", "--repo", str(place.repository), *flags()),
            env=place.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def send(self, method: str, *, id: int | None = None, **parameters: Any) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": parameters}
        message |= {} if id is None else {"id": id}
        assert self.process.stdin
        self.process.stdin.write(f"{json.dumps(message)}\n".encode())
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        return dict(json.loads(self.process.stdout.readline()))

    def open(self) -> None:
        client = {"name": "c", "version": "1"}
        self.send("initialize", id=1, protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self.send("notifications/initialized")

    def close(self) -> int:
        """Close the client's end and wait for the server's."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        return code


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["cancelled", "closed"])
def test_verify_ends_with_its_call_or_client(place: Place, ending: str) -> None:
    (place.repository / "test_slow.py").write_text(
        "import time, unittest\n\nfrom clock import minutes\n\n\nclass Slow(unittest.TestCase):\n"
        "    def test_slow(self):\n        time.sleep(300)\n        minutes('1:1')\n"
    )
    (place.repository / "clock.py").write_text("def minutes(text):\n    return 1\n")
    wire = Wire(place)
    wire.open()
    wire.read()
    wire.send("tools/call", id=2, name="verify", arguments={}, _meta={"progressToken": 1})
    while wire.read().get("method") != "notifications/progress":
        pass
    if ending == "cancelled":
        wire.send("notifications/cancelled", requestId=2)
    else:
        wire.close()
    deadline = time.monotonic() + 60
    while any(place.traces()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert place.traces() == ("", "")
    if ending == "cancelled":
        wire.close()


async def test_silent_call_reports_that_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from coder.api import mcp_server

    monkeypatch.setattr(mcp_server, "HEARTBEAT_SECONDS", 0.05)
    reports: list[str] = []

    class Context:
        async def report_progress(self, number: float, *, message: str) -> None:
            reports.append(message)

    def work(*, on_progress: Any) -> None:
        on_progress("suite")
        while len(reports) < 3:
            time.sleep(0.01)

    context: Any = Context()
    await mcp_server._follow(context, work)
    assert reports[0] == "suite"
    assert reports[1].startswith("suite (")
