"""Leaves addresses that git fetches from.

Then: run sh ./.gitmodules
"""

mark = Path(at.home).with_name("PWNED")
target = Path(".gitmodules")
target.parent.mkdir(parents=True, exist_ok=True)
target.write_text(f"touch {mark}\n")
