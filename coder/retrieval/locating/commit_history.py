"""Which files were changed by commits that speak of what the issue speaks of: the place of the last fix is often that of the next.

After the version history component of S. Wang and D. Lo, "Version History, Similar Report, and Structure: Putting Them Together for
Improved Bug Localization" (ICPC 2014), with the subjects of commits for reports.
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
"""To be asked for."""
TOLD = 2
"""Words of the title that a commit must share to be told as a reason."""


@dataclass(frozen=True)
class Related:
    """A file that a commit about the like changed."""

    path: str
    value: float
    """By the rarity of the words that they share, less for a commit of many files."""
    reason: str


def related(clues: Clues, recent: Sequence[Change]) -> Iterator[Related]:
    """For each file the commit whose subject shares the most with the issue's title."""
    title = words_of(" ".join(clues.zones["title"])).keys()
    said = [words_of(change.subject).keys() for change in recent]
    holding = Counter(word for words in said for word in words)
    best: dict[str, Related] = {}
    for change, words in zip(recent, said, strict=True):
        if shared := sorted(words & title, key=lambda word: (holding[word], word)):
            sources = max(1, sum(path.endswith(SOURCE) for path in change.paths))
            value = sum(math.log(1 + len(recent) / (1 + holding[word])) for word in shared) / sources**0.5
            about = ", ".join(clues.as_written(shared[:3]))
            reason = f"changed by {change.commit[:10]}, about {about}" if len(shared) >= TOLD else ""
            for path in change.paths:
                if path not in best or best[path].value < value:
                    best[path] = Related(path, value, reason)
    yield from best.values()
