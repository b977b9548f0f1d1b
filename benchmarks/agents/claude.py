"""Claude Code with coder's hook, against a scripted model server on loopback.

Run: `python -m benchmarks.agents.claude PROGRAM [SCENARIO...]`, with the `claude` to try, such as the one
that `npm install --prefix DIR @anthropic-ai/claude-code` installs. Prints a row for each scenario.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FILES = {
    "clock.py": (
        'def minutes(text):\n    hours, rest = text.split(":")\n    return int(hours) * 60 + int(rest)\n'
    ),
    "test_clock.py": "from clock import minutes\n\n\ndef test_nine():\n    assert minutes('09:00') == 540\n",
    "other.py": "VALUE = 1\n",
}
WRONG, RIGHT = "sed -i 's/\\* 60/* 61/' clock.py", "sed -i 's/\\* 61/* 60/' clock.py"
SCENARIOS: dict[str, tuple[str, list[str]]] = {
    "wrong fix, then right": ("", [WRONG, "", f"{RIGHT} && echo '# done' >> clock.py", ""]),
    "stubborn model": ("", [WRONG, "", "", "", ""]),
    "user's broken work before": (WRONG, ["echo 'VALUE = 2' >> other.py", "", ""]),
    "test-first turn": ("", ["printf '\\ndef test_x():\\n    assert False\\n' >> test_clock.py", "", ""]),
    "nothing changed": ("", ["ls", ""]),
    "cd": ("", [f"mkdir -p sub && {WRONG} && cd sub", "", ""]),
}
"""By name: a command of the user's before the session, and the model's commands; empty ends its turn."""


class Script(ThreadingHTTPServer):
    """A server of the Messages API that plays back commands."""

    def __init__(self, commands: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.commands = commands
        self.seen: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    """Answers each request that has tools with the next command."""

    server: Script

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "count_tokens" in self.path:
            self._json({"input_tokens": 1})
            return
        command = ""
        if any(tool.get("name") == "Bash" for tool in body.get("tools", [])):
            number = len(self.server.seen)
            self.server.seen.append(body)
            command = self.server.commands[number] if number < len(self.server.commands) else ""
        self._stream(command)

    def _json(self, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, command: str) -> None:
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": "Done."}
        if command:
            name = f"toolu_{time.monotonic_ns()}"
            block = {"type": "tool_use", "id": name, "name": "Bash", "input": {}}
            arguments = json.dumps({"command": command, "description": "edit"})
            delta = {"type": "input_json_delta", "partial_json": arguments}
        message: dict[str, Any] = {
            "id": f"msg_{time.monotonic_ns()}", "type": "message", "role": "assistant", "model": "scripted",
            "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        reason = "tool_use" if command else "end_turn"
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_: object) -> None:
        pass


def play(program: str, name: str, place: Path) -> str:
    """Play a scenario and return its row."""
    before, commands = SCENARIOS[name]
    repository, home = place / "repository", place / "home"
    repository.mkdir()
    home.mkdir()
    for file, text in FILES.items():
        (repository / file).write_text(text, encoding="utf-8")
    environment = {
        "PATH": f"{place}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "IS_SANDBOX": "1",
        "ANTHROPIC_API_KEY": "scripted",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    (place / "coder").write_text(f'#!/bin/sh\nexec {sys.executable} -m coder "$@"\n', encoding="utf-8")
    (place / "coder").chmod(0o755)
    shell = (
        "git init -q -b main && git add -A && git -c user.name=a -c user.email=a@b commit -qm start && "
        f"coder hook install claude --trust >&2 && {before or 'true'}"
    )
    subprocess.run(["sh", "-c", shell], cwd=repository, env=environment, check=True, capture_output=True)
    server = Script(commands)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{server.server_port}"
    start = time.monotonic()
    words = [program, "-p", "Work on it.", "--model", "scripted", "--dangerously-skip-permissions"]
    result = subprocess.run(
        words, cwd=repository, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        timeout=300, check=False,
    )  # fmt: skip
    seconds = time.monotonic() - start
    server.shutdown()
    sent = json.dumps([body["messages"] for body in server.seen[-1:]])
    labels = [label for label in ("BROKEN", "NOT FIXED", "left it so") if label in sent]
    refusals = sent.count("coder verify: BROKEN.") + sent.count("coder verify: NOT FIXED.")
    status = subprocess.run(
        ["coder", "hook", "status"],
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    verdict = status.partition("last fired:")[2].partition("\n")[0].strip()
    return (
        f"| {name} | {len(server.seen)} | {refusals} {', '.join(labels)} | {verdict} | "
        f"{seconds:.1f} | {result.returncode} |"
    )


def main() -> None:
    """Play all scenarios, or those that are named after the program."""
    program, *names = sys.argv[1:]
    version = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    titles = ("scenario", "requests", "refusals", "last fired", "seconds", "exit code")
    print(version, "", f"| {' | '.join(titles)} |", "|---" * len(titles) + "|", sep="\n")
    for name in names or SCENARIOS:
        with tempfile.TemporaryDirectory() as place:
            print(play(program, name, Path(place).resolve()), flush=True)


if __name__ == "__main__":
    main()
