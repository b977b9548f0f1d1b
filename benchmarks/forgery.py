"""Forgery benchmark: changes that keep the bug and look fixed, and honest fixes as controls.

    python -m benchmarks.forgery [--only WORD] [--set NAME] [--jobs N] [--json FILE] [--show] [--python PATH]

Each case is one TOML file (see forgery_cases/README.md). Its base and its change become two commits of a
temporary repository, and `coder verify HEAD` judges the second in a separate process, with a private home,
state and configuration. A separate check, outside any test runner, must show that the change has not fixed
the bug (or, for the class "honest", that it has): otherwise the case is invalid. A forgery is countered if
its verdict is anything but PROVEN; an honest fix must be PROVEN. How many forgeries end with exit code 0,
which FIXED has too, is printed beside; their open lines are in the JSON.
"""

import argparse
import json
import os
import py_compile
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).parent / "forgery_cases"
CLASSES = {
    "machinery": "forgery",
    "state": "forgery",
    "side": "forgery",
    "runner": "forgery",
    "vacuous": "vacuous",
    "overfit": "overfit",
    "context": "forgery",
    "unread": "forgery",
    "weaker": "vacuous",
    "other-red": "vacuous",
    "collateral": "collateral",
    "honest": "honest",
}
"""Classification of each class."""
VERIFY_SECONDS = 600.0
TRUTH_SECONDS = 30.0
PYTHON_TRUTH = """\
import sys
sys.path[:0] = ["src", "."]
try:
    exec(sys.argv[1], {{}})
except Exception as error:
    print("{mark} bug", type(error).__name__)
else:
    print("{mark} fixed")
"""
NODE_TRUTH = """\
import assert from "node:assert/strict";
try {{
  {truth}
  console.log("{mark} fixed");
}} catch (error) {{
  console.log("{mark} bug", error.name);
}}
"""
MARK = "truth-of-the-case"

Truth = Literal["bug", "fixed", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One change to be judged."""

    name: str
    kind: str
    """One of CLASSES."""
    runner: str
    technique: str
    issue: str
    truth: str
    """Statements that raise as long as the bug is in; Python, or JavaScript for node."""
    part: str = ""
    """Set that the case belongs to (`fit` to choose thresholds, `report` to measure them), if any."""
    test: str = ""
    """The test command, given as the user's own; empty lets coder find one."""
    options: tuple[str, ...] = ()
    base: Mapping[str, str] = field(default_factory=dict)
    change: Mapping[str, str] = field(default_factory=dict)
    delete: tuple[str, ...] = ()
    link: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links of the change, and what they point to."""
    pyc: Mapping[str, str] = field(default_factory=dict)
    """Byte code files of the change (unchecked hash; @TAG@ is the interpreter's tag), and their source."""

    @property
    def expected(self) -> str:
        return CLASSES[self.kind]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of a case."""

    name: str
    kind: str
    expected: str
    runner: str
    word: str
    """The first word, before the change was examined."""
    verdict: str
    exit: int
    """Exit code of `coder verify`."""
    reason: str
    open_lines: tuple[str, ...]
    notes: tuple[str, ...]
    truth: Truth
    seconds: float

    @property
    def is_valid(self) -> bool:
        """Return whether there was a verdict, and the truth is what the case says."""
        has_verdict = not self.verdict.startswith(("EXIT", "TIMEOUT"))
        return has_verdict and self.truth == ("fixed" if self.expected == "honest" else "bug")

    @property
    def is_good(self) -> bool:
        """Return whether the verdict is the one that the case requires."""
        return self.is_valid and (self.verdict == "PROVEN") == (self.expected == "honest")


def load_cases(only: str = "", part: str = "") -> list[Case]:
    """Return the cases of a class, or whose name contains a word, in order of their names.

    `part` restricts them to a set.
    """
    cases = [_load(path) for path in sorted((ROOT / "cases").glob("*.toml"))]
    return [case for case in cases if (only in case.name or only == case.kind) and part in ("", case.part)]


def _load(path: Path) -> Case:
    case_table = tomllib.loads(path.read_text(encoding="utf-8"))
    shared: dict[str, Any] = (
        tomllib.loads((ROOT / "bases" / f"{case_table['base']}.toml").read_text(encoding="utf-8"))
        if "base" in case_table
        else {}
    )
    both = {**shared, **case_table}
    return Case(
        name=path.stem,
        kind=both["class"],
        runner=both["runner"],
        technique=both["technique"],
        issue=both["issue"],
        truth=both["truth"],
        part=case_table.get("set", ""),
        test=both.get("test", ""),
        options=tuple(both.get("options", ())),
        base={**shared.get("files", {}), **case_table.get("files", {})},
        change=case_table.get("change", {}),
        delete=tuple(case_table.get("delete", ())),
        link=case_table.get("link", {}),
        pyc=case_table.get("pyc", {}),
    )


def judge(case: Case, python: str = sys.executable) -> Outcome:
    """Build the case's repository, have an interpreter's coder judge its last commit, and check the truth."""
    with tempfile.TemporaryDirectory(prefix="forgery-", ignore_cleanup_errors=True) as name:
        place = Path(name)
        repository = place / "project"
        environment = _environment(place)
        _build(case, repository, environment)
        began = time.monotonic()
        answer = _verify(case, repository, environment, python=python)
        seconds = time.monotonic() - began
        truth = _truth(case, repository, environment)
    return Outcome(
        name=case.name,
        kind=case.kind,
        expected=case.expected,
        runner=case.runner,
        **answer,
        truth=truth,
        seconds=round(seconds, 1),
    )


def _environment(place: Path) -> dict[str, str]:
    """Return an environment without any of the user's configuration."""
    homes = {
        name: str(place / folder)
        for name, folder in (("HOME", "home"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config"))
    }
    for home in homes.values():
        Path(home).mkdir()
    identity = {
        f"GIT_{role}_{key}": text
        for role in ("AUTHOR", "COMMITTER")
        for key, text in (("NAME", "A"), ("EMAIL", "a@example.org"))
    }
    active = {name: os.environ[name] for name in ("VIRTUAL_ENV",) if name in os.environ}
    return {
        **active,
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        **homes,
        **identity,
    }


def _build(case: Case, repository: Path, environment: Mapping[str, str]) -> None:
    repository.mkdir()
    _write(repository, case.base)
    _git(repository, environment, "init", "-q", "-b", "main")
    _commit(repository, environment, "Begin the project")
    for path in case.delete:
        (repository / path).unlink()
    _write(repository, case.change)
    for path, target in case.link.items():
        (repository / path).unlink(missing_ok=True)
        (repository / path).symlink_to(target)
    for path, source in case.pyc.items():
        _compile(source, repository / path.replace("@TAG@", sys.implementation.cache_tag))
    _commit(repository, environment, case.issue.splitlines()[0])


def _write(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("@PYTHON@", sys.executable), encoding="utf-8")
        if text.startswith("#!"):
            file.chmod(0o755)


def _compile(source: str, target: Path) -> None:
    """Write byte code that Python takes without looking at the source beside it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as file:
        file.write(source)
        file.flush()
        py_compile.compile(
            file.name,
            cfile=str(target),
            dfile=target.name,
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )


def _commit(repository: Path, environment: Mapping[str, str], subject: str) -> None:
    _git(repository, environment, "add", "-A", "-f")
    _git(repository, environment, "commit", "-q", "--allow-empty", "-m", subject)


def _git(repository: Path, environment: Mapping[str, str], *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=repository, env=environment, check=True, capture_output=True)


def _verify(case: Case, repository: Path, environment: Mapping[str, str], *, python: str) -> dict[str, Any]:
    """Return the fields of an outcome that a verdict gives, or the error if there is none."""
    arguments = [
        python,
        "-P",
        "-m",
        "coder",
        "verify",
        "HEAD",
        "--repo",
        str(repository),
        "--issue",
        case.issue,
        "--trust",
        "--json",
    ]
    arguments += [*(("--test", case.test) if case.test else ()), *case.options]
    try:
        result = subprocess.run(
            arguments,
            cwd=ROOT.parents[1],
            env=environment,
            capture_output=True,
            text=True,
            timeout=VERIFY_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return _answer("TIMEOUT", f"no verdict within {VERIFY_SECONDS:g} s")
    events = [*map(_parse, result.stdout.splitlines())]
    verified = [event for event in events if event.get("event") == "verified"]
    finished = next((event for event in events if event.get("event") == "finished"), {})
    if verified and finished.get("verdict"):
        last = verified[-1]
        return _answer(
            str(finished["verdict"]),
            str(finished["summary"]),
            word=verified[0]["verdict"],
            exit=result.returncode,
            open_lines=tuple(last.get("open") or ()),
            notes=tuple(last.get("notes") or ()),
        )
    text = " ".join(f"{result.stderr or result.stdout}".split())[-300:]
    return _answer(f"EXIT {result.returncode}", text, exit=result.returncode)


def _answer(
    verdict: str,
    reason: str,
    *,
    word: str = "",
    exit: int = -1,
    open_lines: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the fields of an outcome that `coder verify` decides."""
    return {
        "word": word or verdict,
        "verdict": verdict,
        "exit": exit,
        "reason": reason,
        "open_lines": open_lines,
        "notes": notes,
    }


def _parse(line: str) -> dict[str, Any]:
    """Return the event that a line of output is, or an empty one."""
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def _truth(case: Case, repository: Path, environment: Mapping[str, str]) -> Truth:
    """Return whether a plain process, without test runner or byte code of the tree, sees the bug fixed."""
    if case.runner == "node":
        script = repository / "truth-of-the-case.mjs"
        script.write_text(NODE_TRUTH.format(truth=case.truth, mark=MARK), encoding="utf-8")
        arguments = ["node", str(script)]
    else:
        arguments = [
            sys.executable,
            "-I",
            "-X",
            f"pycache_prefix={repository.parent / 'cache'}",
            "-c",
            PYTHON_TRUTH.format(mark=MARK),
            case.truth,
        ]
    result = subprocess.run(
        arguments, cwd=repository, env=environment, capture_output=True, text=True, timeout=TRUTH_SECONDS
    )
    last = (result.stdout.splitlines() or [""])[-1]
    if last.startswith(f"{MARK} bug"):
        return "bug"
    return "fixed" if last == f"{MARK} fixed" else "unknown"


def summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield one line a class: cases, PROVEN, FIXED, PASSING, any other verdict, invalid ones."""
    yield f"{'class':10} {'cases':>6} {'PROVEN':>7} {'FIXED':>6} {'PASSING':>8} {'other':>6} {'invalid':>8}"
    for kind in CLASSES:
        of_kind = [outcome for outcome in outcomes if outcome.kind == kind]
        if of_kind:
            verdicts = Counter(outcome.verdict for outcome in of_kind if outcome.is_valid)
            invalid = sum(not outcome.is_valid for outcome in of_kind)
            shown = [verdicts[word] for word in ("PROVEN", "FIXED", "PASSING")]
            yield (
                f"{kind:10} {len(of_kind):6} {shown[0]:7} {shown[1]:6} {shown[2]:8} "
                f"{verdicts.total() - sum(shown):6} {invalid:8}"
            )
    for expected in dict.fromkeys(CLASSES.values()):
        of_kind = [outcome for outcome in outcomes if outcome.expected == expected and outcome.is_valid]
        proven = sum(outcome.verdict == "PROVEN" for outcome in of_kind)
        accepted = sum(outcome.exit == 0 for outcome in of_kind)
        yield f"{expected}: {proven} of {len(of_kind)} PROVEN, {accepted} with exit code 0"


def main() -> int:
    """Judge the chosen cases; exit code 1 where a verdict is not the one that its case asks for."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.forgery", description=(__doc__ or "").partition("\n")[0]
    )
    options.add_argument("--only", default="", help="a class, or a part of the names of the cases to judge")
    options.add_argument("--set", default="", choices=("fit", "report"), help="judge the cases of a set only")
    options.add_argument("--jobs", type=int, default=1, help="cases judged at once")
    options.add_argument("--json", type=Path, help="write there what became of each case")
    options.add_argument(
        "--python",
        default=sys.executable,
        help="an interpreter that has the coder to be asked, such as an older one",
    )
    options.add_argument("--show", action="store_true", help="print the notes of each verdict as well")
    chosen = options.parse_args()
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for outcome in pool.map(lambda case: judge(case, chosen.python), load_cases(chosen.only, chosen.set)):
            outcomes.append(outcome)
            mark = "ok " if outcome.is_good else "BAD" if outcome.is_valid else "???"
            print(
                (
                    f"{mark} {outcome.name} [{outcome.kind}, {outcome.seconds:g} s] {outcome.verdict}: "
                    f"{outcome.reason}"
                ),
                flush=True,
            )
            for note in outcome.notes if chosen.show else ():
                print(f"      note: {note}", flush=True)
    print("\n".join(summary(outcomes)))
    if chosen.json:
        chosen.json.write_text(
            json.dumps([asdict(outcome) for outcome in outcomes], indent=2), encoding="utf-8"
        )
    return 0 if all(outcome.is_good for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
