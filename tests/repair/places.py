"""Helper that builds a candidate edit."""

from coder.core.ports import Edit
from coder.repair.candidates import RepairCandidate


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
