"""Descriptions of a verdict's proof: which kinds of tests it rests on, and which names nobody asked for."""

from collections import Counter

from coder.core.values.verdict import TargetKind, Verdict

_KINDS: dict[TargetKind, tuple[str, str]] = {
    "named": ("named test", "named tests"),
    "existing": ("existing test", "existing tests"),
    "edited": ("existing test edited by the change", "existing tests edited by the change"),
    "new": ("new test written with the change", "new tests written with the change"),
}


def describe_proof(verdict: Verdict, *, by: str) -> str:
    """Return which kinds of tests went from red to green; empty if none did, or if that is unknown.

    `by` is who made the change, for names that neither the issue nor the project contains.
    """
    counts = Counter(verdict.target_kinds.values())
    kinds = [f"{counts[kind]} {words[counts[kind] > 1]}" for kind, words in _KINDS.items() if counts[kind]]
    names = ", ".join(f"`{name}`" for name in verdict.chosen_names)
    it = "it" if len(verdict.chosen_names) == 1 else "them"
    chosen = [f"names chosen by {by}: {names}; check {it}"] if names else []
    return "; ".join([", ".join(kinds), *chosen]) if kinds else ""
