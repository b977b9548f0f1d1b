"""Speed of localization, next to tools that are known to be fast; every ratio is of one run.

    python benchmarks/navigation.py --repository DIR [--million] [--name NAME ...]

Needs Linux, and `ctags` (universal-ctags) on PATH. DIR is any checkout, usually Django's. With --million a
tree of a million lines is assembled from this interpreter's packages and measured in the same way.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import Mock

from coder.files.ripgrep import ripgrep_path
from coder.index import definitions
from coder.index.index import SymbolIndex, TreeListing, list_tree
from coder.index.parsing import read_bytes
from coder.tools.search import search
from coder.workspace.workspace import Workspace

TIMES = 5
MILLION = 1_000_000
ISSUE = (
    "Model.save() raises IntegrityError when update_fields names a deferred field; get_queryset is then "
    "called twice."
)


@dataclass(frozen=True)
class Cost:
    """Cost of one run, in seconds."""

    wall: float
    cpu: float
    """With all child processes."""


def median_cost(action: Callable[[], object], times: int = 1) -> Cost:
    """Return the median of some runs."""
    walls, cpus = [], []
    for _ in range(times):
        start, used = time.perf_counter(), _cpu()
        action()
        walls.append(time.perf_counter() - start)
        cpus.append(_cpu() - used)
    return Cost(statistics.median(walls), statistics.median(cpus))


def _cpu() -> float:
    both = [resource.getrusage(scope) for scope in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


def command_action(*argv: str, cwd: Path) -> Callable[[], object]:
    return lambda: subprocess.run(
        argv, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )


def print_row(label: str, cost: Cost, other: str, other_cost: Cost) -> None:
    print(
        f"{label:<34} {cost.wall:8.3f} s  cpu {cost.cpu:7.3f} s | {other:<12} {other_cost.wall:7.3f} s  "
        f"cpu {other_cost.cpu:6.3f} s"
        f" | wall {cost.wall / other_cost.wall:6.2f} x  cpu {cost.cpu / other_cost.cpu:6.2f} x"
    )


def print_own_row(label: str, cost: Cost) -> None:
    print(f"{label:<34} {cost.wall:8.3f} s  cpu {cost.cpu:7.3f} s")


def workspace(root: Path, index: SymbolIndex) -> Workspace:
    return Workspace(root=root, sandbox=Mock(), history=Mock(), run=Mock(), baseline=Mock(), index=index)


def measure(root: Path, names: Sequence[str], scratch: Path) -> None:
    """Print every ratio for one tree."""
    database = scratch / "index.sqlite"
    for path in scratch.glob("index.sqlite*"):
        path.unlink()
    ctags = median_cost(command_action("ctags", "-R", "-f", str(scratch / "tags"), ".", cwd=root), 3)
    index = SymbolIndex(root, database)
    paths = list(list_tree(root, TreeListing()).files)
    print(f"{root.name}: {len(paths)} source files, {sum(_lines(root, paths)):,} lines")
    print_row("definitions of every file, cold", median_cost(lambda: _define(root, paths)), "ctags -R", ctags)
    print_row("whole index, cold", median_cost(index.refresh), "ctags -R", ctags)
    print_row("whole index, warm", median_cost(index.refresh, TIMES), "ctags -R", ctags)
    print_row(
        "the same in a new process",
        median_cost(lambda: SymbolIndex(root, database).refresh(), TIMES),
        "ctags -R",
        ctags,
    )
    space = workspace(root, index)
    for name in names:
        raw = median_cost(command_action(ripgrep_path(), "-w", name, cwd=root), TIMES)
        print_row(
            f"definitions and uses of {name}",
            median_cost(partial(search.function, space, name), TIMES),
            "rg -w",
            raw,
        )
        print_row(
            f"search {name}",
            median_cost(partial(search.function, space, rf"\b{name}\b"), TIMES),
            "rg -w",
            raw,
        )
    _locate(root, scratch, ctags)
    _sizes(root, database, paths)


def _define(root: Path, paths: Sequence[str]) -> None:
    for path in paths:
        definitions(path, (read_bytes(f"{root}/{path}") or b"").decode("utf-8", "replace"))


def _lines(root: Path, paths: Sequence[str]) -> Iterator[int]:
    return ((read_bytes(f"{root}/{path}") or b"").count(b"\n") for path in paths)


def _locate(root: Path, scratch: Path, ctags: Cost) -> None:
    issue = scratch / "issue.txt"
    issue.write_text(ISSUE, encoding="utf-8")
    argv = [sys.executable, "-m", "coder", "locate", "--repo", str(root), "--issue", str(issue), "--json"]
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(scratch / "state"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }

    def locate() -> None:
        subprocess.run(argv, cwd=scratch, env=environment, stdout=subprocess.DEVNULL, check=True)

    print_row("coder locate, cold", median_cost(locate), "ctags -R", ctags)
    print_row("coder locate, warm", median_cost(locate, TIMES), "ctags -R", ctags)


def _sizes(root: Path, database: Path, paths: Sequence[str]) -> None:
    sources = sum((root / path).stat().st_size for path in paths)
    size = sum(path.stat().st_size for path in database.parent.glob(f"{database.name}*"))
    print(f"on disk: {size / 1e6:.1f} MB for {sources / 1e6:.1f} MB of source")
    script = (
        "import re, resource, sys; from pathlib import Path; from coder.index.index import SymbolIndex\n"
        "SymbolIndex(Path(sys.argv[1]), Path(sys.argv[2])).refresh()\n"
        "own = int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])\n"
        "print(own // 1024, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for state, place in (("cold", database.with_name("other.sqlite")), ("warm", database)):
        argv = [sys.executable, "-c", script, str(root), str(place)]
        own, worker = subprocess.run(
            argv, env=environment, capture_output=True, text=True, check=True
        ).stdout.split()
        print(f"memory at its peak, {state}: {own} MB, and {worker} MB in each worker")


def million_lines(scratch: Path) -> Path:
    """Create a tree of a million lines: installed packages and the standard library, repeatedly with
    another first line.
    """
    root = scratch / "million"
    count = copy = 0
    while count < MILLION:
        copy += 1
        for source in (Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib"))):
            for path in sorted(source.rglob("*.py")):
                if count >= MILLION or "site-packages" in path.relative_to(source).parts:
                    continue
                data = path.read_bytes()
                target = root / f"copy{copy}" / source.name / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(f"# copy {copy}\n".encode() + data)
                count += data.count(b"\n") + 1
    return root


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repository", type=Path, required=True)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--name", action="append", default=[], help="a name to look for; may be given again")
    options = parser.parse_args()
    if not shutil.which("ctags"):
        parser.error("ctags is not on PATH: install universal-ctags.")
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        measure(options.repository.resolve(), options.name or ["get_queryset", "Model", "urlize"], scratch)
        if options.million:
            measure(million_lines(scratch), options.name or ["Path", "dataclass", "main"], scratch)


if __name__ == "__main__":
    main()
