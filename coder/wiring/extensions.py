"""Instructions, Agent Skills and commands that a project and its user keep for coding agents.

https://agents.md and https://agentskills.io/specification; a project's own count only where it is trusted.
"""

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO, get_args

from pydantic import ConfigDict, ValidationError

from coder.core.errors import CoderError, ToolError, UserError
from coder.core.text import parse_json, sanitize_text, shorten_line, suggest_name
from coder.core.values import Value
from coder.files.regular_files import config_directory, is_within, read_regular, read_regular_text
from coder.repo.git import Git
from coder.session.phase import render_prompt
from coder.settings import is_trusted
from coder.tools.tool import ServerArguments, Tool, tool
from coder.wiring.project_runtime import SERVERS_FILE
from coder.workspace.workspace import SKILL_PREFIX, Workspace

if TYPE_CHECKING:
    import mcp
    from anyio.from_thread import BlockingPortal

INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""Only the first one of a directory counts: the others usually repeat it."""
INSTRUCTIONS_CHARACTERS = 12_000
MOST_NESTED = 30
LIST_CHARACTERS = 8_000
"""Most characters of names and descriptions of skills that a model is told, about 2,000 tokens."""
DESCRIPTION_CHARACTERS = 1024
SKILL_NAME = re.compile(r"(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*")
AGENT_DIRECTORIES = (".agents", ".claude")
CommandMode = Literal["fix", "do", "ask", "plan"]


@dataclass(frozen=True, kw_only=True)
class Skill:
    name: str
    description: str
    directory: Path


@dataclass(frozen=True, kw_only=True)
class CustomCommand:
    """A request that is kept as a Markdown file, with placeholders for the words after its name."""

    name: str
    description: str
    mode: CommandMode
    text: str

    def expand(self, words: str) -> str:
        """Return the request: `$ARGUMENTS` stands for all words, `$1` to `$9` for one each."""
        try:
            parts = shlex.split(words)
        except ValueError:  # an apostrophe in a sentence
            parts = words.split()
        values = {"ARGUMENTS": words, **{str(place): part for place, part in enumerate(parts, start=1)}}
        text, count = re.subn(
            r"\$(ARGUMENTS\b|[1-9](?!\d))", lambda match: values.get(match[1], ""), self.text
        )
        return text if count or not words else f"{text}\n\n{words}"


@dataclass(frozen=True, kw_only=True)
class Guidance:
    instructions: str = ""
    """Text for the first message to the model."""
    skills: Mapping[str, Path] = field(default_factory=dict)
    """Directories by the names of the skills."""
    problems: tuple[str, ...] = ()
    """Sentences for the user on what is passed over."""


def load_guidance(root: Path, start: Path, *, trusted: bool, git: Git) -> Guidance:
    """Return the instructions and skills for a session that was started in the directory `start`."""
    own = read_regular_text(config_directory() / "AGENTS.md", within=Path("/"))[:INSTRUCTIONS_CHARACTERS]
    files = dict(_read_instructions(root, start.resolve())) if trusted else {}
    nested = [path for path in _list_instructions(git) if path not in files] if trusted else []
    skills, problems = find_skills(root if trusted else None)
    if not (own or files or nested or skills):
        return Guidance(problems=problems)
    listed = _fit(skills)
    text = render_prompt(
        "instructions",
        own=own,
        files=files,
        nested=nested[:MOST_NESTED],
        skills=listed,
        omitted=[skill.name for skill in skills if skill not in listed],
    )
    return Guidance(
        instructions=text, skills={skill.name: skill.directory for skill in skills}, problems=problems
    )


def _read_instructions(root: Path, start: Path) -> Iterator[tuple[str, str]]:
    room = INSTRUCTIONS_CHARACTERS
    below = [parent for parent in (start, *start.parents) if parent.is_relative_to(root) and parent != root]
    for directory in (root, *reversed(below)):
        for name in INSTRUCTION_FILES:
            if text := read_regular_text(directory / name, within=root).strip()[:room]:
                room -= len(text)
                yield (directory / name).relative_to(root).as_posix(), text
                break


def _list_instructions(git: Git) -> Iterator[str]:
    """Yield the paths of all tracked instructions, one a directory."""
    try:
        output = git.call(
            *("ls-files", "-z", "--", *(f":(glob)**/{name}" for name in INSTRUCTION_FILES)),
            environment={"GIT_LITERAL_PATHSPECS": "0"},
        )
    except CoderError:
        return
    paths = os.fsdecode(output.stdout).split("\0")[:-1]
    ranked = sorted(paths, key=lambda path: INSTRUCTION_FILES.index(Path(path).name))
    yield from sorted({Path(path).parent: path for path in reversed(ranked)}.values())


def _fit(skills: tuple[Skill, ...]) -> list[Skill]:
    room, listed = LIST_CHARACTERS, []
    for skill in skills:
        room -= len(skill.name) + len(skill.description)
        if room < 0:
            break
        listed.append(skill)
    return listed


def find_skills(root: Path | None) -> tuple[tuple[Skill, ...], tuple[str, ...]]:
    """Return the skills of a trusted project, then the user's own, and what is wrong with others.

    The first one of a name counts.
    """
    skills: dict[str, Skill] = {}
    problems = []
    for base, within in _places(root, "skills"):
        for file in sorted(base.glob("*/SKILL.md")):
            if within is not None and not is_within(file, within):
                problems.append(f"{file} is passed over: it is a link that leads out of the repository.")
                continue
            try:
                skill = _read_skill(file)
            except ValueError as error:
                problems.append(f"{file} is passed over: {error}.")
            else:
                skills.setdefault(skill.name, skill)
    return tuple(skills.values()), tuple(problems)


def _places(root: Path | None, kind: str) -> Iterator[tuple[Path, Path | None]]:
    """Return the readable directories of skills or commands, and what the files of each must not leave."""
    places: list[tuple[Path, Path | None]] = []
    if root is not None:
        places += [(root / name / kind, root) for name in AGENT_DIRECTORIES]
    places.append((config_directory() / kind, None))
    places += [(Path.home() / name / kind, None) for name in AGENT_DIRECTORIES]
    return ((base, within) for base, within in places if os.access(base, os.R_OK | os.X_OK))


def _read_skill(file: Path) -> Skill:
    """Return the skill that a SKILL.md describes."""
    fields, _ = _split_front_matter(read_regular_text(file, within=file.resolve().parent))
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not SKILL_NAME.fullmatch(name):
        raise ValueError(f"its name {name!r} is not of lower-case letters, digits and single hyphens")
    if name != file.parent.name:
        raise ValueError(f"its name {name!r} is not that of its directory")
    if not isinstance(description, str) or not description.strip():
        raise ValueError("it has no description")
    text = " ".join(description.split())[:DESCRIPTION_CHARACTERS]
    return Skill(name=name, description=text, directory=file.resolve().parent)


def _split_front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """Return the YAML fields at the top of a Markdown file, and its body."""
    match = re.match(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", text, re.DOTALL | re.MULTILINE)
    if match is None:
        return {}, text.strip()
    import yaml  # type: ignore[import-untyped]  # loaded where a project or its user has skills or commands

    try:
        fields = yaml.safe_load(match[1])
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"its front matter is no YAML ({' '.join(str(error).split())})") from None
    return fields if isinstance(fields, dict) else {}, text[match.end() :].strip()


def find_commands(root: Path, *, trusted: bool | None = None) -> dict[str, CustomCommand]:
    """Return the custom commands by name: those of a trusted project, then the user's own, then skills."""
    own_root = root if (is_trusted(root) if trusted is None else trusted) else None
    commands: dict[str, CustomCommand] = {}
    for base, within in _places(own_root, "commands"):
        for file in sorted(base.rglob("*.md")):
            if within is None or is_within(file, within):
                command = _read_command(file, base)
                commands.setdefault(command.name, command)
    for skill in find_skills(own_root)[0]:
        text = f'Follow the skill {skill.name}: read(path="{SKILL_PREFIX}{skill.name}").'
        command = CustomCommand(name=skill.name, description=skill.description, mode="do", text=text)
        commands.setdefault(skill.name, command)
    return commands


def _read_command(file: Path, base: Path) -> CustomCommand:
    """Return the command of a file; the folders that it lies in become parts of its name."""
    try:
        fields, body = _split_front_matter(read_regular_text(file, within=file.resolve().parent))
    except ValueError:
        fields, body = {}, ""
    mode = fields.get("mode", "do")
    hint, description = fields.get("argument-hint"), fields.get("description")
    about = " ".join(str(part) for part in (hint, description or body.partition("\n")[0]) if part)
    return CustomCommand(
        name=":".join(file.relative_to(base).with_suffix("").parts),
        description=" ".join(about.split())[:DESCRIPTION_CHARACTERS],
        mode=mode if mode in get_args(CommandMode) else "do",
        text=body,
    )


def require_command(root: Path, name: str, *, trusted: bool) -> CustomCommand:
    """Return a custom command.

    Raises:
        UserError: there is none of this name, it is empty, or the repository that has it is not trusted.
    """
    commands = find_commands(root, trusted=trusted)
    if name in commands:
        if not commands[name].text:
            raise UserError(f"The command {name} says nothing, or its front matter is no YAML.")
        return commands[name]
    if not trusted and name in find_commands(root, trusted=True):
        raise UserError(
            f"{name} is a command of this repository, which is not trusted. If it is yours: "
            f"coder trust {root}"
        )
    names = suggest_name(name, commands)
    raise UserError(
        f"There is no command {name!r}. {names}Commands are Markdown files in .agents/commands or "
        f".claude/commands of a trusted repository, or in {config_directory() / 'commands'}."
    )


CONNECT_SECONDS = 30.0
CALL_SECONDS = 60.0
MOST_TOOLS = 200
"""Tools of one server that are read."""
MOST_CHARACTERS = 50_000
"""Of a result; the rest is dropped."""
MOST_DESCRIPTION = 1_000
"""Characters of what a server says about a tool."""
LISTED_CHARACTERS = 8_000
"""Definitions up to this size, about 2,000 tokens, are in each request; larger ones are searched."""
FOUND_TOOLS = 5


class ServerEntry(Value):
    """A server as an entry of `mcpServers` names it; other fields are those of other clients."""

    model_config = ConfigDict(extra="ignore")
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str = ""
    headers: Mapping[str, str] = {}

    @property
    def text(self) -> str:
        """The command, or the address, in one line."""
        return sanitize_text(self.url or " ".join((self.command, *self.args)))

    @property
    def is_coder(self) -> bool:
        """Whether it is coder itself, offered to other agents."""
        return Path(self.command).name == "coder" and self.args[:2] == ("mcp", "serve")


class NamedServer(NamedTuple):
    name: str
    entry: ServerEntry
    source: Literal["yours", "the editor's", "the repository's"]
    is_used: bool
    """False of a repository that is not trusted."""


def user_file() -> Path:
    return config_directory() / "mcp.json"


def list_servers(
    root: Path | None, given: Mapping[str, Any] = MappingProxyType({})
) -> tuple[NamedServer, ...]:
    """Return the user's own servers, those of their editor, and those that the repository names.

    Of several with one name the first counts; those `given` by the editor are in the form of a file.

    Raises:
        UserError: the user's file cannot be read.
    """
    own = read_entries(user_file())
    servers = [NamedServer(name, entry, "yours", True) for name, entry in own.items()]
    for name, entry in given.items():
        if name not in own:
            own[name] = ServerEntry.model_validate(entry)
            servers.append(NamedServer(name, own[name], "the editor's", True))
    if root is not None:
        try:
            named = read_entries(root / SERVERS_FILE)
        except UserError:
            named = {}  # what an unknown file holds stops nobody's work
        servers += [
            NamedServer(name, entry, "the repository's", is_trusted(root))
            for name, entry in named.items()
            if name not in own and not entry.is_coder
        ]
    return tuple(servers)


def read_entries(file: Path) -> dict[str, ServerEntry]:
    """Return the servers of a file in the form that other clients have, too; none if there is no file.

    Raises:
        UserError: it has another form.
    """
    if not file.exists():
        return {}
    try:
        document = parse_json(read_regular(file) or b"{}")
        entries = document.get("mcpServers", {})
        return {str(name): ServerEntry.model_validate(entry) for name, entry in entries.items()}
    except (ValueError, AttributeError, ValidationError):
        raise UserError(
            f'{file} has not the form {{"mcpServers": {{"NAME": {{"command": ...}}}}}}.'
        ) from None


class ServerTool(NamedTuple):
    name: str
    """As the model calls it, and as rules name it: `mcp__SERVER__TOOL`."""
    server: str
    own_name: str
    description: str
    parameters: Mapping[str, Any]

    @property
    def definition(self) -> str:
        return json.dumps({"name": self.name, "about": self.description, "arguments": self.parameters})


class McpServers:
    """Connections to servers, in a thread with an event loop of its own."""

    def __init__(self, portal: "BlockingPortal", errors: TextIO) -> None:
        self._portal = portal
        self._errors = errors
        self._clients: dict[str, mcp.Client] = {}
        self.tools: tuple[ServerTool, ...] = ()

    def connect(self, servers: Iterable[NamedServer], *, directory: Path | None) -> Iterator[str]:
        """Connect to all servers at once, and yield a sentence on each that does not answer."""
        ready: dict[str, Future[Sequence[Any]]] = {}
        for server in servers:
            ready[server.name] = Future()
            self._portal.start_task_soon(self._hold, server, directory, ready[server.name])
        for name, future in ready.items():
            try:
                found = [_read_tool(name, definition) for definition in future.result()[:MOST_TOOLS]]
            except Exception as error:  # noqa: BLE001 (whatever a server does, the work goes on without it)
                reason = shorten_line(sanitize_text(_describe_error(error)), 200)
                yield f"The MCP server {name} does not answer, and its tools are missing: {reason}"
            else:
                known = {tool.name for tool in self.tools}
                self.tools += tuple({tool.name: tool for tool in found if tool.name not in known}.values())

    async def _hold(
        self, server: NamedServer, directory: Path | None, ready: "Future[Sequence[Any]]"
    ) -> None:
        """Keep a connection until the session ends."""
        import anyio

        try:
            with anyio.fail_after(CONNECT_SECONDS) as limit:
                async with AsyncExitStack() as stack:
                    client = await self._open_client(server.entry, directory, stack)
                    definitions = (await client.list_tools()).tools
                    self._clients[server.name] = client
                    limit.deadline = float("inf")
                    ready.set_result(definitions)
                    await anyio.sleep_forever()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            if not isinstance(error, Exception):
                raise

    async def _open_client(
        self, entry: ServerEntry, directory: Path | None, stack: AsyncExitStack
    ) -> "mcp.Client":
        import mcp
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        transport: Any
        if entry.url:
            headers = {name: expand(value) for name, value in entry.headers.items()}
            http_client = await stack.enter_async_context(create_mcp_http_client(headers=headers))
            transport = streamable_http_client(expand(entry.url), http_client=http_client)
        else:
            parameters = mcp.StdioServerParameters(
                command=expand(entry.command),
                args=[*map(expand, entry.args)],
                env={name: expand(value) for name, value in entry.env.items()},
                cwd=directory,
                encoding_error_handler="replace",
            )
            transport = stdio_client(parameters, errlog=self._errors)
        client = mcp.Client(transport, read_timeout_seconds=CALL_SECONDS)
        return await stack.enter_async_context(client)

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool, and return its result as text.

        Raises:
            ToolError: there is no such tool, it fails, or it takes too long.
        """
        called = next((tool for tool in self.tools if tool.name == name), None)
        if called is None:
            raise ToolError(f"There is no tool {name!r} of an MCP server. Nothing was done.")
        client = self._clients[called.server]
        try:
            result = self._portal.call(client.call_tool, called.own_name, dict(arguments))
        except Exception as error:  # noqa: BLE001 (whatever a server does, the work goes on without it)
            raise ToolError(f"{name} failed: {_describe_error(error)}") from None
        text = describe_result(result)
        if result.is_error:
            raise ToolError(text or f"{name} failed.")
        return text or "(no output)"


@contextmanager
def open_servers(errors: TextIO | None = None) -> Iterator[McpServers]:
    """Provide connections until exit; what servers print goes nowhere, or to `errors`.

    Raises:
        UserError: the package of the protocol is missing.
    """
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise UserError(
            "MCP servers need the package mcp: install it beside coder, pip install 'mcp>=2.3,<3'."
        )
    from anyio.from_thread import start_blocking_portal

    with ExitStack() as stack:
        log = errors or stack.enter_context(Path(os.devnull).open("w"))
        portal = stack.enter_context(start_blocking_portal())
        stack.callback(lambda: portal.call(portal.stop, True))
        yield McpServers(portal, log)


def session_tools(servers: McpServers) -> tuple[Tool, ...]:
    """Return the tools of servers for a model; where they are many, two that search and call them."""
    if sum(len(found.definition) for found in servers.tools) <= LISTED_CHARACTERS:
        return tuple(_make_tool(servers, found) for found in servers.tools)

    @tool()
    def mcp_search(_workspace: Workspace, query: str) -> str:
        """Find tools of the user's MCP servers, with their arguments. Call one with mcp_call.

        Args:
            query: Words on what is to be done.
        """
        words = set(re.findall(r"[a-z0-9]+", query.lower()))
        ranked = sorted(servers.tools, key=lambda found: -len(words & _words(found)))
        shown = [found.definition for found in ranked[:FOUND_TOOLS] if words & _words(found)]
        names = ", ".join(found.name for found in servers.tools)
        return "\n".join(shown) or f"No tool fits. There are: {names}"

    @tool(subject="tool")
    def mcp_call(_workspace: Workspace, tool: str, arguments: str = "{}") -> str:
        """Call a tool that mcp_search has found. The user is asked first.

        Args:
            tool: Its name.
            arguments: Its arguments, as a JSON object.
        """
        try:
            values = parse_json(arguments)
        except ValueError:
            values = None
        if not isinstance(values, dict):
            raise ToolError("The arguments are no JSON object. Nothing was done.")
        return servers.call(tool, values)

    return (mcp_search, mcp_call)


@contextmanager
def open_session_tools(
    root: Path, given: Mapping[str, Any]
) -> Iterator[tuple[tuple[Tool, ...], tuple[str, ...]]]:
    """Provide the tools of all servers that a session in a repository may use, and what to tell the user."""
    servers = [server for server in list_servers(root, given) if server.is_used]
    if not servers:
        yield (), ()
        return
    with ExitStack() as stack:
        try:
            connections = stack.enter_context(open_servers())
        except UserError as error:
            yield (), (str(error),)
            return
        problems = tuple(connections.connect(servers, directory=root))
        yield session_tools(connections), problems


def _make_tool(servers: McpServers, found: ServerTool) -> Tool:
    return Tool(
        name=found.name,
        function=lambda _workspace, arguments: servers.call(found.name, arguments),
        arguments=ServerArguments,
        description=f"Of the user's MCP server {found.server}, which says: {found.description}",
        writes=False,
        asks=False,
        schema=found.parameters,
    )


def _words(found: ServerTool) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", f"{found.name} {found.description}".lower()))


def _read_tool(server: str, definition: Any) -> ServerTool:
    name = re.sub(r"[^\w-]", "_", f"mcp__{server}__{definition.name}", flags=re.ASCII)[:64]
    about = " ".join(sanitize_text(definition.description or definition.name).split())
    schema = definition.input_schema or {}
    parameters = {"properties": {}, **schema, "type": "object"}
    return ServerTool(name, server, definition.name, shorten_line(about, MOST_DESCRIPTION), parameters)


def describe_result(result: Any) -> str:
    """Return the result of a call as text; what is no text is named, and what is too long is cut."""
    parts = []
    for block in result.content:
        resource = getattr(block, "resource", block)
        text = getattr(resource, "text", None)
        kind = getattr(resource, "mime_type", None) or block.type
        parts.append(text if isinstance(text, str) else f"[{kind}: {getattr(resource, 'uri', 'not shown')}]")
    if not parts and result.structured_content is not None:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    text = "\n".join(parts)
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n[... {len(text) - MOST_CHARACTERS:,} characters were dropped ...]"


def expand(text: str) -> str:
    """Replace `${NAME}` and `${NAME:-default}` by variables of the environment, as other clients do."""
    return re.sub(
        r"\$\{(\w+)(?::-([^}]*))?\}", lambda match: os.environ.get(match[1]) or match[2] or "", text
    )


def _describe_error(error: BaseException) -> str:
    """Return the reason in a group of errors, which is what task groups raise."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return "it took too long."
    return str(error) or type(error).__name__
