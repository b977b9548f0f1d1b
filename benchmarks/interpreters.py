"""README's two commands with each Python of this machine, and as an ordinary user.

Each Python gets a fresh clone of HEAD and a home directory of its own: the demo must be PROVEN, and no test
may fail. Root runs the round a second time as `--user`, with those interpreters that this user may start.
"""

import argparse
import os
import re
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = (*os.environ["PATH"].split(os.pathsep), "/usr/bin", "~/.pyenv/versions/*/bin")
LONGEST_SECONDS = 3600.0


def supported_minors() -> list[int]:
    """Return the minor versions that pyproject.toml names."""
    project = tomllib.loads(Path(ROOT, "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = (re.search(r"Python :: 3\.(\d+)$", line) for line in project["classifiers"])
    return [int(match[1]) for match in found if match]


def run(command: list[str], user: str | None, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command as a user, by default one's own; give its output and errors as one text."""
    identity = {"user": user, "extra_groups": []} if user else {}
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LONGEST_SECONDS,
        **identity,
        **options,
    )


def find_interpreters(user: str | None) -> dict[str, Path]:
    """Return a Python of each version that the user may start."""
    found: dict[str, Path] = {}
    for minor in supported_minors():
        for place in PLACES:
            pattern = Path(place).expanduser() / f"python3.{minor}"
            for path in sorted(Path("/").glob(str(pattern).lstrip("/"))):
                if version := ask_version(path, user):
                    found.setdefault(version, path)
    return found


def ask_version(python: Path, user: str | None) -> str:
    """Return the version of an interpreter that can make virtual environments; otherwise nothing."""
    code = "import ensurepip, platform; print(platform.python_version())"
    try:
        answer = run([str(python), "-c", code], user, cwd="/")
    except (PermissionError, FileNotFoundError):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def readme_commands(python: Path) -> list[str]:
    """Return the commands of README that make an environment, to be made by this Python."""
    text = Path(ROOT, "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^ {4}(python3 -m venv .*)$", text, re.MULTILINE)
    return [line.replace("python3", str(python), 1) for line in lines]


def try_interpreter(python: Path, user: str | None, output: Path) -> Iterator[str]:
    """Yield what came of each command: the demo's verdict, or the last line of the output, and its time."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        place = Path(name)
        clone, home, scratch = (place / part for part in ("clone", "home", "tmp"))
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(clone)], check=True)
        home.mkdir()
        scratch.mkdir()
        if user:
            subprocess.run(["chown", "-R", user, name], check=True)
        environment = {**os.environ, "HOME": str(home), "TMPDIR": str(scratch)}
        for command in readme_commands(python):
            started = time.monotonic()
            result = run(["bash", "-c", command], user, cwd=clone, env=environment)
            with output.open("a", encoding="utf-8") as file:
                file.write(f"$ {command}\n{result.stdout}\n")
            proven = re.search(r"^ *(PROVEN) ", result.stdout, re.MULTILINE)
            last = proven[1] if proven else (result.stdout.strip().splitlines() or [""])[-1]
            outcome = "ok" if result.returncode == 0 else f"FAILED ({result.returncode})"
            yield f"{outcome}, {last[:80]} [{time.monotonic() - started:.0f} s]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--user", default="nobody", help="the ordinary user, for root (default: nobody)")
    parser.add_argument("--only", default="", help="versions that begin so, such as 3.13")
    options = parser.parse_args()
    output = Path(tempfile.mkdtemp(prefix="interpreters-"), "output.txt")
    print(f"output of all commands: {output}")
    for user in (None, options.user) if os.geteuid() == 0 else (None,):
        for version, python in find_interpreters(user).items():
            if version.startswith(options.only):
                for answer in try_interpreter(python, user, output):
                    print(f"{version:<9} {user or 'you':<8} {answer}", flush=True)


if __name__ == "__main__":
    main()
