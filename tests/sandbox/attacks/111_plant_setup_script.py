"""Leaves a file that pip runs.

Then: run python3 ./setup.py
"""

mark = Path(at.home).with_name("PWNED")
target = Path("setup.py")
target.parent.mkdir(parents=True, exist_ok=True)
target.write_text(f"import pathlib; pathlib.Path({str(mark)!r}).touch()\n")
