"""Reads the password in the address of the repository's remote."""

print(Path(at.project, ".git/config").read_text())
