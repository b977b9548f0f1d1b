"""How fast and how true verdicts in a warm process are: python tests/benchmarks/verification.py --agree 100 PROJECT...

Each PROJECT is a checkout with its environment in .venv, or `PATH@ENVIRONMENT`; it is copied and left as it is.

--agree N   compares N seeded edits of each project, run warm, with plain cold runs of the same tests
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from coder.core.paths import is_test_path
from coder.core.ports import Limits
from coder.core.verdict import TestReport
from coder.sandbox.process import ProcessSandbox
from coder.verify.editing import written
from coder.verify.launch import sources
from coder.verify.project import Project, find_project
from coder.verify.runner import PytestRunner
from coder.verify.warm import Cold, WarmRunner
from tests.benchmarks.mutations import Mutation, mutations

LIMITS = Limits(wall_seconds=300.0, memory_bytes=None)
LEFT_OUT = (".git", ".venv", "venv", "__pycache__", ".hypothesis", ".tox", "*.pyc", ".pytest_cache")


@dataclass(frozen=True)
class Subject:
    """A project and two copies of it, one for each way to run its tests."""

    name: str
    project: Project
    sandbox: ProcessSandbox
    warm: Path
    cold: Path

    def warm_runner(self) -> WarmRunner:
        return WarmRunner(self.project, self.warm, sandbox=self.sandbox, scratch=self.sandbox.scratch, limits=LIMITS)

    def cold_runner(self) -> PytestRunner:
        return PytestRunner(project=self.project, sandbox=self.sandbox, scratch=self.sandbox.scratch, limits=LIMITS)


@contextmanager
def subject(argument: str) -> Iterator[Subject]:
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
        yield Subject(root.name, project, sandbox, *copies)


def told(report: TestReport) -> dict[str, object]:
    """What has to be the same however the tests were run."""
    results = {result.id: (result.outcome, result.when, result.failure.type if result.failure else "") for result in report.results}
    return {"problem": report.problem.kind if report.problem else "", **results}


def agree(argument: str, count: int, seed: int, tests: tuple[str, ...]) -> None:
    """Print how many of so many edits end alike, and each that does not."""
    with subject(argument) as here, here.warm_runner() as warm:
        cold = here.cold_runner()
        plain = cold.run(here.cold, tests)
        print(f"{here.name}: {plain.counts} in {plain.seconds:.1f} s {plain.problem or ''}", flush=True)
        loaded, files = subjects_of(here, plain)
        hows: Counter[str] = Counter()
        differing = flaky = 0
        for number, mutation in zip(range(count), mutations(here.warm, loaded, files, seed=seed), strict=False):
            chosen = tests or chosen_tests(plain, files, mutation, number)
            ran = warm.run({mutation.path: mutation.text}, chosen)
            if isinstance(ran, Cold):
                hows["cold"] += 1
                print(f"  cold: {mutation.kind} of {mutation.path}: {ran.reason}", flush=True)
                continue
            hows[ran.how] += 1
            reports = []
            for _ in range(2):
                with written(here.cold, {mutation.path: mutation.text}):
                    reports.append(cold.run(here.cold, chosen, expect_loaded=[] if is_test_path(mutation.path) else [mutation.path]))
                if told(reports[-1]) == told(ran.report):
                    break
            else:
                if told(reports[0]) != told(reports[1]):
                    flaky += 1
                    print(f"  flaky: {number} {mutation.kind} of {mutation.path}", flush=True)
                else:
                    differing += 1
                    show(number, mutation, ran.how, ran.report, reports[-1])
        print(f"{here.name}: {count} edits, {differing} differ, {flaky} differ from run to run; {dict(hows)}", flush=True)


def subjects_of(here: Subject, plain: TestReport) -> tuple[list[str], list[str]]:
    files = sorted({result.id.partition("::")[0] for result in plain.results if result.when != "collect"})
    found = [path for path in sources(here.warm) if (here.warm / path).stat().st_size > 200]
    return [path for path in found if not path.startswith(("docs/", "examples/", "scripts/", "misc/", "bench", "setup.py"))], files


def chosen_tests(plain: TestReport, files: list[str], mutation: Mutation, number: int) -> tuple[str, ...]:
    """The whole suite where it is fast, else the files whose names fit, and another one by turns."""
    if plain.seconds < 4.0 or mutation.path in files:
        return () if plain.seconds < 4.0 else (mutation.path,)
    stem = Path(mutation.path).stem.strip("_")
    fitting = [path for path in files if stem in path][:3]
    new = [mutation.path] if mutation.kind == "new test" else []
    return tuple(dict.fromkeys([*fitting, files[number % len(files)], *new]))


def show(number: int, mutation: Mutation, how: str, warm: TestReport, cold: TestReport) -> None:
    one, other = told(warm), told(cold)
    names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    print(f"  DIFFERS: {number} {how} {mutation.kind} of {mutation.path}, in {len(names)}", flush=True)
    for name in names[:3]:
        print(f"    {name}: warm {one.get(name)}, cold {other.get(name)}")
    print(f"    {warm.problem} | {cold.problem}"[:400])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", metavar="PROJECT")
    parser.add_argument("--agree", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="*", default=[], help="run only these")
    options = parser.parse_args()
    for argument in options.projects:
        started = time.monotonic()
        if options.agree:
            agree(argument, options.agree, options.seed, tuple(options.tests))
        print(f"{argument}: {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
