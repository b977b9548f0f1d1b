"""Short reasons for suspecting a file or a definition."""

from collections.abc import Iterator, Mapping

from coder.core.values.paths import is_test_path
from coder.files.tokenize import parts, words_of
from coder.retrieval.locating.features import Candidate, Case, Evidence
from coder.workspace.files import text_of

MOST_REASONS = 3
MOST_WORDS = 3
MOST_USED = 2
CALLED = 0.5
"""Least value at which a call from a likely definition is given as a reason."""
WHERE = {
    "title": "the title",
    "inline": "code",
    "block": "its example",
    "name": "the text",
    "prose": "the text",
}


def of_definition(case: Case, candidate: Candidate) -> tuple[str, ...]:
    """Return the strongest few reasons."""
    return tuple(dict.fromkeys(_definition_reasons(case, candidate)))[:MOST_REASONS]


def _definition_reasons(case: Case, candidate: Candidate) -> Iterator[str]:
    yield from case.pointed.reasons.get(candidate.key, ())
    zones = [zone for zone in WHERE if f"named in {zone}" in candidate.evidence]
    if zones:
        yield f"defines {candidate.item.bare}, named in {WHERE[zones[0]]}"
    owner = candidate.item.name.rpartition(".")[0].rpartition(".")[2]
    if any(f"owner in {zone}" in candidate.evidence for zone in WHERE):
        yield f"of {owner}, which is named"
    if candidate.evidence.get("callee", 0.0) >= CALLED:
        yield "called by a likely place"
    if used_names := case.uses.of(candidate.path, candidate.item)[:MOST_USED]:
        yield f"uses {', '.join(used_names)}"
    name_words = [word for word in parts(candidate.item.bare) if word in case.matches.weights]
    if name_words and not zones:
        yield f"its name says {', '.join(case.clues.as_written(name_words[:MOST_WORDS]))}"
    if words := _distinctive_words(case, candidate):
        yield f"says {', '.join(words)}"


def _distinctive_words(case: Case, candidate: Candidate) -> list[str]:
    """Return the candidate's most distinctive words of the issue."""
    lines = text_of(case.terrain.snapshot.root, candidate.path).split("\n")[
        candidate.item.start - 1 : candidate.item.end
    ]
    weights = case.matches.weights
    shared_words = words_of("\n".join(lines)).keys() & weights.keys()
    return case.clues.as_written(sorted(shared_words, key=lambda word: (-weights[word], word))[:MOST_WORDS])


def of_file(
    case: Case, path: str, evidence: Evidence, by_file: Mapping[str, list[Candidate]]
) -> tuple[str, ...]:
    """Return the strongest few reasons, those of its likeliest definition after its own."""
    return tuple(dict.fromkeys(_file_reasons(case, path, evidence, by_file)))[:MOST_REASONS]


def _file_reasons(
    case: Case, path: str, evidence: Evidence, by_file: Mapping[str, list[Candidate]]
) -> Iterator[str]:
    yield from filter(None, case.pointed.reasons.get((path, ""), ()))
    if evidence.keys() & {"stem in title", "stem said"}:
        yield "its name is in the issue"
    definition_reasons = [
        (candidate.item.bare, reason)
        for candidate in by_file.get(path, [])[:1]
        for reason in of_definition(case, candidate)[:2]
    ]
    for bare, reason in definition_reasons:
        yield reason if bare in reason else f"{bare}: {reason}"
    if not any(reason.startswith("says ") for _, reason in definition_reasons) and (
        distinctive := case.telling(path)[:MOST_WORDS]
    ):
        yield f"says {', '.join(distinctive)}"
    if is_test_path(path):
        yield "a test"
