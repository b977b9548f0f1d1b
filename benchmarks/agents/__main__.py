"""Coding agents with coder's hook, against scripted model servers on loopback.

Run: `python -m benchmarks agents DIRECTORY [AGENT[:SCENARIO]...]`. npm installs the agents in the directory,
from the registry that it is configured for. Prints a row for each scenario.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from coder.hooks.agents import AGENTS

FILES = {
    "clock.py": (
        'def minutes(text):\n    hours, rest = text.split(":")\n    return int(hours) * 60 + int(rest)\n\n\n'
        "def hours(minutes):\n    return minutes // 61\n"
    ),
    "test_clock.py": (
        "from clock import hours, minutes\n\n\ndef test_nine():\n    assert minutes('09:00') == 540\n\n\n"
        "def test_midnight():\n    assert minutes('00:00') == 0\n\n\n"
        "def test_hours():\n    assert hours(540) == 9\n"
    ),
    "other.py": "VALUE = 1\n",
    ".gitignore": ".venv\n",
}
FIX, BREAK, MEND = (
    "sed -i 's|// 61|// 60|' clock.py",
    "sed -i 's/\\* 60/* 61/' clock.py",
    "sed -i 's/\\* 61/* 60/' clock.py",
)
WRONG = f"{FIX}; {BREAK}"
"""Makes the red test pass, and breaks another."""
NESTED = "git init -q vendored && echo x > vendored/x.py && cd vendored && git add -A && git commit -qm x"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A user's repository, and a model at work in it."""

    commands: tuple[str, ...]
    """The model's; an empty one ends its turn."""
    committed: str = "true"
    """Command before the commit that the session begins on."""
    uncommitted: str = "true"
    """Command of the user's after it."""
    second: tuple[str, ...] | None = None
    """Commands of a second agent in the same place at the same time."""
    limit_seconds: int = 0
    """The agent's time limit of the hook; zero for the installed one."""
    is_worktree: bool = False
    """Work in a linked worktree of a trusted repository."""


SCENARIOS = {
    "wrong fix, then right": Scenario(commands=(WRONG, "", MEND, "")),
    "right fix": Scenario(commands=(FIX, "")),
    "stubborn model": Scenario(commands=(WRONG, "", "", "", "")),
    "new edits, all wrong": Scenario(commands=(BREAK, *("", "echo '#' >> clock.py") * 6, "")),
    "user's broken work before": Scenario(uncommitted=BREAK, commands=("echo 'VALUE = 2' >> other.py", "")),
    "test-first turn": Scenario(
        commands=("printf '\\ndef test_x():\\n    assert False\\n' >> test_clock.py", "")
    ),
    "nothing changed": Scenario(commands=("ls", "")),
    "cd": Scenario(commands=(f"mkdir -p sub; {WRONG}; cd sub", "", f"test -e clock.py || cd ..; {MEND}", "")),
    "nested repository": Scenario(
        uncommitted=f"({NESTED})",
        commands=(f"{WRONG}; cd vendored; echo y >> x.py", "", f"test -e clock.py || cd ..; {MEND}", ""),
    ),
    "two at once": Scenario(commands=(WRONG, "", MEND, ""), second=("echo 'VALUE = 2' >> other.py", "")),
    "worktree": Scenario(commands=(WRONG, "", MEND, ""), is_worktree=True),
    "time limit": Scenario(
        committed="printf 'import time\\ndef test_long():\\n    time.sleep(60)\\n' > test_long.py",
        commands=(FIX, ""),
        limit_seconds=8,
    ),
}

Events = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """A streaming protocol of model servers."""

    path: str
    """Part of the path of a request for an answer."""
    call: Callable[[str, dict[str, Any]], Events]
    """Return the events of a call of a tool."""
    text: Callable[[str], Events]
    """Return the events of a text that ends the turn."""


def _anthropic(block: dict[str, Any], delta: dict[str, Any], reason: str) -> Events:
    message: dict[str, Any] = {
        "id": _new_id(), "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def _responses(item: dict[str, Any]) -> Events:
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    answer = {"id": _new_id(), "object": "response", "status": "completed", "output": [item], "usage": usage}
    return [
        {"type": "response.created", "response": {**answer, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": answer},
    ]


def _gemini(part: dict[str, Any]) -> Events:
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return [{"candidates": [candidate], "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1}}]


def _chat(delta: dict[str, Any], reason: str) -> Events:
    head = {"id": _new_id(), "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return [
        {**head, "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
    ]


def _new_id() -> str:
    return f"id_{time.monotonic_ns()}"


ANTHROPIC = Protocol(
    path="/v1/messages",
    call=lambda name, arguments: _anthropic(
        {"type": "tool_use", "id": _new_id(), "name": name, "input": {}},
        {"type": "input_json_delta", "partial_json": json.dumps(arguments)},
        "tool_use",
    ),
    text=lambda text: _anthropic(
        {"type": "text", "text": ""}, {"type": "text_delta", "text": text}, "end_turn"
    ),
)
RESPONSES = Protocol(
    path="/responses",
    call=lambda name, arguments: _responses(
        {
            "type": "function_call",
            "id": _new_id(),
            "call_id": _new_id(),
            "name": name,
            "arguments": json.dumps(arguments),
        }
    ),
    text=lambda text: _responses(
        {
            "type": "message",
            "id": _new_id(),
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }
    ),
)
GEMINI = Protocol(
    path=":streamGenerateContent",
    call=lambda name, arguments: _gemini({"functionCall": {"name": name, "args": arguments}}),
    text=lambda text: _gemini({"text": text}),
)
CHAT = Protocol(
    path="/chat/completions",
    call=lambda name, arguments: _chat(
        {
            "tool_calls": [
                {
                    "index": 0,
                    "id": _new_id(),
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
            ]
        },
        "tool_calls",
    ),
    text=lambda text: _chat({"content": text}, "stop"),
)


@dataclass(frozen=True, kw_only=True)
class Program:
    """An agent under test; `{url}`, `{home}` and `{root}` in its texts are filled in."""

    package: str
    binary: str
    protocol: Protocol
    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Settings, relative to its home directory."""
    hook: str = ""
    """Name of the hook that it runs, where it is another agent's."""


PROGRAMS = {
    "claude": Program(
        package="@anthropic-ai/claude-code",
        binary="claude",
        protocol=ANTHROPIC,
        words=("-p", "Work on it.", "--model", "scripted", "--dangerously-skip-permissions"),
        environment={
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "scripted",
            "IS_SANDBOX": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    ),
    "codex": Program(
        package="@openai/codex",
        binary="codex",
        protocol=RESPONSES,
        words=(
            "exec",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
            "Work on it.",
        ),
        environment={"OPENAI_API_KEY": "scripted"},
        files={
            ".codex/config.toml": (
                'model = "scripted"\nmodel_provider = "scripted"\n'
                '[model_providers.scripted]\nname = "scripted"\n'
                'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
                '[projects."{root}"]\ntrust_level = "trusted"\n'
            )
        },
    ),
    "gemini": Program(
        package="@google/gemini-cli",
        binary="gemini",
        protocol=GEMINI,
        words=("-p", "Work on it.", "-m", "gemini-2.5-pro", "--yolo"),
        environment={
            "GOOGLE_GEMINI_BASE_URL": "{url}",
            "GEMINI_API_KEY": "scripted",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        files={
            ".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}, '
            '"general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}}'
        },
    ),
    "qwen": Program(
        package="@qwen-code/qwen-code",
        binary="qwen",
        protocol=CHAT,
        words=("-p", "Work on it.", "-m", "scripted", "--auth-type", "openai", "--yolo"),
        environment={"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "scripted"},
        files={".qwen/settings.json": '{"privacy": {"usageStatisticsEnabled": false}}'},
    ),
    "copilot": Program(
        package="@github/copilot",
        binary="copilot",
        protocol=CHAT,
        words=("-p", "Work on it.", "--allow-all", "--no-auto-update"),
        environment={
            "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "scripted",
            "COPILOT_MODEL": "scripted",
            "COPILOT_OFFLINE": "true",
        },
        hook="claude",
        files={".copilot/config.json": '{"trusted_folders": ["{root}"]}'},
    ),
}
SHELLS = ("Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command")
"""Names of the agents' tools for a command."""


class ModelServer(ThreadingHTTPServer):
    """A server that plays back commands as calls of the agent's shell."""

    def __init__(self, protocol: Protocol, commands: tuple[str, ...]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.protocol = protocol
        self.commands = commands
        self.requests: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def played(self) -> list[str]:
        """Commands that were sent so far."""
        return [command for command in self.commands[: len(self.requests)] if command]

    def next_events(self, body: dict[str, Any]) -> Events:
        """Return the answer to a request; those without a shell among their tools are side questions."""
        tools = [tool for tool in _find_tools(body) if tool["name"] in SHELLS]
        if not tools:
            return self.protocol.text("Done.")
        number = len(self.requests)
        self.requests.append("\n".join(_find_texts(body)))
        command = self.commands[number] if number < len(self.commands) else ""
        if not command:
            return self.protocol.text(f"Done, {number}.")
        schema: dict[str, Any] = next((tools[0][key] for key in SCHEMAS if tools[0].get(key)), {})
        arguments = {
            name: _argument(name, value, command)
            for name, value in schema.get("properties", {}).items()
            if name in schema.get("required", [])
        }
        return self.protocol.call(tools[0]["name"], arguments)


SCHEMAS = ("input_schema", "parameters", "parametersJsonSchema")


def _argument(name: str, schema: dict[str, Any], command: str) -> Any:
    if name in ("command", "cmd"):
        return ["sh", "-c", command] if schema.get("type") == "array" else command
    return {"boolean": False, "number": 60_000, "integer": 60_000}.get(str(schema.get("type")), "edit")


def _find_tools(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the declarations of tools, wherever a protocol has them."""
    tools = value.get("tools") or []
    for tool in tools:
        for declaration in (tool, tool.get("function"), *tool.get("functionDeclarations", [])):
            if isinstance(declaration, dict) and "name" in declaration:
                yield declaration


def _find_texts(value: Any) -> Iterator[str]:
    """Yield all texts in a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _find_texts(child)


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send("application/json", b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.server.protocol.path not in self.path or "count_tokens" in self.path:
            self._send("application/json", b'{"input_tokens": 1, "totalTokens": 1}')
            return
        lines = []
        for event in self.server.next_events(json.loads(body)):
            name = f"event: {event['type']}\n" if "type" in event else ""
            lines.append(f"{name}data: {json.dumps(event)}\n\n")
        if self.server.protocol is CHAT:
            lines.append("data: [DONE]\n\n")
        self._send("text/event-stream", "".join(lines).encode())

    def _send(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


CODER = """#!/bin/sh
# coder, with the answers of its hook in a log
case "$1 $2" in "hook run") ;; *) exec {python} -m coder "$@" ;; esac
start=$(date +%s.%N)
answer=$({python} -m coder "$@")
code=$?
printf '%s\\t%s\\t%s\\t%s\\n' "$start" "$(date +%s.%N)" "$code" "$answer" >> {log}
printf '%s' "$answer"
exit $code
"""


@dataclass
class Play:
    """One scenario with one agent, in a directory of its own."""

    name: str
    scenario: Scenario
    binary: Path
    project: Path
    """Virtual environment of the repository."""
    place: Path

    @property
    def hook(self) -> str:
        return PROGRAMS[self.name].hook or self.name

    def run(self) -> str:
        """Play it and return its row."""
        program, scenario = PROGRAMS[self.name], self.scenario
        self.main = self.place / "repository"
        self.root = self.place / "tree" if scenario.is_worktree else self.main
        self.home = self.place / "home"
        self.main.mkdir()
        self.home.mkdir()
        self._prepare()
        scripts = [scenario.commands] + ([scenario.second] if scenario.second else [])
        servers = [ModelServer(program.protocol, commands) for commands in scripts]
        before = self._snapshot()
        expected = shutil.copytree(
            self.place, self.place.with_name(f"{self.place.name}-expected"), symlinks=True
        )
        start = time.monotonic()
        with ThreadPoolExecutor() as pool:
            codes = list(pool.map(self._work, servers))
        seconds = time.monotonic() - start
        time.sleep(1)
        for server in servers:
            server.shutdown()
            for command in server.played:
                tree = expected / self.root.relative_to(self.place)
                subprocess.run(["sh", "-c", command], cwd=tree, capture_output=True, check=False)
        return self._row(servers, codes, seconds, before=before, expected=expected)

    def _prepare(self) -> None:
        for file, text in FILES.items():
            (self.main / file).write_text(text, encoding="utf-8")
        (self.main / ".venv").symlink_to(self.project)
        wrapper = self.place / "coder"
        wrapper.write_text(CODER.format(python=sys.executable, log=self.place / "log"), encoding="utf-8")
        wrapper.chmod(0o755)
        for file, text in PROGRAMS[self.name].files.items():
            path = self.home / file
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
        scenario, install = self.scenario, f"coder hook install {self.hook}"
        lines = ["git config --global user.name a; git config --global user.email a@b", "git init -q -b main"]
        lines += [scenario.committed, "git add -A && git commit -qm start", f"{install} --trust"]
        if scenario.is_worktree:
            lines += ["git worktree add -q ../tree -b topic", "cd ../tree", install]
        lines.append(scenario.uncommitted)
        words = ["sh", "-ec", "\n".join(lines)]
        subprocess.run(words, cwd=self.main, env=self._environment(), check=True, capture_output=True)
        if scenario.limit_seconds:
            for path in self.root.glob(".*/*.json"):
                text = re.sub(r'("timeout": )1800', rf"\g<1>{scenario.limit_seconds}", path.read_text())
                path.write_text(text)

    def _environment(self, url: str = "") -> dict[str, str]:
        path = f"{self.place}{os.pathsep}{os.environ['PATH']}"
        own = {name: self._fill(text, url) for name, text in PROGRAMS[self.name].environment.items()}
        return {"PATH": path, "HOME": str(self.home), "TERM": "dumb", "NO_COLOR": "1", **own}

    def _fill(self, text: str, url: str) -> str:
        for name, value in (("url", url), ("root", str(self.root))):
            text = text.replace(f"{{{name}}}", value)
        return text

    def _work(self, server: ModelServer) -> int:
        program, url = PROGRAMS[self.name], f"http://127.0.0.1:{server.server_port}"
        home = self.home if server.commands is self.scenario.commands else self.place / "second"
        if home != self.home:  # another server is another setting; coder's state is the same
            shutil.copytree(self.home, home, ignore=shutil.ignore_patterns(".local"))
            (home / ".local").symlink_to(self.home / ".local")
        for file, text in program.files.items():
            (home / file).write_text(self._fill(text, url), encoding="utf-8")
        result = subprocess.run(
            [str(self.binary), *program.words], cwd=self.root,
            env={**self._environment(url), "HOME": str(home)}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        (self.place / f"output-{server.server_port}").write_text(f"{result.stdout}\n{result.stderr}")
        return result.returncode

    def _snapshot(self) -> str:
        """Return what git has: commits, branches, worktrees, and the index."""
        refs = "git symbolic-ref HEAD; git for-each-ref refs/heads refs/stash refs/remotes"
        shell = f"{refs}; git worktree list --porcelain; git ls-files -s"
        return subprocess.run(
            ["sh", "-c", shell], cwd=self.root, capture_output=True, text=True, check=True
        ).stdout

    def _row(
        self, servers: list[ModelServer], codes: list[int], seconds: float, *, before: str, expected: Path
    ) -> str:
        log = self.place / "log"
        hooks = [line.split("\t") for line in (log.read_text() if log.exists() else "").splitlines()]
        answers = [json.loads(hook[3]) for hook in hooks if hook[3]]
        reasons = [answer["reason"] for answer in answers if "reason" in answer]
        received = [
            reason
            for reason in reasons
            if any(reason in request for server in servers for request in server.requests)
        ]
        stops = [float(hook[1]) - float(hook[0]) for hook in hooks]
        environment = self._environment()
        status = subprocess.run(
            ["coder", "hook", "status"],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        verdict = status.partition("last verdict ")[2].partition("\n")[0] or "none"
        changes = [*self._differences(expected)]
        if self._snapshot() != before:
            changes.append("git's refs, worktrees or index")
        if left := self._left_processes():
            changes.append(f"processes left: {left}")
        cells = (
            f"{sum(len(server.requests) for server in servers)}",
            f"{len(reasons)}" + ("" if len(received) == len(reasons) else f" ({len(received)} received)"),
            verdict,
            f"{seconds:.1f}",
            " ".join(f"{value:.1f}" for value in stops),
            f"{sum(len(reason.encode()) for reason in received)}",
            "; ".join(changes) or "yes",
            "/".join(map(str, codes)),
        )
        return " | ".join(cells)

    def _differences(self, expected: Path) -> Iterator[str]:
        """Yield the files that are not what the user and the model's commands made them.

        An agent may rewrite its own settings.
        """
        trees = [self._read_files(top / self.root.relative_to(self.place)) for top in (self.place, expected)]
        for name in sorted({*trees[0], *trees[1]}):
            if trees[0].get(name) != trees[1].get(name):
                yield name

    def _read_files(self, top: Path) -> dict[str, bytes]:
        return {
            str(path.relative_to(top)): path.read_bytes()
            for path in top.rglob("*")
            if path.is_file()
            and not {".git", AGENTS[self.hook].settings.split("/")[0]} & {*path.relative_to(top).parts}
        }

    def _left_processes(self) -> int:
        lines = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        return sum(str(self.place) in line for line in lines.splitlines())


TITLES = (
    "scenario", "requests", "refusals", "last verdict", "seconds", "of each hook", "bytes to the model",
    "nothing else changed", "exit code",
)  # fmt: skip


def install(directory: Path, program: Program) -> Path:
    """Install an agent unless it is there, and return its program.

    Raises:
        OSError: it cannot be had here.
    """
    binary = directory / "node_modules" / ".bin" / program.binary
    if not binary.exists():
        words = ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(directory), program.package]
        result = subprocess.run(words, capture_output=True, text=True, check=False)
        if result.returncode:
            raise OSError(result.stderr.strip().rpartition("\n")[2])
    return binary


def make_project_environment(directory: Path) -> Path:
    """Return a virtual environment that has pytest and nothing else."""
    environment = directory / "project"
    if not environment.exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        subprocess.run([str(environment / "bin" / "pip"), "install", "-q", "pytest"], check=True)
    return environment


def main() -> None:
    """Play what the arguments name, or everything."""
    if len(sys.argv) < 2:
        raise SystemExit(f"{__doc__}\nAgents: {', '.join(PROGRAMS)}. Scenarios: {', '.join(SCENARIOS)}.")
    directory, choices = Path(sys.argv[1]).resolve(), sys.argv[2:] or [*PROGRAMS]
    project = make_project_environment(directory)
    titles = " | ".join(TITLES)
    for name in PROGRAMS:
        wanted = [choice.partition(":")[2] for choice in choices if choice.partition(":")[0] == name]
        if not wanted:
            continue
        try:
            binary = install(directory, PROGRAMS[name])
            words = [str(binary), "--version"]
            version = subprocess.run(words, capture_output=True, text=True, check=True).stdout.partition(
                "\n"
            )[0]
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"\n{name}: cannot be installed here: {error}")
            continue
        print(
            f"\n{name} {version}, {time.strftime('%Y-%m-%d')}\n\n| {titles} |",
            "|---" * len(TITLES) + "|",
            sep="\n",
        )
        for title, scenario in SCENARIOS.items():
            if not any(choice in ("", title) for choice in wanted):
                continue
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as top:
                place = Path(top).resolve() / "place"
                place.mkdir()
                print(f"| {title} | {Play(name, scenario, binary, project, place).run()} |", flush=True)


if __name__ == "__main__":
    main()
