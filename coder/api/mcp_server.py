"""Server of the Model Context Protocol: the library's functions as tools for one repository."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from threading import Event
from typing import Annotated, Any, BinaryIO, TypeVar, cast

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.stdio import stdio_server
from mcp_types import ToolAnnotations
from pydantic import Field

from coder import __version__, api
from coder.core.errors import CoderError
from coder.core.values import Value
from coder.core.verdict_summary import summary_text

INSTRUCTIONS = (
    "Judges changes of this repository by its tests, run in clean worktrees before the change and with it. "
    "FIXED means: a test failed before for the right reason, passes now, and nothing that ran broke; PROVEN: "
    "and nothing is left to look at. Call "
    "verify when a change seems to be finished; on BROKEN or NOT FIXED, correct the change, not the tests."
)
MOST_PLACES = 10
HEARTBEAT_SECONDS = 10.0
READS = ToolAnnotations(read_only_hint=True)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False)
AnyContext = Context[Any, Any]
AnyResult = TypeVar("AnyResult")


class ToolResult(Value):
    """The outcome of `verify` or `fix`, as short as a model needs it."""

    label: str
    """PROVEN, FIXED, PASSING, NOT FIXED, BROKEN, NOT TESTED, GAVE UP or LIMIT."""
    summary: str
    targets: tuple[str, ...] = ()
    """Tests that failed before the change and pass with it."""
    broken: tuple[str, ...] = ()
    """Tests that passed before and do not pass now."""
    still_failing: tuple[str, ...] = ()
    report: str = ""
    """The verdict in at most six lines; without one, what was tried and is suspected."""
    diff: str = ""
    """The fix; empty where a change was judged."""
    branch: str = ""
    session: str
    model: str = ""
    """The model that worked, or `no model`: the built-in engine, or a change that was only judged."""


class RepositoryTools:
    """Tools on the repository that contains a directory."""

    def __init__(self, directory: Path, *, unsafe_no_sandbox: bool) -> None:
        self._directory = directory
        self._unsafe = unsafe_no_sandbox
        self._running: set[Event] = set()

    def stop(self) -> None:
        """Stop the sessions that run."""
        for stop in self._running:
            stop.set()

    async def verify(
        self,
        context: AnyContext,
        revision: Annotated[
            str | None, Field(description="Commit, branch or range A..B; default: the uncommitted work.")
        ] = None,
        against: Annotated[str | None, Field(description="Revision to compare with.")] = None,
        diff: Annotated[str | None, Field(description="A diff to judge instead of a revision.")] = None,
        issue: Annotated[str, Field(description="What the change is for.")] = "",
        unrelated_tests: Annotated[
            tuple[str, ...], Field(description="Ids of failing tests that are not about the issue.")
        ] = (),
    ) -> ToolResult:
        """Judge a change by its tests, before and after, in clean worktrees. Takes as long as the tests."""
        judge = partial(
            api.verify,
            revision,
            repository=self._directory,
            against=against,
            diff=diff,
            issue=issue,
            unrelated_tests=unrelated_tests,
            unsafe_no_sandbox=self._unsafe,
        )
        return _to_tool_result(await self._run_session(context, judge), diff="")

    async def locate(
        self, issue: Annotated[str, Field(description="What is wrong, in words.")]
    ) -> api.Locations:
        """Rank the files and definitions that an issue is about. Takes seconds and runs nothing."""
        places = await _call(partial(api.locate, issue, repository=self._directory))
        return api.Locations(files=places.files[:MOST_PLACES], definitions=places.definitions[:MOST_PLACES])

    async def locate_fault(
        self,
        context: AnyContext,
        tests: Annotated[
            tuple[str, ...], Field(description="Ids of failing tests; default: all that fail.")
        ] = (),
    ) -> api.SuspectRanking:
        """Rank functions by how much more failing tests execute them than passing ones do."""
        rank = partial(api.locate_fault, tests, repository=self._directory, unsafe_no_sandbox=self._unsafe)
        return await _follow(context, rank)

    async def apply(
        self,
        diff: Annotated[str, Field(description="Unified diff; it may be fenced, in prose, or damaged.")],
        check: Annotated[bool, Field(description="Write nothing.")] = False,
        reverse: Annotated[bool, Field(description="Take the change back.")] = False,
    ) -> api.AppliedDiff:
        """Apply a diff to the files of this repository: all of it as it was meant, or nothing."""
        return await _call(partial(api.apply, diff, directory=self._directory, check=check, reverse=reverse))

    async def fix(
        self,
        context: AnyContext,
        issue: Annotated[str, Field(description="What is wrong, in words.")],
        dry_run: Annotated[bool, Field(description="Return the diff and leave no branch.")] = False,
    ) -> ToolResult:
        """Fix an issue on a branch of its own, and prove it. Takes minutes; the model may cost money."""
        repair = partial(
            api.fix,
            issue,
            repository=self._directory,
            dry_run=dry_run,
            unsafe_no_sandbox=self._unsafe,
        )
        result = await self._run_session(context, repair)
        return _to_tool_result(result, diff=result.diff)

    async def _run_session(self, context: AnyContext, function: Callable[..., api.Result]) -> api.Result:
        """Run a session, and stop it where the client cancels the call or closes the connection."""
        stop = Event()
        self._running.add(stop)
        try:
            return await _follow(context, partial(function, stop=stop))
        finally:
            stop.set()
            self._running.discard(stop)


def serve_repository(
    directory: Path,
    requests: BinaryIO,
    answers: BinaryIO,
    *,
    unsafe_no_sandbox: bool,
    on_close: Callable[[], None],
) -> None:
    """Serve tools on the repository that contains a directory until the requests end, messages by lines.

    `on_close` is called when the client has gone; what is running then is stopped.
    """
    tools = RepositoryTools(directory, unsafe_no_sandbox=unsafe_no_sandbox)
    readers = (_make_tool(reader, READS) for reader in (tools.verify, tools.locate, tools.locate_fault))
    writers = (_make_tool(writer, WRITES) for writer in (tools.apply, tools.fix))
    server = MCPServer(
        "coder",
        version=__version__,
        instructions=INSTRUCTIONS,
        log_level="WARNING",
        tools=[*readers, *writers],
    )

    def close() -> None:
        tools.stop()
        on_close()

    anyio.run(_serve_streams, server, requests, answers, close)


async def _serve_streams(
    server: MCPServer, requests: BinaryIO, answers: BinaryIO, on_close: Callable[[], None]
) -> None:
    async def read_lines() -> AsyncIterator[str]:
        async for line in anyio.wrap_file(TextIOWrapper(requests, encoding="utf-8", errors="replace")):
            yield line
        on_close()

    output = anyio.wrap_file(TextIOWrapper(answers, encoding="utf-8"))
    async with stdio_server(cast(Any, read_lines()), output) as (read_stream, write_stream):
        lowlevel = server._lowlevel_server
        await lowlevel.run(read_stream, write_stream, lowlevel.create_initialization_options())


def _make_tool(function: Callable[..., Any], annotations: ToolAnnotations) -> Tool:
    """Return a tool that refuses arguments it does not have: a misspelt one must not be passed over."""
    tool = Tool.from_function(function, annotations=annotations)
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters = arguments.model_json_schema(by_alias=True)
    return tool


async def _call(function: Callable[[], AnyResult]) -> AnyResult:
    """Call a function in a thread.

    Raises:
        ToolError: it cannot do what was asked; the message is for the model.
    """
    try:
        return await asyncio.to_thread(function)
    except CoderError as error:
        raise ToolError(str(error)) from None


async def _follow(context: AnyContext, function: Callable[..., AnyResult]) -> AnyResult:
    """Call a function that reports its progress, and pass that on to the client.

    Some clients give up on a call that is silent for a minute: the last line is repeated, with its age.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()

    async def report() -> None:
        last, since, number = "", loop.time(), 0
        while True:
            try:
                line = await asyncio.wait_for(lines.get(), HEARTBEAT_SECONDS)
            except TimeoutError:
                message = f"{last or 'at work'} ({loop.time() - since:.0f} s)"
            else:
                if line == last:
                    continue
                last, since, message = line, loop.time(), line
            number += 1
            await context.report_progress(number, message=message)

    reporter = asyncio.ensure_future(report())
    try:
        return await _call(
            partial(function, on_progress=lambda line: loop.call_soon_threadsafe(lines.put_nowait, line))
        )
    finally:
        reporter.cancel()


def _to_tool_result(result: api.Result, *, diff: str) -> ToolResult:
    verdict = result.verdict
    return ToolResult(
        label=result.label,
        summary=result.summary,
        targets=verdict.targets if verdict else (),
        broken=tuple(test.id for test in verdict.broken) if verdict else (),
        still_failing=tuple(test.id for test in verdict.still_red) if verdict else (),
        report=summary_text(verdict, session=result.session) if verdict else result.report,
        diff=diff,
        branch=result.branch,
        session=result.session,
        model=result.model,
    )
