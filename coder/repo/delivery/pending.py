"""A delivery written down before it happens, so that whoever finds it half done can complete it or take it back."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from coder.core.values.candidate import Delivery
from coder.repo.delivery.commits import add_note, base_of, branch_names, git_text, make_branch, remove_notes
from coder.repo.git import Git
from coder.repo.worktrees import trees

INTENT = "delivery.json"
"""Next to the session's log, until that says how the delivery ended."""


@dataclass(frozen=True, kw_only=True)
class PendingDelivery:
    """All that is needed to deliver a commit that exists already; every step may be taken again."""

    common: Path
    """The git directory of the repository."""
    session: str
    commit: str
    slug: str
    evidence: str

    @property
    def git(self) -> Git:
        return Git(directory=self.common, git_dir=self.common)

    def record(self, state: Path) -> None:
        """Write it into the session's own directory, whole or not at all."""
        fields = asdict(self) | {
            "common": str(self.common),
            "evidence": git_text(self.evidence).decode() if self.evidence else "",
        }
        draft = state / f"{INTENT}.new"
        draft.write_text(json.dumps(fields), encoding="utf-8")
        draft.replace(state / INTENT)

    def complete(self) -> Delivery:
        """Add the note and make the branch, as far as they are not there."""
        if self.evidence:
            add_note(self.git, self.commit, self.evidence)
        branch = make_branch(self.git, slug=self.slug, session=self.session, commit=self.commit)
        return Delivery(
            diff=trees.diff(self.git, old=base_of(self.git, self.commit), new=self.commit),
            branch=branch,
            commit=self.commit,
        )

    def take_back(self) -> None:
        """Remove the branch and the note, as far as they are there and nobody has worked on."""
        for branch in branch_names(slug=self.slug, session=self.session, commit=self.commit):
            self.git.call("update-ref", "-d", f"refs/heads/{branch}", self.commit, accept=None)
        remove_notes(self.git, self.commit)


def read_pending(state: Path) -> PendingDelivery | None:
    """Return what a session wrote down; None where it delivered nothing, or its delivery is settled.

    Raises:
        ValueError: the record is none of ours.
    """
    try:
        fields = json.loads((state / INTENT).read_text(encoding="utf-8"))
        return PendingDelivery(**fields | {"common": Path(fields["common"])})
    except FileNotFoundError:
        return None
    except (KeyError, TypeError) as error:
        raise ValueError(f"{state / INTENT} does not record a delivery") from error
