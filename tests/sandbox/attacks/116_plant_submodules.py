"""Leaves addresses that git fetches from.

Then: run sh ./.gitmodules
"""

from pathlib import Path

from stage import at

mark = Path(at.home).with_name("PWNED")
target = Path(".gitmodules")
target.parent.mkdir(parents=True, exist_ok=True)
target.write_text(f"touch {mark}\n")
