"""Startup time of coder, as ratios to the interpreter it runs on: python benchmarks/startup.py

CPU seconds (user and system) of the child, the median of several interleaved runs, so that a busy machine
affects all alike.
"""

import resource
import statistics
import subprocess
import sys

RUNS = 9
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "coder --version": [sys.executable, "-m", "coder", "--version"],
    "coder --help": [sys.executable, "-m", "coder", "--help"],
    "coder fix --help": [sys.executable, "-m", "coder", "fix", "--help"],
    "coder config": [sys.executable, "-m", "coder", "config"],
    "coder log": [sys.executable, "-m", "coder", "log"],
    "coder doctor": [sys.executable, "-m", "coder", "doctor"],
}


def cpu_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    durations: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            durations[name].append(cpu_seconds(command))
    bare = statistics.median(durations["python -c pass"])
    for name, times in durations.items():
        median = statistics.median(times)
        print(f"{name:<18} {median * 1000:7.1f} ms CPU  {median / bare:6.2f} x")


if __name__ == "__main__":
    main()
