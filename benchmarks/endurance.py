"""Resources left by many whole verifications in one process: python -m benchmarks.endurance 500

Each run is `coder verify` of the same uncommitted fix of a tiny repository: worktrees, base and patched
runs, guard, checkers, evidence. Reported after the first tenth and after all runs: memory, open files, child
processes, temporary files, worktrees and references of the repository, and the sessions, which are logs and
stay. With --test another command replaces pytest, such as "sh check.sh", the fastest.
"""

import argparse
import contextlib
import gc
import io
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from benchmarks.verification import descendants, memory_share

FILES = {
    "price.py": "def total(prices):\n    return sum(prices) - 1\n",
    "test_price.py": "import price\n\n\ndef test_total():\n    assert price.total([1, 2]) == 3\n",
    "check.sh": "grep -q 'sum(prices)$' price.py\n",
}
FIXED = "def total(prices):\n    return sum(prices)\n"
ResourceUsage = dict[str, int]


def create_repository(place: Path) -> Path:
    """Create a repository with a fix that is not committed."""
    place.mkdir()
    for name, text in FILES.items():
        (place / name).write_text(text)
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for arguments in (("init", "-q"), ("add", "-A"), (*author, "commit", "-q", "-m", "start")):
        subprocess.run(("git", *arguments), cwd=place, check=True)
    (place / "price.py").write_text(FIXED)
    return place


def resource_usage(repo: Path, temporary: Path, state: Path) -> ResourceUsage:
    """Return the resources in use now."""
    gc.collect()
    below = descendants(os.getpid())
    return {
        "KB in use": memory_share(os.getpid()) + sum(map(memory_share, below)),
        "open files": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "processes": len(below),
        "temporary files": sum(1 for _ in temporary.rglob("*")),
        "worktrees": line_count(repo, "worktree", "list"),
        "references": line_count(repo, "for-each-ref"),
        "files of the state, sessions aside": sum(
            1 for file in state.rglob("*") if "sessions" not in file.parts
        ),
        "sessions": sum(1 for _ in state.glob("coder/sessions/*")),
    }


def line_count(repo: Path, *arguments: str) -> int:
    """Return the number of lines that a git command prints."""
    return len(
        subprocess.run(("git", *arguments), cwd=repo, capture_output=True, check=True).stdout.splitlines()
    )


def report_growth(count: int, verify: Callable[[], int], measure: Callable[[], ResourceUsage]) -> None:
    codes: Counter[int] = Counter()
    first: ResourceUsage = {}
    began = time.monotonic()
    for number in range(1, count + 1):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            codes[verify()] += 1
        if number == max(count // 10, 1):
            first = measure()
    last = measure()
    print(f"{count} verifications in {time.monotonic() - began:.0f} s, exit codes {dict(codes)}")
    for name, value in last.items():
        print(f"{name}: {first[name]} after {max(count // 10, 1)}, {value} after {count}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int)
    parser.add_argument(
        "--test", metavar="CMD", help="the test command; pytest of this interpreter where none is given"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="endurance-") as name:
        place = Path(name).resolve()
        temporary, state = place / "temporary", place / "state"
        temporary.mkdir()
        os.environ |= {
            "TMPDIR": str(temporary),
            "XDG_STATE_HOME": str(state),
            "XDG_CONFIG_HOME": str(place / "config"),
        }
        tempfile.tempdir = None
        repo = create_repository(place / "repository")
        from coder.cli.verify import verify

        command = options.test or f"{sys.executable} -m pytest"

        def verify_once() -> int:
            return verify(
                issue="total is one too low",
                repo=repo,
                test=command,
                trust=True,
                evidence=place / "evidence.json",
            )

        report_growth(options.count, verify_once, lambda: resource_usage(repo, temporary, state))


if __name__ == "__main__":
    main()
