"""Empties a file of the checkout by its name, without opening it."""

os.truncate(Path(at.project, "main.py"), 0)
