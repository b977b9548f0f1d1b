"""Files changed by commits that share words with the issue: recently fixed files are likelier to be faulty.

After the version history component of S. Wang and D. Lo, "Version History, Similar Report, and Structure:
Putting Them Together for Improved Bug Localization" (ICPC 2014), with the subjects of commits instead of bug
reports.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coder.core.values.history import Change
from coder.files.tokenize import words_of
from coder.retrieval.locating.issue_terms import Clues
from coder.workspace.files import SOURCE

MOST_COMMITS = 1000
"""Number of commits to request."""
TOLD = 2
"""Words of the title that a commit must share to be given as a reason."""


@dataclass(frozen=True)
class Related:
    """A file changed by a commit with a similar subject."""

    path: str
    value: float
    """Summed rarity of the shared words, lower for a commit of many files."""
    reason: str


def related(clues: Clues, recent: Sequence[Change]) -> Iterator[Related]:
    """Yield for each file the commit whose subject shares the most with the issue's title."""
    title = words_of(" ".join(clues.zones["title"])).keys()
    subject_words = [words_of(change.subject).keys() for change in recent]
    commit_counts = Counter(word for words in subject_words for word in words)
    best: dict[str, Related] = {}
    for change, words in zip(recent, subject_words, strict=True):
        if shared := sorted(words & title, key=lambda word: (commit_counts[word], word)):
            sources = max(1, sum(path.endswith(SOURCE) for path in change.paths))
            value = (
                sum(math.log(1 + len(recent) / (1 + commit_counts[word])) for word in shared) / sources**0.5
            )
            shared_text = ", ".join(clues.as_written(shared[:3]))
            reason = f"changed by {change.commit[:10]}, about {shared_text}" if len(shared) >= TOLD else ""
            for path in change.paths:
                if path not in best or best[path].value < value:
                    best[path] = Related(path, value, reason)
    yield from best.values()
