"""Edits that amount to deletions of functionality.

Z. Qi et al. found most wrong patches of search-based repair to be equivalent to deletion of functionality
("An Analysis of Patch Plausibility and Correctness for Generate-and-Validate Patch Generation Systems", ISSTA
2015).
"""

from collections.abc import Mapping, Sequence

from coder.core.ports import CallComparison
from coder.python.source import PythonSource
from coder.repair.candidates import RepairCandidate
from coder.repair.ranking.behavioral_clusters import is_uninformative_answer
from coder.repair.ranking.code_smells import has_constant_condition, line_after_edit

DELETION_FACTORS = {"deletion": 0.4, "dropped_guard": 0.6}
"""Deleting families, with the factor of an edit equivalent to one: dropping a guard may be harmless."""
CONSTANT_CONDITION_FACTOR = 0.2
"""Factor of a condition that was never, or always, met in all calls: any such condition would do."""


def find_equivalent_deletions(
    survivors: Sequence[RepairCandidate],
    tried: Sequence[RepairCandidate],
    sources: Mapping[str, PythonSource],
) -> dict[RepairCandidate, RepairCandidate]:
    """Map survivors to the candidate that deletes the statement, or the condition, that the survivor changes.

    Return statements are excluded: if the code after one gives the same answer, two ways of computing it
    agree.
    """
    deletions: dict[tuple[str, int], RepairCandidate] = {}
    for candidate in tried:
        if candidate.edit.family in DELETION_FACTORS:
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


def _place(candidate: RepairCandidate) -> tuple[str, int]:
    return candidate.edit.path, candidate.edit.line


def _has_constant_condition(candidate: RepairCandidate, sources: Mapping[str, PythonSource]) -> bool:
    return has_constant_condition(line_after_edit(candidate, sources[candidate.edit.path]))


def _is_exempt(candidate: RepairCandidate, sources: Mapping[str, PythonSource]) -> bool:
    lines = sources[candidate.edit.path].text.split("\n")
    return (
        candidate.edit.family in DELETION_FACTORS
        or _has_constant_condition(candidate, sources)
        or lines[candidate.edit.line - 1].lstrip().startswith("return ")
    )


def penalize_disguised_deletions(
    worth: Mapping[RepairCandidate, float],
    deletions: Mapping[RepairCandidate, RepairCandidate],
    compared: Sequence[RepairCandidate],
    comparison: CallComparison,
) -> dict[RepairCandidate, float]:
    """Lower the worth of survivors that answer all calls as the deletion of their statement does.

    Unless the unchanged code answers the same: then the calls do not exercise the statement.
    """
    answers = dict(zip(compared, comparison.after, strict=False))
    return {
        survivor: score * DELETION_FACTORS.get(deletion.edit.family, CONSTANT_CONDITION_FACTOR)
        if (deletion := deletions.get(survivor))
        and not is_uninformative_answer(answers.get(survivor, ()), comparison)
        and answers[survivor] == answers.get(deletion)
        else score
        for survivor, score in worth.items()
    }
