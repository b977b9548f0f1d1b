"""Files changed by commits that share words with the issue: recently fixed files are likelier to be faulty.

After the version history component of S. Wang and D. Lo, "Version History, Similar Report, and Structure:
Putting Them Together for Improved Bug Localization" (ICPC 2014), with the subjects of commits instead of bug
reports.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coder.core.values.history import CommitInfo
from coder.core.values.paths import SOURCE_SUFFIXES
from coder.files.tokenize import count_terms
from coder.retrieval.locating.issue_terms import IssueTerms

MOST_COMMITS = 1000
"""Number of commits to request."""
MIN_WORDS_FOR_REASON = 2
"""Words of the title that a commit must share to be given as a reason."""


@dataclass(frozen=True)
class RelatedFile:
    """A file changed by a commit with a similar subject."""

    path: str
    value: float
    """Summed rarity of the shared words, lower for a commit of many files."""
    reason: str


def find_related_files(clues: IssueTerms, recent: Sequence[CommitInfo]) -> Iterator[RelatedFile]:
    """Yield for each file the commit whose subject shares the most with the issue's title."""
    title = count_terms(" ".join(clues.zones["title"])).keys()
    subject_words = [count_terms(change.subject).keys() for change in recent]
    commit_counts = Counter(word for words in subject_words for word in words)
    best: dict[str, RelatedFile] = {}
    for change, words in zip(recent, subject_words, strict=True):
        if shared := sorted(words & title, key=lambda word: (commit_counts[word], word)):
            sources = max(1, sum(path.endswith(SOURCE_SUFFIXES) for path in change.paths))
            value = (
                sum(math.log(1 + len(recent) / (1 + commit_counts[word])) for word in shared) / sources**0.5
            )
            shared_text = ", ".join(clues.original_words(shared[:3]))
            reason = (
                f"changed by {change.commit[:10]}, about {shared_text}"
                if len(shared) >= MIN_WORDS_FOR_REASON
                else ""
            )
            for path in change.paths:
                if path not in best or best[path].value < value:
                    best[path] = RelatedFile(path, value, reason)
    yield from best.values()
