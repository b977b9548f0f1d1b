"""Which edits are removals in disguise: they change how something is done, and it is as if it were not done at all.

Z. Qi et al. saw most wrong patches of search-based repair to be equal to the deletion of functionality ("An Analysis of Patch Plausibility
and Correctness for Generate-and-Validate Patch Generation Systems", ISSTA 2015).
"""

from collections.abc import Mapping, Sequence

from coder.core.ports.repair import Compared
from coder.python.source import Source
from coder.repair.candidates import Candidate
from coder.repair.ranking.behavioral_clusters import is_blind
from coder.repair.ranking.code_smells import line_after, settles

REMOVING = {"deletion": 0.4, "dropped_guard": 0.6}
"""Families, with what an edit that amounts to one is worth of what it would be otherwise: what a guard keeps away may do no harm."""
SETTLED = 0.2
"""What a condition is worth that is never met, or always, in all that was asked: any other that is not, or is, would do."""


def removals(
    survivors: Sequence[Candidate], tried: Sequence[Candidate], sources: Mapping[str, Source]
) -> dict[Candidate, Candidate]:
    """The candidate that does away with the statement a survivor changes, or with the question that it asks, where there is one.

    Not of a `return`: where what comes after it gives the same answer, two ways of finding it agree.
    """
    removing: dict[tuple[str, int], Candidate] = {}
    for item in tried:
        if item.edit.family in REMOVING:
            removing.setdefault(_place(item), item)
    settling = {_place(survivor): survivor for survivor in reversed(survivors) if _settled(survivor, sources)}
    pairs = (
        (survivor, removing.get(_place(survivor), settling.get(_place(survivor))))
        for survivor in survivors
        if not _spared(survivor, sources)
    )
    return {one: other for one, other in pairs if other is not None}


def _place(one: Candidate) -> tuple[str, int]:
    return one.edit.path, one.edit.line


def _settled(one: Candidate, sources: Mapping[str, Source]) -> bool:
    return settles(line_after(one, sources[one.edit.path]))


def _spared(one: Candidate, sources: Mapping[str, Source]) -> bool:
    lines = sources[one.edit.path].text.split("\n")
    return (
        one.edit.family in REMOVING
        or _settled(one, sources)
        or lines[one.edit.line - 1].lstrip().startswith("return ")
    )


def unmasked(
    worth: Mapping[Candidate, float],
    removed: Mapping[Candidate, Candidate],
    asked: Sequence[Candidate],
    found: Compared,
) -> dict[Candidate, float]:
    """What survivors are worth once it is seen which of them answer all calls as the removal of their statement does.

    Where the code before answers the same, what was asked does not see what the statement does.
    """
    answers = dict(zip(asked, found.after, strict=False))
    return {
        one: value * REMOVING.get(other.edit.family, SETTLED)
        if (other := removed.get(one))
        and not is_blind(answers.get(one, ()), found)
        and answers[one] == answers.get(other)
        else value
        for one, value in worth.items()
    }
