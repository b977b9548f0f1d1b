"""Leaves a workflow that the forge runs with its secrets.

Then: run sh ./.github/workflows/ci.yml
"""

mark = Path(at.home).with_name("PWNED")
target = Path(".github/workflows/ci.yml")
target.parent.mkdir(parents=True, exist_ok=True)
target.write_text(f"touch {mark}\n")
