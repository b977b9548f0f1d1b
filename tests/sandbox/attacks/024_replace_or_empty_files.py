"""Moves a file over one of the checkout, swaps, empties and deletes others, without opening them."""

Path("mine").write_text("owned")
attempt(
    lambda: call(316, 276, -100, b"mine", -100, os.fsencode(Path(at.project, "main.py")), 2),
    lambda: os.truncate(Path(at.project, "conftest.py"), 0),
    lambda: os.rename("mine", Path(at.other, "main.py")),
    lambda: os.unlink(Path(at.home, ".netrc")),
)
