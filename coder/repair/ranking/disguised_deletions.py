"""Edits that amount to deletions of functionality.

Z. Qi et al. found most wrong patches of search-based repair to be equivalent to deletion of functionality
("An Analysis of Patch Plausibility and Correctness for Generate-and-Validate Patch Generation Systems", ISSTA
2015).
"""

from collections.abc import Mapping, Sequence

from coder.core.ports.repair import Compared
from coder.python.source import Source
from coder.repair.candidates import Candidate
from coder.repair.ranking.behavioral_clusters import is_blind
from coder.repair.ranking.code_smells import line_after, settles

REMOVING = {"deletion": 0.4, "dropped_guard": 0.6}
"""Deleting families, with the factor of an edit equivalent to one: dropping a guard may be harmless."""
SETTLED = 0.2
"""Factor of a condition that was never, or always, met in all calls: any such condition would do."""


def removals(
    survivors: Sequence[Candidate], tried: Sequence[Candidate], sources: Mapping[str, Source]
) -> dict[Candidate, Candidate]:
    """Map survivors to the candidate that deletes the statement, or the condition, that the survivor changes.

    Return statements are excluded: if the code after one gives the same answer, two ways of computing it
    agree.
    """
    deletions: dict[tuple[str, int], Candidate] = {}
    for candidate in tried:
        if candidate.edit.family in REMOVING:
            deletions.setdefault(_place(candidate), candidate)
    constant_conditions = {
        _place(survivor): survivor
        for survivor in reversed(survivors)
        if _has_constant_condition(survivor, sources)
    }
    pairs = (
        (survivor, deletions.get(_place(survivor), constant_conditions.get(_place(survivor))))
        for survivor in survivors
        if not _is_exempt(survivor, sources)
    )
    return {edited: deletion for edited, deletion in pairs if deletion is not None}


def _place(candidate: Candidate) -> tuple[str, int]:
    return candidate.edit.path, candidate.edit.line


def _has_constant_condition(candidate: Candidate, sources: Mapping[str, Source]) -> bool:
    return settles(line_after(candidate, sources[candidate.edit.path]))


def _is_exempt(candidate: Candidate, sources: Mapping[str, Source]) -> bool:
    lines = sources[candidate.edit.path].text.split("\n")
    return (
        candidate.edit.family in REMOVING
        or _has_constant_condition(candidate, sources)
        or lines[candidate.edit.line - 1].lstrip().startswith("return ")
    )


def unmasked(
    worth: Mapping[Candidate, float],
    deletions: Mapping[Candidate, Candidate],
    compared: Sequence[Candidate],
    comparison: Compared,
) -> dict[Candidate, float]:
    """Lower the worth of survivors that answer all calls as the deletion of their statement does.

    Unless the unchanged code answers the same: then the calls do not exercise the statement.
    """
    answers = dict(zip(compared, comparison.after, strict=False))
    return {
        survivor: score * REMOVING.get(deletion.edit.family, SETTLED)
        if (deletion := deletions.get(survivor))
        and not is_blind(answers.get(survivor, ()), comparison)
        and answers[survivor] == answers.get(deletion)
        else score
        for survivor, score in worth.items()
    }
