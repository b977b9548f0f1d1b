"""Commands of documentation pages, run by one shell a page and compared with the output shown."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n)?```(console|sh)\n(.*?)```", re.DOTALL)
MARK = "\x1eend"
STATUS = re.compile(r"echo \$\?")


@dataclass(frozen=True, kw_only=True)
class ShownCommand:
    """A command of a page with the lines that the page shows below it."""

    command: str
    shown: tuple[str, ...]


def runnable_blocks(page: str) -> Iterator[tuple[str, str]]:
    """Yield the language and text of each block that is run."""
    return ((language, text) for mark, language, text in BLOCK.findall(page) if not mark)


def skipped_blocks(page: str) -> int:
    return sum(bool(mark) for mark, _, _ in BLOCK.findall(page))


def read_commands(page: str) -> tuple[ShownCommand, ...]:
    """Return the commands of a page in order; an `sh` block is one of them and shows nothing."""
    commands: list[ShownCommand] = []
    for language, text in runnable_blocks(page):
        if language == "sh":
            commands.append(ShownCommand(command=text, shown=()))
            continue
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            commands.append(ShownCommand(command=command, shown=tuple(shown)))
    return tuple(commands)


def run_commands(
    commands: tuple[ShownCommand, ...], directory: Path, environment: Mapping[str, str]
) -> tuple[tuple[str, int], ...]:
    """Return the output and exit code of each command; one shell runs them all and keeps `$?` between."""
    script = "".join(
        f'{{ {shown.command.rstrip()}\n}} 2>&1; s=$?; printf "{MARK}%s\\n" $s; (exit $s)\n'
        for shown in commands
    )
    result = subprocess.run(
        ["bash", "-c", script],
        cwd=directory,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    outputs = re.findall(rf"(.*?){MARK}(\d+)\n", result.stdout, re.DOTALL)
    assert len(outputs) == len(commands), result.stdout + result.stderr
    return tuple((output, int(code)) for output, code in outputs)


def differs(shown: tuple[str, ...], output: str) -> bool:
    """Tell whether output is not what is shown; `...` in a line is any text, alone on a line any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else r".*".join(map(re.escape, line.split("..."))) + r"\n"
        for line in shown
    )
    return re.fullmatch(pattern, output if output.endswith("\n") or not output else output + "\n") is None


def find_problems(commands: tuple[ShownCommand, ...], results: tuple[tuple[str, int], ...]) -> list[str]:
    """Return what differs: output, and failures whose exit code the page does not show."""
    problems = []
    following = [command.command for command in commands[1:]] + [""]
    for command, (output, code), next_command in zip(commands, results, following, strict=True):
        if code and not STATUS.fullmatch(next_command):
            problems.append(f"$ {command.command}\nexit code {code}\n{output}")
        elif differs(command.shown, output):
            problems.append(f"$ {command.command}\nshown:\n{chr(10).join(command.shown)}\noutput:\n{output}")
    return problems
