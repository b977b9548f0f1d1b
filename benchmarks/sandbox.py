"""Security and cost of the sandbox.

    python benchmarks/sandbox.py [--attacks] [--projects DIR...]

Without options: the overhead of a command and of a test run, as ratios taken in one run. With --attacks:
every attack of tests/sandbox/attacks, without a sandbox and in each kind that works here, as a table. With
--projects: the test suites of checkouts whose environment is in .venv, outside and inside. As a plain user:
setpriv --reuid nobody --clear-groups (or su), with an interpreter and a --base directory that this user can
read and write.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from coder.core.errors import SandboxError
from coder.core.ports import Limits
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.bubblewrap import Bubblewrap
from coder.sandbox.choice import backends, probe_backend
from coder.sandbox.confinement import landlock_abi
from coder.sandbox.process import ProcessSandbox
from tests.sandbox.attacking import Attack, attacks, describe_escape
from tests.sandbox.stage import open_stage

RUNS = 30
LONG = Limits(wall_seconds=3600, memory_bytes=None)


def working_backends() -> Iterator[SandboxBackend]:
    """Yield the backends that work here, and print why the others do not."""
    for name, make in backends():
        try:
            walls = make()
            fault = probe_backend(walls)
        except SandboxError as error:
            fault = str(error)
        if fault:
            print(f"{name}: not here, {fault}")
        else:
            yield walls


def attack_all(base: Path, chosen: str) -> int:
    """Print the table and return the number of escapes without an explanation."""
    kinds: list[SandboxBackend | None] = [None, *working_backends()]
    names = ["no walls" if walls is None else walls.name for walls in kinds]
    print(f"{'user ' + str(os.getuid()):<38} " + "  ".join(f"{name:<18}" for name in names))
    counts = dict.fromkeys(names, 0)
    unexplained = 0
    for attack in attacks():
        if chosen not in attack.name:
            continue
        cells = []
        for name, walls in zip(names, kinds, strict=True):
            cell, why = judge(attack, base, walls)
            cells.append(cell)
            counts[name] += cell in ("escapes", "ESCAPES")
            unexplained += cell == "ESCAPES"
            if cell in ("ESCAPES", "explained", "not here"):
                cells[-1] = f"{cell}*"
                print(f"    {attack.name} / {name}: {why}", file=sys.stderr)
        print(f"{attack.name:<38} " + "  ".join(f"{cell:<18}" for cell in cells), flush=True)
    print("escapes: " + ", ".join(f"{name} {count}" for name, count in counts.items()))
    return unexplained


def judge(attack: Attack, base: Path, walls: SandboxBackend | None) -> tuple[str, str]:
    """Return the table's cell and its reason."""
    with (
        tempfile.TemporaryDirectory(dir=base, ignore_cleanup_errors=True) as place,
        open_stage(Path(place, "stage")) as stage,
    ):
        escape = describe_escape(attack, stage, walls)
    if walls is None:
        reason = attack.labelled_text("Here not") or (
            attack.labelled_text("Root only") if os.getuid() else ""
        )
        return ("escapes", escape) if escape else ("not here", reason or "NO REASON IS GIVEN")
    if not escape:
        return "kept in", ""
    explanation = (
        attack.labelled_text("Landlock")
        or (attack.labelled_text("Landlock before 6") if landlock_abi() < 6 else "")
        if walls.name == "Landlock"
        else ""
    )
    return ("explained", explanation) if explanation else ("ESCAPES", escape)


def overhead() -> None:
    """Measure the overhead of the sandbox for a command and for a test run."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        tree = Path(name)
        (tree / "test_some.py").write_text(
            "import pytest\n\n@pytest.mark.parametrize('n', range(300))\ndef test_it(n):\n"
            "    sum(range(200_000))\n"
        )
        suite = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        starts: dict[str, Callable[[], object]] = {}
        runs: dict[str, Callable[[], object]] = {}
        kinds: list[SandboxBackend | None] = [None, *working_backends()]
        sandboxes = [ProcessSandbox(os.environ, backend=walls) for walls in kinds]
        for walls in kinds:
            if isinstance(walls, Bubblewrap):
                starts[f"raw {walls.name}, same walls"] = _raw_action(walls, tree)
                break
        if shutil.which("bwrap"):
            starts["raw bwrap, no walls"] = lambda: subprocess.run(
                ["bwrap", "--ro-bind", "/", "/", "true"], check=True
            )
        for walls, sandbox in zip(kinds, sandboxes, strict=True):
            label = walls.name if walls else "no walls"
            starts[label] = lambda sandbox=sandbox: sandbox.run(["true"], cwd=tree)  # type: ignore[misc]
            runs[label] = lambda sandbox=sandbox: sandbox.run(suite, cwd=tree, limits=LONG)  # type: ignore[misc]
        _compare("a command", starts, RUNS)
        _compare("a test run", runs, 5)
        for sandbox in sandboxes:
            sandbox.close()


def _raw_action(walls: Bubblewrap, tree: Path) -> Callable[[], object]:
    """Return the command line of the backend, started without coder."""
    with ProcessSandbox(os.environ, backend=walls) as sandbox:
        argv = sandbox.wrap_command(("true",), cwd=tree).argv
    filter_at = argv.index("--seccomp") if "--seccomp" in argv else len(argv)
    bare = [*argv[:filter_at], *argv[filter_at + 2 :]]
    scratch = str(sandbox.scratch)
    bare = [
        word
        for index, word in enumerate(bare)
        if scratch not in bare[max(0, index - 2) : index + 3] or word not in ("--bind", scratch)
    ]
    return lambda: subprocess.run(bare, check=True)


def _compare(label: str, ways: dict[str, Callable[[], object]], runs: int) -> None:
    """Run each way in turn, so that a busy machine affects all alike."""
    durations: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            durations[name].append(time.perf_counter() - start)
    first = statistics.median(next(iter(durations.values())))
    for name, times in durations.items():
        print(
            f"{label:<12} {name:<28} {statistics.median(times) * 1000:9.1f} ms  "
            f"{statistics.median(times) / first:6.2f} x"
        )


def projects(places: list[Path]) -> None:
    """Run the suites of checkouts, outside and inside, and print the last line of each and the tests that
    differ.
    """
    for place in places:
        arguments = [
            str(place / ".venv" / "bin" / "python"),
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-rA",
            "--color=no",
        ]
        outcomes = {"outside": test_outcomes(arguments, place, None)}
        for walls in working_backends():
            outcomes[walls.name] = test_outcomes(arguments, place, walls)
        outside_results = outcomes["outside"]
        print(f"{place.name}: outside {_summary(outside_results)}")
        for name, results in outcomes.items():
            differing = sorted(
                test
                for test in outside_results.keys() | results.keys()
                if outside_results.get(test) != results.get(test)
            )
            print(f"    {name}: {_summary(results)}; {len(differing)} differ {differing[:12]}", flush=True)


def test_outcomes(arguments: list[str], place: Path, walls: SandboxBackend | None) -> dict[str, str]:
    """Return each test's outcome."""
    with ProcessSandbox(os.environ, backend=walls) as sandbox:
        output = sandbox.run(
            arguments, cwd=place, limits=LONG.model_copy(update={"output_bytes": 64 << 20})
        ).output
    lines = (
        re.match(r"(PASSED|FAILED|ERROR|XFAIL|XPASS|SKIPPED)(?: \[\d+\])? (\S+)", line)
        for line in output.splitlines()
    )
    return {line[2]: line[1] for line in lines if line}


def _summary(outcomes: dict[str, str]) -> str:
    return (
        ", ".join(
            f"{[*outcomes.values()].count(kind)} {kind.lower()}" for kind in sorted(set(outcomes.values()))
        )
        or "nothing ran"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--attacks",
        nargs="?",
        const="",
        metavar="NAME",
        help="the attacks whose names hold NAME; all without",
    )
    parser.add_argument(
        "--base",
        type=Path,
        default=Path.cwd(),
        help="where stages are built: a place that is not hidden is the harder one",
    )
    parser.add_argument("--projects", nargs="+", type=Path, metavar="DIR")
    options = parser.parse_args()
    if options.attacks is not None:
        sys.exit(1 if attack_all(options.base.resolve(), options.attacks) else 0)
    elif options.projects:
        projects(options.projects)
    else:
        overhead()


if __name__ == "__main__":
    main()
