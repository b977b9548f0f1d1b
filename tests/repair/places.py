"""Helpers that build small sources and apply templates to them."""

import ast
import re
from functools import cache

from coder.core.ports import Edit
from coder.core.verdict import Failure
from coder.python.source import PythonSource
from coder.repair.candidates import RepairCandidate
from coder.repair.credibility import CredibilityEvidence, rate_credibility
from coder.repair.generators import TEMPLATES
from coder.repair.generators.site import RewriteSite


def split_edits(text: str) -> tuple[str, str]:
    """Return a source before and after its edits, each written as «old→new»."""
    return re.sub("«(.*?)→.*?»", r"\1", text, flags=re.S), re.sub("«.*?→(.*?)»", r"\1", text, flags=re.S)


def failure_of(exception: str) -> Failure:
    """Return a failure for `Type: message`."""
    type_, _, message = exception.partition(": ")
    return Failure(type=type_, message=message)


@cache
def source_of(text: str) -> PythonSource:
    """Return a parsed source, for all templates that are tried on it."""
    return PythonSource("a.py", text)


def rewritten(family: str, text: str, *failures: Failure) -> set[str]:
    """Return every text that a template makes of a file, at any node."""
    source = source_of(text)
    texts = set()
    for node in ast.walk(source.tree):
        for rewrite in TEMPLATES[family](RewriteSite(source, node, failures)):
            texts.add(
                Edit(path="a.py", changes=rewrite.changes, line=1, family=family, summary="").apply(text)
            )
    return texts


def candidate(
    text: str, old: str, new: str, *, family: str = "comparison", score: float = 0.5, place: str = "a.py::f"
) -> RepairCandidate:
    """Return an edit of a.py that replaces the first `old` with `new`."""
    start = text.index(old)
    edit = Edit.model_validate(
        {
            "path": "a.py",
            "changes": [{"start": start, "end": start + len(old), "text": new}],
            "line": text[:start].count("\n") + 1,
            "family": family,
            "summary": f"f: {new} for {old}",
        }
    )
    return RepairCandidate(edit=edit, score=score, place=place)


def marked_candidate(edits: str, *, family: str = "comparison", place: str = "a.py::f") -> RepairCandidate:
    """Return the edit of a.py that is marked in its text as `split_edits` explains."""
    start, (before, _) = edits.index("«"), split_edits(edits)
    old, new = edits[start + 1 : edits.index("»")].split("→")
    edit = Edit.model_validate(
        {
            "path": "a.py",
            "changes": [{"start": start, "end": start + len(old), "text": new}],
            "line": before[:start].count("\n") + 1,
            "family": family,
            "summary": "",
        }
    )
    return RepairCandidate(edit=edit, score=0.5, place=place)


def rate(
    edits: str,
    *,
    family: str = "comparison",
    place: str = "a.py::f",
    issue: str = "",
    tests: str = "",
    undefined: str = "",
) -> float:
    """Return the credibility of the edit that is marked in a text."""
    evidence = CredibilityEvidence(
        sources={"a.py": PythonSource("a.py", split_edits(edits)[0])},
        issue=issue,
        tests=tests,
        undefined=frozenset(undefined.split()),
    )
    return rate_credibility(marked_candidate(edits, family=family, place=place), evidence)
