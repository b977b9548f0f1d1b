"""Leaves a file that direnv runs when somebody enters the directory.

Then: run sh ./.envrc
"""

mark = Path(at.home).with_name("PWNED")
target = Path(".envrc")
target.parent.mkdir(parents=True, exist_ok=True)
target.write_text(f"touch {mark}\n")
