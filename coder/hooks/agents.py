"""Hooks of other coding agents: which agent asks, its settings, state and closed gates."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from coder.core.errors import UserError
from coder.core.text import parse_json, parse_toml
from coder.files.regular_files import replace_text

SECONDS = 1800
"""Time limit of a hook; the agents' own defaults are too short for a test suite."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A coding agent, and its hook at the end of a turn."""

    name: str
    title: str
    settings: str
    """The file that configures its hooks, relative to the repository or the user's home directory."""
    personal: str = ""
    """The user's own file in the repository; empty if the agent reads none."""
    start_event: str = "SessionStart"
    stop_event: str = "Stop"
    timeout_unit_seconds: float = 1.0
    refusal: str = "block"
    """The decision that makes it continue."""
    project_variable: str = ""
    """Environment variable with the directory that it was started in."""
    remark: str = ""
    """Remaining steps after the installation; a sentence."""

    @property
    def events(self) -> tuple[str, ...]:
        """Events that have an entry of coder's."""
        return (self.start_event, self.stop_event)

    def build_entry(self, command: str) -> dict[str, Any]:
        timeout = round(SECONDS / self.timeout_unit_seconds)
        return {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}

    def describe_entries(self, command: str) -> str:
        """Return the lines that a user may paste into the settings."""
        return json.dumps({"hooks": {event: [self.build_entry(command)] for event in self.events}}, indent=2)

    def is_own_command(self, command: object) -> bool:
        """Tell whether a command in the settings is coder's."""
        return isinstance(command, str) and f"coder hook run {self.name}" in f"{command} ".replace("'", "")


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            name="claude",
            title="Claude Code",
            settings=".claude/settings.json",
            personal=".claude/settings.local.json",
            project_variable="CLAUDE_PROJECT_DIR",
        ),
        Agent(
            name="codex",
            title="Codex",
            settings=".codex/hooks.json",
            remark="Codex runs it only in a project that it trusts, and after you have reviewed it: /hooks.",
        ),
        Agent(
            name="gemini",
            title="Gemini CLI",
            settings=".gemini/settings.json",
            stop_event="AfterAgent",
            timeout_unit_seconds=0.001,
            refusal="deny",
            project_variable="GEMINI_PROJECT_DIR",
        ),
        Agent(
            name="qwen",
            title="Qwen Code",
            settings=".qwen/settings.json",
            start_event="UserPromptSubmit",  # it fires no SessionStart for `qwen -p`
            timeout_unit_seconds=0.001,
        ),
    )
}
OTHER_AGENTS = {
    "copilot": "Copilot CLI runs Claude Code's hooks where it trusts the directory: coder hook "
    "install claude",
    "cursor": "Cursor runs Claude Code's hooks, unless its settings leave out third-party ones: coder hook "
    "install claude",
    "opencode": "opencode runs plugins at the end of a turn, and no commands: use coder hook install git, or "
    "coder watch beside it.",
    "vibe": "Mistral Vibe tells no hook that a session begins, so its work cannot be told from yours: use "
    "coder hook install git, or coder watch beside it.",
}
"""Advice for agents without an entry of their own."""


def hook_command(agent: Agent, program: str, options: Sequence[str] = ()) -> str:
    """Return the command of an entry; on a machine without this program it does nothing."""
    call = " ".join((program, "hook", "run", agent.name, *options))
    return f"if command -v {program} >/dev/null 2>&1; then {call}; fi"


def find_program(*, absolute: bool) -> str:
    """Return how a hook starts coder, as a word of a shell: by its name, or `absolute`, by its path.

    Raises:
        UserError: it is not installed in such a way that a hook could start it.
    """
    own = Path(sys.argv[0]).absolute() if Path(sys.argv[0]).name == "coder" else None
    beside = Path(sys.executable).parent / "coder"
    if absolute:
        installed = own or beside
        if not installed.is_file():
            raise UserError(f"There is no {installed}: install coder, so that a hook can start it.")
        return shlex.quote(str(installed))
    found = shutil.which("coder")
    if found is not None and (Path(found) in (own, beside) or _is_coder(found)):
        return "coder"
    problem = f"{found} is another program" if found else "there is no `coder` on PATH"
    raise UserError(
        f"A hook would not start: {problem}. Install coder as a tool of its own (pipx or uv tool), or add "
        "--absolute to have the hook start this installation."
    )


def _is_coder(program: str) -> bool:
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=ASK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return re.match(r"coder \d", answer.stdout) is not None


ASK_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class AgentSession:
    """One session of a coding agent: where it works, what it found there, and what it was told."""

    root: Path
    """Top of the checkout that it was started in, wherever its shell goes."""
    head: str
    """Commit that was checked out when it began."""
    start: str
    """Commit with the work tree of then, uncommitted work included; on top of `head`, or `head` itself."""
    tree: str
    """Git tree of it."""
    is_start_known: bool = True
    """False if the hook saw the end of a turn first: what was there before is unknown."""
    judging: str = ""
    """Git tree that is being judged; left behind by a hook that was stopped."""
    judged: str = ""
    """Git tree that was judged last."""
    verdict: str = ""
    """Label of its verdict."""
    failing: tuple[str, ...] = ()
    """Tests for which it was refused; empty if it was not."""
    refusals: int = 0
    """All refusals so far."""
    rounds: int = 0
    """Refusals since the user's last turn."""
    prompt: str = ""
    """Digest of the user's prompt at the last refusal; empty for agents that do not send it."""
    answer_characters: int = 0
    answer: str = ""
    """Length and digest of the agent's answer at the last refusal, likewise."""
    message: str = ""
    """The last message to the user, which is not repeated."""
    hidden: dict[str, str] = field(default_factory=dict)
    """Work that git did not show when it began, with fingerprints."""


def state_file(directory: Path, *, agent: str, session: str) -> Path:
    return directory / "hooks" / f"{agent}-{text_digest(session)}.json"


def text_digest(text: str) -> str:
    """Return what identifies a text that is not kept."""
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def read_session(path: Path) -> AgentSession | None:
    """Return a stored session; None if there is none that can be read."""
    try:
        data = parse_json(path.read_text(encoding="utf-8"))
        session = AgentSession(**data)
        return replace(session, root=Path(session.root), failing=tuple(session.failing))
    except (OSError, ValueError, TypeError):
        return None


def write_session(path: Path, session: AgentSession) -> None:
    replace_text(path, json.dumps(asdict(session), default=str))


BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, kw_only=True)
class FileMemory:
    """Properties of a settings file before the entries, which its later content does not show."""

    existed: bool
    text: str = ""
    """The file, where it held no setting; otherwise it may hold secrets, and is not kept."""
    empty: tuple[str, ...] = ()
    """Containers of hooks that were there and empty: `hooks`, or the name of an event."""


def install_entries(path: Path, agent: Agent, command: str, *, memory: Path) -> bool:
    """Write an entry for each of the agent's events, in place of earlier ones.

    Return whether that changed the file. `memory` is a file for what a removal must know.

    Raises:
        UserError: the file cannot be understood; it is as it was.
    """
    existed = path.exists()
    try:
        text = _read(path) if existed else "{}\n"
        updated = _remove_entries(text, agent, path, _read_memory(memory))
        is_new = updated == text
        for event in agent.events:
            updated = _append_entry(updated, agent, event, command, path)
    except UserError as error:
        raise UserError(f"{error} Add this to it:\n{agent.describe_entries(command)}") from None
    if is_new:
        replace_text(memory, json.dumps(asdict(_describe_file(text, existed=existed))))
    return _write(path, updated)


def remove_entries(path: Path, agent: Agent, *, memory: Path) -> bool:
    """Remove the entries, and a file that was made for them; return whether there were any.

    Raises:
        UserError: the file cannot be understood; it is as it was.
    """
    if not path.exists():
        return False
    before = _read_memory(memory)
    text = _read(path)
    updated = _remove_entries(text, agent, path, before)
    if updated == text:
        return False
    memory.unlink(missing_ok=True)
    if before is not None and _is_bare(parse_json(updated.removeprefix(BYTE_ORDER_MARK))):
        if not before.existed:
            path.unlink()
            return True
        updated = before.text or updated
    return _write(path, updated)


def has_entries(path: Path, agent: Agent) -> bool:
    """Tell whether a settings file has an entry for each of the agent's events."""
    try:
        text = _read(path).removeprefix(BYTE_ORDER_MARK)
        events = {chain[2].key for chain in _find_entries(text, agent, path)}
    except (OSError, UserError):
        return False
    return events >= {*agent.events}


def _describe_file(text: str, *, existed: bool) -> FileMemory:
    document = parse_json(text.removeprefix(BYTE_ORDER_MARK))
    hooks = document.get("hooks")
    events = hooks.items() if isinstance(hooks, dict) else ()
    return FileMemory(
        existed=existed,
        text=text if _is_bare(document) else "",
        empty=(*(["hooks"] if hooks == {} else []), *(name for name, groups in events if not groups)),
    )


def _is_bare(document: dict[str, Any]) -> bool:
    """Tell whether settings say nothing."""
    hooks = document.get("hooks", {})
    return {*document} <= {"hooks"} and isinstance(hooks, dict) and not any(hooks.values())


def _read_memory(file: Path) -> FileMemory | None:
    try:
        return FileMemory(**parse_json(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise _unreadable(path) from None


def _write(path: Path, text: str) -> bool:
    if path.exists() and path.read_bytes() == text.encode("utf-8"):
        return False
    replace_text(path, text)
    return True


@dataclass(frozen=True, kw_only=True)
class JsonSpan:
    """A value in a JSON text."""

    start: int
    """Of the member where the value has a key."""
    value_start: int
    end: int
    key: str = ""
    """Of a member of an object."""
    kind: Literal["object", "array", "scalar"]
    children: tuple["JsonSpan", ...] = ()

    def member(self, key: str) -> "JsonSpan | None":
        """Return the last member of this name, the one that counts."""
        return next((child for child in reversed(self.children) if child.key == key), None)


def _parse(text: str, path: Path) -> JsonSpan:
    try:
        root = parse_spans(text)
    except ValueError:
        raise _unreadable(path) from None
    if root.kind != "object":
        raise _unreadable(path)
    return root


def _unreadable(path: Path) -> UserError:
    return UserError(f"{path} is not plain JSON with an object of hooks, so it was not changed.")


def _append_entry(text: str, agent: Agent, event: str, command: str, path: Path) -> str:
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    body = text.removeprefix(mark)
    entry = agent.build_entry(command)
    root = _parse(body, path)
    hooks = root.member("hooks")
    if hooks is None:
        return mark + append_child(body, root, {event: [entry]}, key="hooks")
    if hooks.kind != "object":
        raise _unreadable(path)
    groups = hooks.member(event)
    if groups is None:
        return mark + append_child(body, hooks, [entry], key=event)
    if groups.kind != "array":
        raise _unreadable(path)
    return mark + append_child(body, groups, entry)


def _remove_entries(text: str, agent: Agent, path: Path, before: FileMemory | None) -> str:
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    body = text.removeprefix(mark)
    while (chain := next(_find_entries(body, agent, path), None)) is not None:
        # Containers that hold nothing but the entry are removed with it, if they were not there before.
        depth, kept = len(chain) - 1, before.empty if before else ()
        while depth > 1 and len(chain[depth - 1].children) == 1 and chain[depth - 1].key not in kept:
            depth -= 1
        body = remove_child(body, chain[depth - 1], chain[depth])
    return mark + body


def _find_entries(text: str, agent: Agent, path: Path) -> Iterator[tuple[JsonSpan, ...]]:
    """Yield the way from the root to each hook whose command is coder's."""
    root = _parse(text, path)
    hooks = root.member("hooks")
    for event in hooks.children if hooks is not None else ():
        for group in event.children:
            inner = group.member("hooks")
            for hook in inner.children if inner is not None else ():
                command = hook.member("command")
                written = parse_json(text[command.value_start : command.end]) if command else None
                if hooks is not None and inner is not None and agent.is_own_command(written):
                    # A group is as good as empty without its hooks, whatever its matcher.
                    yield (
                        (root, hooks, event, group)
                        if len(inner.children) == 1
                        else (root, hooks, event, group, inner, hook)
                    )


SPACE = " \t\r\n"
DECODER = json.JSONDecoder()


def parse_spans(text: str) -> JsonSpan:
    """Return the root value.

    Raises:
        ValueError: the text is no JSON.
    """
    parse_json(text)
    return _parse_value(text, _skip(text, 0))


def append_child(text: str, container: JsonSpan, value: Any, *, key: str = "") -> str:
    """Append a member to an object, or an element to an array, in the style of the text."""
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _indent_unit(text)
    is_compact = "\n" not in text.strip()
    line = text[text.rfind("\n", 0, container.value_start) + 1 : container.value_start]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    label = f"{json.dumps(key, ensure_ascii=False)}: " if container.kind == "object" else ""
    if is_compact and container.children:
        last = container.children[-1].end
        return f"{text[:last]}, {label}{json.dumps(value, ensure_ascii=False)}{text[last:]}"
    body = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", f"{newline}{outer}{unit}")
    member = f"{newline}{outer}{unit}{label}{body}"
    if container.children:
        last = container.children[-1].end
        return f"{text[:last]},{member}{text[last:]}"
    return f"{text[: container.value_start + 1]}{member}{newline}{outer}{text[container.end - 1 :]}"


def remove_child(text: str, container: JsonSpan, child: JsonSpan) -> str:
    """Remove a member or element with its comma."""
    number = container.children.index(child)
    if len(container.children) == 1:
        return text[: container.value_start + 1] + text[container.end - 1 :]
    if number > 0:
        return text[: container.children[number - 1].end] + text[child.end :]
    return text[: child.start] + text[container.children[1].start :]


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in SPACE:
        position += 1
    return position


def _parse_value(text: str, start: int, *, member_start: int | None = None, key: str = "") -> JsonSpan:
    first = start if member_start is None else member_start
    if text[start] not in "{[":
        _, end = DECODER.raw_decode(text, start)
        return JsonSpan(start=first, value_start=start, end=end, key=key, kind="scalar")
    kind: Literal["object", "array"] = "object" if text[start] == "{" else "array"
    children = tuple(_parse_children(text, start + 1, kind))
    end = _skip(text, children[-1].end if children else start + 1) + 1
    return JsonSpan(start=first, value_start=start, end=end, key=key, kind=kind, children=children)


def _parse_children(text: str, position: int, kind: str) -> Iterator[JsonSpan]:
    position = _skip(text, position)
    while text[position] not in "}]":
        start, key = position, ""
        if kind == "object":
            key, position = DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        child = _parse_value(text, position, member_start=start, key=key)
        yield child
        position = _skip(text, child.end)
        if text[position] == ",":
            position = _skip(text, position + 1)


def _indent_unit(text: str) -> str:
    """Return the indentation of the first indented line; two spaces if there is none."""
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        if indent and line.strip():
            return indent
    return "  "


def closed_gates(agent: Agent, root: Path) -> Iterator[str]:
    """Yield a line for each gate that is closed for a checkout, as far as the agent's files show."""
    home = Path.home()
    match agent.name:
        case "claude":
            for name in (home / ".claude/settings.json", root / agent.settings, root / agent.personal):
                if _read_json(name).get("disableAllHooks"):
                    yield f"{name} has disableAllHooks: no hook runs"
        case "codex":
            projects = _read_toml(home / ".codex" / "config.toml").get("projects", {})
            if projects.get(str(root), {}).get("trust_level") != "trusted":
                yield f"Codex does not trust {root}: start codex there and answer its question"
            yield "Codex runs it after a review alone: /hooks in codex shows whether it has one"
        case "gemini":
            folders = _read_json(home / ".gemini" / "trustedFolders.json")
            if folders.get(str(root)) == "DO_NOT_TRUST":
                yield f"Gemini CLI does not trust {root}: /permissions in gemini"
        case _:
            return


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
