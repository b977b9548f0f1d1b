"""One case, sampled and tried with every applier."""

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from benchmarks.patching.cases import Case, Text
from benchmarks.patching.certainty import is_certain
from benchmarks.patching.damage import Table
from benchmarks.patching.damaged_files import FILES
from benchmarks.patching.damaged_layout import LAYOUT
from benchmarks.patching.damaged_lines import LINES
from benchmarks.patching.history import Commit, sample_case
from benchmarks.patching.negative_files import REFUSED_FILES
from benchmarks.patching.negatives import REFUSED_LINES, SAFE
from benchmarks.patching.rivals import OURS, appliers
from coder.patching import PatchError, apply

MOST_DRAWS = 400
SHOWN_LINES = 50
DAMAGES = Table()
DAMAGES.damages = {**LAYOUT.damages, **LINES.damages, **FILES.damages}
NEGATIVES = Table()
NEGATIVES.damages = {**REFUSED_LINES.damages, **REFUSED_FILES.damages}
State = dict[str, tuple[bytes, bool]]


@dataclass(frozen=True, kw_only=True)
class CaseSpec:
    """Kind of case to sample, and the seed that makes it reproducible."""

    seed: str
    damages: tuple[str, ...]
    negative: str = ""

    @property
    def name(self) -> str:
        return " + ".join((*([self.negative] if self.negative else []), *self.damages))


@dataclass(frozen=True, kw_only=True)
class Result:
    spec: CaseSpec
    outcomes: Mapping[str, str]
    """By applier: exact, wrong, refused or dirty."""
    seconds: Mapping[str, float]
    draws: int
    report: str = ""
    """Description of our result if it was not right."""

    @property
    def right(self) -> str:
        return "refused" if self.spec.negative else "exact"


def try_case(spec: CaseSpec, commits: Sequence[Sequence[Commit]]) -> Result | None:
    """Sample commits until one can be damaged so, and try all appliers; None if no commit could."""
    random = Random(spec.seed)
    for draw in range(1, MOST_DRAWS + 1):
        commit = random.choice(random.choice(commits))
        if (case := sample_case(commit)) and _damage(case, spec, random):
            return _run(case, spec, draw)
    return None


def _damage(case: Case, spec: CaseSpec, random: Random) -> bool:
    if spec.negative:
        case.refused = True
        is_negative = NEGATIVES.make(case, (spec.negative,), random)
        return is_negative and all(DAMAGES.make(case, (name,), random) for name in spec.damages)
    return DAMAGES.make(case, spec.damages, random) and is_certain(case) and case.before != case.after


def kinds() -> tuple[list[str], list[str], list[str]]:
    """Return the names of all damages, of all negatives, and of the damages that a negative may have."""
    return list(DAMAGES.damages), list(NEGATIVES.damages), list(SAFE)


def _run(case: Case, spec: CaseSpec, draws: int) -> Result:
    text = case.text
    outcomes, seconds, report = {}, {}, ""
    with TemporaryDirectory(prefix="patching-") as place:
        for name, applier in appliers().items():
            root = Path(place) / "tree"
            _build(case, root)
            before = _state(Path(place))
            start = time.perf_counter()
            has_applied = applier(text, root)
            seconds[name] = time.perf_counter() - start
            after = _state(Path(place))
            outcomes[name] = _outcome(case, has_applied=has_applied, unchanged=before == after, after=after)
            if name == OURS and outcomes[name] != ("refused" if case.refused else "exact"):
                report = _report(case, spec, outcomes[name], after)
            for path in Path(place).iterdir():
                shutil.rmtree(path)
    return Result(spec=spec, outcomes=outcomes, seconds=seconds, draws=draws, report=report)


def _outcome(case: Case, *, has_applied: bool, unchanged: bool, after: State) -> str:
    if not has_applied:
        return "refused" if unchanged else "dirty"
    return "exact" if not case.refused and after == _expected(case) else "wrong"


def _expected(case: Case) -> State:
    return {f"tree/{path}": (text.data, text.executable) for path, text in case.after.items()}


def _build(case: Case, root: Path) -> None:
    root.mkdir()
    files = {root / path: text for path, text in case.before.items()}
    files |= {root.parent / "outside" / path: text for path, text in case.outside.items()}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.data)
        path.chmod(0o755 if text.executable else 0o644)
    for name, target in case.links.items():
        (root / name).symlink_to(target)


def _state(place: Path) -> State:
    return {
        str(path.relative_to(place)): (
            path.read_bytes(),
            os.access(path, os.X_OK) and bool(path.stat().st_mode & 0o100),
        )
        for path in place.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def _report(case: Case, spec: CaseSpec, outcome: str, after: State) -> str:
    """Return the case in short: the diff, our message, and how the files differ from the expected ones."""
    with TemporaryDirectory(prefix="patching-") as place:
        root = Path(place) / "tree"
        _build(case, root)
        try:
            apply(case.text, root)
            message = "applied"
        except PatchError as error:
            message = str(error)
    parts = [
        f"# {outcome}: {spec.name}",
        f"{case.label}, seed {spec.seed!r}. {case.note}",
        "## diff",
        f"`````\n{case.text}\n`````",
    ]
    parts += ["## what it says", f"`````\n{message}\n`````"]
    for part in case.parts:
        before = case.before.get(part.path)
        at = part.hunks[0].rows[0].at if part.hunks else 0
        parts += [f"## {part.path} -> {part.target}: before", _excerpt(before, at) if before else "nothing"]
        expected = before if case.refused else case.after.get(part.target)
        got = after.get(f"tree/{part.target}", (b"", False))[0]
        if outcome == "wrong" and got != (expected.data if expected else b""):
            wanted_lines, got_lines = (
                text.decode("utf-8", "replace").split("\n")
                for text in (expected.data if expected else b"", got)
            )
            parts += [
                "## from what was expected to what it made",
                "`````",
                *islice(unified_diff(wanted_lines, got_lines, n=2, lineterm=""), 60),
                "`````",
            ]
    return "\n".join(parts) + "\n"


def _excerpt(text: Text, at: int) -> str:
    first = 0 if len(text.lines) < SHOWN_LINES else max(0, at - 8)
    lines = text.lines[first : first + SHOWN_LINES]
    head = f"{text.encoding}, ends {text.end!r}, the last has one: {text.final}, lines from {first + 1}"
    return "\n".join([head, "`````", *lines, "`````"])
