"""Cost of one task of a batch, by stage, and from it on paper where the bottleneck lies with more nodes.

    python -m benchmarks capacity [--issues FILE.jsonl] [--model NAME --base-url URL] [--cores N] [--trust]

Runs `coder batch --on local:1`; without a file, on tasks of the starter suite and without a model. The paper
part takes the median task and one session a core, and supposes that nothing is shared but the driver, the
network of its machine (1 Gbit/s) and the model's server.
"""

import argparse
import contextlib
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from coder.bench.suites import load_suite
from coder.repo.repository import init_repository

STARTER = ("cli-count-words", "parsing-settings-file", "strings-shortened-titles", "structures-task-queue")
NETWORK_BYTES = 125e6
NODES = (1, 10, 100)
PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--issues", type=Path)
    parser.add_argument("--cores", type=int, default=8, help="cores of a node, on paper")
    adopt_orphans()
    options, passed = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="coder-capacity-") as name:
        issues = options.issues or write_starter(Path(name))
        figures, results = run_batch(issues, Path(name), passed)
        costs = describe_task(figures, results)
    print(f"{len(results)} tasks, {os.cpu_count()} cores, one session at a time\n")
    print("| one task (median) | |\n| --- | --- |")
    for label, value in costs["rows"]:
        print(f"| {label} | {value} |")
    print(f"\n| nodes of {options.cores} cores | tasks an hour | driver | its network | tokens a second |")
    print("| --- | --- | --- | --- | --- |")
    for nodes in NODES:
        print(f"| {nodes} | {' | '.join(project(costs, nodes * options.cores))} |")


def write_starter(folder: Path) -> Path:
    """Write repositories of the starter suite and a list of their issues; return the list."""
    lines = []
    for task in load_suite("starter", STARTER):
        task.unpack(folder / task.name)
        init_repository(folder / task.name, message="Begin")
        lines.append(json.dumps({"issue": task.issue, "repo": task.name, "strategy": "offline"}))
    issues = folder / "issues.jsonl"
    issues.write_text("\n".join(lines), encoding="utf-8")
    return issues


def run_batch(issues: Path, folder: Path, passed: list[str]) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Run a batch; return what its processes took, and its results with the bytes of their folders."""
    output, state = folder / "out", folder / "state"
    command = [
        sys.executable,
        "-m",
        "coder",
        "batch",
        str(issues),
        "--on",
        "local:1",
        "--output",
        str(output),
    ]
    driver = subprocess.Popen([*command, *passed], env={**os.environ, "XDG_STATE_HOME": str(state)})
    peak: dict[str, float] = {"driver": 0.0, "others": 0.0}
    driver_cpu, start_cpu = 0.0, 0.0
    while driver.poll() is None:
        own, others = read_process(driver.pid), [read_process(pid) for pid in descendants(driver.pid)]
        driver_cpu = max(driver_cpu, own[0])
        peak["driver"] = max(peak["driver"], own[1])
        peak["others"] = max(peak["others"], sum(memory for _, memory in others))
        if not start_cpu and any(output.glob("*/result.json")):
            start_cpu = driver_cpu
        time.sleep(0.2)
    reap_orphans()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    results = []
    for file in sorted(output.glob("*/result.json")):
        size = sum(path.stat().st_size for path in file.parent.rglob("*") if path.is_file())
        results.append({**json.loads(file.read_text(encoding="utf-8")), "bytes": size})
    figures = {
        "cpu": spent.ru_utime + spent.ru_stime - driver_cpu,
        "driver_cpu": (driver_cpu - start_cpu) / max(1, len(results) - 1),  # without its start
        "driver_mb": peak["driver"],
        "others_mb": peak["others"],
        "state_bytes": float(sum(path.stat().st_size for path in state.rglob("*") if path.is_file())),
    }
    return figures, results


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that their CPU seconds count."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def reap_orphans() -> None:
    deadline = time.monotonic() + 10
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < deadline:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.1)


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and theirs."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has ended
        return []
    return [process for child in map(int, children) for process in (child, *descendants(child))]


def read_process(pid: int) -> tuple[float, float]:
    """Return the CPU seconds of a process without its children, and its resident memory in MB."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0.0, 0.0
    ticks = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / ticks, pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def describe_task(figures: dict[str, float], results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of one task, and rows that describe them."""
    count = len(results)
    seconds = statistics.median(result["seconds"] for result in results)
    tokens = statistics.median(
        result["spent"]["input_tokens"] + result["spent"]["output_tokens"] for result in results
    )
    size = statistics.median(result["bytes"] for result in results)
    stages: dict[str, list[float]] = {}
    for result in results:
        for stage, value in result["stages"].items():
            stages.setdefault(stage, []).append(value)
    by_stage = ", ".join(
        f"{stage} {sum(values) / count:.1f}" for stage, values in stages.items() if sum(values) / count > 0.05
    )
    rows = [
        ("seconds", f"{seconds:.1f}"),
        ("seconds by stage (mean)", by_stage),
        ("CPU seconds", f"{figures['cpu'] / count:.1f}"),
        ("memory of the session and its tests, at most", f"{figures['others_mb']:.0f} MB"),
        ("tokens, sent and received", f"{tokens:.0f}"),
        ("result, which travels to the driver", f"{size / 1e3:.0f} kB"),
        ("state left on the node", f"{figures['state_bytes'] / count / 1e3:.0f} kB"),
        ("CPU seconds of the driver", f"{figures['driver_cpu']:.2f}"),
        ("memory of the driver, at most", f"{figures['driver_mb']:.0f} MB"),
    ]
    return {
        "rows": rows,
        "seconds": max(seconds, figures["cpu"] / count),
        "driver": max(figures["driver_cpu"], 1e-3),
        "bytes": size,
        "tokens": tokens,
    }


def project(costs: dict[str, Any], cores: int) -> list[str]:
    """Return tasks an hour, and the load of what is shared, with so many sessions at a time."""
    wanted = cores / costs["seconds"]
    rate = min(wanted, 1 / costs["driver"])
    loads = (rate * costs["driver"], rate * costs["bytes"] / NETWORK_BYTES)
    limit = "" if rate == wanted else f" (cores give {3600 * wanted:.0f})"
    return [
        f"{3600 * rate:.0f}{limit}",
        *(f"{100 * load:.1f} %" for load in loads),
        f"{rate * costs['tokens']:.0f}",
    ]


if __name__ == "__main__":
    main()
