"""Say why a file or a definition is suspected, in a few words each."""

from collections.abc import Iterator, Mapping

from coder.core.values.paths import is_test_path
from coder.files.tokenize import parts, words_of
from coder.retrieval.locating.features import Candidate, Case, Evidence
from coder.workspace.files import text_of

MOST_REASONS = 3
MOST_WORDS = 3
MOST_USED = 2
CALLED = 0.5
"""From here on it is worth telling that a likely definition calls this one."""
WHERE = {
    "title": "the title",
    "inline": "code",
    "block": "its example",
    "name": "the text",
    "prose": "the text",
}


def of_definition(case: Case, one: Candidate) -> tuple[str, ...]:
    """The strongest few."""
    return tuple(dict.fromkeys(_of_definition(case, one)))[:MOST_REASONS]


def _of_definition(case: Case, one: Candidate) -> Iterator[str]:
    yield from case.pointed.reasons.get(one.key, ())
    said = [zone for zone in WHERE if f"named in {zone}" in one.evidence]
    if said:
        yield f"defines {one.item.bare}, named in {WHERE[said[0]]}"
    owner = one.item.name.rpartition(".")[0].rpartition(".")[2]
    if any(f"owner in {zone}" in one.evidence for zone in WHERE):
        yield f"of {owner}, which is named"
    if one.evidence.get("callee", 0.0) >= CALLED:
        yield "called by a likely place"
    if used := case.uses.of(one.path, one.item)[:MOST_USED]:
        yield f"uses {', '.join(used)}"
    named = [word for word in parts(one.item.bare) if word in case.matches.weights]
    if named and not said:
        yield f"its name says {', '.join(case.clues.as_written(named[:MOST_WORDS]))}"
    if words := _telling(case, one):
        yield f"says {', '.join(words)}"


def _telling(case: Case, one: Candidate) -> list[str]:
    """The words of the issue in it that tell most."""
    lines = text_of(case.terrain.snapshot.root, one.path).split("\n")[one.item.start - 1 : one.item.end]
    weights = case.matches.weights
    said = words_of("\n".join(lines)).keys() & weights.keys()
    return case.clues.as_written(sorted(said, key=lambda word: (-weights[word], word))[:MOST_WORDS])


def of_file(
    case: Case, path: str, evidence: Evidence, inside: Mapping[str, list[Candidate]]
) -> tuple[str, ...]:
    """The strongest few, those of its likeliest definition after its own."""
    return tuple(dict.fromkeys(_of_file(case, path, evidence, inside)))[:MOST_REASONS]


def _of_file(
    case: Case, path: str, evidence: Evidence, inside: Mapping[str, list[Candidate]]
) -> Iterator[str]:
    yield from filter(None, case.pointed.reasons.get((path, ""), ()))
    if evidence.keys() & {"stem in title", "stem said"}:
        yield "its name is in the issue"
    likeliest = [
        (item.item.bare, reason)
        for item in inside.get(path, [])[:1]
        for reason in of_definition(case, item)[:2]
    ]
    for bare, reason in likeliest:
        yield reason if bare in reason else f"{bare}: {reason}"
    if not any(reason.startswith("says ") for _, reason in likeliest) and (
        telling := case.telling(path)[:MOST_WORDS]
    ):
        yield f"says {', '.join(telling)}"
    if is_test_path(path):
        yield "a test"
