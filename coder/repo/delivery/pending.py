"""Write-ahead record of a delivery, from which a later session can complete or undo it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from coder.core.values.candidate import Delivery
from coder.files.replacing import replace_text
from coder.repo.delivery.commits import (
    add_note,
    branch_names,
    delivery_base,
    encode_git_text,
    make_branch,
    remove_notes,
)
from coder.repo.git import Git
from coder.repo.worktrees import trees

INTENT_FILE = "delivery.json"
"""File beside the session's log; removed once the log says how the delivery ended."""


@dataclass(frozen=True, kw_only=True)
class PendingDelivery:
    """All data needed to deliver an existing commit; every step is idempotent."""

    common: Path
    """The git directory of the repository."""
    session: str
    commit: str
    slug: str
    evidence: str
    branch: str = ""
    """An earlier delivery's branch that this one extends, if it still points to the parent."""

    @property
    def git(self) -> Git:
        """Git on the repository, without a work tree."""
        return Git(directory=self.common, git_dir=self.common)

    def record(self, state: Path) -> None:
        """Write the record into the session's own directory atomically."""
        fields = asdict(self) | {
            "common": str(self.common),
            "evidence": encode_git_text(self.evidence).decode() if self.evidence else "",
        }
        replace_text(state / INTENT_FILE, json.dumps(fields))

    def complete(self) -> Delivery:
        """Add the note and create the branch, as far as they are missing."""
        if self.evidence:
            add_note(self.git, self.commit, self.evidence)
        branch = self._extend_branch() or make_branch(
            self.git, slug=self.slug, session=self.session, commit=self.commit
        )
        return Delivery(
            diff=trees.diff_trees(self.git, old=delivery_base(self.git, self.commit), new=self.commit),
            branch=branch,
            commit=self.commit,
        )

    def _extend_branch(self) -> str:
        """Move the earlier delivery's branch on to the commit, and return it; empty if that is impossible."""
        if not self.branch:
            return ""
        ref, parent = f"refs/heads/{self.branch}", delivery_base(self.git, self.commit)
        self.git.call("update-ref", "-m", "coder: delivered", ref, self.commit, parent, accept=None)
        return self.branch if self.git.resolve_commit(ref) == self.commit else ""

    def roll_back(self) -> None:
        """Remove the branch and the note, unless the branch has moved on; an extended one is set back."""
        if self.branch:
            parent = delivery_base(self.git, self.commit)
            self.git.call("update-ref", f"refs/heads/{self.branch}", parent, self.commit, accept=None)
        for branch in branch_names(slug=self.slug, session=self.session, commit=self.commit):
            self.git.call("update-ref", "-d", f"refs/heads/{branch}", self.commit, accept=None)
        remove_notes(self.git, self.commit)


def read_pending(state: Path) -> PendingDelivery | None:
    """Return the recorded delivery of a session; None where there is none or it is settled.

    Raises:
        ValueError: the file is not a record of a delivery.
    """
    try:
        fields = json.loads((state / INTENT_FILE).read_text(encoding="utf-8"))
        return PendingDelivery(**fields | {"common": Path(fields["common"])})
    except FileNotFoundError:
        return None
    except (KeyError, TypeError) as error:
        raise ValueError(f"{state / INTENT_FILE} does not record a delivery") from error
