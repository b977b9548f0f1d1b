"""Leaves a task that the editor runs.

Then: run sh ./.vscode/tasks.json
"""

mark = Path(at.home).with_name("PWNED")
target = Path(".vscode/tasks.json")
target.parent.mkdir(parents=True, exist_ok=True)
target.write_text(f"touch {mark}\n")
