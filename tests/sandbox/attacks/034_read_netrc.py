"""Reads the person's passwords."""

print(Path(at.home, ".netrc").read_text())
