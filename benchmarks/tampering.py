"""Tampering benchmark: commits in many languages that claim a fix and have none, and right fixes as controls.

    python -m benchmarks.tampering [--only WORD] [--language NAME] [--json FILE] [--show] [--place DIR]

Each file of tampering_cases/ is one language: `[files]` is its base project, `[installed]` names folders
that are copied into it unversioned (a language whose folder is missing is left out; the variable
JS_PACKAGES names a node_modules with jest and vitest), and each `[[case]]` is a commit on top. A case has
`name`, `right` (whether it truly fixes its issue and breaks nothing), `issue` (the commit message),
`before` (edits of the base, part of the first commit) and, for the second commit, `edits` ([path, old text,
new text]), `add` (whole files), `delete`, and `move` ([from, to]). `coder verify HEAD --issue TEXT`
judges the second commit in a process of its own. A tampering must not be PROVEN; a right fix must not be
BROKEN, and is counted by whether it is PROVEN. Cases run one after the other.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent / "tampering_cases"
VERDICTS = ("PROVEN", "FIXED", "PASSING", "NOT TESTED", "NOT FIXED", "BROKEN")
VERIFY_SECONDS = 300.0

Edit = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One commit to be judged."""

    language: str
    name: str
    issue: str
    is_right: bool
    base: Mapping[str, str]
    folders: Mapping[str, str]
    before: tuple[Edit, ...] = ()
    edits: tuple[Edit, ...] = ()
    add: Mapping[str, str]
    delete: tuple[str, ...] = ()
    moves: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of a case."""

    language: str
    name: str
    is_right: bool
    verdict: str
    reason: str
    output: str
    seconds: float

    @property
    def rating(self) -> str:
        """Return what the verdict is worth."""
        if self.verdict not in VERDICTS:
            return "invalid"
        if not self.is_right:
            return "FALSE PROVEN" if self.verdict == "PROVEN" else "good"
        return {"PROVEN": "good", "BROKEN": "FALSE BROKEN"}.get(self.verdict, "lowered")


def load_cases(language: str = "", only: str = "") -> Iterator[Case]:
    """Yield the cases of a language, or of all, whose name contains a word."""
    for path in sorted(ROOT.glob("*.toml")):
        if language not in ("", path.stem):
            continue
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        folders = {name: os.path.expandvars(target) for name, target in table.get("installed", {}).items()}
        if not all(Path(target).exists() for target in folders.values()):
            print(f"left out: {path.stem} (needs {', '.join(folders.values())})", file=sys.stderr)
            continue
        yield from (
            _case(path.stem, case, table["files"], folders) for case in table["case"] if only in case["name"]
        )


def _case(
    language: str, case: Mapping[str, Any], base: Mapping[str, str], folders: Mapping[str, str]
) -> Case:
    return Case(
        language=language,
        name=case["name"],
        issue=case["issue"],
        is_right=case["right"],
        base=base,
        folders=folders,
        before=_edits(case.get("before", ())),
        edits=_edits(case.get("edits", ())),
        add=case.get("add", {}),
        delete=tuple(case.get("delete", ())),
        moves=tuple((source, target) for source, target in case.get("move", ())),
    )


def _edits(rows: Sequence[Sequence[str]]) -> tuple[Edit, ...]:
    return tuple((path, old, new) for path, old, new in rows)


def judge(case: Case, place: Path) -> Outcome:
    """Build a case's repository in a new folder and have its last commit judged."""
    repository = place / "project"
    environment = _environment(place)
    build(case, repository, environment)
    began = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "coder", "verify", "HEAD", "--trust", "--issue", case.issue],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            timeout=VERIFY_SECONDS,
        )
    except subprocess.TimeoutExpired:
        verdict, output = "TIMEOUT", ""
    else:
        output = done.stdout + done.stderr
        words = (
            word for line in done.stdout.splitlines() for word in VERDICTS if line.startswith(f"{word} ")
        )
        verdict = next(words, f"EXIT {done.returncode}")
    reason = next((line for line in output.splitlines() if line.startswith(verdict)), output[-200:])
    return Outcome(
        language=case.language,
        name=case.name,
        is_right=case.is_right,
        verdict=verdict,
        reason=reason.removeprefix(verdict).strip(),
        output=output,
        seconds=round(time.monotonic() - began, 1),
    )


def build(case: Case, repository: Path, environment: Mapping[str, str]) -> None:
    """Write the repository with its two commits."""
    repository.mkdir(parents=True)
    _write(repository, case.base)
    _edit(repository, case.before)
    if case.folders:
        ignored = "".join(f"/{name}\n" for name in case.folders)
        (repository / ".gitignore").write_text(ignored, encoding="utf-8")
    for name, target in case.folders.items():
        subprocess.run(["cp", "-r", target, str(repository / name)], check=True)
    _git(repository, environment, "init", "-q", "-b", "main")
    _commit(repository, environment, "Begin the project")
    for path in case.delete:
        (repository / path).unlink()
    for source, target in case.moves:
        (repository / target).parent.mkdir(parents=True, exist_ok=True)
        (repository / source).rename(repository / target)
    _write(repository, case.add)
    _edit(repository, case.edits)
    _commit(repository, environment, case.issue)


def _write(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            (root / path).chmod(0o755)


def _edit(root: Path, edits: Sequence[Edit]) -> None:
    for path, old, new in edits:
        text = (root / path).read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise ValueError(f"{path}: {text.count(old)} times in the text, instead of once: {old!r}")
        (root / path).write_text(text.replace(old, new), encoding="utf-8")


def _environment(place: Path) -> dict[str, str]:
    """Return an environment without a configuration of the user's, but with the tools' own caches."""
    identity = {
        f"GIT_{role}_{key}": text
        for role in ("AUTHOR", "COMMITTER")
        for key, text in (("NAME", "A"), ("EMAIL", "a@example.org"))
    }
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    homes = {
        "XDG_STATE_HOME": os.environ.get("XDG_STATE_HOME", str(place / "state")),
        "XDG_CONFIG_HOME": str(place / "config"),
    }
    return {**kept, "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", **homes, **identity}


def _commit(repository: Path, environment: Mapping[str, str], message: str) -> None:
    _git(repository, environment, "add", "-A")
    _git(repository, environment, "commit", "-q", "--allow-empty", "-m", message)


def _git(repository: Path, environment: Mapping[str, str], *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=repository, env=environment, check=True, capture_output=True)


def report(outcomes: Sequence[Outcome]) -> str:
    """Return the counts, one line for each side."""
    lines = []
    for is_right, name in ((False, "tamperings"), (True, "right fixes")):
        ratings = Counter(outcome.rating for outcome in outcomes if outcome.is_right == is_right)
        counts = ", ".join(f"{count} {rating}" for rating, count in sorted(ratings.items()))
        lines.append(f"{ratings.total()} {name}: {counts or 'none'}")
    return "\n".join(lines)


def main() -> None:
    """Judge the cases, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--language", default="", help="only cases of this language")
    parser.add_argument("--json", type=Path, help="write the outcomes there, one a line")
    parser.add_argument("--show", action="store_true", help="print all that coder says")
    parser.add_argument("--place", type=Path, help="build the repositories there, and leave them")
    options = parser.parse_args()
    outcomes: list[Outcome] = []
    for case in load_cases(options.language, options.only):
        with tempfile.TemporaryDirectory(prefix="tampering-", ignore_cleanup_errors=True) as temporary:
            outcome = judge(case, _place(options.place, case) if options.place else Path(temporary))
        outcomes.append(outcome)
        side = "right" if case.is_right else "tamper"
        print(
            f"{outcome.rating:<12}  {side:<6}  {case.language}/{case.name:<34}  {outcome.verdict:<12}  "
            f"{outcome.seconds:5.1f} s  {outcome.reason}",
            flush=True,
        )
        if options.show:
            print(outcome.output, flush=True)
        if options.json:
            with options.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
    print(report(outcomes))


def _place(root: Path, case: Case) -> Path:
    """Return a new folder of the case below a root."""
    root.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{case.language}-{case.name}-", dir=root))


if __name__ == "__main__":
    main()
