"""Time until the verdict on historical fixes of projects with long test suites.

    python -m benchmarks large [--number N] [--own 'PATH=COMMAND {files}'] PROJECT...

Each PROJECT is a checkout with its environment in .venv, or `PATH@ENVIRONMENT`; fresh clones of it are used.

The fixes are selected by rule, never by result: from the newest commit backwards, without merges, those
whose subject has a fix word, that change at least one Python source file and one Python test file, and at
most ten files. The yardstick is the project's own command on the commit's test files alone: `python -m pytest
FILES`, or that of --own, where `{files}` stands for the files and `{modules}` for their dotted names below
the first folder. Then `coder verify COMMIT` runs as a user runs it, with nothing remembered. A verdict is in
time within six times the yardstick plus 15 seconds.
"""

import argparse
import csv
import json
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.historical_fixes import Fix, clone_at, select_fixes
from coder.verify.layout import source_roots

OWN_COMMAND = "python -m pytest {files}"
SHORT_SECONDS = 20.0
"""An own command below this is run twice and the faster run counts: the first one compiles the sources."""
LONG_SECONDS = 120.0
"""A verdict that takes longer, where the own command is short, is counted separately."""
GRACE_SECONDS = 30.0
"""Time to clean up after an interruption."""
MACHINE_VARIABLES = ("CI", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED", "PYTEST_ADDOPTS")
"""Variables of the machine that would change the runs or slow them down."""
REASON_WIDTH = 60


@dataclass(frozen=True)
class OwnRun:
    """The project's own command on the test files of a fix."""

    seconds: float
    problem: str
    """Exit code and last line of the output of a command that failed, else empty."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on a fix; `verdict` is NONE where there is none, with the cause as the reason."""

    verdict: str
    reason: str
    seconds: float
    scope: str = ""
    session: str = ""
    runs: str = ""
    """Label, outcomes and seconds of each run of tests."""


@dataclass(frozen=True)
class Row:
    """One line of the table and of the CSV file."""

    project: str
    commit: str
    subject: str
    verdict: str
    scope: str
    reason: str
    seconds: float
    own_seconds: float
    ratio: float
    bar: float
    met: bool
    again_seconds: float | None
    """Time of a second run that remembers the first one; None where it was not asked for."""
    own_problem: str
    load: float
    """Load average of the machine before the runs."""
    session: str
    runs: str

    def render(self) -> str:
        again = "" if self.again_seconds is None else f" again {self.again_seconds:.1f} s"
        own = f" OWN COMMAND FAILED: {self.own_problem}" if self.own_problem else ""
        reason = textwrap.shorten(self.reason, REASON_WIDTH, placeholder="...")
        return (
            f"{self.project:<16} {self.commit[:9]:<9} {self.verdict:<12} {self.scope:<8} "
            f"{reason:<{REASON_WIDTH}} {self.seconds:>7.1f} {self.own_seconds:>7.1f} "
            f"{self.ratio:>6.1f} {self.bar:>7.1f} {'yes' if self.met else 'NO':<3} {self.load:>5.1f}"
            f"{again}{own}"
        )


HEADER = (
    f"{'project':<16} {'commit':<9} {'verdict':<12} {'scope':<8} {'reason':<{REASON_WIDTH}} {'seconds':>7} "
    f"{'own':>7} {'ratio':>6} {'bar':>7} {'met':<3} {'load':>5}"
)


def project_environment(venv: Path) -> dict[str, str]:
    """Return the variables of a shell in which the project's environment is active."""
    kept = {name: value for name, value in os.environ.items() if name not in MACHINE_VARIABLES}
    return {**kept, "VIRTUAL_ENV": str(venv), "PATH": f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def time_own_command(clone: Path, fix: Fix, *, command: str, venv: Path, limit: float) -> OwnRun:
    """Run the own command, twice if it is short, and leave nothing in the clone."""
    modules = [".".join(Path(path).with_suffix("").parts[1:]) for path in fix.tests]
    words = shlex.split(command.format(files=shlex.join(fix.tests), modules=shlex.join(modules)))
    roots = os.pathsep.join(map(str, source_roots(clone)))
    environment = {**project_environment(venv), "PYTHONPATH": roots}
    words[0] = shutil.which(words[0], path=environment["PATH"]) or words[0]
    run = run_own_command(words, clone, environment, limit)
    if run.seconds < SHORT_SECONDS:
        again = run_own_command(words, clone, environment, limit)
        run = min(run, again, key=lambda own: (bool(own.problem), own.seconds))
    subprocess.run(["git", "-C", str(clone), "clean", "-qffdx"], check=True)
    subprocess.run(["git", "-C", str(clone), "reset", "-q", "--hard"], check=True, stderr=subprocess.DEVNULL)
    return run


def run_own_command(
    words: Sequence[str], clone: Path, environment: Mapping[str, str], limit: float
) -> OwnRun:
    start = time.monotonic()
    with subprocess.Popen(
        words,
        cwd=clone,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return OwnRun(time.monotonic() - start, f"no end within {limit:.0f} s")
    seconds = time.monotonic() - start
    last = output.strip().splitlines()[-1:]
    return OwnRun(
        seconds, "" if process.returncode == 0 else " ".join([f"exit {process.returncode}:", *last])
    )


def judge_fix(clone: Path, fix: Fix, *, venv: Path, state: Path, limit: float) -> Judgement:
    """Run `coder verify` on a fix; `state` holds what it remembers, and the evidence."""
    evidence = state / "evidence.json"
    evidence.unlink(missing_ok=True)
    tool = str(Path(sys.executable).parent / "coder")
    words = [tool, "verify", fix.commit, "--trust", "--json", "--evidence", str(evidence)]
    environment = project_environment(venv)
    environment |= {"XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(state / "config")}
    start = time.monotonic()
    with (
        (state / "events.jsonl").open("w+", encoding="utf-8") as out,
        (state / "errors.txt").open("w+", encoding="utf-8") as errors,
        subprocess.Popen(
            words,
            cwd=clone,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            start_new_session=True,
        ) as process,
    ):
        try:
            process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            interrupt(process)
            return Judgement("NONE", f"no verdict within {limit:.0f} s", limit, session=find_session(state))
        except KeyboardInterrupt:
            interrupt(process)
            raise
    seconds = time.monotonic() - start
    if evidence.exists():
        return read_evidence(evidence, seconds)
    return Judgement("NONE", f"exit {process.returncode}: {last_message(state)}", seconds)


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """End a process as Ctrl-C does, and by force if it does not react."""
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=GRACE_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def read_evidence(evidence: Path, seconds: float) -> Judgement:
    attestation: dict[str, Any] = json.loads(evidence.read_text(encoding="utf-8"))
    verdict = attestation["verdict"]
    runs = [
        f"{run['label']}: {run['counts']['passed']}+{run['counts']['failed']} in {run['seconds']:.1f} s"
        for run in verdict["runs"]
    ]
    return Judgement(
        verdict["kind"], verdict["reason"], seconds, verdict["scope"], attestation["session"], "; ".join(runs)
    )


def find_session(state: Path) -> str:
    """Return the id of the newest session, empty if there is none."""
    return max((path.name for path in (state / "coder" / "sessions").glob("*")), default="")


def last_message(state: Path) -> str:
    """Return the last thing that a run without a verdict printed."""
    for name in ("errors.txt", "events.jsonl"):
        if lines := (state / name).read_text(encoding="utf-8").strip().splitlines():
            return lines[-1][:400]
    return "no output"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Options that are the same for all projects."""

    number: int
    skip: int
    revision: str
    own: Mapping[Path, str]
    limit: float
    again: bool
    keep: Path | None


def measure_project(argument: str, settings: Settings) -> Iterator[Row]:
    """Yield a row for each fix of a project."""
    path, _, environment = argument.partition("@")
    root = Path(path).resolve()
    venv = Path(environment).absolute() if environment else root / ".venv"
    for fix in select_fixes(root, settings.revision, skip=settings.skip, number=settings.number):
        with tempfile.TemporaryDirectory(prefix="large-", ignore_cleanup_errors=True) as place:
            state = (settings.keep or Path(place)) / f"{root.name}-{fix.commit[:9]}"
            shutil.rmtree(state, ignore_errors=True)
            state.mkdir(parents=True)
            clone = clone_at(root, fix.commit, Path(place))
            yield measure_fix(clone, fix, settings, root=root, venv=venv, state=state)


def measure_fix(clone: Path, fix: Fix, settings: Settings, *, root: Path, venv: Path, state: Path) -> Row:
    load = os.getloadavg()[0]
    command = settings.own.get(root, OWN_COMMAND)
    own = time_own_command(clone, fix, command=command, venv=venv, limit=settings.limit)
    judgement = judge_fix(clone, fix, venv=venv, state=state, limit=settings.limit)
    again = judge_fix(clone, fix, venv=venv, state=state, limit=settings.limit) if settings.again else None
    bar = 6 * own.seconds + 15
    return Row(
        project=root.name,
        commit=fix.commit,
        subject=fix.subject,
        verdict=judgement.verdict,
        scope=judgement.scope,
        reason=judgement.reason,
        seconds=judgement.seconds,
        own_seconds=own.seconds,
        ratio=judgement.seconds / own.seconds,
        bar=bar,
        met=judgement.verdict != "NONE" and judgement.seconds <= bar,
        again_seconds=again.seconds if again else None,
        own_problem=own.problem,
        load=load,
        session=judgement.session,
        runs=judgement.runs,
    )


def summarize(rows: Sequence[Row]) -> str:
    """Return the medians, and the numbers of verdicts in time and of very late ones."""
    if not rows:
        return "No fix was selected."
    medians = [
        f"{name} {statistics.median(values):.1f}"
        for name, values in (
            ("seconds", [row.seconds for row in rows]),
            ("own", [row.own_seconds for row in rows]),
            ("ratio", [row.ratio for row in rows]),
        )
    ]
    late = sum(row.seconds > LONG_SECONDS and row.own_seconds < SHORT_SECONDS for row in rows)
    kinds = [row.verdict for row in rows]
    return "\n".join(
        [
            f"medians: {', '.join(medians)}",
            f"in time: {sum(row.met for row in rows)} of {len(rows)}",
            f"over {LONG_SECONDS:.0f} s where own is under {SHORT_SECONDS:.0f} s: {late}",
            f"verdicts: {', '.join(f'{kinds.count(kind)} {kind}' for kind in dict.fromkeys(kinds))}",
        ]
    )


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    names = [field.name for field in fields(Row)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([getattr(row, name) for name in names] for row in rows)


def parse_own(options: Sequence[str]) -> dict[Path, str]:
    """Return the own commands by project."""
    pairs = [option.partition("=") for option in options]
    return {Path(path).resolve(): command for path, _, command in pairs}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("projects", nargs="+", metavar="PROJECT")
    parser.add_argument("--number", type=int, default=3, metavar="N", help="fixes of each project")
    parser.add_argument("--skip", type=int, default=0, metavar="N", help="newest fixes that are left out")
    parser.add_argument("--revision", default="HEAD", metavar="REV", help="where the search begins")
    parser.add_argument("--own", action="append", default=[], metavar="PATH=COMMAND")
    parser.add_argument("--limit", type=float, default=600.0, metavar="SECONDS", help="of each command")
    parser.add_argument("--again", action="store_true", help="time a second run, which remembers the first")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="where logs and evidence are kept")
    parser.add_argument("--csv", type=Path, metavar="FILE")
    parser.add_argument("--list", action="store_true", help="print the selected fixes and run nothing")
    options = parser.parse_args()
    if options.list:
        for argument in options.projects:
            root = Path(argument.partition("@")[0]).resolve()
            for fix in select_fixes(root, options.revision, skip=options.skip, number=options.number):
                print(f"{root.name:<16} {fix.commit[:9]} {fix.subject}\n    {' '.join(fix.tests)}")
        return
    settings = Settings(
        number=options.number,
        skip=options.skip,
        revision=options.revision,
        own=parse_own(options.own),
        limit=options.limit,
        again=options.again,
        keep=options.keep and options.keep.resolve(),
    )
    rows: list[Row] = []
    print(HEADER, flush=True)
    for argument in options.projects:
        for row in measure_project(argument, settings):
            rows.append(row)
            print(row.render(), flush=True)
            if options.csv:
                write_csv(options.csv, rows)
    print(summarize(rows))


if __name__ == "__main__":
    main()
