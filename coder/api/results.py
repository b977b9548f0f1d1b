"""Results of the public library."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import WithJsonSchema

from coder.core.attestation import Attestation
from coder.core.values import Value
from coder.core.verdict import Verdict, VerdictKind


class Result(Value):
    """The outcome of `fix` or `verify`."""

    session: str
    """Id of the session, as `coder log show` takes it."""
    label: str
    """PROVEN, FIXED, PASSING, NOT FIXED, BROKEN, NOT TESTED, GAVE UP or LIMIT; `stopped` if it was
    interrupted."""
    exit_code: int
    """Exit code that the command line ends with."""
    summary: str
    """One sentence that explains the outcome."""
    report: str
    """The evidence for a verdict; without one, what was tried and is suspected. Markdown."""
    verdict: Verdict | None = None
    """None if nothing was judged."""
    evidence: Attestation | None = None
    """The verdict with everything needed to check it again; None if nothing was judged."""
    diff: str = ""
    """The delivered fix, or the change that was judged."""
    branch: str = ""
    """Branch of a delivered fix; empty if nothing was written to the repository."""
    commit: str = ""
    """Commit of a delivered fix."""
    model: str = ""
    """The model that worked; `no model` is the built-in engine, or no change was to be made."""

    @property
    def is_proven(self) -> bool:
        """True if the verdict is PROVEN: FIXED, examined to the end, with nothing left to look at."""
        return self.verdict is not None and self.verdict.kind is VerdictKind.PROVEN


class Location(Value):
    """A file, or a definition in it, that an issue may be about."""

    path: str
    """Relative to the tree."""
    name: str = ""
    """Qualified name of the definition, such as `Box.size`; empty for a file."""
    line: int = 0
    """Line of the definition, from 1; 0 for a file."""
    reasons: tuple[str, ...] = ()
    """Only for the likeliest few."""


class Locations(Value):
    """Places that an issue may be about, likeliest first."""

    files: tuple[Location, ...] = ()
    definitions: tuple[Location, ...] = ()


class ChangedFile(Value):
    """A file that a diff changes."""

    path: str
    """Relative to the root; the new name of a renamed file."""
    kind: Literal["changed", "new", "deleted", "renamed"]
    renamed_from: str = ""
    added: int = 0
    """Number of added lines."""
    removed: int = 0
    """Number of removed lines."""


class AppliedDiff(Value):
    """The changes that a diff makes to files."""

    root: Annotated[Path, WithJsonSchema({"type": "string"})]  # clients warn of pydantic's format `path`
    """Directory that the paths are relative to."""
    files: tuple[ChangedFile, ...]
    done: tuple[str, ...] = ()
    """`path: hunk N` for each hunk that its file had already."""
    syntax_errors: tuple[str, ...] = ()
    """`path:line: message` for each Python file that no longer parses."""
