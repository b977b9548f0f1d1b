"""Leaves a file that Python runs at its start.

Then: run python3 ./sitecustomize.py
"""

mark = Path(at.home).with_name("PWNED")
target = Path("sitecustomize.py")
target.parent.mkdir(parents=True, exist_ok=True)
target.write_text(f"import pathlib; pathlib.Path({str(mark)!r}).touch()\n")
