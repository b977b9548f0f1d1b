"""Speed and correctness of verdicts in a warm process.

    python -m benchmarks.verification --agree 100 PROJECT...

Each PROJECT is a checkout with its environment in .venv, or `PATH@ENVIRONMENT`; a copy of it is used.

--agree N   compares N seeded edits of each project, run warm, with plain cold runs of the same tests
--speed N   times N seeded edits inside functions of each project, in a warm process that exists already:
            from an edit to the first verdict (the first red test, or all tests that the edit reaches green),
            and to the verdict of all that it reaches; a pytest process on the same tests, with -x for the
            first; and once the whole suite, as the verdict and as plain pytest run it. All ratios are
            medians over edits; `swapped` are those that need no import; `sooner` is relative to plain pytest
            on the whole suite. The tests' reach is traced before (map s), or read from --maps
--leaks N   runs N edits in one warm process and reports memory, processes and files left
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutations import IN_FUNCTIONS, Mutation, random_mutations
from coder.core.paths import is_test_path
from coder.core.ports import Limits
from coder.core.verdict import TestReport
from coder.sandbox.process import ProcessSandbox
from coder.verify.coverage_map import CoverageMap, MapOnTree, load_coverage, record_map
from coder.verify.impact import TracedImpact
from coder.verify.launch import source_files
from coder.verify.layout import source_roots
from coder.verify.project import Project, find_project
from coder.verify.run import PytestRunner
from coder.verify.trees import temporary_edits
from coder.verify.warm import WarmRefusal, WarmResult, WarmRunner
from coder.verify.warm_server import replacements_of

MOST_UNREACHED = 20
"""Limit of edits for each that counts: those that no test reaches do not."""
MAP_SECONDS = 1200.0
BETWEEN_SECONDS = 0.25
"""Time for preparations of the next edit, so that they do not overlap with the other side's timing."""
LEFT_OUT = (".git", ".venv", "venv", "__pycache__", ".hypothesis", ".tox", "*.pyc", ".pytest_cache")


@dataclass(frozen=True)
class Subject:
    """A project and two copies of it, one for each way to run its tests."""

    name: str
    project: Project
    sandbox: ProcessSandbox
    limits: Limits
    warm: Path
    cold: Path

    def warm_runner(self) -> WarmRunner:
        return WarmRunner(
            self.project, self.warm, sandbox=self.sandbox, scratch=self.sandbox.scratch, limits=self.limits
        )

    def cold_runner(self) -> PytestRunner:
        return PytestRunner(
            project=self.project, sandbox=self.sandbox, scratch=self.sandbox.scratch, limits=self.limits
        )


@contextmanager
def open_subject(argument: str, seconds: float) -> Iterator[Subject]:
    path, _, venv = argument.partition("@")
    root = Path(path).resolve()
    with tempfile.TemporaryDirectory(prefix="verification-") as place, ProcessSandbox(os.environ) as sandbox:
        copies = [Path(place, name, root.name) for name in ("warm", "cold")]
        for copy in copies:
            shutil.copytree(root, copy, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        environment = {"PATH": os.environ["PATH"], **({"VIRTUAL_ENV": venv} if venv else {})}
        project = find_project(root, sandbox=sandbox, environment=environment)
        if project.problem is not None:
            sys.exit(f"{root.name}: {project.problem.text}")
        yield Subject(root.name, project, sandbox, Limits(wall_seconds=seconds, memory_bytes=None), *copies)


def comparable(report: TestReport) -> dict[str, object]:
    """Return what must be the same however the tests were run; a test that never ends has a result in the
    warm process only.
    """
    results = {
        result.id: (result.outcome, result.when, result.failure.type if result.failure else "")
        for result in report.results
        if result.failure is None or result.failure.type != "TooLong"
    }
    return {"problem": report.problem.kind if report.problem else "", **results}


def agree(subject: Subject, count: int, seed: int, tests: tuple[str, ...]) -> None:
    """Print how many of so many edits end alike, and each that does not."""
    with subject.warm_runner() as warm:
        cold = subject.cold_runner()
        plain = cold.run(subject.cold, tests)
        print(
            f"{subject.name}: {plain.outcome_counts} in {plain.seconds:.1f} s {plain.problem or ''}",
            flush=True,
        )
        loaded, files = subjects_of(subject, plain)
        hows: Counter[str] = Counter()
        differing = flaky = 0
        for number, mutation in zip(
            range(count), random_mutations(subject.warm, loaded, files, seed=seed), strict=False
        ):
            chosen = tests or choose_tests(plain, files, mutation, number)
            ran = warm.run({mutation.path: mutation.text}, chosen)
            if isinstance(ran, WarmRefusal):
                hows["cold"] += 1
                print(f"  cold: {mutation.kind} of {mutation.path}: {ran.reason}", flush=True)
                continue
            hows[ran.how] += 1
            reports = []
            for _ in range(2):
                with temporary_edits(subject.cold, {mutation.path: mutation.text}):
                    reports.append(
                        cold.run(
                            subject.cold,
                            chosen,
                            expect_loaded=[] if is_test_path(mutation.path) else [mutation.path],
                        )
                    )
                if comparable(reports[-1]) == comparable(ran.report):
                    break
            else:
                if comparable(reports[0]) != comparable(reports[1]):
                    flaky += 1
                    print(f"  flaky: {number} {mutation.kind} of {mutation.path}", flush=True)
                else:
                    differing += 1
                    show(number, mutation, ran.how, ran.report, reports[-1])
        print(
            f"{subject.name}: {count} edits, {differing} differ, {flaky} differ from run to run; "
            f"{dict(hows)}",
            flush=True,
        )


def subjects_of(subject: Subject, plain: TestReport) -> tuple[list[str], list[str]]:
    files = sorted({result.id.partition("::")[0] for result in plain.results if result.when != "collect"})
    paths = [path for path in source_files(subject.warm) if (subject.warm / path).stat().st_size > 200]
    return [
        path
        for path in paths
        if not path.startswith(("docs/", "examples/", "scripts/", "misc/", "bench", "setup.py"))
    ], files


def choose_tests(plain: TestReport, files: list[str], mutation: Mutation, number: int) -> tuple[str, ...]:
    """Return the whole suite if it is fast, else the files whose names fit, and another one by turns."""
    if plain.seconds < 4.0 or mutation.path in files:
        return () if plain.seconds < 4.0 else (mutation.path,)
    stem = Path(mutation.path).stem.strip("_")
    fitting = [path for path in files if stem in path][:3]
    new = [mutation.path] if mutation.kind == "new test" else []
    return tuple(dict.fromkeys([*fitting, files[number % len(files)], *new]))


def show(number: int, mutation: Mutation, mode: str, warm: TestReport, cold: TestReport) -> None:
    first, other = comparable(warm), comparable(cold)
    names = [name for name in {**first, **other} if first.get(name) != other.get(name)]
    print(f"  DIFFERS: {number} {mode} {mutation.kind} of {mutation.path}, in {len(names)}", flush=True)
    for name in names[:3]:
        print(f"    {name}: warm {first.get(name)}, cold {other.get(name)}")
    print(f"    {warm.problem} | {cold.problem}"[:400])


def trace_reach(subject: Subject, maps: Path | None) -> tuple[CoverageMap, float]:
    """Return what the tests reach, and how long it took to record that."""
    start = time.monotonic()
    file = (maps or subject.sandbox.scratch) / f"{subject.name}.coverage"
    coverage = load_coverage(file)
    record_map(subject.cold_runner(), subject.cold, coverage, file, seconds=MAP_SECONDS)
    return coverage, time.monotonic() - start


def speed(subject: Subject, count: int, seed: int, *, misses: bool, maps: Path | None) -> str:
    """Return one row of the table."""
    plain = plain_pytest(subject, ())
    cold = subject.cold_runner()
    whole = cold.run(subject.cold)
    reach_map, map_seconds = trace_reach(subject, maps)
    impact = TracedImpact(subject.warm, reach_map)
    executed = {path for path, _ in reach_map.units}
    loaded = [path for path in subjects_of(subject, whole)[0] if path in executed]
    view = MapOnTree(subject.warm, reach_map)
    tests = view.known_tests(view.test_files)
    files = sorted(path for path in tests if tests[path])
    measurements: list[Timed] = []
    moments: list[float] = []

    def on_red(_test: str) -> None:
        moments.append(time.monotonic())

    missed = 0
    hows: Counter[str] = Counter()
    with subject.warm_runner() as warm:
        warm.run({}, [tests[files[0]][0]])
        for _ in impact.analyse_incrementally():  # as a warm base does
            pass
        for _, mutation in zip(
            range(MOST_UNREACHED * count),
            random_mutations(subject.warm, loaded, files, seed=seed, kinds=IN_FUNCTIONS),
            strict=False,
        ):
            edits = {mutation.path: mutation.text}
            # No test calls such a function: the whole suite is the verdict.
            if impact.impacted_tests(edits).everything:
                continue
            replacements_of.cache_clear()  # filled by the call above
            warm.wait()
            time.sleep(BETWEEN_SECONDS)
            moments.clear()
            start = time.monotonic()
            reach = impact.impacted_tests(edits)
            ran = warm.run(edits, reach.soonest, in_order=True, on_red=on_red)
            duration = time.monotonic() - start
            first = moments[0] - start if moments else duration
            hows[ran.how if isinstance(ran, WarmResult) else "cold"] += 1
            if isinstance(ran, WarmResult):
                warm.wait()
                time.sleep(BETWEEN_SECONDS)
                with temporary_edits(subject.cold, edits):
                    process = plain_pytest(subject, reach.tests)
                    stopping = plain_pytest(subject, reach.tests, "-x") if moments else process
                    measurements.append(
                        Timed(ran.how == "swapped", len(reach.tests), first, duration, stopping, process)
                    )
                    print(
                        f"  {mutation.kind} of {mutation.path}, {ran.why or ran.how}: {measurements[-1]}",
                        file=sys.stderr,
                        flush=True,
                    )
                    if misses:
                        reds = {result.id for result in cold.run(subject.cold).failures} - {
                            result.id for result in whole.failures
                        }
                        missed += not reds <= set(reach.tests)
            if sum(hows.values()) == count:
                break
    if not measurements:
        return f"{subject.name:<22} {len(reach_map.tests):>6} no edit was run warm: {dict(hows)}"
    first, usual = (
        statistics.median(run.first for run in measurements),
        statistics.median(run.warm for run in measurements),
    )
    swapped = [run for run in measurements if run.swapped]
    ratios = [
        [run.first_ratio for run in measurements],
        [run.first_ratio for run in swapped],
        [run.ratio for run in measurements],
    ]
    ratio_text = " ".join(f"{statistics.median(values or [0.0]):>6.0f}x" for values in ratios)
    return (
        f"{subject.name:<22} {len(reach_map.tests):>6} {map_seconds:>6.1f} "
        f"{statistics.median(item.tests for item in measurements):>8.0f} "
        f"{1000 * first:>8.1f} {1000 * usual:>8.1f} "
        f"{1000 * statistics.median(item.process for item in measurements):>7.0f} {ratio_text} "
        f"{whole.seconds:>8.1f} {plain:>8.1f} {plain / first:>7.0f}x {plain / usual:>7.0f}x  {dict(hows)}"
        + (f", MISSED {missed}" if misses else "")
    )


@dataclass(frozen=True)
class Timed:
    """One edit: seconds in the warm process, from the edit to the verdict, and of a pytest process for the
    same tests.
    """

    swapped: bool
    tests: int
    first: float
    warm: float
    stopping: float
    process: float

    @property
    def first_ratio(self) -> float:
        return self.stopping / self.first

    @property
    def ratio(self) -> float:
        return self.process / self.warm


HEADER = (
    f"{'project':<22} {'tests':>6} {'map s':>6} {'reached':>8} {'first ms':>8} {'all ms':>8} "
    f"{'process':>7} {'first':>7} {'swapped':>7} "
    f"{'all':>7} {'whole s':>8} {'pytest s':>8} {'first':>8} {'all':>8}"
)


def plain_pytest(subject: Subject, tests: Sequence[str], *options: str) -> float:
    """Return the seconds of `pytest` as a user starts it, on the cold copy."""
    environment = {
        **os.environ,
        **subject.project.environment,
        "PYTHONPATH": os.pathsep.join(map(str, source_roots(subject.cold))),
    }
    chosen = tests if len(tests) <= 200 else sorted({test.partition("::")[0] for test in tests})
    start = time.monotonic()
    command = [
        str(subject.project.interpreter),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *options,
        *subject.project.options,
        *chosen,
    ]
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command,
            cwd=subject.cold,
            env=environment,
            capture_output=True,
            check=False,
            timeout=subject.limits.wall_seconds,
        )
    return time.monotonic() - start


def leaks(subject: Subject, count: int, seed: int) -> None:
    """Print memory, processes and files after the first tenth of the runs, and after all."""
    with subject.warm_runner() as warm:
        loaded, files = subjects_of(subject, subject.cold_runner().run(subject.cold))
        first: tuple[int, ...] = ()
        for number, mutation in zip(
            range(count), random_mutations(subject.warm, loaded, files, seed=seed), strict=False
        ):
            warm.run({mutation.path: mutation.text}, files[:1])
            if number == count // 10:
                first = settled_usage(subject, warm)
        warm.run({}, files[:1])
        last = settled_usage(subject, warm)
        names = ("KB in use", "processes", "files put away", "files of the tree")
        for name, before, after in zip(names, first, last, strict=True):
            print(f"{subject.name}: {name} {before} after {count // 10} runs, {after} after {count}")


def settled_usage(subject: Subject, warm: WarmRunner) -> tuple[int, ...]:
    """Return what is in use once everything that follows a run is done."""
    warm.wait()
    time.sleep(2 * BETWEEN_SECONDS)
    return resource_usage(subject)


def resource_usage(subject: Subject) -> tuple[int, ...]:
    processes = descendants(os.getpid())
    memory = sum(memory_share(pid) for pid in [os.getpid(), *processes])
    files = [sum(1 for _ in place.rglob("*")) for place in (subject.sandbox.scratch, subject.warm)]
    return memory, len(processes), *files


def memory_share(pid: int) -> int:
    """Return the proportional share of memory, in KB."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)


def descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    pids = list(children.get(root, []))
    for pid in pids:
        pids += children.get(pid, [])
    return pids


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("projects", nargs="+", metavar="PROJECT")
    parser.add_argument("--agree", type=int, default=0, metavar="N")
    parser.add_argument("--speed", type=int, default=0, metavar="N")
    parser.add_argument(
        "--maps", type=Path, metavar="DIRECTORY", help="with --speed: where what tests reach is kept"
    )
    parser.add_argument(
        "--misses", action="store_true", help="with --speed: count edits that break other tests (slow)"
    )
    parser.add_argument("--leaks", type=int, default=0, metavar="N")
    parser.add_argument(
        "--limit", type=float, default=300.0, metavar="SECONDS", help="of each run; edits may never end"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="*", default=[], help="run only these")
    options = parser.parse_args()
    if options.speed:
        print(HEADER)
    for argument in options.projects:
        with open_subject(argument, options.limit) as here:
            if options.agree:
                agree(here, options.agree, options.seed, tuple(options.tests))
            if options.speed:
                print(
                    speed(here, options.speed, options.seed, misses=options.misses, maps=options.maps),
                    flush=True,
                )
            if options.leaks:
                leaks(here, options.leaks, options.seed)


if __name__ == "__main__":
    main()
