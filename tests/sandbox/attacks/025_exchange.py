"""Swaps a file of its own with one of the checkout."""

Path("mine").write_text("owned")
call(316, 276, -100, b"mine", -100, os.fsencode(Path(at.project, "main.py")), 2)
