"""Leaves a hook that husky runs.

Then: run sh ./.husky/pre-commit
"""

mark = Path(at.home).with_name("PWNED")
target = Path(".husky/pre-commit")
target.parent.mkdir(parents=True, exist_ok=True)
target.write_text(f"touch {mark}\n")
