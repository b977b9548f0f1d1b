"""Small sources, and what the templates make of them."""

import ast

from coder.core.ports.repair import Edit
from coder.core.values.verdict import Failure
from coder.python.source import Source
from coder.repair.candidates import Candidate
from coder.repair.context.site import Site
from coder.repair.generators import TEMPLATES


def rewritten(family: str, text: str, *failures: Failure) -> set[str]:
    """Every text that one template makes of a file, at whatever place."""
    source = Source("a.py", text)
    found = set()
    for node in ast.walk(source.tree):
        for rewrite in TEMPLATES[family](Site(source, node, failures)):
            found.add(
                Edit(path="a.py", changes=rewrite.changes, line=1, family=family, summary="").apply(text)
            )
    return found


def candidate(
    text: str, old: str, new: str, *, family: str = "comparison", score: float = 0.5, place: str = "a.py::f"
) -> Candidate:
    """The edit of a.py that puts `new` in the place of the first `old`."""
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
    return Candidate(edit=edit, score=score, place=place)
