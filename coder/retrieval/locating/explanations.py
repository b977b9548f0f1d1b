"""Short reasons for suspecting a file or a definition."""

from collections.abc import Iterator, Mapping

from coder.core.values.paths import is_test_path
from coder.files.tokenize import count_terms, identifier_terms
from coder.retrieval.locating.features import DefinitionCandidate, FeatureValues, IssueMatch
from coder.workspace.files import read_text_or_empty

MOST_REASONS = 3
MOST_WORDS = 3
MOST_USED = 2
MIN_CALLEE_EVIDENCE = 0.5
"""Least value at which a call from a likely definition is given as a reason."""
ZONE_LABELS = {
    "title": "the title",
    "inline": "code",
    "block": "its example",
    "name": "the text",
    "prose": "the text",
}


def explain_definition(case: IssueMatch, candidate: DefinitionCandidate) -> tuple[str, ...]:
    """Return the strongest few reasons."""
    return tuple(dict.fromkeys(_definition_reasons(case, candidate)))[:MOST_REASONS]


def _definition_reasons(case: IssueMatch, candidate: DefinitionCandidate) -> Iterator[str]:
    yield from case.pointed.reasons.get(candidate.key, ())
    zones = [zone for zone in ZONE_LABELS if f"named in {zone}" in candidate.evidence]
    if zones:
        yield f"defines {candidate.item.bare_name}, named in {ZONE_LABELS[zones[0]]}"
    owner = candidate.item.name.rpartition(".")[0].rpartition(".")[2]
    if any(f"owner in {zone}" in candidate.evidence for zone in ZONE_LABELS):
        yield f"of {owner}, which is named"
    if candidate.evidence.get("callee", 0.0) >= MIN_CALLEE_EVIDENCE:
        yield "called by a likely place"
    if used_names := case.uses.uses_in(candidate.path, candidate.item)[:MOST_USED]:
        yield f"uses {', '.join(used_names)}"
    name_words = [word for word in identifier_terms(candidate.item.bare_name) if word in case.matches.weights]
    if name_words and not zones:
        yield f"its name says {', '.join(case.clues.original_words(name_words[:MOST_WORDS]))}"
    if words := _distinctive_words(case, candidate):
        yield f"says {', '.join(words)}"


def _distinctive_words(case: IssueMatch, candidate: DefinitionCandidate) -> list[str]:
    """Return the candidate's most distinctive words of the issue."""
    lines = read_text_or_empty(case.terrain.snapshot.root, candidate.path).split("\n")[
        candidate.item.start - 1 : candidate.item.end
    ]
    weights = case.matches.weights
    shared_words = count_terms("\n".join(lines)).keys() & weights.keys()
    return case.clues.original_words(
        sorted(shared_words, key=lambda word: (-weights[word], word))[:MOST_WORDS]
    )


def explain_file(
    case: IssueMatch, path: str, evidence: FeatureValues, by_file: Mapping[str, list[DefinitionCandidate]]
) -> tuple[str, ...]:
    """Return the strongest few reasons, those of its likeliest definition after its own."""
    return tuple(dict.fromkeys(_file_reasons(case, path, evidence, by_file)))[:MOST_REASONS]


def _file_reasons(
    case: IssueMatch, path: str, evidence: FeatureValues, by_file: Mapping[str, list[DefinitionCandidate]]
) -> Iterator[str]:
    yield from filter(None, case.pointed.reasons.get((path, ""), ()))
    if evidence.keys() & {"stem in title", "stem said"}:
        yield "its name is in the issue"
    definition_reasons = [
        (candidate.item.bare_name, reason)
        for candidate in by_file.get(path, [])[:1]
        for reason in explain_definition(case, candidate)[:2]
    ]
    for bare, reason in definition_reasons:
        yield reason if bare in reason else f"{bare}: {reason}"
    if not any(reason.startswith("says ") for _, reason in definition_reasons) and (
        distinctive := case.distinctive_words(path)[:MOST_WORDS]
    ):
        yield f"says {', '.join(distinctive)}"
    if is_test_path(path):
        yield "a test"
