"""MCP server as a client sees it: the real command over its standard streams."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from coder.trust import trust_repository
from tests.place import FIX, ISSUE, Place
from tests.portable import coder_command
from tests.walls import flags

mcp = pytest.importorskip("mcp", reason="mcp is not installed")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    trust_repository(place.repository, place.environment)
    return place


@asynccontextmanager
async def connect(place: Place) -> AsyncIterator[Any]:
    command, *arguments = coder_command("mcp", "serve", "--repo", str(place.repository), *flags())
    parameters = mcp.StdioServerParameters(command=command, args=arguments, env=place.environment)
    async with mcp.Client(parameters) as client:
        yield client


def test_lists_typed_tools_with_short_descriptions(place: Place) -> None:
    async def list_tools() -> Any:
        async with connect(place) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(list_tools())}
    assert list(tools) == ["verify", "locate", "locate_fault", "apply", "fix"]
    assert [name for name, tool in tools.items() if len(tool.description) > 120] == []
    assert {"label", "summary", "broken"} < set(tools["verify"].output_schema["properties"])
    assert set(tools["apply"].input_schema["properties"]) == {"diff", "check", "reverse"}


def test_finds_applies_and_judges(place: Place) -> None:
    lines: list[str] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        lines.append(message or "")

    async def work() -> dict[str, Any]:
        async with connect(place) as client:

            async def call(name: str, **arguments: Any) -> Any:
                result = await client.call_tool(name, arguments, progress_callback=report)
                return result.content[0].text if result.is_error else result.structured_content

            return {
                "nothing": await call("verify"),
                "located": await call("locate", issue="minutes() is wrong for 09:30"),
                "fixed": await call("fix", issue=ISSUE, dry_run=True),
                "suspects": await call("locate_fault"),
                "applied": await call("apply", diff=f"Here it is:\n```\n{FIX}```\n"),
                "judged": await call("verify", issue=ISSUE),
                "refused": await call("apply", diff=FIX),
            }

    answers = asyncio.run(work())
    assert "no uncommitted work" in answers["nothing"]
    assert answers["located"]["definitions"][0]["name"] == "minutes"
    assert (answers["fixed"]["label"], answers["fixed"]["branch"]) == ("PROVEN", "")
    assert "+ int(rest)" in answers["fixed"]["diff"]
    assert answers["suspects"]["suspects"][0]["place"] == "clock.py::minutes"
    assert answers["applied"]["files"][0] | {"path": "clock.py", "added": 1} == answers["applied"]["files"][0]
    assert (answers["judged"]["label"], answers["judged"]["broken"]) == ("PROVEN", [])
    assert answers["judged"]["report"].startswith("# PROVEN")
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


def test_refuses_unknown_arguments_and_missing_tests(place: Place) -> None:
    async def work() -> tuple[Any, Any]:
        async with connect(place) as client:
            misspelt = await client.call_tool("verify", {"revison": "HEAD"})
            missing = await client.call_tool("locate_fault", {"tests": ["tests/test_none.py::test_none"]})
            return misspelt, missing

    misspelt, missing = asyncio.run(work())
    assert misspelt.is_error
    assert "revison" in misspelt.content[0].text
    assert "tests/test_none.py::test_none" in missing.content[0].text
    assert "by themselves" not in missing.content[0].text


def test_refuses_to_serve_where_no_repository_is(place: Place, tmp_path: Path) -> None:
    command = coder_command("mcp", "serve", "--repo", str(tmp_path / "none"))
    result = subprocess.run(
        command, env=place.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "none" in result.stderr
