"""Leaves a file that make runs.

Then: run sh ./Makefile
"""

mark = Path(at.home).with_name("PWNED")
target = Path("Makefile")
target.parent.mkdir(parents=True, exist_ok=True)
target.write_text(f"touch {mark}\n")
