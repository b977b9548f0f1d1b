"""Changes the file that pytest runs before every test.

Then: run python3 ./conftest.py
"""

mark = Path(at.home).with_name("PWNED")
target = Path("conftest.py")
target.parent.mkdir(parents=True, exist_ok=True)
target.write_text(f"import pathlib; pathlib.Path({str(mark)!r}).touch()\n")
